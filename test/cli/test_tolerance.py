#!/usr/bin/env python3
"""test_tolerance.py NONHOLO: the choices of `run` when not everything is given, and steps controlled by a tolerance.

Every shipped model alone, against the reference; states at given times; a last shorter step; ensembles; checkpoints."""

import json
import math
import os
import sys

from harness import Program, cases_in_folders, check, models_without_contacts, run_all, same

COIN = ("run", "rolling-coin", "--no-estimate")


def distance(a, b):
    return max(abs(x - y) for x, y in zip(a["q"] + a["v"], b["q"] + b["v"]))


def rows(path):
    with open(path) as file:
        names, *lines = [line.rstrip("\n").split(",") for line in file]
    return names, [[float(cell) for cell in line] for line in lines]


def every_model_runs(program, folder):
    names = models_without_contacts(program)
    check(len(names) > 20, "models")
    for name in names:
        found = program.json("run", name, "--no-estimate")
        same((found["tolerance"], found["method"]), (1e-9, "dop853:tolerance=1e-09"), name)
        exact = program.json("run", name, "--no-estimate", "--method", "reference", "--step", found["t"] / 64, "--steps", 64)
        size = max(1, *map(abs, exact["q"] + exact["v"]))
        check(distance(found, exact) < 1e-6 * size, f"{name}: {distance(found, exact)}, t = {found['t']}")
        check(found["constraint_max"] < 1e-12, f"{name}: constraints {found['constraint_max']}")


def tolerances_are_kept(program, folder):
    exact = program.json(*COIN, "--method", "reference", "--step", 0.5, "--time", 10)
    last = None
    for tolerance in (1e-3, 1e-5, 1e-7, 1e-9, 1e-11, 1e-13):
        found = program.json(*COIN, "--tolerance", tolerance, "--time", 10)
        error = distance(found, exact)
        check(error < 20 * tolerance, f"{tolerance}: {error}")  # measured: at most 3
        same(found["method"].split(":")[0], "verner98" if tolerance < 1e-10 else "dop853", "auto")
        check(found["energy_error_max"] < 1e-13, "energy")
        check(last is None or found["accepted"] > last, "more steps")
        last = found["accepted"]
        same(found["tolerance"], tolerance)
    loose = program.json(*COIN, "--tolerance", 1e-9, "--absolute", 1e-3, "--time", 10)
    check(loose["accepted"] < last, "absolute")
    five = program.json(*COIN, "--method", "dopri5", "--tolerance", 1e-7, "--time", 10)
    check(distance(five, exact) < 1e-5, "dopri5")
    fixed = program.json(*COIN, "--method", "dop853", "--step", 0.1, "--time", 10)
    same((fixed["tolerance"], fixed["accepted"], fixed["rejected"]), (None, 100, 0))


def scales_are_kept(program, folder):
    """A motion of a millionth beside one of 1: it is resolved only if its scale is given."""
    text = "model scaled\ncoordinate x, y\nlagrangian (x'^2 + y'^2)/2 - 50*x^2 - y^2/2\nstart x = 1e-6, y = 1\n"
    path, errors = os.path.join(folder, "scaled.nh"), []
    for scale in ("", "scale x = 1e-6\n", "scale x' = 1e-5, x = 1e-6\n"):
        with open(path, "w") as file:
            file.write(text + scale)
        found = program.json("run", path, "--method", "dop853:energy=free", "--tolerance", 1e-6, "--time", 20)
        errors.append(abs(found["q"][0] - 1e-6 * math.cos(10 * found["t"])))
    check(errors[0] > 1e-7 and max(errors[1:]) < 1e-9, errors)  # measured: 2.7e-7, 2.2e-11 with the scale of x alone


