#!/usr/bin/env python3
"""test_events.py NONHOLO: events of a model, what `when` changes there, --stop and --section.

Compared with motions and zeros that are known in closed form."""

import math
import os
import sys

from harness import Program, cases_in_folders, check, run_all, same

G, E = 9.81, 0.9
BALL = f"""model ball
parameter e = {E}
coordinate x, y
lagrangian (x'^2 + y'^2)/2 - {G}*y
start y = 1, x' = 1
event floor: y falling
event top: y' falling
when floor: y' = -e*y'
span 2
"""
METHODS = ("dop853", "dopri5", "reference --step 0.25", "gauss --step 0.01", "dla01 --step 0.013", "leapfrog --step 0.01",
           "discrete-gradient --step 0.02", "gauss:stages=2 --compose suzuki --step 0.05", "dla01:1/2,gauss:1/2 --step 0.013", "rk4 --step 0.05")


def write(folder, name, text):
    path = os.path.join(folder, name)
    with open(path, "w") as file:
        file.write(text)
    return path


def free(text):
    """A model with one coordinate x = t and further statements."""
    return "model free\ncoordinate x\nlagrangian x'^2/2\nstart x = 0, x' = 1\n" + text


def times(found, name):
    return [event["t"] for event in found["events"] if event["name"] == name]


def near(found, expected, tolerance, what):
    same(len(found), len(expected), f"{what}: how many")
    worst = max([abs(a - b) for a, b in zip(found, expected)], default=0)
    check(worst <= tolerance, f"{what}: {worst}")


def bounces(until):
    fall = math.sqrt(2 / G)
    t, way, found = fall, 2 * fall * E, []
    while t < until:
        found.append(t)
        t, way = t + way, way * E
    return found


def a_ball_bounces(program, folder):
    path = write(folder, "ball.nh", BALL)
    for method in METHODS:
        found = program.json("run", path, "--time", 3, "--no-estimate", "--method", *method.split())
        exact = bounces(3)
        near(times(found, "floor"), exact, 2e-12, method)  # measured: 3e-14
        tops = [t + math.sqrt(2 / G) * E ** (i + 1) for i, t in enumerate(exact)]
        near(times(found, "top"), [t for t in tops if t < 3], 2e-12, method)
        v = math.sqrt(2 * G) * E ** len(exact)
        s = 3 - exact[-1]
        near(found["q"] + found["v"], [3, v * s - G * s * s / 2, 1, v - G * s], 1e-10, method)
        same(found["event"], None)
        same(found["event_counts"]["floor"], len(exact))
        same(found["t"], 3)


def a_run_stops(program, folder):
    path, table = write(folder, "ball.nh", BALL), os.path.join(folder, "ball.csv")
    for method in METHODS:
        found = program.json("run", path, "--time", 3, "--stop", "top", "-o", table, "--method", *method.split())
        same(found["event"], "top")
        near([found["t"]], [math.sqrt(2 / G) * (1 + E)], 2e-12, method)
        check(abs(found["v"][1]) < 1e-13, "at the top")
        with open(table) as file:
            last = file.read().splitlines()[-1].split(",")
        same([float(x) for x in last[:3]], [found["t"]] + found["q"], "last row")
        same(found["event_counts"], {"floor": 1, "top": 1})
        # the energy lost in the impact is not a reason for a remark
        same(program.json("run", path, "--set", "e=0.5", "--stop", "floor", "--method", *method.split())["remarks"], [])
    text = program("run", path, "--stop", "floor,top").stdout
    check("'floor' 1 time, the last of which ended the run" in text, text)


def many_in_one_step(program, folder):
    """Zeros of functions of x = t, of which one own step of the method may contain thousands."""
    roots = [0.3, 0.30001, 1.7, 2.5, 2.5 + 1e-6, 40]
    product = "*".join(f"(x - {r!r})" for r in roots)
    path = write(folder, "free.nh", free(f"event wave: sin(7*x)\nevent up: cos(x) rising\nevent zeros: {product}\n"))
    for method in ("dop853", "gauss --step 0.5", "leapfrog --step 0.1"):
        found = program.json("run", path, "--time", 50, "--method", *method.split())
        near(times(found, "wave"), [k * math.pi / 7 for k in range(1, int(350 / math.pi) + 1)], 1e-12, method)
        near(times(found, "up"), [1.5 * math.pi + 2 * math.pi * k for k in range(8)], 1e-12, method)
        near(times(found, "zeros"), roots, 1e-9, method)  # the pair is ill-conditioned: 1e-6 apart
        order = [event["t"] for event in found["events"]]
        same(order, sorted(order), "in order")


