#!/usr/bin/env python3
"""test_kinks.py NONHOLO: functions that are not smooth. A run that loses its order at a kink, or steps over one, says so;
other runs have no remark. A quantity is not called conserved if a branch changes it in which no state near the start lies."""

import math
import sys

from harness import Program, cases_in_folders, check, run_all, same

OSCILLATOR = """model oscillator
coordinate x
lagrangian x'^2/2 - x^2/2
force x = FORCE
start x = 1.5, x' = V
"""


def write(folder, force, v=0.0, extra=""):
    path = f"{folder}/model.nh"
    with open(path, "w", encoding="utf-8") as f:
        f.write(OSCILLATOR.replace("FORCE", force).replace("V", str(v)) + extra)
    return path


def end_of(program, path, *how):
    found = program.json("run", path, "--time", 10, *how)
    return found["q"][0], [r for r in found["remarks"] if "kink" in r]


FIXED = ["--step", "0.05", "--method"]
LOST = [  # a force, and methods that lose their order by it
    ("-0.3*sign(x')", ["rk4", "dop853"]),
    ("-if(x < 0.7, 0.3*x', 0)", ["gauss:stages=3", "dop853", "rk4"]),
    ("-min(x, 0.31)", ["gauss:stages=3", "dop853"]),
    ("-abs(x - 0.2)", ["gauss:stages=3", "dop853"]),
    ("-sqrt((x - 0.2)^2)", ["gauss:stages=3", "dop853"]),
    ("0.2*atan2(x + 0.1, -1 - x^2)", ["gauss", "rk4", "dop853"]),
]
OF_TIME = [  # a force that changes at known times, and when and by how much
    ("if(t > 3.01, 0.2, 0)", [(3.01, 0.2)]),
    ("if(t > 3, 0.2, 0)", [(3, 0.2)]),
    ("if(t > 5, if(t < 5.01, 50, 0), 0)", [(5, 50), (5.01, -50)]),
    ("if(5.013 > t, 0, 2) - if(t > 5.0133, 2, 0)", [(5.013, 2), (5.0133, -2)]),
    ("if(abs(t - 5.01111) < 0.0001, 50, 0)", [(5.01101, 50), (5.01121, -50)]),
    ("if(sin(9*t) > 0.9999, 9, 0)", [((math.pi/2 + 2*math.pi*k + side*math.acos(0.9999))/9, -9*side) for k in range(15) for side in (-1, 1)]),
    ("sign(sin(3*t + 0.2))", [(0, 1)] + [((k * math.pi - 0.2) / 3, 2 * (-1) ** k) for k in range(1, 10)]),
]
KEPT = [  # not crossed, crossed where steps end, or smooth enough for the method
    ("-0.01*abs(x + 9)*x'", ["gauss", "gauss:stages=3", "rk4", "dop853"]),
    ("-0.01*max(x, -20)*x'", ["gauss", "gauss:stages=3", "rk4", "dop853"]),
    ("if(t > 3, 0.2, 0)", ["gauss", "gauss:stages=3"]),
    ("-0.3*abs(x)^3*x", ["gauss", "rk4"]),
]


def orders_that_are_lost_are_told(program, folder):
    for force, methods in LOST:
        for method in methods:
            _, remarks = end_of(program, write(folder, force), *FIXED, method)
            same(len(remarks), 1, f"{force}, {method}: remarks")
            check("(line 4)" in remarks[0] or "sqrt" in force or "atan2" in force, remarks[0])
            check("event" in remarks[0] and "dop853" in remarks[0], "what to try")


def orders_that_are_kept_are_not_told(program, folder):
    for force, methods in KEPT:
        for method in methods:
            same(end_of(program, write(folder, force), *FIXED, method)[1], [], f"{force}, {method}: remarks")


def own_steps_meet_kinks(program, folder):
    """Within 1000 times the tolerance of solutions in pieces, or a remark: the last force acts for less than a step."""
    exact = 1.5 * math.cos(10) + 50 * (math.cos(4.99) - math.cos(5))
    for force, _ in LOST + KEPT:
        path = write(folder, force)
        (rough, said), (fine, _) = (end_of(program, path, "--tolerance", x) for x in ("1e-7", "1e-11"))
        check(abs(rough - fine) < 1e-4 or said, f"{force}: {rough} and {fine}, silently")
    path = write(folder, "if(x + t > 5, if(x + t < 5.0001, 50, 0), 0)")
    said = end_of(program, path, "--tolerance", "1e-9")[1]
    check(not said or "event" in said[0], said)
    path = write(folder, "if(t > 5, if(t < 5.01, 50, 0), 0)")
    with open(path, "a", encoding="utf-8") as f:  # what a remark advises
        f.write("event on: t - 5\nevent off: t - 5.01\nwhen on: x' = x'\nwhen off: x' = x'\n")
    for how in (["--tolerance", "1e-9"], [*FIXED, "gauss:stages=3"]):
        x, said = end_of(program, path, *how)
        check(abs(x - exact) < 1e-7 and not said, f"events: {x}, {exact}, {said}")