def states_at_given_times(program, folder):
    path = os.path.join(folder, "coin.csv")
    base = program.json(*COIN, "--time", 10)
    program.json(*COIN, "--times", "2:10:33", "-o", path)
    names, table = rows(path)
    same((len(table), table[0][0], table[-1][0]), (33, 2.0, 10.0))
    end = table[-1][1 : 1 + len(base["q"] + base["v"])]
    check(max(abs(a - b) for a, b in zip(end, base["q"] + base["v"])) < 1e-11, "own steps do not depend on the times")
    program.json(*COIN, "--every-time", 0.25, "--time", 10, "-o", path)
    same([row[0] for row in rows(path)[1]], [0.25 * i for i in range(41)])
    done = program(*COIN, "--method", "gauss", "--step", 0.03, "--every-time", 0.1, "--time", 1, "-o", path, "--json")
    same([round(row[0], 12) for row in rows(path)[1]], [round(0.1 * i, 12) for i in range(11)])
    same(done.stderr, "nonholo: 0.1 is not a whole number of steps of 0.03; taking steps of 0.025\n")


def the_last_step_is_shorter(program, folder):
    for method in ("gauss", "leapfrog", "dla01", "dop853"):
        model = "chaplygin-sleigh" if method in ("gauss", "dop853") else "chaotic-particle"
        done = program("run", model, "--method", method, "--step", 0.03, "--time", 0.1, "--json", "--no-estimate")
        same(done.stderr, "nonholo: --time 0.1 is not a whole number of steps of 0.03; the last step is 0.01\n")
        found = json.loads(done.stdout)
        same((found["t"], found["steps"], found["rows"]), (0.1, 3, 5), method)
        exact = program.json("run", model, "--method", "reference", "--step", 0.05, "--time", 0.1, "--no-estimate")
        check(distance(found, exact) < 3e-4, f"{method}: {distance(found, exact)}")


def checkpoints(program, folder):
    """A run that continues from a checkpoint has the bits of an uninterrupted run."""
    path, other = os.path.join(folder, "a.csv"), os.path.join(folder, "b.csv")
    check_file = os.path.join(folder, "check")
    common = (*COIN, "--time", 10, "--steps", 50)
    whole = program.json(*common, "-o", path)
    program.json(*common, "-o", other, "--checkpoint", check_file, "--checkpoint-every", 7)
    same(open(path, "rb").read(), open(other, "rb").read())
    same(whole["rows"], 51)


def own_steps_are_a_column(program, folder):
    """The number of steps that the method has taken so far; the same when states are asked for elsewhere."""
    path = os.path.join(folder, "a.csv")
    whole = program.json(*COIN, "--time", 10, "--steps", 50, "--observe", "own_steps", "-o", path)
    names, found = rows(path)
    counts = [row[names.index("own_steps")] for row in found]
    same((counts[0], counts[-1]), (0, whole["accepted"]))
    check(all(a <= b for a, b in zip(counts, counts[1:])), counts)
    program.json(*COIN, "--time", 10, "--steps", 50, "--every", 5, "--observe", "own_steps", "-o", path)
    same([row[names.index("own_steps")] for row in rows(path)[1]], counts[::5])
    bad = program(*COIN, "--method", "gauss", "--step", 0.1, "--steps", 5, "--observe", "own_steps")
    same(bad.returncode, 2)
    check("gauss takes those of the run" in bad.stderr, bad.stderr)
    twice = program(*COIN, "--time", 1, "--observe", "own_steps,own_steps")
    same(twice.stderr, "nonholo: 'own_steps' is observed twice\n")


def ensembles(program, folder):
    """Members have their own steps; their states are those of single runs."""
    path = os.path.join(folder, "members.csv")
    one = program.json("run", "rolling-coin", "--tolerance", 1e-8, "--time", 4, "--steps", 1000, "--no-estimate", "--set", "m=2")
    common = ("ensemble", "rolling-coin", "--sweep", "m=1:3:3", "--tolerance", 1e-8, "--time", 4, "--table", "members")
    for threads in (1, 2):
        found = program.json(*common, "-o", path, "--threads", threads)
        same(found["members"], 3)
        names, table = rows(path)
        first = names.index("t") + 1
        same(table[1][first : first + len(one["q"] + one["v"])], one["q"] + one["v"])


if __name__ == "__main__":
    sys.exit(run_all(cases_in_folders(globals(), Program(sys.argv[1]))))
