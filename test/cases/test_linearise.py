#!/usr/bin/env python3
"""test_linearise.py NONHOLO: steady motions and their eigenvalues, of linearise.json and of machines made here.

A case of the table has a model with its parameters ("set") and start values, and what must be found: "eigenvalues" without
zeros, or the "largest" real part; "zeros", by name; "near": values of the state; or, with a "sweep" [name, from, to, count],
what is "located". Everything agrees within "tolerance" times 1 + its size."""

import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "cli"))
sys.path.insert(0, HERE)
import table as tables  # noqa: E402
from harness import Program, cases_in_folders, check, run_all, same  # noqa: E402


def close(found, expected, tolerance, what):
    check(abs(found - expected) <= tolerance * (1 + abs(expected)), f"{what}: {found!r}, expected {expected!r}")


def same_set(found, expected, tolerance):
    """Complex numbers in any order."""
    rest = [complex(*pair) for pair in found]
    size = max((abs(complex(*pair)) for pair in expected), default=0)
    same(len(rest), len(expected), f"number of eigenvalues: {found}")
    for value in (complex(*pair) for pair in expected):
        nearest = min(rest, key=lambda other: abs(other - value))
        check(abs(nearest - value) <= tolerance * (1 + size), f"{nearest}, expected {value}")
        rest.remove(nearest)


def run_case(program, case):
    model = case["model"]
    words = ["linearise", os.path.join(HERE, model) if model.endswith(".nh") else model]
    for name, value in case.get("set", {}).items():
        words += ["--set", f"{name}={value!r}"]
    if "start" in case:
        words += ["--start", ",".join(f"{name}={value}" for name, value in case["start"].items())]
    if "sweep" in case:
        words += ["--sweep", "{}={!r}:{!r}:{}".format(*case["sweep"]), "--locate", "hopf,zero"]
    found = program.json(*words)
    tolerance = case["tolerance"]
    if "eigenvalues" in case:
        same_set(found["eigenvalues"], case["eigenvalues"], tolerance)
    if "largest" in case:
        close(max(re for re, _ in found["eigenvalues"]), case["largest"], tolerance, "largest real part")
    if "zeros" in case:
        same(found["zeros"], case["zeros"], "zeros")
    for name, value in case.get("near", {}).items():
        close(found["state"][name], value, tolerance, name)
    if "located" in case:
        wanted = case["located"]
        near = min(found["located"], key=lambda point: abs(point["value"] - wanted["value"]))
        same(near["kind"], wanted["kind"], f"kind of {near}")
        for key in ("value", "frequency"):
            if key in wanted:
                close(near[key], wanted[key], tolerance, key)


# ---- machines made here --------------------------------------------------------------------------


def write(folder, text):
    path = os.path.join(folder, "machine.nh")
    with open(path, "w") as file:
        file.write(text)
    return path


CART = """model cart
parameter M = 2, m = 5, l = 0.5, g = 9.81, gain = 0
input u = 0
coordinate x, a
lagrangian M/2*x'^2 + m/2*((x' + l*cos(a)*a')^2 + (l*sin(a)*a')^2) - m*g*l*cos(a)
force x = u
observe tip = x + l*sin(a), speed = x'
"""


def inputs_and_outputs(program, folder):
    model = write(folder, CART)
    found = program.json("linearise", model, "--keep-symmetries")
    same((found["names"], found["inputs"], found["outputs"]), (["x", "a", "x'", "a'"], ["u"], ["tip", "speed"]))
    M, m, length, g = 2, 5, 0.5, 9.81
    A = [[0, 0, 1, 0], [0, 0, 0, 1], [0, -m * g / M, 0, 0], [0, (M + m) * g / (M * length), 0, 0]]
    B = [[0], [0], [1 / M], [-1 / (M * length)]]
    C = [[1, length, 0, 0], [0, 0, 1, 0]]
    for name, matrix in (("A", A), ("B", B), ("C", C), ("D", [[0], [0]])):
        for row, expected in zip(found[name], matrix):
            for x, y in zip(row, expected):
                close(x, y, 1e-13, name)
    reduced = program.json("linearise", model)
    same((reduced["names"], reduced["zeros"]), (["a", "x'", "a'"], {"x": 1, "x'": 1}))
    # feedback is part of A, and B is what is added to it
    held = program.json("linearise", model, "--input", "u=3*a + 2*x'", "--keep-symmetries")
    for row, old, b in zip(held["A"], A, B):
        for x, y, k in zip(row, old, [0, 3, 2, 0]):
            close(x, y + b[0] * k, 1e-13, "A with feedback")
    same(held["B"], found["B"])


