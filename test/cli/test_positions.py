#!/usr/bin/env python3
"""test_positions.py NONHOLO [--long]

Conditions on positions as users see them: starts that are moved onto them, the output of `check`,
constraint forces, random starts, refusals. Long runs keep g and g' at round-off: 1000 steps, with
--long 100000."""

import json
import math
import os
import sys
import tempfile

from harness import Program, check, run_all, same

HERE = os.path.dirname(os.path.abspath(__file__))
GROUPS = os.path.join(HERE, "..", "data", "groups")
nonholo = Program(sys.argv[1])
STEPS = 100000 if "--long" in sys.argv else 1000

PENDULUM = """model pendulum
parameter l = 2, grav = 9.81
coordinate x, y, z
lagrangian (x'^2 + y'^2 + z'^2)/2 - grav*z
constraint rod: x^2 + y^2 + z^2 = l^2
start x = 1, y = 0.5, z = -1, x' = 1, y' = 0.3
observe tension = 2*l*reaction(rod)
"""
PLANE = """model plane
parameter mass = 3
coordinate x, y
lagrangian (mass*x'^2 + y'^2)/2
constraint line: x + y = 1 + t
start x = 2
"""
BARE = "model bare\ncoordinate x, y\nlagrangian x'^2 + y'^2\n"


def command(text, *arguments):
    """The output of the program for a model that is given as a text."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.nh")
        with open(path, "w") as file:
            file.write(text)
        done = nonholo(arguments[0], path, *arguments[1:])
        done.stderr = done.stderr.replace(folder + os.sep, "")
        return done


def state(text, *arguments):
    done = command(text, "run", "--method", "gauss-lobatto", "--step", "0.01", "--steps", "0", "--json", *arguments)
    check(done.returncode == 0, done.stderr)
    found = json.loads(done.stdout)
    check(found["constraint_max"] < 1e-15, f"residual {found['constraint_max']}")  # measured: at most 5e-16
    return found["q"], found["v"]


def near(found, expected, tolerance=1e-15):
    check(all(abs(a - b) <= tolerance for a, b in zip(found, expected)), f"{found} instead of {expected}")


def test_nearest():
    """The nearest point of a sphere lies on the ray; the velocity loses its radial part."""
    q, v = state(PENDULUM, "--project")
    expected = [2 * x / 1.5 for x in (1, 0.5, -1)]
    near(q, expected, 1e-14)
    radial = (expected[0] * 1 + expected[1] * 0.3) / 4
    near(v, [a - radial * b for a, b in zip((1, 0.3, 0), expected)], 1e-14)
    q, _ = state(PENDULUM, "--project", "keep=x,y")
    near(q, [1, 0.5, -math.sqrt(2.75)], 1e-14)
    q, v = state(PENDULUM + "start solve z, z'\n")
    near(q + v, [1, 0.5, -math.sqrt(2.75), 1, 0.3, 1.15 / math.sqrt(2.75)], 1e-14)
    q, _ = state(PENDULUM + "start solve z, z'\n", "--start", "x=0.1,y=0.2")
    near(q, [0.1, 0.2, -math.sqrt(3.95)], 1e-14)


def test_attitude():
    """An attitude may be computed from the conditions: the body hangs from its pin along the line to it, turned as little as possible."""
    body = ("model hung\ncoordinate x, y, z\nrotation B\nlagrangian (x'^2 + y'^2 + z'^2 + dot(body(B), body(B)))/2 - z\n"
            "constraint pin: (x, y, z) + B*(0, 0, 1) = (0, 0, 0)\nstart x = -0.6, z = -0.8\n")
    half = math.atan2(0.6, 0.8) / 2
    for q, _ in (state(body + "start solve B\n"), state(body, "--project", "solve=B")):
        near(q, [-0.6, 0, -0.8, math.cos(half), 0, math.sin(half), 0], 1e-14)


def test_masses():
    """Heavy coordinates move less; a time-dependent condition has its own velocity."""
    q, v = state(PLANE, "--project")
    near(q, [2 - 1 / 4, -3 / 4])  # by 1/mass each
    near(v, [1 / 4, 3 / 4])


def test_tension():
    """The rod's force is m (v^2/l + g cos), along the whole motion."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "out.csv")
        done = command(PENDULUM, "run", "--method", "discrete-gradient", "--step", "0.02", "--steps", "50", "--project",
                       "--no-estimate", "-o", path)
        check(done.returncode == 0, done.stderr)
        with open(path) as file:
            rows = [list(map(float, line.split(","))) for line in list(file)[1:]]
    for row in rows:
        z, speed, tension = row[3], sum(x * x for x in row[4:7]), row[-1]
        check(abs(-tension - (speed / 2 - 9.81 * z / 2)) < 1e-12, f"{row}")  # measured: 9e-15


