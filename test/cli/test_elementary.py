#!/usr/bin/env python3
"""test_elementary.py NONHOLO: every function of the model language, evaluated by the interpreted tape, by machine
code, by compiled C, for one trajectory and over lanes: the same bits, and the correct values."""

import math
import os
import sys
import tempfile

from harness import Program, check, run_all, same

nonholo = Program(sys.argv[1])
FUNCTIONS = {  # as the language writes it: as Python computes it, for x within (0, 1)
    "sin(3*x)": lambda x: math.sin(3 * x), "cos(3*x)": lambda x: math.cos(3 * x), "tan(x)": math.tan, "asin(x)": math.asin,
    "acos(x)": math.acos, "atan(3*x)": lambda x: math.atan(3 * x), "atan2(x, -2)": lambda x: math.atan2(x, -2),
    "atan2(-x, x - 1/2)": lambda x: math.atan2(-x, x - 0.5), "sinh(x)": math.sinh, "cosh(x)": math.cosh, "tanh(x)": math.tanh,
    "exp(-x)": lambda x: math.exp(-x), "log(x)": math.log, "sqrt(x)": math.sqrt, "x^2.5": lambda x: x**2.5,
    "x^-3": lambda x: x**-3, "(1 + x)^x": lambda x: (1 + x)**x, "2^x": lambda x: 2**x, "sin(1e8*x)": lambda x: math.sin(1e8 * x),
    "cos(1e15*x)": lambda x: math.cos(1e15 * x), "1/(1 + x^4)": lambda x: 1 / (1 + x**4),
}
MODEL = ("model every\ncoordinate x, y, z\n"
         "lagrangian (x'^2 + y'^2 + z'^2)/2 - (%s)*1e-6\nconstraint y' = tanh(x)*atan2(z, 2 + x)*x'\n"
         "start x = 0.2, x' = 0.01, z = 0.3, z' = -0.1, y' = tanh(0.2)*atan2(0.3, 2.2)*0.01\n" %
         " + ".join("%s + %s" % (f, f.replace("x", "(z/2 + 1/2)").replace("e(z/2 + 1/2)p", "exp")) for f in FUNCTIONS
                    if "1e" not in f)
         + "".join("observe f%d = %s\n" % (i, f) for i, f in enumerate(FUNCTIONS)))
RUN = ["--method", "gauss", "--step", "0.125", "--steps", "16", "--every", "1"]
WAYS = {"interpreted": (["--backend", "tape"], {"NONHOLO_MACHINE_CODE": "0"}), "machine code": (["--backend", "tape"], {}),
        "compiled": (["--backend", "compiled"], {})}


def rows(path):
    return [line.split(",") for line in open(path).read().splitlines()]


def test_values_and_bits():
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "every.nh"), "w") as file:
            file.write(MODEL)
        found = {}
        for way, (arguments, env) in WAYS.items():
            nonholo.json("run", "./every.nh", *RUN, *arguments, "-o", "r.csv", cwd=folder, env=env)
            found[way] = rows(os.path.join(folder, "r.csv"))
            # several members over lanes: two trajectories beside the first, which must not change a bit of it
            with open(os.path.join(folder, "starts.csv"), "w") as file:
                file.write("x,z\n0.2,0.3\n" + "0.2,0.3\n" * 6)
            nonholo.json("ensemble", "./every.nh", *RUN, *arguments, "--starts", "starts.csv", "-o", "m.csv", "--table",
                         "members", cwd=folder, env=env)
            members = rows(os.path.join(folder, "m.csv"))
            head = members[0]
            for member in members[1:]:
                same([member[head.index(n)] for n in ("x", "y", "z")], found[way][-1][1:4], way + ", over lanes")
        same(found["machine code"], found["interpreted"], "machine code")
        same(found["compiled"], found["interpreted"], "compiled")
        head, *table = found["interpreted"]
        for row in table:
            x = float(row[1])
            for i, (text, function) in enumerate(FUNCTIONS.items()):
                value, expected = float(row[head.index("f%d" % i)]), function(x)
                # arguments of 1e8 x and 1e15 x are themselves rounded once: the same in Python
                check(abs(value - expected) <= 4e-16 * max(1, abs(expected)) * (1 if "^" not in text else 4),
                      "%s at %r: %r, not %r" % (text, x, value, expected))


sys.exit(run_all([(name, test) for name, test in list(globals().items()) if name.startswith("test_")]))