def steps_are_cut_at_known_times(program, folder):
    """A switch inside a step, at its end and twice in it: the order is kept, and nothing is said. Measured: 2e-12 for dop853
    with steps of 0.05, 4e-9 with tolerance 1e-9, on both backends, and 12 to 17 times less for half the step of rk4."""
    for force, changes in OF_TIME:
        path = write(folder, force)
        exact = 1.5 * math.cos(10) + sum(size * (1 - math.cos(10 - at)) for at, size in changes)
        for how, most in ((["--step", "0.05", "--method", "dop853"], 1e-11), (["--tolerance", "1e-9"], 2e-8),
                          (["--step", "0.1", "--method", "gauss:stages=5"], 1e-11), (["--step", "0.3", "--method", "verner98"], 1e-7),
                          (["--step", "0.05", "--method", "verner98", "--backend", "compiled"], 1e-11),
                          (["--tolerance", "1e-11", "--method", "dopri5", "--backend", "compiled"], 1e-9)):
            x, said = end_of(program, path, *how)
            check(abs(x - exact) < most and not said, f"{force}, {how}: off by {x - exact}, {said}")
        errors = [abs(end_of(program, path, "--step", h, "--method", "rk4")[0] - exact) for h in (0.1, 0.05, 0.025)]
        check(all(12 < a / b < 20 for a, b in zip(errors, errors[1:])), f"{force}: order of rk4, {errors}")


def chattering_ends_and_is_named(program, folder):
    """A jump of the force that holds the motion: the run ends within a second of processor time, with what was computed."""
    for force, start, name in (("-0.3*sign(x')", 1.05, "x'"), ("-0.3*sign(x')", 2, "x'"),
                               ("x - 3*sign(x + x')", 1, "x"), ("-if(x' > 0, 1, -1)*0.4", 1.3, "x'")):
        path = write(folder, force)
        for how in ([], ["--tolerance", "1e-5"], ["--method", "dopri5"], ["--method", "verner98", "--backend", "compiled"]):
            table = f"{folder}/rows.csv"
            done = program("run", path, "--start", f"x={start}", "--time", 20, *how, "-o", table, processor=20)
            if how[:1] == ["--tolerance"] and done.returncode == 0:
                continue  # so coarse that it creeps over the jump in a few thousand steps
            same(done.returncode, 1, f"{force}, {how}: {done.stdout}")
            check("chatters" in done.stderr and "(line 4)" in done.stderr and name in done.stderr and "tanh" in done.stderr, done.stderr)
            with open(table, encoding="utf-8") as rows:
                check(len(rows.readlines()) >= 2, "rows are kept")
        for method in ("gauss", "newmark", "lobatto-abd"):  # their equations have no solution across the jump
            done = program("run", path, "--start", f"x={start}", "--time", 20, *FIXED, method)
            check(done.returncode == 0 or f"{name} = 0 (line 4)" in done.stderr, f"{force}, {method}: {done.stderr}")
    for force in ("-1e8*x - 1e7*abs(x)", "-0.3*tanh(x'/1e-3)", "-0.1*sign(x')*x'^2"):  # many short steps, and friction that stops
        done = program("run", write(folder, force), "--time", 2, "--every-time", 1)
        check("chatters" not in done.stderr, done.stderr)


def chattering_at_rest_and_in_two_directions(program, folder):
    """Held from the start, where the condition never was larger, and friction -v/norm(v), which no sign tells: both went on for
    minutes."""
    held = write(folder, "-sign(x') + 0.9*x")
    plane = f"{folder}/plane.nh"
    with open(plane, "w", encoding="utf-8") as file:
        file.write("model plane\ncoordinate x, y\nlagrangian (x'^2 + y'^2)/2\ndissipation 0.5*norm((x', y'))\nstart x' = 1, y' = 0.3\n")
    for path, method in ((held, "dopri5"), (held, "dop853"), (plane, "dop853"), (plane, "dopri5"), (plane, "verner98")):
        done = program("run", path, "--method", method, "--time", 10, *(["--start", "x=1"] * (path == held)), processor=20)
        same((done.returncode, "chatters" in done.stderr), (1, True), f"{path}, {method}: {done.stderr}")
    fast = "model fast\ncoordinate x, y\nlagrangian (x'^2 + y'^2)/2 - 1e10*(x + 0.3)^2/2 - 1e8*abs(y)\nstart x = 1, y = 0.01\n"
    done = program("run", "-", "--method", "dop853:tolerance=1e-8", "--step", 0.1, "--time", 0.3, input=fast)
    same((done.returncode, "chatters" in done.stderr), (0, False), done.stderr)