def rows_do_not_matter(program, folder):
    """Events are found whatever is recorded, and a section is drawn: the coordinate that defines it has no portrait."""
    path = write(folder, "free.nh", free("event wave: sin(7*x)\n"))
    for method in ("gauss", "dop853"):
        found = [times(program.json("run", path, "--time", 50, "--method", method, "--step", 0.1, "--every", every), "wave")
                 for every in (1, 7, 50, 63, 64, 65, 500)]
        near(found[0], [k * math.pi / 7 for k in range(1, int(350 / math.pi) + 1)], 1e-12, method)
        check(all(other == found[0] for other in found), [len(other) for other in found])
    cut = program("models", "chaotic-particle").stdout + "\nevent cut: z[1] rising\n"
    for ending in ("svg", "html"):
        picture = os.path.join(folder, "section." + ending)
        program.json("run", write(folder, "cut.nh", cut), "--time", 100, "--section", "cut", "--plot", picture)
        check(os.path.getsize(picture) > 1000, "picture")


def touching_is_remarked(program, folder):
    path = write(folder, "touch.nh", free("event touch: (x - 1.234)^2\nevent above: 1 + cos(x) + 1e-3\n"))
    for method in ("dop853", "gauss --step 0.1"):
        found = program.json("run", path, "--time", 5, "--method", *method.split())
        same(found["events"], [], method)
        check(any("'touch' (t = 1.234)" in text for text in found["remarks"]), found["remarks"])
        check(not any("above" in text for text in found["remarks"]), found["remarks"])


def every_touch_is_remarked(program, folder):
    path = write(folder, "touches.nh", free("event touch: (x - 1)^2*(x - 3)^2\n"))
    text = " ".join(program.json("run", path, "--time", 5, "--method", "gauss", "--step", 0.1)["remarks"])
    check("'touch' (t = 1), 'touch' (t = 3)" in text, text)


def poles_and_jumps_are_no_zeros(program, folder):
    """A change of sign through infinity and the revolution of an angle are not counted; a choice that jumps is."""
    cases = {"tan(x) - 0.5": [math.atan(0.5), math.atan(0.5) + math.pi], "1/(x - 2)": [], "1/(x - 2)^3 + 1": [1],
             "1/tan(x)": [math.pi / 2, 1.5 * math.pi], "log(abs(x - 2))": [1, 3], "(x - 2)/abs(x - 2)^1.5": [],
             "atan2(sin(x), cos(x)) - 0.5": [0.5], "5 - 3*atan2(sin(x), cos(x))": [5 / 3], "if(x > 2, 1, -1)": [2],
             "sign(x - 2)*3": [2], "tan(x/2)": [], "atan2(sin(2*x), -1)": []}
    for expression, zeros in cases.items():
        path = write(folder, "pole.nh", free(f"event e: {expression}\n"))
        for method in ("dop853", "dop853 --step 0.1", "gauss --step 0.13", "rk4 --step 0.05"):
            found = program.json("run", path, "--time", 6, "--method", *method.split())
            near(times(found, "e"), zeros, 1e-9, f"{expression}, {method}")
            said = " ".join(found["remarks"])
            same("infinity" in said, "tan(" in expression or "/" in expression, f"{expression}, {method}: {said}")
            same("begins anew" in said, "atan2" in expression, f"{expression}, {method}: {said}")