def test_check():
    found = nonholo.json("check", os.path.join(GROUPS, "fourbar-skate.nh"))
    same([c["on_positions"] for c in found["constraints"]], [False, True, True])
    same(found["positions"], 2)
    same(found["freedom"], {"positions": 4, "velocities": 3})
    same(found["surfaces"], [], "stated conditions are not found ones")
    text = nonholo("check", os.path.join(GROUPS, "disk-trailer.nh")).stdout
    for line in ("3 constraints of rank 3, 1 of them on positions", "5 degrees in the positions, 3 in the velocities",
                 "constraint 3: a condition on positions\n", "no: truly nonholonomic"):
        check(line in text, f"'{line}' is missing in {text}")


def test_redundant():
    """A third rod that follows from the parallelogram is left out, with a remark."""
    rods = "".join(f"constraint rod{i}: (x - {i})^2 + (y - 0)^2 = 1\n" for i in range(1))
    crank = "model cranks\ncoordinate x, y, a\nlagrangian (x'^2 + y'^2 + a'^2)/2 - y\n" + rods
    crank += "constraint along: x = sin(a)\nconstraint across: y = -cos(a)\nstart x = 0, y = -1, x' = 1, a' = 1\n"
    done = command(crank, "check", "--json")
    check(done.returncode == 0, done.stderr)
    found = json.loads(done.stdout)
    same(found["remarks"], ["left out, because they follow from the other constraints: across"])
    same((found["positions"], found["freedom"]["positions"]), (2, 1))


def test_contact():
    """A ball on a plate that is shaken along its slope. That it stays on the plate is said twice: as a condition and
    by one component of rolling, whichever is best left out."""
    for slope, left_out in ((0, "roll[3]"), (0.7, "roll[3]"), (0.9, "roll[1]"), (math.pi/2, "roll[1]")):
        text = ("model plate\nparameter m = 1, r = 0.5, A = 0.1, w = 2, s = %g\nlet I = 2/5*m*r^2\n"
                "coordinate x, y, z\nrotation R\nlet p = (x, y, z)\nlet up = (-sin(s), 0, cos(s))\n"
                "let plate = A*sin(w*t)*(cos(s), 0, sin(s))\n"
                "lagrangian m/2*dot(p', p') + I/2*dot(body(R), body(R))\n"
                "constraint height: dot(p, up) = r\nconstraint roll: p' + cross(space(R), -r*up) = plate'\n"
                "start x = -r*sin(s), z = r*cos(s), y' = 0.3\nstart solve body(R), x', z'\n"
                "observe along = x*cos(s) + z*sin(s)\n" % slope)
        done = command(text, "run", "--project", "--time", "5", "--json")
        check(f"follow from the other constraints: {left_out}" in done.stderr, done.stderr)
        found = json.loads(done.stdout)
        # a homogeneous ball moves with 2/7 of the plate's velocity; measured: 7e-12, 4e-10 and 7e-12
        along = found["observables"]["along"]
        check(abs(along - 2/7*0.1*math.sin(10)) < 1e-9 and abs(found["q"][1] - 1.5) < 2e-9, f"{along} {found['q']}")


