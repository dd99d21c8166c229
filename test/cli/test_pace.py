#!/usr/bin/env python3
"""test_pace.py NONHOLO: steps of symmetric methods that follow the pace of the motion, reversibly.

A coin that falls nearly flat and rises again: steps, error, way back, many falls; the model's own pace; bits on both
backends, in ensembles and after a checkpoint; steps of fixed length that are chosen."""

import os
import sys

from harness import Program, cases_in_folders, check, run_all, same

FALL = ("run", "rolling-coin", "--no-estimate", "--start", "theta=0.6, phi'=0.02, theta'=0, psi'=0, x'=0, y'=0")
PACED = ("--method", "gauss:stages=4,pace=0.2")
# Its own time scale is x^(3/2): a comet that passes the sun at a hundredth of its largest distance.
COMET = """model comet
coordinate x, y
let r = sqrt(x^2 + y^2)
lagrangian (x'^2 + y'^2)/2 + 1/r
pace r^(-3/2)
start x = 1, y' = 0.14
"""


def distance(a, b):
    return max(abs(x - y) for x, y in zip(a["q"] + a["v"], b["q"] + b["v"]))


def listed(numbers):
    return ",".join(repr(x) for x in numbers)


def model_file(folder, text):
    path = os.path.join(folder, "model.nh")
    with open(path, "w") as file:
        file.write(text)
    return path


def a_falling_coin(program, folder):
    exact = program.json(*FALL, "--method", "gauss:stages=6,pace=0.15", "--time", 20, "--steps", 4)
    found = program.json(*FALL, *PACED, "--time", 20, "--steps", 4)
    check(1000 < found["accepted"] <= 1300, f"{found['accepted']} steps")  # measured: 1255
    check(distance(found, exact) < 1e-7, f"error {distance(found, exact)}")  # measured: 1e-8
    check(found["energy_error_max"] < 1e-9 and found["constraint_max"] < 1e-12, "kept")  # 3e-11, 1e-18
    many = program.json(*FALL, *PACED, "--time", 20, "--steps", 100)
    same(many["accepted"], found["accepted"], "own steps do not depend on where states are wanted")
    own = program.json(*FALL, "--tolerance", 1e-9, "--time", 20, "--steps", 20)
    check(own["accepted"] <= 1200 and own["energy_error_max"] < 1e-14, f"{own['accepted']} steps")  # 1030, 8e-16


def there_and_back(program, folder):
    there = program.json(*FALL, *PACED, "--time", 20, "--steps", 2)
    start = program.json(*FALL, *PACED, "--time", 1e-9, "--steps", 1)
    turned = ("--q=" + listed(there["q"]), "--v=" + listed([-v for v in there["v"]]))
    back = program.json("run", "rolling-coin", "--no-estimate", *turned, *PACED, "--time", 20, "--steps", 2)
    back["v"] = [-v for v in back["v"]]
    check(distance(back, start) < 1e-6, f"back: {distance(back, start)}")  # measured: 2e-9


def the_models_own_pace(program, folder):
    path = model_file(folder, COMET)
    run = ("run", path, "--no-estimate", "--time", 40)
    exact = program.json(*run, "--tolerance", 1e-13)
    steps = {}
    for pace in (0.1, 0.05):
        found = program.json(*run, "--method", f"gauss:stages=3,pace={pace}", "--steps", 5)
        steps[pace] = found["accepted"], distance(found, exact)
    check(abs(steps[0.05][0] / steps[0.1][0] - 2) < 0.1, f"{steps}")
    check(30 < steps[0.1][1] / steps[0.05][1] < 130, f"order 6: {steps}")
    for method in ("lobatto-ab", "discrete-gradient", "dla01"):
        found = program.json(*run, "--method", f"{method}:pace=0.02", "--steps", 5)
        check(distance(found, exact) < 0.1, f"{method}: {distance(found, exact)}")


def same_bits(program, folder):
    path, other = os.path.join(folder, "a.csv"), os.path.join(folder, "b.csv")
    model = model_file(folder, COMET)
    common = ("run", model, "--no-estimate", "--method", "gauss:stages=2,pace=0.05", "--time", 10, "--steps", 40)
    tape = program.json(*common, "-o", path, "--backend", "tape")
    program.json(*common, "-o", other, "--backend", "compiled")
    same(open(path, "rb").read(), open(other, "rb").read(), "backends")
    program.json(*common, "-o", other, "--checkpoint", os.path.join(folder, "check"), "--checkpoint-every", 7)
    same(open(path, "rb").read(), open(other, "rb").read(), "checkpoint")
    members = os.path.join(folder, "members.csv")
    ensemble = ("ensemble", "rolling-coin", "--sweep", "m=1:3:3", "--method", "gauss:pace=0.1", "--time", 4, "--steps", 8)
    one = program.json("run", "rolling-coin", "--set", "m=2", "--method", "gauss:pace=0.1", "--time", 4, "--steps", 8)
    for threads in (1, 2):
        program.json(*ensemble, "--table", "members", "-o", members, "--threads", threads)
        with open(members) as file:
            names, *rows = [line.rstrip("\n").split(",") for line in file]
        first = names.index("t") + 1
        same([float(x) for x in rows[1][first : first + 10]], one["q"] + one["v"], f"{threads} threads")
    check(tape["accepted"] > 100, "own steps")


def a_pace_that_vanishes(program, folder):
    path = model_file(folder, COMET.replace("pace r^(-3/2)", "pace x - 2"))
    done = program("run", path, "--method", "gauss:pace=0.05", "--time", 4, "--steps", 4)
    same(done.returncode, 1)
    check("the pace of the motion is not a positive number there" in done.stderr, done.stderr)


def steps_that_are_chosen(program, folder):
    """Without a step a method of fixed steps takes one that suits the motion, and says so."""
    for model in ("rolling-coin", "chaplygin-sphere", "pendulum-cvt", "snakeboard"):
        exact = program.json("run", model, "--no-estimate", "--time", 5, "--tolerance", 1e-12)
        for method in ("gauss:stages=3", "gauss", "lobatto-ab"):
            found = program.json("run", model, "--no-estimate", "--method", method, "--time", 5)
            check(distance(found, exact) < 0.05, f"{model}, {method}, {found['step']}: {distance(found, exact)}")
    told = program("run", "rolling-coin", "--method", "gauss", "--time", 5).stdout.splitlines()[0]
    check("(chosen)" in told, told)


if __name__ == "__main__":
    sys.exit(run_all(cases_in_folders(globals(), Program(sys.argv[1]))))
