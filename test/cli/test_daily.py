#!/usr/bin/env python3
"""test_daily.py NONHOLO: what people stumbled over in daily work; each case failed before."""

import csv
import math
import os
import sys

from harness import Program, cases_in_folders, check, run_all, same

DRIVEN = """model cart
coordinate x
input u = 0
lagrangian x'^2/2
constraint drive: x' = u'
observe f = reaction(drive)
start solve x'
"""


def write(folder, name, text):
    with open(os.path.join(folder, name), "w") as file:
        file.write(text)


def end_of_a_table(program, folder):
    """At the end of a table the slope is that from the left; the input was constant there already, and the force of the
    constraint jumped. Beyond the end it is constant as before, and a resumed run agrees."""
    write(folder, "cart.nh", DRIVEN)
    write(folder, "u.csv", "t,u\n" + "".join(f"{i},{10 * math.sin(0.5 * i)}\n" for i in range(21)))
    line = ["run", "cart.nh", "--input", "u:spline=u.csv", "--method", "gauss", "--step", "0.01", "--every", "1", "--quiet"]

    def rows(name, *more):
        done = program(*line, "-o", name, *more, cwd=folder)
        same(done.returncode, 0, done.stderr)
        with open(os.path.join(folder, name), newline="") as file:
            return {round(float(r["t"]), 6): (float(r["x'"]), float(r["f"])) for r in csv.DictReader(file)}

    short, long = rows("short.csv", "--time", "20"), rows("long.csv", "--time", "21")
    for run in short, long:
        check(abs(run[20.0][0] - run[19.99][0]) < 1e-3 and abs(run[20.0][1] - run[19.99][1]) < 0.01, (run[19.99], run[20.0]))
    same(short, {t: row for t, row in long.items() if t <= 20})
    same(long[20.01], (0, 0))
    # stopped exactly there, and resumed
    write(folder, "line.csv", "t,u\n0,0\n1,2\n")
    line[3] = "u=line.csv"
    whole = rows("whole.csv", "--time", "2")
    same(whole[1.0][0], 2)
    same(whole[1.01][0], 0)


def impulses_change_the_energy(program, folder):
    """An input that is held and part of a constraint jumps, and so do velocities: the energy was said to be conserved."""
    write(folder, "skate.nh", "model skate\ncoordinate x, y, a\ninput u = 0.3\nlagrangian (x'^2 + y'^2 + a'^2)/2\n"
                              "constraint y'*cos(a) - x'*sin(a) = u*a'\nstart x' = 1, a' = 0.5, y' = 0.15\n")
    for given, kept in (("u:held=[0 0.3; 1 -2; 2 1]", False), ("u=[0 0.3; 1 -2; 2 1]", True), ("u=0.3", True)):
        found = program.json("run", "skate.nh", "--input", given, "--time", "3", cwd=folder)
        same((found["remarks"], found["energy_error_max"] < 1e-9), ([], kept), given)
        same("energy" in program.json("check", "skate.nh", "--input", given, cwd=folder)["conserved"], kept, given)


def sizes_of_one(program, folder):
    """An ensemble of one member in a file: it was refused by HDF5."""
    done = program("ensemble", "pendulum-cvt", "--members", "1", "--time", "1", "-o", "one.h5", cwd=folder)
    same((done.returncode, done.stderr), (0, ""))


def undefined_constraints(program, folder):
    """1/x at x = 0 is named instead of a residual -nan."""
    write(folder, "pole.nh", "model pole\ncoordinate x, y\nlagrangian (x'^2 + y'^2)/2\nconstraint c: y' = x'/x\n")
    done = program("run", "pole.nh", cwd=folder)
    same((done.returncode, done.stderr), (2, "nonholo: c is not defined at the start state: it gives no number there, as 1/x "
                                             "does at x = 0; give another start (--start)\n"))


def settings_from_files(program, folder):
    write(folder, "values.toml", "# a machine\n[parameters]\nm = 2.5   # kg\ng = \"10 - 0.2\"\n")
    found = program.json("check", "bicycle", "--set", "@values.toml", "--set", "b=2", cwd=folder)["parameters"]
    same((found["m"], found["g"], found["b"]), (2.5, 9.8, 2))
    write(folder, "bad", "m = 1\nm 2\n")
    done = program("check", "bicycle", "--set", "@bad", cwd=folder)
    same((done.returncode, done.stderr.split("\n")[0]), (2, "nonholo: bad:2: expected NAME=VALUE, found 'm 2'"))
    done = program("check", "bicycle", "--set", "@none", cwd=folder)
    same((done.returncode, done.stderr), (1, "nonholo: cannot read none: No such file or directory\n"))


LETS = "model lets\nparameter a = 30*deg\ncoordinate x, y\nlagrangian (x'^2 + y'^2)/2 - sin(a)*x\nlet w = x^2 + a\nlet r = (x, y)\n"


def lets_and_degrees(program, folder):
    write(folder, "lets.nh", LETS + "observe w, r\nobserve b = w\nstart x = 2\n")
    found = program.json("run", "lets.nh", "--steps", "0", "--step", "1", cwd=folder)["observables"]
    same(found, {"w": 4 + math.pi / 6, "r[1]": 2, "r[2]": 0, "b": 4 + math.pi / 6})
    write(folder, "own.nh", "model own\nparameter deg = 2\ncoordinate x\nlagrangian x'^2/2 - deg*x\n")
    same(program.json("check", "own.nh", cwd=folder)["parameters"], {"deg": 2})
    for text, message in (("observe x", "lets.nh:7:9: 'x' is a coordinate; expected the name of a let, or '=' and an expression"),
                          ("observe w, w", "lets.nh:7:12: 'w' is observed already (line 7)"),
                          ("observe v", "lets.nh:7:9: unknown name 'v'")):
        write(folder, "lets.nh", LETS + text + "\n")
        done = program("run", "lets.nh", cwd=folder)
        same((done.returncode, done.stderr.split("\n")[0]), (2, message))


