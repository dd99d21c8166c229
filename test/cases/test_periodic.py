#!/usr/bin/env python3
"""test_periodic.py NONHOLO: periodic motions that are known, of periodic.json, families of them, and what is refused.

A case has a model with its parameters ("set"), and what must be found: "period", "multipliers" as a set, their "trace", the angles
of those on the unit circle ("multiplier_angles_over_2pi"), the "turn" in a period of a motion that is periodic up to a symmetry,
the "state"; or, with a "parameter" and its "range", the "value" at a fold."""

import math
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "cli"))
sys.path.insert(0, HERE)
import table as tables  # noqa: E402
from harness import Program, cases_in_folders, check, run_all, same  # noqa: E402


def near(found, expected, tolerance, what):
    check(abs(found - expected) <= tolerance * (1 + abs(expected)), f"{what}: {found!r}, expected {expected!r}")


def is_near_set(found, expected, tolerance):
    rest = [complex(*pair) for pair in found]
    for value in (complex(*pair) for pair in expected):
        nearest = min(rest, key=lambda other: abs(other - value))
        near(nearest, value, tolerance, "multiplier")
        rest.remove(nearest)


def run_case(program, case):
    words = ["periodic", os.path.join(HERE, case["model"])]
    for name, value in case.get("set", {}).items():
        words += ["--set", f"{name}={value!r}"]
    if "turn" in case:
        words.append("--relative")
    if "parameter" in case:
        words += ["--follow", "{}={!r}:{!r}".format(case["parameter"], *case["range"])]
    found, tolerance = program.json(*words), case["tolerance"]
    if "parameter" in case:
        fold = min((point for point in found["points"] if point["kind"] == "fold"), key=lambda point: abs(point["value"] - case["value"]))
        near(fold["value"], case["value"], tolerance, "fold")
        for value, expected in zip(fold["state"].values(), case["state"]):
            near(value, expected, 1e-6, "state at the fold")  # along the family it moves like the root of the parameter
        return
    near(found["period"], case["period"], tolerance, "period")
    if "multipliers" in case:
        is_near_set(found["multipliers"], case["multipliers"], tolerance)
    if "trace" in case:
        near(found["trace"], case["trace"], tolerance, "trace")
    for angle in case.get("multiplier_angles_over_2pi", []):
        turns = [abs(math.atan2(im, re)) / (2 * math.pi) for re, im in found["multipliers"]]
        near(min(turns, key=lambda turn: abs(turn - angle)), angle, 1e-7, "rotation number")
    if "turn" in case:
        near(sum(found["shifts"].values()), case["turn"], tolerance, "turn")
    if isinstance(case.get("state"), list):
        for value, expected in zip(found["state"].values(), case["state"]):
            near(value, expected, tolerance, "state")


def write(folder, text):
    path = os.path.join(folder, "machine.nh")
    with open(path, "w") as file:
        file.write(text)
    return path


def constraints(program, folder):
    """A coin that rolls and rocks comes back up to a turn and a shift; multipliers come in pairs and six are 1."""
    found = program.json("periodic", "rolling-coin", "--relative")
    check(found["residual"] < 1e-11, f"{found['residual']}")
    others = [complex(*pair) for pair in found["multipliers"] if pair != [1, 0]]
    same((len(found["multipliers"]), len(others), len(found["shifts"])), (8, 2, 4))
    near(abs(others[0]), 1, 1e-9, "on the unit circle")
    run = program.json("run", "rolling-coin", "--time", repr(found["period"]), "--tolerance", "1e-12")
    names = list(found["state"])
    for name in ("theta", "theta'", "psi'"):
        at = names.index(name)
        end = (run["q"] + run["v"])[at]
        near(end, found["state"][name], 1e-9, name)


def rotation(program, folder):
    """A free symmetric body precesses: its attitude comes back up to a turn about the fixed axis and about its own."""
    model = write(folder, "model free\nrotation R\nlet w = body(R)\nlagrangian (w[1]^2 + w[2]^2 + 1.5*w[3]^2)/2\n"
                          "start R = turn((1, 0, 0), 0.4)\nstart body(R) = (0.3, 0.5, 1.2)\n")
    found = program.json("periodic", model, "--relative", "--period", "3")
    check(found["residual"] < 1e-11, f"{found['residual']}")


