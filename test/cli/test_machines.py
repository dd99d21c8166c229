#!/usr/bin/env python3
"""test_machines.py NONHOLO: ensembles whose members differ in parameters and start values."""

import csv
import json
import math
import os
import statistics
import sys

from harness import Program, cases_in_folders, check, run_all, same

DRAWN = ["--random", "m=normal(1, 0.1)", "--random", "lean=uniform(-0.1, 3*0.1 - 0.1)", "--time", "0.5", "--quiet"]
BAD = """model bad
parameter m = 1
coordinate x, y
lagrangian m/2*x'^2 + y'^2/2 - x^2/2 - sqrt(m)*x
constraint c: y' = x*x'
start x = 1, x' = 1, y' = 1
"""


def members(program, folder, *line):
    done = program("ensemble", *line, "--table", "members", "-o", "m.csv", cwd=folder)
    with open(os.path.join(folder, "m.csv"), newline="") as file:
        return done, list(csv.DictReader(file))


def write(folder, name, text):
    with open(os.path.join(folder, name), "w") as file:
        file.write(text)


def drawn_members(program, folder):
    """Their distributions are those asked for, whatever else is drawn, and each is the run that --set and --start give."""
    done, rows = members(program, folder, "bicycle", "--members", "400", *DRAWN)
    same(done.returncode, 0, done.stderr)
    masses, leans = [float(r["m"]) for r in rows], [float(r["start lean"]) for r in rows]
    check(abs(statistics.mean(masses) - 1) < 0.02, statistics.mean(masses))
    check(abs(statistics.stdev(masses) - 0.1) < 0.012, statistics.stdev(masses))
    check(-0.1 < min(leans) < -0.09 and 0.19 < max(leans) < 0.2, (min(leans), max(leans)))
    _, fewer = members(program, folder, "bicycle", "--members", "3", "--random", "m=normal(1, 0.1)", "--time", "0.5", "--quiet")
    same([r["m"] for r in fewer], [r["m"] for r in rows[:3]])
    same(list(rows[0])[:4], ["member", "m", "start lean", "failed"])
    _, listed = members(program, folder, "bicycle", "--members", "3", "--random", "m=normal(1, 0.1), lean=uniform(-0.1, 3*0.1 - 0.1)",
                        "--time", "0.5", "--quiet")
    same([(r["m"], r["start lean"]) for r in listed], [(r["m"], r["start lean"]) for r in rows[:3]])
    _, other = members(program, folder, "bicycle", "--members", "3", *DRAWN, "--seed", "1")
    check(other[0]["m"] != rows[0]["m"], "another seed draws the same")
    row = rows[0]
    alone = program.json("run", "bicycle", "--set", "m=" + row["m"], "--start", "lean=" + row["start lean"], "--time", "0.5",
                         "--quiet", cwd=folder)
    same([float(row[name]) for name in ("x", "y", "theta", "lean", "steer")], alone["q"])


def same_members_however_shared(program, folder):
    """The file has the same bytes for any number of threads and parts, and holds the members' parameters."""
    files = []
    for threads in 1, 2, 3:
        program("ensemble", "bicycle", "--members", "40", *DRAWN, "--threads", threads, "-o", "a.h5", cwd=folder)
        with open(os.path.join(folder, "a.h5"), "rb") as file:
            files.append(file.read())
    for k in 1, 2, 3:
        program("ensemble", "bicycle", "--members", "40", *DRAWN, "--part", f"{k}/3", "-o", f"{k}.h5", cwd=folder)
    same(program("join", "1.h5", "2.h5", "3.h5", "-o", "b.h5", cwd=folder).returncode, 0)
    with open(os.path.join(folder, "b.h5"), "rb") as file:
        files.append(file.read())
    check(all(file == files[0] for file in files), "files differ")
    check(b"swept_m" in files[0] and b"swept_lean" in files[0], "no parameters in the file")