BOTH = """model both
coordinate x, y
lagrangian (x'^2 + y'^2)/2 - y
constraint ring: x^2 + y^2 = 1
force x = -0.1*reaction(ring)*x'
start x = 1
"""


def why_a_method_does_not_apply(program, folder):
    """With what to do instead."""
    write(folder, "both.nh", BOTH)
    done = program("run", "both.nh", "--method", "newmark", "--step", ".1", cwd=folder)
    same(done.returncode, 2)
    check(done.stderr.startswith("nonholo: newmark needs ideal constraints, but forces of both depend on reactions; use gauss"), done.stderr)
    for method in (), ("--method", "gauss", "--step", ".1"):
        same(program("run", "both.nh", *method, "--time", "0.2", cwd=folder).returncode, 0)


CAR = """model car
input delta = 0.1
coordinate x, y
coordinate a angle
lagrangian (x'^2 + y'^2 + a'^2)/2
constraint rear: y'*cos(a) = x'*sin(a)
constraint front: a' = (x'*cos(a) + y'*sin(a))*tan(delta)/2
start x' = 1, a' = tan(delta)/2
"""


def why_a_car_is_holonomic(program, folder):
    write(folder, "car.nh", CAR)
    check("yes: the constraints are holonomic while the inputs keep the values given here, as always where one degree of freedom "
          "is left" in program("check", "car.nh", cwd=folder).stdout, "no reason")


def advice_for_tolerances(program, folder):
    """Somebody who gave a tolerance is not told to take a smaller step."""
    write(folder, "near.nh", "model near\ncoordinate x, y\nlagrangian (x'^2 + y'^2)/2\nconstraint c: x*x' + y*y' = 0\n"
                             "start x = 1, y' = 1\n")
    for how, words in ((("--tolerance", "1e-2", "--time", "2000"), "a smaller tolerance (now 0.01)"),
                       (("--method", "rk4", "--step", "0.5", "--time", "2000"), "a smaller step (now 0.5)")):
        done = program("run", "near.nh", *how, cwd=folder)
        check(words in done.stderr, (how, done.stderr))


def own_steps(program, folder):
    """Runs whose method chose its steps are not described by a step, also in JSON."""
    found = program.json("run", "rolling-disk", "--tolerance", "1e-6", "--time", "20")
    same((found["step"], found["steps"], found["tolerance"]), (None, found["accepted"], 1e-6))
    found = program.json("ensemble", "rolling-disk", "--members", "3", "--tolerance", "1e-6", "--time", "2")
    same((found["step"], found["steps"], found["ns_per_step"], found["tolerance"]), (None, None, None, 1e-6))
    check("per member, " in program("ensemble", "rolling-disk", "--members", "3", "--time", "2").stdout, "cost")


def names_of_inputs(program, folder):
    """A held input whose rate matters is named, with what to write."""
    write(folder, "cart.nh", DRIVEN)
    done = program("run", "cart.nh", "--input", "u:held=t", cwd=folder)
    check(done.returncode == 2 and "input 'u' in this derivative is held" in done.stderr and "--input u=FILE.csv" in done.stderr,
          done.stderr)


TURNED = """model turned
parameter l = 1, b = 2
coordinate theta, phi angle
input delta = 0.2*sin(t)
let p = (l*cos(theta), l*sin(theta)) + b*(cos(phi), sin(phi))
lagrangian dot(p', p')/2
force phi = delta
start theta = acos(0), phi = cos(acos(0)), theta' = 1
"""


def equations_for_readers(program, folder):
    """LaTeX: angles are added, inputs keep their names and their letter, round-off is zero, parameters and inputs are explained."""
    write(folder, "turned.nh", TURNED)
    text = program("export", "turned.nh", "--format", "latex", cwd=folder).stdout
    for part in (r"l\,b\,\cos(\theta - \phi)", r"= \delta + l\,b\,\dot{\theta}^{2}\,\sin(\theta - \phi)", r"$\phi = 0$",
                 r"Deviations $\xi$ of"):
        check(part in text, (part, text))
    write(folder, "cart.nh", DRIVEN)
    text = program("export", "cart.nh", "--format", "latex", "--input", "u=t^2/2", cwd=folder).stdout
    check("Inputs are replaced by their expressions" in text, text)
    text = program("export", "cart.nh", "--format", "latex", "--start", "x=6e-17", cwd=folder).stdout
    check("x = 0" in text and "10^{-17}" not in text, "a start that is round-off beside 1")


def equations_of_bodies(program, folder):
    """Properties of bodies have different symbols: at, attitude and axis did not."""
    text = program("export", "benchmark-bicycle", "--format", "latex", cwd=folder).stdout
    for word in ("at", "attitude", "axis", "mass", "kinetic"):
        check(f"\\mathit{{rear}}_{{\\mathrm{{{word}}}}} &=" in text, word)
    check(text.count("\\mathit{rear}_{\\mathrm{at}} &=") == 1, "defined once")


if __name__ == "__main__":
    sys.exit(run_all(cases_in_folders(globals(), Program(sys.argv[1]))))
