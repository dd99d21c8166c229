#!/usr/bin/env python3
"""test_lyapunov.py NONHOLO: exponents of motions for which they are known, of lyapunov.json, and what is refused.

A case has a model, its parameters ("set") and start values, the time, and the largest "exponent" with its "tolerance";
"sum": that of all exponents; "megno"."""

import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "cli"))
sys.path.insert(0, HERE)
import table as tables  # noqa: E402
from harness import Program, cases_in_folders, check, run_all, same  # noqa: E402


def near(found, expected, tolerance, what):
    check(abs(found - expected) <= tolerance, f"{what}: {found!r}, expected {expected!r} within {tolerance}")


def run_case(program, case):
    model = case["model"]
    words = ["lyapunov", os.path.join(HERE, model) if model.endswith(".nh") else model, "--time", repr(case["time"])]
    for name, value in case.get("set", {}).items():
        words += ["--set", f"{name}={value!r}"]
    if "start" in case:
        words += ["--start", ",".join(f"{name}={value!r}" for name, value in case["start"].items())]
    found = program.json(*words)
    near(found["exponents"][0], case["exponent"], case["tolerance"], "exponent")
    near(found["exponents"][0], case["exponent"], max(3 * found["bars"][0], case["tolerance"] / 3), "exponent within its bar")
    if abs(case["exponent"]) > 0.01:
        check(found["bars"][0] <= 0.1 * abs(case["exponent"]) and found["converged"], f"bar {found['bars'][0]}")
    if "sum" in case:
        near(found["sum"], case["sum"], case["sum_tolerance"], "sum")
    if "megno" in case:
        near(found["megno"], case["megno"], case["megno_tolerance"], "MEGNO")


def constraints(program, folder):
    """A sleigh that runs straight ahead: no exponents for the directions that its constraint excludes; the turning decays at
    m a u/(J + m a^2), and neither the positions nor the speed grow."""
    found = program.json("lyapunov", "chaplygin-sleigh", "--count", "all", "--time", "400",
                         "--start", "x1'=1,x2'=0,theta'=0,theta=0")
    same((found["dimension"], len(found["exponents"])), (5, 5))
    near(found["exponents"][-1], -1 / 9, 2e-3, "decay")
    check(all(abs(value) < 0.02 for value in found["exponents"][:-1]), f"{found['exponents']}")


def rotations(program, folder):
    """A body that turns about its middle axis leaves it at the rate of Euler's equations; three directions for a rotation."""
    model = os.path.join(folder, "middle.nh")
    with open(model, "w") as file:
        file.write("model middle\nrotation R\nlet w = body(R)\nlagrangian (w[1]^2 + 2*w[2]^2 + 3*w[3]^2)/2\nstart body(R) = (0, 2, 0)\n")
    found = program.json("lyapunov", model, "--time", "20", "--method", "dop853", "--step", "0.01")
    same(found["dimension"], 6)
    tilted = program.json("lyapunov", "heavy-top", "--count", "all", "--time", "100")  # its start is no turn by zero
    same(tilted["dimension"], 6)
    near(tilted["sum"], 0, 1e-8, "volume")  # found 6e-10
    near(found["exponents"][0], 2 * (1 * 1 / (1 * 3)) ** 0.5, 1e-3, "the middle axis")


def refused(program, folder):
    def said(code, *arguments):
        done = program("lyapunov", *arguments)
        same(done.returncode, code, done.stderr)
        return done.stderr

    check("--time T" in said(2, "pendulum-cvt"), "time")
    check("5 exponents within its constraints, not 6" in said(2, "pendulum-cvt", "--time", "100", "--count", "6"), "count")
    check("'all'" in said(2, "pendulum-cvt", "--time", "100", "--count", "some"), "word")
    check("too few" in said(2, "pendulum-cvt", "--time", "1", "--step", "0.1"), "steps")


def picture(program, folder):
    path = os.path.join(folder, "exponents.svg")
    done = program("lyapunov", "pendulum-cvt", "--time", "200", "--count", "2", "--megno", "--plot", path)
    same(done.returncode, 0, done.stderr)
    check("MEGNO" in done.stdout and os.path.getsize(path) > 1000, done.stdout)


def main():
    program = Program(sys.argv[1])
    if "no LAPACK" in program("--version").stdout:
        print("skipped: this build has no LAPACK")
        return 77
    cases = tables.read(os.path.join(HERE, "lyapunov.json"))["cases"]
    tests = [(case["id"], lambda case=case: run_case(program, case)) for case in cases]
    return run_all(tests + cases_in_folders(globals(), program))


if __name__ == "__main__":
    sys.exit(main())
