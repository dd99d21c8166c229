#!/usr/bin/env python3
"""test_fit.py NONHOLO: `nonholo fit`, against estimates that were computed from the exact flow."""

import math
import os
import random
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "cli"))
from harness import Program, cases_in_folders, check, run_all, same  # noqa: E402

SLEIGH = """model sleigh
parameter m = 1.3, J = 2.1, a = 0.7
parameter th0 = 0.4, u0 = 0.9, w0 = -0.8
coordinate x, y
coordinate th angle
let side = y'*cos(th) - x'*sin(th)
lagrangian m/2*(x'^2 + y'^2) + (J + m*a^2)/2*th'^2 + m*a*th'*side
constraint skate: side = 0
start x = 0.1, y = -0.2, th = th0
start th' = w0, x' = u0*cos(th0), y' = u0*sin(th0)
observe forward = x'*cos(th) + y'*sin(th)
"""
PENDULUM = """model pendulum
parameter w = 2.3, c = 0.15, A = 1.1
coordinate a
lagrangian a'^2/2 + w^2*cos(a)
force a = -c*a'
start a = A
"""
# Gauss-Newton on the exact flow to a step of 1e-13, with covariances s^2 (J^T J)^-1.
KNOWN = {
    "sleigh": (SLEIGH, "J=3,a=0.5", {"J": 2.09486740931221, "a": 0.6989809409297287},
               [[2.0368971027195597e-05, 3.135349838018982e-06], [3.1353498380189808e-06, 1.4907588464245905e-06]], 0.009418700399801519),
    "pendulum": (PENDULUM, "w=2.1,c=0.3,A=0.9", {"w": 2.2982652893003057, "c": 0.1473506243037672, "A": 1.0903826300873163},
                 [[1.536937910010894e-06, 9.387206536353639e-07, 5.119826160386129e-06],
                  [9.387206536353639e-07, 5.4910058243230715e-06, 1.0745122752618047e-05],
                  [5.119826160386129e-06, 1.0745122752618047e-05, 3.754253440342093e-05]], 0.042817743038343924),
}


def data(name):
    return os.path.join(HERE, name + "-data.csv")


def write(folder, text, name="model.nh"):
    path = os.path.join(folder, name)
    with open(path, "w") as file:
        file.write(text)
    return path


def table(name):
    with open(data(name)) as file:
        return [line.strip().split(",") for line in file]


def near(a, b, tolerance, what):
    check(abs(a - b) <= tolerance * max(1e-300, abs(b)), f"{what}: {a}, expected {b}")


def known_estimates(program, folder):
    for name, (text, guess, estimate, covariance, total) in KNOWN.items():
        for method in ([], ["--method", "gauss:stages=3", "--step", "0.05"]):
            found = program.json("fit", write(folder, text), data(name), "--fit", ",".join(estimate), "--set", guess, *method)
            for i, (key, value) in enumerate(estimate.items()):
                near(found["estimate"][key], value, 1e-9, f"{name} {key}")
                near(found["deviation"][key], math.sqrt(covariance[i][i]), 1e-6, f"{name}, deviation of {key}")
                for j, row in enumerate(covariance):
                    near(found["correlation"][i][j], covariance[i][j] / math.sqrt(covariance[i][i] * row[j]), 1e-6, f"{name}, correlation")
            near(found["residual_sum"], total, 1e-9, f"{name}, sum of squares")


def what_data_cannot_tell(program, folder):
    sleigh, pendulum = write(folder, SLEIGH), write(folder, PENDULUM, "pendulum.nh")
    for fitted, said in (("m,J,a", "m and J only occur as J/m"), ("J,m", "J and m only occur as m/J")):
        answer = program("fit", sleigh, data("sleigh"), "--fit", fitted)
        check(answer.returncode == 1 and said in answer.stderr and answer.stdout == "", f"{fitted}: {answer}")
    answer = program("fit", pendulum, data("pendulum"), "--fit", "w,A,start a")
    check(answer.returncode == 1 and "do not depend on A" in answer.stderr, f"a parameter without effect: {answer}")
    sums = write(folder, PENDULUM.replace("w = 2.3", "b = 2.3, d = 2").replace("w^2", "(b + 2*d)"), "sums.nh")
    answer = program("fit", sums, data("pendulum"), "--fit", "b,d,c,A")
    check("b and d only occur as d + 2*b" in answer.stderr or "2*d + b" in answer.stderr, f"a sum: {answer.stderr}")
    roots = write(folder, PENDULUM.replace("w = 2.3", "k = 5, l = 1").replace("w^2", "k*l^2"), "roots.nh")
    answer = program("fit", roots, data("pendulum"), "--fit", "k,l,c")
    check("k and l only occur as l^2*k" in answer.stderr, f"a product: {answer.stderr}")