def tables_of_others(program, folder):
    """Spreadsheets begin a file with a mark, end lines with CRLF, and put cells in quotes; names may have commas."""
    with open(os.path.join(folder, "plain.csv"), "w") as file:
        file.write("m,lean\n1,0.1\n1.5,0.2\n")
    with open(os.path.join(folder, "marked.csv"), "wb") as file:
        file.write(b'\xef\xbb\xbf"m", lean \r\n"1",0.1\r\n\r\n1.5,0.2\r\n')
    plain, marked = (members(program, folder, "bicycle", "--members", name, "--time", "0.5", "--quiet")[1] for name in ("plain.csv", "marked.csv"))
    check(len(plain) == 2 and plain == marked, str(marked))
    with open(os.path.join(folder, "matrix.nh"), "w") as file:
        file.write("model m\nparameter k = 2\ncoordinate x\nlet M = ((x, 1), (2, x^2))\nlagrangian x'^2/2 - k*x^2/2\nstart x = 1\nobserve M\n")
    program("run", "matrix.nh", "--time", "1", "--step", "0.1", "--method", "gauss:stages=3", "--quiet", "-o", "matrix.csv", cwd=folder)
    with open(os.path.join(folder, "matrix.csv")) as file:
        row = next(csv.DictReader(file))
    check(row["M[1,2]"] == "1" and row["M[2,2]"] == "1", str(row))
    done = program("plot", "matrix.csv", "--columns", "M[1,1]/M[2,2],x", "-o", "matrix.svg", cwd=folder)
    check(done.returncode == 0, done.stderr)
    done = program("fit", "matrix.nh", "matrix.csv", "--set", "k=1.7", "--fit", "k", "--json", cwd=folder)
    check(done.returncode == 0 and abs(json.loads(done.stdout)["estimate"]["k"] - 2) < 1e-6, done.stdout + done.stderr)  # measured: 9e-11


def listed_members(program, folder):
    write(folder, "machines.csv", "member,m,lean,x'\n0,1,0.1,5\n1,2,0.2,6\n2,3,0,7\n")
    done, rows = members(program, folder, "bicycle", "--members", "machines.csv", "--time", "0.5", "--quiet")
    same(done.returncode, 0, done.stderr)
    same([r["m"] for r in rows], ["1", "2", "3"])
    for text, message in (("m,lan\n1,2\n", "'lan' is neither a parameter nor a start value of bicycle; did you mean 'lean'?"),
                          ("m,m\n1,2\n", "m varies twice")):
        write(folder, "machines.csv", text)
        done = program("ensemble", "bicycle", "--members", "machines.csv", "--time", "1", cwd=folder)
        same((done.returncode, done.stderr), (2, f"nonholo: {message}\n"))


def start_values_stay(program, folder):
    """Off the constraint, what was drawn is kept, and another velocity is moved."""
    write(folder, "bad.nh", BAD)
    done = program("ensemble", "bad.nh", "--members", "50", "--random", "x=normal(0, 1)", "--random", "y'=normal(0, 1)",
                   "--step", "0.01", "--steps", "0", "--table", "members", "-o", "m.csv", cwd=folder)
    same(done.returncode, 0, done.stderr)
    with open(os.path.join(folder, "m.csv"), newline="") as file:
        names, *rows = list(csv.reader(file))
    for row in rows:
        x0, slope0 = float(row[1]), float(row[2])
        x, _, dx, dy = map(float, row[names.index("t") + 1:names.index("first_energy")])
        same((x, dy), (x0, slope0))
        check(abs(dy - x * dx) < 1e-12 * (1 + abs(x * dx)), row)
    # a sweep of a start value does the same
    done, rows = members(program, folder, "bad.nh", "--sweep", "x=0.5:1.5:3", "--step", "0.01", "--steps", "0", "--quiet")
    same([float(r["x"]) for r in rows], [0.5, 1, 1.5], done.stderr)


def impossible_machines(program, folder):
    """A machine that cannot be built is a member that fails; the others continue, and it is named with the reason."""
    write(folder, "bad.nh", BAD)
    done, rows = members(program, folder, "bad.nh", "--members", "20", "--random", "m=normal(0.1, 0.1)", "--time", "0.1", "--quiet")
    same(done.returncode, 1)
    negative = [float(r["m"]) < 0 for r in rows]
    check(0 < sum(negative) < 20, rows)
    same([r["failed"] == "1" for r in rows], negative)
    check(f"{sum(negative)} of 20 members failed" in done.stderr and "sqrt(-" in done.stderr, done.stderr)
    # in the file, too
    done = program("ensemble", "bad.nh", "--members", "20", "--random", "m=normal(0.1, 0.1)", "--time", "0.1", "-o", "a.h5", cwd=folder)
    same(done.returncode, 1)