def events_are_looked_for_where_they_are_defined(program, folder):
    """One that is not defined at the start lost its zeros silently, or had one where it becomes defined; and a jump that the
    text does not ask for is remarked."""
    for text, expected, word in (("sqrt(x - 1) - 0.5", [1.15], "not defined"), ("log(x - 2) - 0.1", [1.9 + math.exp(0.1)], "not defined"),
                                 ("sqrt(3 - x) - 0.5", [2.65], "not defined"), ("asin(x - 3)", [2.9], "not defined"),
                                 ("atan(tan(x))", [math.pi / 2 - 0.1, math.pi - 0.1, 1.5 * math.pi - 0.1], "by a jump"),
                                 ("exp(1/(x - 2)) - 1", [1.9], "by a jump"), ("if(x > 1, 1, -1)*(x - 3)", [0.9, 2.9], "")):
        path = write(folder, "edge.nh", f"model edge\ncoordinate x\nlagrangian x'^2/2\nstart x' = 1, x = 0.1\nevent e: {text}\n")
        for how in ((), ("--method", "gauss", "--step", 0.1), ("--method", "rk4", "--step", 0.3)):
            found = program.json("run", path, "--time", 6, *how)
            near(times(found, "e"), expected, 1e-9, f"{text} {how}")
            same(any(word in remark for remark in found["remarks"]), bool(word or found["remarks"]), f"{text} {how}")


def closed_contacts(program, folder):
    """Bodies that touch and are pushed together, or thrown against a wall that they slide along, collide at once; bodies in
    contact that are not pushed together do not."""
    balls = lambda n: ("model balls\nparameter gap = 0\n" + "".join(f"coordinate x{i}\n" for i in range(n)) + "lagrangian "
                       + " + ".join(f"x{i}'^2/2" for i in range(n)) + "\n"
                       + "".join(f"event e{i}: x{i + 1} - x{i} - 0.3 falling\nwhen e{i}: x{i}' = x{i + 1}', x{i + 1}' = x{i}'\n"
                                 for i in range(n - 1)))
    row = lambda n: ", ".join(f"x{i} = {0.3 * i!r}" for i in range(1, n))
    wall = ("model wall\ncoordinate x, y\nlagrangian (x'^2 + y'^2)/2\nstart y' = 1\nevent kick: y - 1.03\nevent wall: x falling\n"
            "when kick: x' = -1\nwhen wall: x' = -x'\n")
    rest = "model rest\ncoordinate x\nlagrangian x'^2/2 - x\nevent floor: x falling\nwhen floor: x' = -x'/2\n"
    cases = [(balls(3) + f"start {row(3)}, x0 = -1, x0' = 3\n", {"e0": 1, "e1": 1}, [0, 0, 3]),
             (balls(5) + f"start {row(5)}, x0 = -1, x0' = 3\n", {"e0": 1, "e1": 1, "e2": 1, "e3": 1}, [0, 0, 0, 0, 3]),
             (balls(3) + f"start {row(3)}, x0 = -1, x0' = 1, x2 = 1.3 + 0.3, x2' = -1\n".replace("x2 = 0.6, ", ""),
              {"e0": 2, "e1": 1}, [-1, 0, 1]),
             (balls(3) + f"start {row(3)}, x0' = -1, x2' = 1\n", {"e0": 0, "e1": 0}, [-1, 0, 1]),
             (wall, {"kick": 1, "wall": 1}, [1, 1]), (wall.replace("-1\nwhen", "1\nwhen"), {"kick": 1, "wall": 0}, [1, 1]),
             (wall + "start x' = -1\n", {"kick": 1, "wall": 2}, [1, 1])]
    for text, counts, v in cases:
        for method in ("dop853", "dop853 --step 0.1", "gauss --step 0.13", "dla01 --step 0.07"):
            found = program.json("run", write(folder, "closed.nh", text), "--time", 3, "--method", *method.split())
            same(found["event_counts"], counts, f"{text}{method}")
            near(found["v"], v, 1e-12, method)
            same([text for text in found["remarks"] if "event" in text], [], method)
    for method in ("dop853", "gauss --step 0.1"):
        done = program("run", write(folder, "rest.nh", rest), "--time", 1, "--method", *method.split())
        same(done.returncode, 1, "a ball at rest on the floor")
        check("t = 0: the events 'floor' accumulate there" in done.stderr, done.stderr)


def a_start_on_zero_is_not_told(program, folder):
    path = write(folder, "start.nh", free("event here: sin(x)\nevent there: sin(x) falling\n"))
    for method in ("dop853", "gauss --step 0.1"):
        found = program.json("run", path, "--time", 7, "--method", *method.split())
        near(times(found, "here"), [math.pi, 2 * math.pi], 1e-12, method)
        near(times(found, "there"), [math.pi], 1e-12, method)