def missing_values_and_weights(program, folder):
    pendulum = write(folder, PENDULUM)
    rows = table("pendulum")
    rows[7][1] = ""
    missing = write(folder, "\n".join(",".join(row) for row in rows), "missing.csv")
    weighted = write(folder, "\n".join(",".join(row + ["w" if i == 0 else "0" if i == 7 else "3"]) for i, row in enumerate(table("pendulum"))),
                     "weighted.csv")
    one = program.json("fit", pendulum, missing, "--fit", "w,c,A")
    two = program.json("fit", pendulum, weighted, "--fit", "w,c,A", "--weights", "w")
    three = program.json("fit", pendulum, weighted.replace("weighted", "missing"), "--fit", "w,c,A", "--weights", "a=3")
    for key, value in one["estimate"].items():
        near(two["estimate"][key], value, 1e-8, f"a weight of zero and a missing value, {key}")
        near(three["deviation"][key], one["deviation"][key], 1e-7, f"weights that are all equal, {key}")
    check(one["values"] == 100 and one["residual"]["a"][6] is None, "a missing value is counted")


def several_runs(program, folder):
    """Runs with different start angles share the parameters."""
    generator = random.Random(3)
    model = write(folder, PENDULUM)
    files = []
    for k, start in enumerate((0.7, 1.4)):
        rows = program("run", model, "--start", f"a={start}", "--times", "0:8:41", "-o", "-").stdout.split("\n")
        lines = ["t,a"] + [f"{r.split(',')[0]},{float(r.split(',')[1]) + generator.gauss(0, 1e-3)}" for r in rows[1:42]]
        files.append(write(folder, "\n".join(lines), f"run{k}.csv"))
    found = program.json("fit", model, *files, "--fit", "w,c,start a", "--set", "w=2,c=0.1")
    for key, value in {"w": 2.3, "c": 0.15, f"start a ({files[0]})": 0.7, f"start a ({files[1]})": 1.4}.items():
        check(abs(found["estimate"][key] - value) < 4 * found["deviation"][key] < 0.01, f"{key}: {found['estimate']}")


def starts_on_constraints(program, folder):
    """A start heading takes the velocities along, and --start is where the search begins."""
    found = program.json("fit", write(folder, SLEIGH), data("sleigh"), "--fit", "J,a,start th,start th'", "--start", "th=0.3")
    for key, value in {"J": 2.1, "a": 0.7, "start th": 0.4, "start th'": -0.8}.items():
        check(abs(found["estimate"][key] - value) < 4 * found["deviation"][key], f"{key}: {found}")


def what_follows_from_unknowns(program, folder):
    """Parameters that are expressions of others follow them; what decides the form of the equations cannot be varied."""
    text, _, estimate, covariance, _ = KNOWN["pendulum"]
    model = write(folder, text.replace("w = 2.3", "w = 2.3, k = w^2, n = 2").replace("w^2*cos(a)", "k*cos(a)^(n - 1)"))
    found = program.json("fit", model, data("pendulum"), "--fit", "w,c,A", "--set", "w=2.1,c=0.3,A=0.9")
    for i, (key, value) in enumerate(estimate.items()):
        near(found["estimate"][key], value, 1e-9, key)
        near(found["deviation"][key], math.sqrt(covariance[i][i]), 1e-6, f"deviation of {key}")
    answer = program("fit", model, data("pendulum"), "--fit", "w,n")
    check(answer.returncode == 2 and "n: it decides the form" in answer.stderr, f"an exponent: {answer}")


