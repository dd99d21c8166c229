#!/usr/bin/env python3
"""test_precise.py NONHOLO: nonholo run --precision quad, against exact solutions in decimals and against itself."""

import csv
import json
import math
import sys
from decimal import Decimal, DefaultContext

from harness import Program, cases_in_folders, check, run_all, same

DefaultContext.prec = 45  # that of threads begun from here on

SKATE = """model skate
parameter w = 0.7, slope = 1/3, m = 1.3, J = 0.1
coordinate x, y
coordinate theta angle
lagrangian m/2*(x'^2 + y'^2) + J/2*theta'^2 + m*slope*sin(pi/6)*x
constraint x'*sin(theta) = y'*cos(theta)
start theta' = w
"""


def write(folder, name, text):
    with open(folder + "/" + name, "w") as file:
        file.write(text)


def precisely(program, folder, *line):
    done = program("run", *line, "--precision", "quad", "--json", "--quiet", cwd=folder)
    if done.returncode != 0 and "libquadmath" in done.stderr:
        print("skipped: no numbers of quadruple precision")
        sys.exit(77)
    same(done.returncode, 0, done.stderr)
    return json.loads(done.stdout, parse_float=Decimal)


def sine(x):
    term, total, k = x, x, 1
    while abs(term) > Decimal("1e-44"):
        term *= -x * x / ((k + 1) * (k + 2))
        total += term
        k += 2
    return total


def apart(a, b):
    return max(abs(Decimal(x) - Decimal(y)) for x, y in zip(a, b, strict=True))


def known_motion(program, folder):
    """A skate on a slope: constants of the model, the method's coefficients and the functions have all their digits."""
    write(folder, "skate.nh", SKATE)
    t, w, g = Decimal(3), Decimal("0.7"), Decimal(1) / 6
    exact = [g / (2 * w * w) * sine(w * t) ** 2, g / (2 * w * w) * (w * t - sine(2 * w * t) / 2), w * t]
    for method, bound in (("reference", "1e-27"), ("gauss:stages=10 --step 0.1", "1e-32"), ("verner98 --tolerance 1e-27", "1e-25"),
                          ("verner98 --step 0.001", "1e-27"), ("dop853 --tolerance 1e-22", "1e-20")):
        found = precisely(program, folder, "skate.nh", "--time", "3", "--method", *method.split())
        check(apart(found["q"], exact) < Decimal(bound), f"{method}: {apart(found['q'], exact)}")  # measured: 60 to 1000 times less
        check(found["constraint_max"] < Decimal("1e-31"), f"{method}: {found['constraint_max']}")
        same((found["t"], found["precision"]), (3, "quad"))


def orders(program, folder):
    """Below what doubles can show: at errors of 1e-24 to 1e-28."""
    write(folder, "oscillator.nh", "model oscillator\ncoordinate x\nlagrangian x'^2/2 - x^2/2\nstart x = 1\n")
    for model, method, time, steps in (("pendulum-cvt", "gauss:stages=2", "0.01", 3200), ("pendulum-cvt", "gauss:stages=3", "0.1", 512),
                                       ("oscillator.nh", "gauss:stages=8", "8", 16), ("pendulum-cvt", "verner98", "0.125", 32),
                                       ("pendulum-cvt", "rk4", "0.001", 1600), ("pendulum-cvt", "lobatto-ab:stages=4", "0.01", 125)):
        line = [model, "--time", time, "--method"]
        exact = precisely(program, folder, *line, "gauss:stages=12", "--step", str(Decimal(time) / 32))

        def error(count):
            found = precisely(program, folder, *line, method, "--step", str(Decimal(time) / count), "--every", str(count))
            return apart(found["q"] + found["v"], exact["q"] + exact["v"])

        coarse, fine = error(steps), error(2 * steps)
        order = math.log2(coarse / fine)
        expected = {"rk4": 4, "lobatto-ab:stages=4": 6, "verner98": 9}.get(method) or 2 * int(method[-1])
        print(f"{method}: {coarse:.1e}, order {order:.4f}")
        check(abs(order - expected) < 0.02, f"{method}: order {order} between errors of {coarse} and {fine}")