def test_equal_components():
    """For rolling on level ground, written with vectors, the third component is 0 = 0 and is left out silently."""
    text = ("model ball\nrotation R\ncoordinate x, y\ncoordinate a angle, b angle\n"
            "lagrangian (x'^2 + y'^2 + a'^2 + b'^2)/2 + dot(body(R), body(R))/5\n"
            "constraint roll: (x', y', 0) + cross(space(R), (0, 0, -1)) = (0, 0, 0)\n"
            "start a = 3, a' = 1, y' = 1, space(R) = (-1, 0, 0)\n")
    done = command(text, "run", "--time", "2", "--json")
    same((done.returncode, done.stderr), (0, ""))
    found = json.loads(done.stdout)
    near(found["q"][4:6], [0, 2], 1e-12)
    near(found["q"][6:7], [5], 1e-12)
    found = json.loads(command(text, "check", "--json").stdout)
    same([c["name"] for c in found["constraints"]], ["roll[1]", "roll[2]", "|R| = 1"])


def test_random_starts():
    for model, energy in (("fourbar-skate", 3), ("closed-chain", 2), ("bead", 1), ("heavy-top", 3)):
        path = os.path.join(GROUPS, model + ".nh")
        found = nonholo.json("ensemble", path, "--members", 8, "--energy", energy, "--method", "gauss-lobatto",
                             "--step", 0.01, "--steps", 1, "--backend", "tape")
        # measured: 3e-15 and 2e-14
        check(found["constraint_max"] < 2e-14, f"{model}: constraints {found['constraint_max']}")


def test_axis():
    """A hinge as a vector equation with three components: the one along its own axis follows from |R| = 1."""
    text = ("model hinge\nrotation R\nlagrangian dot(body(R), ((1, 0, 0), (0, 2, 0), (0, 0, 3))*body(R))/2 - R[1,1]\n"
            "constraint axis: R*(0, 0, 1) = (0, 0, 1)\nstart R = turn((0, 0, 1), 0.5), body(R) = (0, 0, 1)\nobserve a = yaw(R)\n")
    done = command(text, "run", "--method", "gauss:stages=4", "--step", "0.01", "--time", "1", "--json")
    check("follow from the other constraints: axis[3]" in done.stderr, done.stderr)
    check("not resolved" not in done.stderr, done.stderr)  # R.1 and R.2 are all rounding
    found = json.loads(done.stdout)
    # 3 a'' = sin(a) from a = 0.5, a' = 1, by SciPy's DOP853 at 1e-13; measured: 3e-14
    near([found["observables"]["a"]], [1.6210487361437194], 1e-12)


MACHINES = os.path.join(HERE, "..", "cases", "models")  # hinges.json compares how they move


def refused_start(model, start, name, residual):
    done = nonholo("run", model, "--start", start, input=CRANKS)
    same(done.returncode, 2, done.stderr)
    check(f"off the constraints: {name} has residual {residual}, although near there it follows from the others" in done.stderr,
          done.stderr)


CRANKS = """model cranks
coordinate x, y, a
lagrangian (x'^2 + y'^2 + a'^2)/2 - y
constraint rod: x^2 + y^2 = 1
constraint along: x = sin(a)
constraint across: y = -cos(a)
start x = 0, y = -1
"""


def test_other_branch():
    """Axes against each other, half a turn, a crank on the other side: what was left out is violated."""
    for model, start, name, residual in (("axle", "R=turn((1,0,0),pi),body(R)=(0.3,1,-0.7)", "hinge[2]", "-2"),
                                         ("follows", "R=turn((1,0,0),pi/2),space(R)=(0,2,1)", "hinge[2]", "-2"),
                                         ("weld", "R=turn((1,0,0),pi),body(R)=(0.3,-1,-0.7)", "weld", "-4")):
        refused_start(os.path.join(MACHINES, model + ".nh"), start, name, residual)
    refused_start("-", "y=1", "across", "2")