def rotations(program, folder):
    """A coin's attitude and spin, as parameters of its start and as start values; a start value among others that follow."""
    text = program("models", "rolling-coin-rotation").stdout
    for old, new in (("r = 1\n", "r = 1, lean = 1.2, spin = 2\n"), ("0), 1.2)", "0), lean)"), ("0.3, 2)", "0.3, spin)")):
        check(old in text, f"the model has changed: no {old!r}")
        text = text.replace(old, new)
    coin = write(folder, text, "coin.nh")
    rows = program("run", coin, "--times", "0:3:31", "--set", "r=1.1,lean=1.25,spin=1.8", "-o", "-").stdout.split()
    columns = [rows[0].split(",").index(name) for name in ("t", "x", "y", "height", "tilt")]
    film = write(folder, "\n".join(",".join(row.split(",")[i] for i in columns) for row in rows[:32]), "coin.csv")
    found = program.json("fit", coin, film, "--fit", "r,lean,spin", "--set", "lean=1.1")["estimate"]
    for key, value in {"r": 1.1, "lean": 1.25, "spin": 1.8}.items():
        near(found[key], value, 1e-9, key)
    found = program.json("fit", coin, film, "--fit", "r,start R.1,start R.w3", "--start", "R=turn((1,0,0), 1.1)")["estimate"]
    for key, value in {"r": 1.1, "start R.1": 0.15, "start R.w3": 1.8}.items():
        near(found[key], value, 1e-8, key)
    answer = program("fit", coin, film, "--fit", "start R")
    check(answer.returncode == 2 and "'start R.1'" in answer.stderr, f"a whole rotation: {answer}")


def starts_on_conditions(program, folder):
    """A position is kept as it is varied, and the others follow along the sphere."""
    text = """model bead
parameter k = 1
coordinate x, y, z
constraint x^2 + y^2 + z^2 = 1
constraint z' = x*y'
lagrangian x'^2 + y'^2 + z'^2 - k*(x + 2*y*z)
start x = 0.6, y = 0.8
start x' = -0.4, y' = 0.3, z' = 0.18
"""
    bead = write(folder, text)
    moved = ["--set", "k=1.1", "--start", "x=0.55,y'=0.25", "--project", "keep=x,y'"]
    rows = program("run", bead, *moved, "--times", "0:2:11", "-o", "-", "--tolerance", "1e-11").stdout.split()
    film = write(folder, "\n".join(",".join(row.split(",")[:3]) for row in rows[:12]), "bead.csv")
    found = program.json("fit", bead, film, "--fit", "k,start x,start y'")["estimate"]
    for key, value in {"k": 1.1, "start x": 0.55, "start y'": 0.25}.items():
        near(found[key], value, 1e-8, key)


def no_minimum(program, folder):
    """Where derivatives promise what values do not keep, no estimate is printed: a saw has the slope 1, and no value beyond 0.002."""
    saw = write(folder, PENDULUM + "observe saw = atan(tan(1000*w))/1000\n")
    flat = write(folder, "t,saw\n" + "\n".join(f"{t},0.5" for t in range(9)), "flat.csv")
    answer = program("fit", saw, flat, "--fit", "w")
    check(answer.returncode == 1 and "no better values were found" in answer.stderr and "w = " in answer.stderr, f"a saw: {answer}")


def bounds(program, folder):
    answer = program.json("fit", write(folder, SLEIGH), data("sleigh"), "--fit", "J=0.1:1.5,a")
    check(answer["estimate"]["J"] == 1.5 and answer["deviation"]["J"] is None and answer["deviation"]["a"] > 0, f"at a bound: {answer}")
    check(any("J is at its bound" in text for text in answer["remarks"]), "no remark about the bound")
    answer = program.json("fit", write(folder, SLEIGH), data("sleigh"), "--fit", "J=0.1:10,a=0:", "--set", "J=9,a=0.1")
    near(answer["estimate"]["J"], KNOWN["sleigh"][2]["J"], 1e-9, "J within bounds")