def input_in_constraint(program, folder):
    """A skate at the given heading rate: x' = A x + B u holds with the velocity that follows u at once."""
    model = write(folder, "model steered\ninput rate = 0\ncoordinate x, y\ncoordinate th angle\n"
                          "lagrangian (x'^2 + y'^2 + th'^2)/2\nconstraint edge: y'*cos(th) - x'*sin(th) = 0\n"
                          "constraint steer: th' = rate\nstart x' = 2\nobserve turning = th'\n")
    found = program.json("linearise", model)
    same((found["names"], found["A"], found["B"], found["C"], found["D"]), (["x'"], [[0]], [[0]], [[0]], [[1]]))


def loop(program, folder):
    """A four-bar linkage hangs; its frequency is that of the same linkage with one angle, by Richardson's differences."""
    model = write(folder, "model linkage\nparameter g = 9.81\ncoordinate a, b, c\n"
                          "let P = (cos(a), sin(a)), Q = P + 1.5*(cos(b), sin(b))\n"
                          "lagrangian dot(Q', Q')/2 + (a'^2 + b'^2 + c'^2)/20 - g*Q[2]\n"
                          "constraint loop: Q + 1.2*(cos(c), sin(c)) = (2, 0)\n"
                          "start a = -1, b = 0.3, c = 1\nstart solve a, b, c\n")
    found = program.json("linearise", model)
    same((len(found["eigenvalues"]), found["zeros"], len(found["names"])), (2, {}, 2))
    check(found["residual"] < 1e-13, f"residual {found['residual']}")
    check(found["eigenvalues"][0][1] > 1, f"hangs: {found['eigenvalues']}")


def units_of_time(program, folder):
    """Eigenvalues of a motion in other units of time are other numbers: those of a resonator in seconds, of an orbit in seconds.
    Above 3e5 and below 3e-6 all were 0."""
    model = write(folder, "model two\nparameter g = 1\ncoordinate x, y\n"
                  "lagrangian (x'^2 + y'^2)/2 - g*(x^2 - 2*y^2 + 0.3*x*y)/2\nstart x = 0\n")
    plain = program.json("linearise", model)["eigenvalues"]
    for unit in (1e-6, 1e-4, 1e4, 1e6, 1e10, 1e100, 1e150):
        found = program.json("linearise", model, "--set", f"g={unit**2!r}")
        same((found["zeros"], len(found["eigenvalues"])), ({}, 4), unit)
        same_set([[part / unit for part in pair] for pair in found["eigenvalues"]], plain, 1e-12)


def double_eigenvalue(program, folder):
    model = write(folder, "model critical\nparameter c = 2\ncoordinate x\nlagrangian (x'^2 - x^2)/2\nforce x = -c*x'\n")
    done = program("linearise", model)
    check("condition number" in done.stderr and "digits of it can be trusted" in done.stderr, done.stderr)
    point = program.json("linearise", model, "--sweep", "c=1:3:8", "--locate", "all")["located"]
    same([p["kind"] for p in point], ["double"])
    close(point[0]["value"], 2, 1e-12, "c")
    close(point[0]["re"], -1, 1e-7, "the eigenvalue")


def special_value(program, folder):
    """A saddle that turns: with W = 1, the parameter of the model, x drops out of the equations, and only there."""
    model = write(folder, "model saddle\nparameter a = 1, b = -0.5, W = 1\ncoordinate x, y\n"
                          "lagrangian ((x' - W*y)^2 + (y' + W*x)^2)/2 - (a*x^2 + b*y^2)/2\n")
    point, = program.json("linearise", model, "--sweep", "W=0:2:40", "--locate", "all")["located"]
    same(point["kind"], "zero")
    close(point["value"], 1, 1e-12, "W")