def test_reactions():
    """Components that became combinations have no reactions; the wall's reaction is the force that keeps the ball on its circle."""
    with open(os.path.join(MACHINES, "cylinder.nh")) as file:
        cylinder = file.read()
    done = command(cylinder + "observe f = reaction(rolling[2])\n", "run", "--time", "10")
    same(done.returncode, 2, done.stderr)
    check("reaction(rolling[2]) is not determined: 'a combination of rolling[1] to rolling[3]' follows" in done.stderr, done.stderr)
    done = command(cylinder + "observe f = 2*reaction(wall)\n", "run", "--tolerance", "1e-12", "--time", "3", "--json")
    check(abs(abs(json.loads(done.stdout)["observables"]["f"]) - 4) < 1e-8, done.stdout)


def long_run(model, step, method, *settings):
    """The largest |g| and |g'| of all steps; avf-p also keeps the energy."""
    path = os.path.join(GROUPS, model + ".nh") if model != "pendulum" else "-"
    done = nonholo("run", path, "--method", method, "--step", step, "--steps", STEPS, "--every", 1 + STEPS // 1000,
                   "--json", "--no-estimate", *settings, *(["--project"] if model == "pendulum" else []),
                   **({"input": PENDULUM} if model == "pendulum" else {}))
    check(done.returncode == 0, done.stderr)
    found = json.loads(done.stdout)
    # Angles that are not declared as such grow, and with them their rounding.
    # Measured: at most 1.6e-15 of that after 1000 steps.
    scale = max(1, *map(abs, found["q"]))
    check(found["constraint_max"] < 1e-13 * scale, f"{model} {method}: constraints {found['constraint_max']}")
    if method == "avf-p":
        limit = 1e-14 * math.sqrt(STEPS) * max(1, abs(found["energy"])) * 40
        check(found["energy_error_max"] < limit, f"{model}: energy {found['energy_error_max']}")


LONG = [("pendulum", 0.02), ("bead", 0.05), ("disk-trailer", 0.05), ("heavy-top", 0.05), ("chaplygin-ball", 0.05)]
CHAINS = [3, 5, 10, 20] if "--long" in sys.argv else [3, 10]