def outliers(program, folder):
    rows = table("pendulum")
    for i in (20, 50, 70):
        rows[i][1] = str(float(rows[i][1]) + 3)
    spoilt = write(folder, "\n".join(",".join(row) for row in rows), "spoilt.csv")
    answer = program.json("fit", write(folder, PENDULUM), spoilt, "--fit", "w,c,A", "--robust")
    for key, value in {"w": 2.3, "c": 0.15, "A": 1.1}.items():
        check(abs(answer["estimate"][key] - value) < 0.02, f"robust {key}: {answer['estimate']}")


def a_picture(program, folder):
    picture = os.path.join(folder, "fit.svg")
    program.json("fit", write(folder, SLEIGH), data("sleigh"), "--fit", "J,a", "--plot", picture)
    with open(picture) as file:
        check("<svg" in file.read(), "no picture")


def bad_input(program, folder):
    sleigh = write(folder, SLEIGH)
    for text, said in (("t,x,zz\n0,1,2\n", ":1:5: the column 'zz'"), ("t,x\n0,nan\n", ":2:3: 'nan' is not a finite decimal number"),
                       ("t,x\n0,1\n0,2\n", ":3:1: the time 0 is not later"), ("t,x\n-1,1\n0,2\n", ":2:1: the time -1 is before"),
                       ("t,x\n0,1\n1,2,3\n", ":3:5: more cells"), ("t,x\n0,1\n1\n", ":3:1: 1 cell for 2 columns"),
                       ("t,x\n0,1\n1,abc\n", ":3:3: 'abc' is not a finite decimal number"), ("t,x\n0,1\n1,2\0\n", ":3: the line contains a NUL byte"), ("t,x\n0,0x10\n", ":2:3: '0x10'"),
                       ("t" + ",x" * 5000 + "\n", "occurs twice"), ("t" + "".join(f",c{i}" for i in range(5000)), "more than 4096 columns"),
                       ("x\n0\n", "no column 't'"), ("", "must name the columns"),
                       ("t,x\n0,1\n", "2 unknowns cannot be found from 1 value"), ("t,x,x\n0,1,1\n", ":1:5: the column 'x' occurs twice")):
        answer = program("fit", sleigh, write(folder, text, "bad.csv"), "--fit", "J,a")
        check(answer.returncode == 2 and said in answer.stderr, f"{text!r}: {answer}")
    answer = program("fit", sleigh, write(folder, "t,x\n0,1e308\n1,-1e308\n2,1\n", "bad.csv"), "--fit", "J,a")
    check(answer.returncode == 1 and "sum of the squares" in answer.stderr, f"overflow: {answer}")
    answer = program("fit", sleigh, folder, "--fit", "J,a")
    check(answer.returncode == 1 and "Is a directory" in answer.stderr, f"a folder: {answer}")
    with open(data("sleigh")) as file:
        marked = write(folder, "\ufeff" + file.read(), "marked.csv")
    same(program("fit", sleigh, marked, "--fit", "J,a").stdout,
         program("fit", sleigh, data("sleigh"), "--fit", "J,a").stdout, "with the mark of spreadsheets")
    for fitted, said in (("Ja,a", "did you mean"), ("start thh", "did you mean 'th'"), ("th", "'start th'"), ("J=3:1", "LEAST:GREATEST"),
                         ("J,J", "named twice"), ("", "needs names")):
        answer = program("fit", sleigh, data("sleigh"), "--fit", fitted)
        check(answer.returncode == 2 and said in answer.stderr, f"--fit {fitted!r}: {answer}")
    for arguments in ((), ("--fit", "J", "--weights", "q"), ("--fit", "J", "--weights", "x=-1")):
        check(program("fit", sleigh, data("sleigh"), *arguments).returncode == 2, f"{arguments} were taken")


def main():
    program = Program(sys.argv[1])
    if "no LAPACK" in program("--version").stdout:
        print("skipped: this build has no LAPACK")
        return 77
    return run_all(cases_in_folders(globals(), program))


if __name__ == "__main__":
    sys.exit(main())
