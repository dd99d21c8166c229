#!/usr/bin/env python3
"""test_ensemble.py NONHOLO: ensembles as a user sees them."""

import csv
import json
import math
import os
import re
import sys
import tempfile

from harness import Program, check, run_all, same

nonholo = Program(sys.argv[1])
RUNAWAY = """model runaway
coordinate x, y
lagrangian (x'^2 + y'^2)/2 - x^2/2 + x^4
constraint y' = x*x'
start x = 0.1
"""


def read(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def test_random_starts_and_threads():
    """newmark-pair's energies spread as in the paper; the files are the same for 1, 2 and 3 threads."""
    texts = []
    with tempfile.TemporaryDirectory() as folder:
        for threads in (1, 2, 3):
            path = os.path.join(folder, "%d.csv" % threads)
            found = nonholo.json("ensemble", "chaotic-particle", "--members", 100, "--energy", 1.535,
                                 "--method", "newmark-pair", "--step", 0.2, "--time", 1000,
                                 "--threads", threads, "-o", path)
            texts.append(open(path).read())
            same(found["members"], 100)
            same(found["threads"], threads)
            same(found["ranks"], 1)
            same(found["failed"], 0)
            first = read(path)[0]
            check(abs(float(first["energy_mean"]) - 1.535) < 1e-14, first)
            check(float(first["energy_max"]) - float(first["energy_min"]) < 4e-15, first)
            variance = found["statistics"]["energy_error"]["variance"]
            check(1e-8 < variance < 4e-5, variance)  # 4e-6 * E^2 expected at T = 10000
            check(found["constraint_max"] < 1e-14, found["constraint_max"])
    check(texts[0] == texts[1] == texts[2], "files differ between numbers of threads")


def test_statistics_are_those_of_the_members():
    """Mean, variance and range, computed again from the table of members."""
    with tempfile.TemporaryDirectory() as folder:
        line = ("ensemble", "rolling-disk", "--members", 37, "--energy", 2, "--seed", 9, "--method", "rk4",
                "--step", 0.2, "--steps", 50, "--every", 50)
        members, statistics = os.path.join(folder, "m.csv"), os.path.join(folder, "s.csv")
        nonholo.json(*line, "--table", "members", "-o", members)
        found = nonholo.json(*line, "-o", statistics)
        worst = [float(row["energy_error_max"]) for row in read(members)]
        same([int(row["member"]) for row in read(members)], list(range(37)))
        same(len(read(statistics)), 2)
        error = found["statistics"]["energy_error"]
        same(max(worst), max(abs(error["min"]), abs(error["max"])))
        same(error["count"], 37)
        # rk4 loses energy from every start: errors are all of one sign
        check(math.isclose(sum(worst) / 37, abs(error["mean"]), rel_tol=1e-12), error)


def test_sweep():
    """Each value gets the run that --set gives it."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "m.csv")
        nonholo.json("ensemble", "pendulum-cvt", "--sweep", "eps=0:0.5:6", "--sweep", "shift=0:1:2",
                     "--method", "dla01", "--step", 0.1, "--steps", 200, "-o", path, "--table", "members")
        rows = read(path)
        same(len(rows), 12)
        same([float(r["eps"]) for r in rows[::2]], [0, 0.1, 0.2, 0.3, 0.4, 0.5])
        row = rows[7]
        alone = nonholo.json("run", "pendulum-cvt", "--set", "eps=%s,shift=%s" % (row["eps"], row["shift"]),
                             "--method", "dla01", "--step", 0.1, "--steps", 200)
        same([float(row[c]) for c in ("x", "y", "xi")], alone["q"])
        same([float(row[c]) for c in ("x'", "y'", "xi'")], alone["v"])


def test_failing_member():
    """One of twenty fails: it is named, the others are unaffected, and the exit code is 1."""
    with tempfile.TemporaryDirectory() as folder:
        model, path = os.path.join(folder, "runaway.nh"), os.path.join(folder, "m.csv")
        starts = os.path.join(folder, "starts.csv")
        open(model, "w").write(RUNAWAY)

        def compute(rows):
            open(starts, "w").write("x,x',y'\n" + "".join("%r,%r,%r\n" % r for r in rows))
            done = nonholo("ensemble", model, "--starts", starts, "--method", "dla01", "--step", 0.01,
                           "--time", 10, "-o", path, "--table", "members", "--json")
            return done, read(path)

        good = [(0.1 + 0.01 * i, 0.0, 0.0) for i in range(19)]
        done, rows = compute(good[:5] + [(5.0, 30.0, 150.0)] + good[5:])
        same(done.returncode, 1)
        step = re.search(r"1 of 20 members failed; the first: member 5, step (\d+), t = ", done.stderr)
        check(step, done.stderr)
        found = json.loads(done.stdout)
        same([f["member"] for f in found["failures"]], [5])
        same(found["statistics"]["energy"]["count"], 19)
        same([row["failed"] for row in rows], ["1" if i == 5 else "0" for i in range(20)])
        same(int(rows[5]["steps"]), int(step[1]) - 1)
        done, without = compute(good)
        same(done.returncode, 0)
        states = lambda table: [(r["x"], r["y"], r["x'"]) for r in table]
        same(states(rows[:5] + rows[6:]), states(without))


def test_wide_registers():
    """Compiled kernels over eight members, where the processor has such registers, give the bits of four and of the tape,
    also for an odd number of groups and for neighbours of a member that fails."""
    with tempfile.TemporaryDirectory() as folder:
        starts, path = os.path.join(folder, "starts.csv"), os.path.join(folder, "m.csv")
        model = os.path.join(folder, "runaway.nh")
        open(model, "w").write(RUNAWAY)
        open(starts, "w").write("x,x',y'\n" + "".join("%r,%r,%r\n" % ((5.0, 30.0, 150.0) if i == 6 else (0.1 + 0.01 * i, 0.0, 0.0))
                                                       for i in range(11)))
        for options in (["pendulum-cvt", "--members", 37, "--method", "gauss:stages=3", "--step", 0.1],
                        ["pendulum-cvt", "--members", 64, "--method", "dla01", "--step", 0.1, "--steps", 501],
                        ["pendulum-cvt", "--members", 9, "--method", "leapfrog", "--step", 0.1, "--compensated", "on"],
                        ["rolling-coin-rotation", "--members", 12, "--method", "gauss", "--step", 0.01],
                        ["rolling-disk", "--members", 20, "--method", "dop853", "--tolerance", 1e-9],
                        [model, "--starts", starts, "--method", "dla01", "--step", 0.01, "--steps", 1000]):
            if "--steps" not in options:
                options += ["--time", 3]
            texts = []
            for more, level in ((["--backend", "compiled"], "avx2"), (["--backend", "compiled"], ""), (["--backend", "tape"], "")):
                done = nonholo("ensemble", *options, *more, "-o", path, "--table", "members", env={"NONHOLO_LEVEL": level})
                same(done.returncode, 1 if model in options else 0, done.stderr)
                texts.append(open(path).read())
            same(texts[1], texts[0], "%s: eight and four" % options)
            same(texts[2], texts[0], "%s: tape" % options)


def test_starts_file():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "starts.csv")

        def refused(text, message):
            open(path, "w").write(text)
            done = nonholo("ensemble", "nonholonomic-particle", "--starts", path, "--method", "dla01",
                           "--step", 0.1, "--steps", 10)
            same(done.returncode, 2, text)
            check(message in done.stderr, done.stderr)
            same(done.stdout, "")

        refused("", "the first line must name the columns")
        refused("q1,q9\n1,2\n", "starts.csv:1: there is no coordinate or velocity 'q9'")
        refused("q1,q1\n1,2\n", "starts.csv:1: this column occurs twice: 'q1'")
        refused("q1\n", "has no start states after its first line")
        refused("q1\n1,2\n", "starts.csv:2: more numbers than columns, beginning with '2'")
        refused("q1,q2\n1\n", "starts.csv:2: 1 number for 2 columns")
        refused("q1\n1\nnan\n", "starts.csv:3: this is not a number: 'nan'")
        refused("q1\n1\n0x10\n", "starts.csv:3: this is not a number: '0x10'")
        refused("q1\n1\n1 2\n", "starts.csv:3: this is not a number: '1 2'")
        refused("q3'\n5\n", "member 0: the start state is off the constraints")
        open(path, "w").write("q1, q2'\r\n1,2\r\n\r\n-1,3\r\n")
        found = nonholo.json("ensemble", "nonholonomic-particle", "--starts", path, "--method", "dla01",
                             "--step", 0.1, "--steps", 10)
        same(found["members"], 2)


def test_picture():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "e.svg")
        nonholo.json("ensemble", "pendulum-cvt", "--members", 8, "--method", "dla01", "--step", 0.1,
                     "--steps", 100, "--plot", path)
        check("<svg" in open(path).read(600), "no picture")


def panels_of(folder, *arguments):
    """The panels of an ensemble's page, by title and axes, and the rows of its table of members."""
    page, table = os.path.join(folder, "e.html"), os.path.join(folder, "e.csv")
    nonholo.json("ensemble", *arguments, "--plot", page, "--table", "members", "-o", table)
    data = open(page).read().split('id="panels">')[1].split("</script>")[0]
    return {(p["title"], p["x"], p["y"]): [c for c in p["curves"] if c["xs"]] for p in json.loads(data)}, read(table)


def test_picture_of_members():
    """Bands, cloud and histograms show what the table of members says."""
    with tempfile.TemporaryDirectory() as folder:
        panels, rows = panels_of(folder, "chaotic-particle", "--members", 30, "--method", "dla01", "--step", 0.1, "--steps", 50)
        cloud = panels["end states", "x", "y₁"][0]
        same([cloud["cloud"], cloud["xs"], cloud["ys"]],
             [True, [float(r["x"]) for r in rows], [float(r["y[1]"]) for r in rows]], "cloud")
        bars = panels["at the end", "x", "members"][0]
        same([bars["bars"], sum(bars["ys"])], [True, 30], "histogram")
        mean, deviation, span = panels["energy error", "t", ""]
        same(len(mean["xs"]), 51)
        for y, lower, upper, least, greatest in zip(mean["ys"], deviation["ys"], deviation["upper"], span["ys"], span["upper"]):
            check(least <= y <= greatest and lower <= y <= upper, "bands")


def test_picture_of_a_sweep():
    """Outcomes over the parameter; a change of energy is an error only if energy is conserved."""
    with tempfile.TemporaryDirectory() as folder:
        panels, rows = panels_of(folder, "pendulum-cvt", "--sweep", "eps=0:0.4:5", "--method", "dla01", "--step", 0.1, "--steps", 50)
        curve, = panels["", "ε", "x"]
        same([curve["xs"], curve["ys"]], [[float(r["eps"]) for r in rows], [float(r["x"]) for r in rows]], "x over eps")
        check(("", "ε", "energy error") in panels and ("", "ε", "driver_energy") in panels, list(panels))
        panels, rows = panels_of(folder, "driven-sleigh", "--sweep", "m=1:2:4", "--sweep", "J=1:2:3", "--method", "gauss",
                                 "--step", 0.1, "--steps", 20)
        check(("", "m", "energy") in panels and ("", "J", "energy") in panels, list(panels))
        check(not any("error" in y for title, x, y in panels), list(panels))


sys.exit(run_all([(name, test) for name, test in list(globals().items()) if name.startswith("test_")]))