def crossings_at_once(program, folder):
    """Two damped oscillators become unstable together, at a value that the sweep hits."""
    model = write(folder, "model two\nparameter c = 1\ncoordinate x, y\nlagrangian (x'^2 + y'^2 - x^2 - 2*y^2)/2\n"
                          "force x = -c*x'\nforce y = -2*c*y'\n")
    found = program.json("linearise", model, "--sweep", "c=-0.5:0.5:11", "--locate", "hopf")["located"]
    same(sorted((p["kind"], round(p["frequency"], 9)) for p in found), [("hopf", 1.0), ("hopf", 1.414213562)])
    for point, rate in zip(sorted(found, key=lambda p: p["frequency"]), (-0.5, -1)):
        close(point["value"], 0, 1e-12, "c")
        close(point["rate"][0], rate, 1e-12, "rate")


def refused(program, folder):
    def said(text, code, *arguments):
        done = program("linearise", write(folder, text), *arguments)
        same(done.returncode, code, done.stderr)
        return done.stderr

    slope = "model slope\nparameter g = 9.81, p = 2\ncoordinate x, y\nlagrangian (x'^2 + y'^2)/2 - g*x - abs(y)^p\n"
    message = said(slope, 1)
    check("force on x': 9.81" in message and "x = 0" in message and "--start" in message, message)
    check("did you mean 'g'" in said(slope, 2, "--sweep", "gg=1:2:3"), "suggestion")
    check("decides the form" in said(slope, 2, "--sweep", "p=1:2:3"), "form")
    check("--locate needs --sweep" in said(slope, 2, "--locate", "hopf"), "locate")
    check("hopf, zero, double" in said(slope, 2, "--sweep", "g=0:1:3", "--locate", "hop"), "kinds")
    fading = "model fading\ncoordinate x\nlagrangian x'^2/2 - exp(x)\n"
    check("no steady motion" in said(fading, 1), "a force that only fades away")
    driven = "model driven\ninput u = sin(t)\ncoordinate x\nlagrangian x'^2/2 - x^2/2\nforce x = u\n"
    check("depends on time" in said(driven, 2), "time")
    same(said(driven, 0, "--input", "u=1"), "", "an input with a constant value")


def files(program, folder):
    """Pictures and matrices."""
    model = write(folder, CART)
    matrices, picture = os.path.join(folder, "cart.npz"), os.path.join(folder, "e.svg")
    same(program("linearise", model, "--matrices", matrices, "--plot", picture).returncode, 0)
    check(os.path.getsize(picture) > 1000, "picture")
    try:
        import numpy
    except ImportError:
        return
    found = numpy.load(matrices)
    same((found["A"].shape, found["B"].shape, found["C"].shape), ((3, 3), (3, 1), (2, 3)))
    same((list(found["names"]), list(found["inputs"]), list(found["outputs"])), (["a", "x'", "a'"], ["u"], ["tip", "speed"]))
    sweep = program("linearise", model, "--sweep", "l=0.3:1:5", "--plot", os.path.join(folder, "s.svg"))
    check("1 eigenvalue grows" in sweep.stdout, sweep.stdout)


def bicycle(program, folder):
    """What is located in one sweep of the shipped model; the table is in linearise.json."""
    found = program.json("linearise", "benchmark-bicycle", "--sweep", "speed=0:10:11", "--locate", "hopf,zero")
    same([point["kind"] for point in found["located"]], ["double", "hopf", "zero"])
    same(found["zeros"], {"x": 1, "y": 1, "yaw with turning (x, y)": 1, "rear": 1, "front": 1, "speed": 1})
    same([len(one["eigenvalues"]) for one in found["sweep"]], [4] * 11)


def main():
    program = Program(sys.argv[1])
    if "no LAPACK" in program("--version").stdout:
        done = program("linearise", "rattleback")
        same((done.returncode, "liblapack-dev" in done.stderr), (2, True), done.stderr)
        print("skipped: this build has no LAPACK")
        return 77
    cases = tables.read(os.path.join(HERE, "linearise.json"))["cases"]
    tests = [(case["id"], lambda case=case: run_case(program, case)) for case in cases]
    return run_all(tests + cases_in_folders(globals(), program))


if __name__ == "__main__":
    sys.exit(main())