PULSES = (  # forces that are zero, or too small for a number, in every state tried near the start
    "300*exp(-((t - 5)/0.001)^2)", "tanh((t - 5)/0.001) - tanh((t - 5.1)/0.001)", "-x'*exp(-((x - 50)/0.001)^2)", "1/cosh((t - 5)/0.001)^2",
    "100*(tanh((t - 1.701)/5e-7) - tanh((t - 1.707)/5e-7))", "2^(-((t - 5)/0.001)^2)", "-x'/(1 + exp(-(x - 70)/0.001))", "(x/1e4)^101")
IN_A_PLANE = (  # the lagrangian and the force, and what is conserved
    ("- exp(-((x - 7)/0.002)^2)", "", ["energy", "momentum of y'"]), ("- 0.3*tanh((x - 70)/0.001)", "", ["energy", "momentum of y'"]),
    ("- 10*exp(-((x^2 + y^2 - 50)/0.01)^2)", "", ["energy", "momentum of x*y' - y*x'"]), ("- (x/1e4)^100", "", ["energy", "momentum of y'"]),
    ("", "force x = 300*exp(-((x - 7)/0.002)^2)", ["momentum of y'"]), ("", "force x = y' + exp(-((t - 5)/0.001)^2), y = -x'", []),
    ("", "force x = y'*exp(-((x - 7)/0.001)^2), y = -x'*exp(-((x - 7)/0.001)^2)", ["energy"]),
    ("", "dissipation exp(-((x - 9)/0.001)^2)*(x'^2 + y'^2)", []))


def pulses_that_nobody_met_change_momenta(program, folder):
    path = f"{folder}/plane.nh"
    for potential, force, expected in IN_A_PLANE:
        with open(path, "w", encoding="utf-8") as f:
            f.write(f"model plane\ncoordinate x, y\nlagrangian (x'^2 + y'^2)/2 {potential}\n{force}\nstart x' = 1, y = 1, y' = 0.5\n")
        same(conserved(program, path), expected, potential + force)


def pulses_change_the_energy_of_a_run(program, folder):
    """A method that projects onto the energy lost the kick; and a wall whose factor, (1e-4)^100, is no number was not there."""
    path = write(folder, "300*exp(-((t - 1.5123)/0.002)^2)")
    kick = 300 * 0.002 * math.sqrt(math.pi)
    x, _ = end_of(program, path, "--step", 0.0005)
    check(abs(x - (1.5 * math.cos(10) + kick * math.exp(-1e-6) * math.sin(10 - 1.5123))) < 1e-8, x)
    path = f"{folder}/wall.nh"
    for wall in ("(x/1e4)^100", "exp(100*log(x/1e4))", "((x/1e4)^10)^10", "(x/1e4)^60*(x/1e4)^40"):
        with open(path, "w", encoding="utf-8") as f:
            f.write(f"model wall\ncoordinate x\nlagrangian x'^2/2 - {wall}\nstart x = 9.9e3, x' = 30\n")
        x = program.json("run", path, "--time", 20)["q"][0]
        check(abs(x - 10485.588588972923) < 1e-5, f"{wall}: {x}")  # in quadruple precision


def conserved(program, path):
    return program.json("check", path)["conserved"]


def nothing_is_conserved_that_a_branch_changes(program, folder):
    for force in ("-if(x > 30, 0.5*x', 0)", "if(t > 5, if(t < 5.01, 50, 0), 0)", "-max(0, x - 1e6)*x'"):
        same(conserved(program, write(folder, force)), [], force)
    for force in PULSES:
        same(conserved(program, write(folder, force)), [], force)
    same(conserved(program, write(folder, "-x")), [], "a force along x, which is no potential to nonholo")
    path = f"{folder}/free.nh"
    with open(path, "w", encoding="utf-8") as f:
        f.write("model free\ncoordinate x, y\nlagrangian (x'^2 + y'^2)/2 - abs(y)\n"
                "force x = -if(x > 30, x', 0)\nstart x' = 5, y' = 1\n")
    same(conserved(program, path), [], "x and y")
    with open(path, "w", encoding="utf-8") as f:
        f.write("model free\ncoordinate x, y\nlagrangian (x'^2 + y'^2)/2 - abs(y)\nstart x' = 5, y' = 1\n")
    same(conserved(program, path), ["energy", "momentum of x'"], "a potential with a kink")
    with open(path, "w", encoding="utf-8") as f:
        f.write("model gyro\ncoordinate x, y\nlagrangian (x'^2 + y'^2)/2 - x^2 - y^2/3\n"
                "force x = (1 + sin(t))*y', y = -(1 + sin(t))*x'\nstart x' = 5, y' = 1\n")
    same(conserved(program, path), ["energy"], "a force that changes with time and does no work")


def main():
    return run_all(cases_in_folders(globals(), Program(sys.argv[1])))


if __name__ == "__main__":
    sys.exit(main())