def expected_starts(program, folder):
    """Random starts of one energy: coordinates on which it does not depend lie about the centre. They lay in the direction of
    the ray, so a velocity near zero took them far away: x from -130 to 8 for the disk."""
    for model, names in (("rolling-disk", ("x1", "x2")), ("inclined-skate", ("x1", "x2")), ("bicycle", ("x", "y"))):
        _, rows = members(program, folder, model, "--members", "500", "--step", "0.001", "--steps", "0", "--quiet")
        for name in names:
            values = [float(r[name]) for r in rows]
            check(max(map(abs, values)) < 4.5, (model, name, max(map(abs, values))))  # 500 normal deviates; seen: 3.8
            check(statistics.stdev(values) > 0.3, (model, name))
        if model == "rolling-disk":
            check(abs(statistics.stdev(values) - 1) < 0.15, values)
            angles = [math.remainder(float(r["theta"]), 2 * math.pi) for r in rows]
            check(abs(statistics.stdev(angles) - math.pi / math.sqrt(3)) < 0.15, "angles are not uniform")


DRIVEN = """model driven
parameter f = 1.07, q = 2, w = 2/3
coordinate a angle
lagrangian a'^2/2 + cos(a)
force a = -a'/q + f*cos(w*t)
event beat: sin(w*t) rising
event over: a - 3 rising
observe speed = a'
"""


def sections(program, folder):
    """A bifurcation diagram by one command; the states are those of single runs, whatever the threads."""
    write(folder, "driven.nh", DRIVEN)
    line = ["ensemble", "driven.nh", "--sweep", "f=1:1.5:6", "--section", "beat", "--after", "50", "--time", "100"]
    tables = []
    for threads in 1, 2:
        found = program.json(*line, "--threads", threads, "-o", "s.csv", "--plot", "d.svg", cwd=folder)
        with open(os.path.join(folder, "s.csv"), newline="") as file:
            tables.append(list(csv.DictReader(file)))
    same(tables[0], tables[1])
    same(found["section_points"], len(tables[0]))
    same(list(tables[0][0]), ["member", "f", "t", "a", "a'", "speed"])
    check(min(float(r["t"]) for r in tables[0]) > 50, "states before --after")
    with open(os.path.join(folder, "d.svg")) as file:
        check("speed" in file.read(), "no diagram")
    same(program("run", "driven.nh", "--set", "f=1.2", "--section", "beat", "--time", "100", "-o", "one.csv", cwd=folder).returncode, 0)
    with open(os.path.join(folder, "one.csv"), newline="") as file:
        alone = [r for r in csv.DictReader(file) if float(r["t"]) > 50]
    same([(r["t"], r["a'"]) for r in alone], [(r["t"], r["a'"]) for r in tables[0] if r["member"] == "2"])
    for more, message in ((["--section", "beet"], "driven has no event 'beet' for a section"),
                          (["--section", "beat", "-o", "x.h5"], "--section of an ensemble is written as a table, to FILE.csv; x.h5 is for all trajectories"),
                          (["--after", "4"], "--after needs --section EVENT, whose first states it leaves out")):
        done = program("ensemble", "driven.nh", "--sweep", "f=1:1.5:6", "--time", "10", *more, cwd=folder)
        same((done.returncode, done.stderr), (2, f"nonholo: {message}\n"))


def stops(program, folder):
    """Each member ends at the event, where a single run ends; in later rows it stays there."""
    write(folder, "driven.nh", DRIVEN)
    done, rows = members(program, folder, "driven.nh", "--sweep", "f=1:1.5:6", "--stop", "over", "--time", "100", "--quiet")
    same(done.returncode, 0, done.stderr)
    same([float(r["a"]) == 3 for r in rows], [True, True, True, False, False, False])
    alone = program.json("run", "driven.nh", "--set", "f=1.2", "--stop", "over", "--time", "100", cwd=folder)
    same((float(rows[2]["t"]), float(rows[2]["a'"])), (alone["t"], alone["v"][0]))
    program("ensemble", "driven.nh", "--sweep", "f=1:1.5:6", "--stop", "over", "--time", "100", "-o", "a.h5", cwd=folder)
    program("ensemble", "driven.nh", "--sweep", "f=1:1.5:6", "--stop", "over", "--time", "100", "--threads", "1", "-o", "b.h5", cwd=folder)
    with open(os.path.join(folder, "a.h5"), "rb") as first, open(os.path.join(folder, "b.h5"), "rb") as second:
        check(first.read() == second.read(), "files differ")