def units_of_time_and_length(program, folder):
    """A pendulum and a spring in other units have the same multipliers; those of a fast motion were -2.5 and 1, and a motion of
    1e-9 was closed to within 1e-12 wherever it ended."""
    model = write(folder, "model pend\nparameter k = 1, s = 1\ncoordinate x, y\n"
                  "lagrangian (x'^2 + y'^2)/2 + k*s^2*cos(x/s) - 2.3*k*y^2/2\nstart x = s\n")
    plain = program.json("periodic", model, "--period", 6.6)
    for unit, length in ((1e3, 1), (1e6, 1), (1e9, 1), (1e-6, 1), (1, 1e-9), (1e5, 1e-6), (1e3, 1e4)):
        found = program.json("periodic", model, "--set", f"k={unit**2!r},s={length!r}", "--period", 6.6 / unit)
        near(found["period"] * unit, plain["period"], 1e-9, f"period, {unit}, {length}")
        is_near_set(found["multipliers"], plain["multipliers"], 1e-6)
    guessed = program.json("periodic", model, "--set", "k=1e12")
    near(guessed["period"] * 1e6, plain["period"], 1e-9, "period that was not given")


def doublings(program, folder):
    """The lower rest of a pendulum whose support moves up and down loses its stability where Mathieu's equation does: with
    x'' + (a - 2 q cos 2t) x = 0, at a = 1 - q - q^2/8 + q^3/64 + ... for the period 2 pi of the solution."""
    model = os.path.join(HERE, "models", "mathieu.nh")
    found = program.json("periodic", model, "--set", "q=0.2,a=1", "--follow", "a=0.5:1.3")
    values = sorted(point["value"] for point in found["points"])
    kinds = {point["kind"] for point in found["points"]}
    same(kinds, {"period-doubling"})
    series = lambda q: 1 - q - q**2 / 8 + q**3 / 64 - q**4 / 1536 - 11 * q**5 / 36864
    same(len(values), 2)
    near(values[0], series(0.2), 1e-7, "lower end")
    near(values[1], series(-0.2), 1e-7, "upper end")


def section_and_rest(program, folder):
    model = os.path.join(HERE, "models", "periodic-pendulum.nh")
    near(program.json("periodic", model, "--section", "rest")["period"], 8.349752926918494, 1e-10, "period")
    done = program("periodic", model, "--start", "a=0")
    same(done.returncode, 1, done.stderr)
    check("a rest" in done.stderr and "linearise" in done.stderr, done.stderr)


def refused(program, folder):
    def said(code, *arguments):
        done = program("periodic", *arguments)
        same(done.returncode, code, done.stderr)
        return done.stderr

    duffing = os.path.join(HERE, "models", "duffing.nh")
    check("no parameter 'rat'" in said(2, duffing, "--follow", "rat=1:2"), "parameter")
    check("not between" in said(2, duffing, "--follow", "rate=2:3"), "the first value")
    check("NAME=a:b" in said(2, duffing, "--follow", "rate=2:1"), "range")
    check("--follow" in said(2, duffing, "--plot", "x.svg"), "picture")
    falling = write(folder, "model falling\ncoordinate x\nlagrangian x'^2/2 - x\nstart x' = 1\n")
    check("does not come back" in said(1, falling), "falling")
    pulsed = write(folder, "model pulsed\ncoordinate x\nlagrangian (x'^2 - x^2)/2\nforce x = t\n")
    check("--period" in said(2, pulsed), "no period")


def main():
    program = Program(sys.argv[1])
    if "no LAPACK" in program("--version").stdout:
        print("skipped: this build has no LAPACK")
        return 77
    cases = tables.read(os.path.join(HERE, "periodic.json"))["cases"]
    tests = [(case["id"], lambda case=case: run_case(program, case)) for case in cases]
    return run_all(tests + cases_in_folders(globals(), program))


if __name__ == "__main__":
    sys.exit(main())
