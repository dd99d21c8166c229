#!/usr/bin/env python3
"""test_holonomic.py NONHOLO: holonomic conditions written as constraints on velocities.

Formerly, compare rated best a method that loses 4 mm of a linkage with sides of 30 to 80 cm; it was the recommended method, and
there was no remark."""

import math
import os
import sys

from harness import Program, cases_in_folders, check, run_all, same

LINKAGE = """model linkage
coordinate a, b, c angle
lagrangian a'^2/20 + b'^2/10 + 3*c'^2/40 + a'*b'*cos(a - b)/20 - 0.3*sin(a) - 0.2*sin(b)
constraint across: 0.3*sin(a)*a' + 0.8*sin(b)*b' - 0.6*sin(c)*c' = 0
constraint along: 0.3*cos(a)*a' + 0.8*cos(b)*b' - 0.6*cos(c)*c' = 0
start a = 1, b = 0.3, c = 1.2
start a' = 6
"""


def linkage(t, q):
    a, b, c = q
    x = 0.3 * math.cos(a) + 0.8 * math.cos(b) - 0.6 * math.cos(c)
    y = 0.3 * math.sin(a) + 0.8 * math.sin(b) - 0.6 * math.sin(c)
    return x, y


WIRE = """model wire
coordinate x, y
lagrangian (x'^2 + y'^2)/2 - y - x^2/2
constraint exp(x/2)*(y' - cos(x)*x') = 0
start x = 1, y = 0
"""


def wire(t, q):  # times the integrating factor
    return (math.exp(q[0] / 2) * (q[1] - math.sin(q[0]) + math.sin(1)),)


LIFT = """model lift
coordinate x, y
lagrangian (x'^2 + y'^2)/2 - y - x^2/2
constraint y' - cos(x)*x' = 0.3
start x = 1, y' = 0.3
"""


def lift(t, q):
    return (q[1] - math.sin(q[0]) - 0.3 * t,)


TOGETHER = """model together
coordinate x, y, z
lagrangian (x'^2 + y'^2 + z'^2 + x'*y'*sin(z))/2 - x^2/2 - y - cos(2*z)
constraint (2 + cos(y))*z' + x*(y' - cos(x)*x') = 0
constraint y' - cos(x)*x' = 0
start x = 1, x' = 0.5, y' = 0.5*cos(x)
"""


def together(t, q):  # only both of them are integrable: z stays where it is, and y = sin(x) + constant
    return (2 + math.cos(q[1])) * q[2] + q[0] * (q[1] - math.sin(q[0]) + math.sin(1)), q[1] - math.sin(q[0])


SYSTEMS = {"linkage": (LINKAGE, linkage), "wire": (WIRE, wire), "lift": (LIFT, lift), "together": (TOGETHER, together)}
NAME = "integrated constraints"


def write(folder, name, text):
    path = os.path.join(folder, name + ".nh")
    with open(path, "w") as file:
        file.write(text)
    return path


def start_of(program, path):
    return program.json("run", path, "--project", "--method", "gauss", "--step", 1, "--steps", 0)["q"]


def drifts_are_those_of_the_formulas(program, folder):
    for name, (text, formula) in SYSTEMS.items():
        path = write(folder, name, text)
        before = formula(0, start_of(program, path))
        words = ("--project", "--step", 0.05, "--time", 20)
        for method in ("gauss:stages=1", "newmark", "gauss:stages=2"):
            run = program.json("run", path, "--method", method, *words, "--quiet", "--no-estimate")
            true = max(abs(a - b) for a, b in zip(formula(run["t"], run["q"]), before))
            (found,) = program.json("compare", path, "--methods", method, *words)["methods"]
            error = found["errors"][NAME]
            check(abs(error["last"] - true) < 0.03 * true + 1e-9, f"{name}, {method}: {error['last']}, not {true}")
            check(error["max"] >= error["last"], f"{name}, {method}: {error}")


def verdicts_see_the_drift(program, folder):
    path = write(folder, "linkage", LINKAGE)
    found = program.json("compare", path, "--project", "--methods", "discrete-gradient,gauss:stages=3", "--step", 0.02, "--time", 50)
    one, other = (m["errors"] for m in found["methods"])
    same((one["energy"]["verdict"], one["constraints"]["verdict"], one[NAME]["verdict"]), ("round-off", "round-off", "linear drift"))
    check(abs(one[NAME]["max"] - 4.46e-3) < 1e-4, one[NAME])
    check(other[NAME]["max"] < 1e-8, other[NAME])
    same(found["quantities"][-2:], ["constraints", NAME])


def advice_looks_at_positions(program, folder):
    for name, (text, _) in SYSTEMS.items():
        facts = program.json("check", write(folder, name, text), "--project")
        same((facts["integrable"], facts["advised"]), (True, "gauss:stages=3"), name)
        check("holonomic" in facts["advised_because"], facts["advised_because"])
    # x + sum of z^2/2 is a polynomial of second degree, which methods with a midpoint preserve
    same(program.json("check", "chaotic-particle-holonomic")["advised"], "discrete-gradient")
    same(program.json("check", "rolling-disk")["advised"], "discrete-gradient")


def runs_remark_on_it(program, folder):
    for name, (text, _) in SYSTEMS.items():
        path = write(folder, name, text)
        words = ("run", path, "--project", "--time", 20, "--no-estimate")
        said = program.json(*words, "--method", "gauss:stages=1", "--step", 0.2)["remarks"]
        check(any("that they imply drifts by" in text and "of its size" in text for text in said), f"{name}: {said}")
        said = program.json(*words, "--method", "gauss:stages=3", "--step", 0.02)["remarks"]
        same([text for text in said if "drifts" in text], [], name)


def others_have_no_such_column(program, folder):
    for model in ("rolling-disk", "pendulum-cvt", "knife-edge"):
        found = program.json("compare", model, "--methods", "gauss", "--step", 0.1, "--time", 30)
        check(NAME not in found["quantities"], f"{model}: {found['quantities']}")
    found = program.json("compare", "chaotic-particle-holonomic", "--methods", "gauss,dla01", "--step", 0.1, "--time", 100)
    kept, lost = (m["errors"][NAME] for m in found["methods"])
    same(kept["verdict"], "round-off")
    check(lost["max"] > 1e-4, lost)


def units_do_not_matter(program, folder):
    """The size relative to which drifts are measured grows with the length; the verdicts are the same."""
    text = """model scaled
parameter L = 1
coordinate x, y
lagrangian (x'^2 + y'^2)/2 - L*y - x^2/2
constraint y' - cos(x/L)*x' = 0
start x = L
"""
    path, base = write(folder, "scaled", text), None
    for length in (1, 1e-9, 1e9):
        words = ("compare", path, "--set", f"L={length}", "--methods", "gauss:stages=1,gauss:stages=3", "--step", 0.05, "--time", 20)
        found = program.json(*words)["methods"]
        told = [(m["errors"][name]["verdict"]) for m in found for name in ("energy", "constraints", NAME)]
        size = found[0]["errors"][NAME]["max"] / length
        base = base or (told, size)
        same(told, base[0], f"L = {length}")
        check(abs(size / base[1] - 1) < 1e-6, f"L = {length}: {size}, not {base[1]}")


def main():
    return run_all(cases_in_folders(globals(), Program(sys.argv[1])))


if __name__ == "__main__":
    sys.exit(main())