BRANCHES = """model branches
parameter k = 2, c = 3*k/2 - k/2, s = 1
coordinate x, y
let stiffness = if(s > 1.5, k, 2*c)
lagrangian x'^2/2 + s*y'^2/2 - stiffness*x^2/2 - s*y^2/4
force x = -(s - 1.25)*x'
constraint 2*x'/s = y'/s + y'/s
start x = k/4, y = s, x' = 0.1, y' = 0.1
"""


def alone(program, folder, model, **parameters):
    settings = [word for name, value in parameters.items() for word in ("--set", f"{name}={value!r}")]
    found = program.json("run", model, *settings, "--time", "2", "--quiet", cwd=folder)
    return found["q"] + found["v"]


def machines_side_by_side(program, folder):
    """Members of many parameters share their kernels: equations that have another form for some values, by a condition, a sign
    or a number that vanishes, are those of single runs all the same."""
    write(folder, "branches.nh", BRANCHES)
    for model, names, line in (
        ("branches.nh", ("x", "y", "x'", "y'"), ["--sweep", "s=-0.5:2.5:62"]),
        ("branches.nh", ("x", "y", "x'", "y'"), ["--members", "60", "--random", "s=uniform(1, 2)", "--random", "k=normal(2, 0.5)"]),
        ("rolling-coin", ("x", "phi", "x'", "psi'"), ["--sweep", "m=0.5:3:51"]),
    ):
        done, rows = members(program, folder, model, *line, "--time", "2", "--quiet")
        for row in rows[:3] + rows[12:60:7]:
            if row["failed"] == "1":
                continue
            values = {name: float(row[name]) for name in ("s", "k", "m") if name in row}
            found = alone(program, folder, model, **values)
            n = len(found) // 2
            ours = [float(value) for value in list(row.values())[-2 * n - 3:-3]]
            same(ours, found, (model, values))
    _, rows = members(program, folder, "rolling-coin", "--sweep", "m=1:2:600", "--time", "2", "--quiet")
    for row in rows[::120]:  # for so many, numbers that are equal but for rounding need not be
        found = alone(program, folder, "rolling-coin", m=float(row["m"]))
        ours = [float(value) for value in list(row.values())[-len(found) - 3:-3]]
        check(max(abs(a - b) for a, b in zip(ours, found)) < 1e-12, (ours, found))  # measured: 4e-15


def refused(program, folder):
    for line, message in (
        (["--random", "m=normal(1, 0.1)"], "ensemble needs --members N, --members FILE.csv, --sweep NAME=a:b:n or --starts "
         "FILE.csv; --random says what differs between members, --members N how many there are"),
        (["--members", "3", "--random", "m=normal(1)"], "--random: a distribution is written NAME=normal(mean, deviation), "
         "NAME=uniform(from, to) or NAME=loguniform(from, to), not 'm=normal(1)'"),
        (["--members", "3", "--random", "m=normal(1, b)"], "--random: ' b' is not a number"),
        (["--members", "3", "--random", "m=normal(1, -1)"], "m: normal(mean, deviation) needs finite numbers with deviation >= 0, "
         "not 1 and -1"),
        (["--members", "3", "--random", "m=loguniform(0, 1)"], "m: loguniform(from, to) needs finite numbers with 0 < from <= to, "
         "not 0 and 1"),
        (["--members", "3", "--random", "x=uniform(0, 1)", "--energy", "30"], "the start value x can only vary if the other start "
         "values are those of the model"),
        (["--members", "many"], "--members needs a whole number from 1 to 9007199254740992, not 'many'"),
    ):
        done = program("ensemble", "bicycle", *line, "--time", "1", cwd=folder)
        same((done.returncode, done.stderr.split("\ntry ")[0].rstrip("\n")), (2, "nonholo: " + message))


if __name__ == "__main__":
    sys.exit(run_all(cases_in_folders(globals(), Program(sys.argv[1]))))