def decimals(program, folder):
    """What is written is meant: 1/3 and 0.1 in the model, after --set and --start; a CSV file has the same digits."""
    write(folder, "free.nh", "model free\nparameter a = 0.1\ncoordinate x, y, z\nlagrangian (x'^2 + y'^2 + z'^2)/2\n"
                             "start x = a/3, y = sqrt(2), z = 0.1234567890123456789012345678901234\nstart x' = pi, y' = 1 - 0.9\n")
    line = ["free.nh", "--step", "0.1", "--steps", "3", "--method", "rk4", "--set", "a=0.2", "--start", "y'=0.3", "-o", "free.csv"]
    found = precisely(program, folder, *line)
    with open(folder + "/free.csv", newline="") as file:
        rows = [{name: Decimal(x) for name, x in row.items()} for row in csv.DictReader(file)]
    same([row["t"] for row in rows], [Decimal(i) / 10 for i in range(4)])
    exact = [Decimal("0.2") / 3, Decimal(2).sqrt(), Decimal("0.1234567890123456789012345678901234")]
    check(apart([rows[0][name] for name in "xyz"], exact) < Decimal("1e-33"), rows[0])
    pi = Decimal("3.14159265358979323846264338327950288")
    check(apart([rows[0][name] for name in ("x'", "y'")], [pi, Decimal("0.3")]) < Decimal("1e-33"), rows[0])
    same([rows[3][name] for name in "xyz"], found["q"])
    check(abs(rows[3]["x"] - exact[0] - pi * Decimal("0.3")) < Decimal("1e-32"), rows[3])


def projections(program, folder):
    """A start that is moved to the constraints satisfies them to all digits, and is where doubles find it."""
    for model, start in (("rolling-coin", "x'=1"), ("ball-in-bowl", None), ("rolling-coin-rotation", None), ("pendulum-cvt", "x'=0.3")):
        line = [model, "--step", "0.1", "--steps", "0", "--method", "gauss", "--project"] + (["--start", start] if start else [])
        fine, plain = precisely(program, folder, *line), program.json("run", *line, cwd=folder)
        check(fine["constraint_max"] < Decimal("1e-31"), f"{model}: {fine['constraint_max']}")
        check(apart(fine["q"] + fine["v"], plain["q"] + plain["v"]) < Decimal("1e-13"), f"{model}: {fine['v']} {plain['v']}")


def agrees_with_doubles(program, folder):
    """Columns and end states of models of all kinds; the shorter last step; named observables."""
    for model in ("rattleback-rotation", "chaplygin-ball", "closed-chain", "suslov", "driven-sleigh", "tractor-trailers"):
        line = [model, "--step", "0.01", "--time", "0.035", "--method", "gauss", "--every", "1", "-o", "-"]
        plain, fine = program("run", *line, cwd=folder), program("run", *line, "--precision", "quad", cwd=folder)
        same(fine.returncode, 0, fine.stderr)
        one, two = (list(csv.reader(done.stdout.splitlines()[:6])) for done in (plain, fine))
        same(one[0], two[0], model)
        for a, b in zip(one[1:], two[1:], strict=True):
            check(apart(a, b) < Decimal("1e-10"), f"{model}: {a} {b}")


def states_at_times(program, folder):
    """Where to record does not decide how accurate a run is."""
    line = ["chaplygin-sleigh", "--time", "1"]
    whole = precisely(program, folder, *line, "--steps", "5")
    for more in (["--every-time", "0.25"], ["--every-time", "0.25", "--method", "verner98"]):
        check(apart(precisely(program, folder, *line, *more)["q"], whole["q"]) < Decimal("1e-24"), more)
    found = precisely(program, folder, "chaplygin-sleigh", "--times", "0:1:4", "-o", "times.csv")
    check(apart(found["q"], whole["q"]) < Decimal("1e-26"), found["q"])
    with open(folder + "/times.csv", newline="") as file:
        times = [Decimal(row["t"]) for row in csv.DictReader(file)]
    check(apart(times, [Decimal(i) / 3 for i in range(4)]) < Decimal("1e-33"), times)


def refusals(program, folder):
    for line, text in ((["rolling-coin", "--plot", "a.svg"], "--plot is not available with --precision quad"),
                       (["rolling-coin", "-o", "a.npy"], ".csv"),
                       (["rolling-coin", "--backend", "compiled"], "compiled kernels"),
                       (["rolling-coin", "--compose", "suzuki", "--method", "gauss", "--step", "0.1"], "--compose")):
        done = program("run", *line, "--precision", "quad", cwd=folder)
        same(done.returncode, 2, done.stderr)
        check(text in done.stderr, done.stderr)
    done = program("run", "rolling-coin", "--method", "reference", "--tolerance", "1e-20", cwd=folder)
    same(done.returncode, 2)
    check("--precision quad" in done.stderr, done.stderr)


sys.exit(run_all(cases_in_folders(globals(), Program(sys.argv[1]))))