REFUSED = [
    ("constraint x = 1\nconstraint y = t\n", ["run", "--method", "rk4", "--step", "0.1", "--steps", "1"],
     "rk4 does not preserve conditions on positions, and 'constraint 2' of bare is one"),
    ("constraint rod: x^2 + y^2 = 1\n", ["run", "--method", "gauss-lobatto", "--step", "0.1", "--steps", "1"],
     "the start state is off the constraints: rod has residual -1 in the positions; give positions that satisfy it, "
     "or project them onto the constraints (--project)"),
    ("constraint rod: x^2 + y^2 = -1\nstart x = 1\n", ["check", "--project"],
     "no positions were found that satisfy the constraints: from the start values, rod still has residual"),
    ("constraint rod: x^2 + y^2 = 1\nstart x = 3, y = 1\n", ["check", "--project", "solve=y,y'"],
     "1 coordinate that may change (y) cannot satisfy the 1 constraint: rod still has residual"),
    ("constraint wall: x = 1\n", ["check", "--project", "solve=y"],
     "wall has residual -1, and none of the coordinates that may change (y) changes it"),
    ("constraint wall: x = 1\n", ["check", "--project", "solve=x'"],
     "wall has residual -1, and no coordinate may change"),
    ("constraint wall: x = 1\n", ["check", "--project", "keep=x"],
     "wall has residual -1, and none of the coordinates that may change (y) changes it"),
    ("constraint x' = 0\n", ["check", "--project", "solve=x"],
     "'x' is a coordinate, which a projection does not change unless there are conditions on positions"),
    ("constraint x' = 0\nstart solve y\n", ["check"],
     "model.nh:5:13: 'y' is a coordinate, which a projection does not change unless there are conditions on positions"),
    ("constraint wall: x = 1\nstart solve x\nobserve f = reaction(wal)\n", ["check"],
     "model.nh:6:22: there is no constraint 'wal'; did you mean 'wall'?"),
    ("constraint wall: x = 1\nlet f = reaction(wall)\nconstraint y' = f\n", ["check"],
     "a constraint force follows from the motion; reaction() is allowed only in 'observe', 'force', 'event', 'draw' and after"),
    ("constraint wall: x = 1\nobserve f = reaction(x + 1)\n", ["check"], "expected the name of a constraint"),
    ("constraint wall: (x, y) = (1, 2)\nobserve f = reaction(wall)\n", ["check"],
     "'wall' is more than one constraint; expected one of them, as in reaction(wall[1])"),
    ("constraint wall: (x, y) = (1, 2)\nobserve f = reaction(wall[3])\n", ["check"], "there is no constraint 'wall[3]'"),
    ("constraint 1 = 2\n", ["check"], "constraint 1 contains neither a velocity nor a coordinate"),
    ("constraint wall: x = x\n", ["check"], "the two sides of wall are equal"),
    ("constraint wall: x = 1\nconstraint again: 2*x = 3\nstart x = 1\n", ["check"],
     "model.nh: the conditions on positions contradict each other: 'again' cannot be satisfied together with 'wall'"),
    ("constraint a: x^2 + y^2 = 1\nconstraint b: x^2 + y^2 = 4\nstart x = 1\n", ["check"],
     "model.nh: the conditions on positions contradict each other: 'b' cannot be satisfied together with 'a'"),
    ("constraint a: x = 1\nconstraint b: 3*x = 3\nstart x = 1\nobserve f = reaction(b)\n", ["check"],
     "model.nh: reaction(b) is not determined: 'b' follows from the other constraints"),
    ("constraint wall: x = 1/0\n", ["check"], "division by zero"),
]


def refuse(lines, arguments, words):
    done = command(BARE + lines, *arguments)
    same(done.returncode, 2, done.stderr)
    check(words in done.stderr, f"no '{words}' in: {done.stderr}")


def test_dependent_start():
    """Both axes point the same way, where a component does not change to first order: the motion cannot start there."""
    done = command("model hinge\nrotation A, B\nlagrangian dot(body(A), body(A)) + dot(body(B), body(B))\n"
                   "constraint along: (A*(0, 1, 0))[2] = (B*(0, 1, 0))[2]\nstart body(A) = (0, 1, 0)\n", "run", "--time", "1")
    same(done.returncode, 1)
    same(done.stderr, "nonholo: step 1, t = 0: the constraints depend on each other at the start (along, |A| = 1, |B| = 1); "
                      "the motion cannot start from such a state\n")


def main():
    cases = [(name, test) for name, test in globals().items() if name.startswith("test_")]
    for model, step in LONG:
        for method in ("avf-p", "gauss-lobatto:stages=2", "lobatto-ab:stages=2"):
            cases.append((f"{model} {method}", lambda m=model, s=step, way=method: long_run(m, s, way)))
    for count in CHAINS:
        for method in ("avf-p", "gauss-lobatto:stages=2"):
            cases.append((f"chain of {count} {method}",
                          lambda n=count, way=method: long_run("closed-chain", 0.02, way, "--set", f"N={n}")))
    cases.append(("four-bar", lambda: long_run("fourbar-skate", 0.002, "avf-p")))
    cases += [(words, lambda case=case: refuse(*case)) for case in REFUSED for words in [case[2]]]
    return run_all(cases)


if __name__ == "__main__":
    sys.exit(main())