def accumulating_impacts_end(program, folder):
    path = write(folder, "ball.nh", BALL)
    for e in (0, 0.1, 0.5, 0.9):
        for method in ("dop853", "gauss --step 0.01"):
            done = program("run", path, "--set", f"e={e}", "--time", 20, "--method", *method.split())
            same(done.returncode, 1, f"e = {e}, {method}")
            check("the events 'floor' accumulate there" in done.stderr, done.stderr)
            t = float(done.stderr.split("t = ")[1].split(":")[0])
            exact = math.sqrt(2 / G) * (1 + 2 * e / (1 - e))
            check(abs(t - exact) < 2e-4, f"e = {e}: {t}, {exact}")


def impacts_ever_faster_end_own_steps(program, folder):
    """However short the steps between impacts become, the ball must not fall through the floor."""
    for height in (0.5, 1, 1.7, 3):
        path = write(folder, "drop.nh", f"""model drop
coordinate y, z
parameter e = 0.5
lagrangian (y'^2 + z'^2)/2 - y
start y = {height}, z' = 1
event floor: y falling
when floor: y' = -e*y'
""")
        for e in (0.05, 0.3, 0.5, 0.8):
            end = math.sqrt(2 * height) * (1 + 2 * e / (1 - e))
            for tolerance in (1e-4, 1e-9):
                done = program("run", path, "--set", f"e={e}", "--time", 2 * end, "--tolerance", tolerance)
                same(done.returncode, 1, f"height {height}, e = {e}")
                check("the events 'floor' accumulate there" in done.stderr, done.stderr)
                t = float(done.stderr.split("t = ")[1].split(":")[0])
                check(abs(t - end) < 1e-5 * end, f"e = {e}: {t}, {end}")  # measured: 4e-6
            last = program.json("run", path, "--set", f"e={e}", "--time", math.sqrt(2 * height) * (1 + e))
            same(len(times(last, "floor")), 1, "one impact")


def a_corner_reflects_twice(program, folder):
    path = write(folder, "corner.nh", """model corner
coordinate x, y
lagrangian (x'^2 + y'^2)/2
start x' = 1, y' = 1
event right: x - 1
event top: y - 1
when right: x' = -x'
when top: y' = -y'
""")
    for method in ("dop853", "gauss --step 0.3", "leapfrog --step 0.25"):
        found = program.json("run", path, "--time", 3, "--method", *method.split())
        near(found["q"] + found["v"], [-1, -1, -1, -1], 1e-12, method)
        same(found["event_counts"], {"right": 1, "top": 1})


def a_sleigh_bounces_off_a_wall(program, folder):
    """With constraints: the velocities given by `when` are projected onto them; an elastic impact preserves the energy."""
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../examples/wall-sleigh.nh")
    for method in ([], ["--method", "gauss:stages=3", "--step", "0.05"], ["--method", "avf-p", "--step", "0.05"]):
        found = program.json("run", path, *method)
        same(found["event_counts"], {"hit": 2})
        check(found["energy_error_max"] < 1e-9, found["energy_error_max"])  # at most 1.9e-15
        check(found["constraint_max"] < 1e-14, found["constraint_max"])  # 7e-16
    text = open(path).read().replace("when hit: x' = -e*x', y' = -e*y'", "when hit: x' = -e*x'")
    found = program.json("run", write(folder, "off.nh", text))
    check(found["constraint_max"] < 1e-14 and found["energy"] < 0.5, found)


def the_same_bits(program, folder):
    """The same bits on both backends, for any division into advances, and after a checkpoint."""
    path = write(folder, "ball.nh", BALL)
    keys = ("q", "v", "t", "events", "accepted", "rejected")
    for method in ("dop853 --every-time 0.01", "gauss --step 0.01", "leapfrog --step 0.01"):
        base = ("run", path, "--time", 3, "--no-estimate", "--method", *method.split())
        found = [program.json(*base, "--backend", backend) for backend in ("tape", "compiled")]
        same([found[0][key] for key in keys], [found[1][key] for key in keys], method)


if __name__ == "__main__":
    sys.exit(run_all(cases_in_folders(globals(), Program(sys.argv[1]))))
