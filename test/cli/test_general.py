#!/usr/bin/env python3
"""test_general.py NONHOLO [--print]

Nonlinear, affine, time-dependent, forced and M(q) systems through the command line, against end states
that were computed without nonholo (test/data/make_general.py). --print shows the measured values."""

import argparse
import json
import os
import sys

from harness import Program, check, run_all, same

HERE = os.path.dirname(os.path.abspath(__file__))

# method, composition, steps to the end, whether it keeps the constraints
METHODS = [
    ("gauss:stages=3", None, 40, True),
    ("lobatto-ab:stages=3", None, 400, True),
    ("lobatto-abd:stages=3", None, 400, True),
    ("newmark", None, 20000, True),
    ("newmark", "yoshida6", 100, True),
    ("newmark-pair", "yoshida6", 100, True),
    ("lobatto-ab-midpoint", "yoshida6", 400, True),
    ("jay-negrut", None, 20000, True),
    ("rk4", None, 400, False),
]

# Methods that take only some of the models.
SPECIAL = {
    "turntable-ball": [
        ("dla01", "yoshida6", 100, True),
        ("dla", "yoshida6", 100, True),
        ("leapfrog", None, 20000, True),
    ],
    "rolling-coin": [
        ("discrete-gradient", "yoshida6", 100, True),
        ("collocation:stages=3", None, 40, True),
    ],
}

KINDS = {
    "appell-hamel": "nonlinear",
    "turntable-ball": "affine",
    "driven-sleigh": "linear",
    "rolling-coin": "linear",
}

ROUND_OFF = 5e-15  # of the constraints; measured: at most 1.1e-15


def command(case, method, compose, steps, backend):
    words = ["run", case["model"], "--method", method, "--backend", backend, "--quiet", "--every", 1, "--no-estimate"]
    words += ["--step", repr(case["time"] / steps), "--steps", steps]
    words += ["--q", ",".join(map(repr, case["q0"])), "--v", ",".join(map(repr, case["v0"]))]
    for name, value in case["set"].items():
        words += ["--set", f"{name}={value!r}"]
    return words + (["--compose", compose] if compose else [])


def farthest(found, expected):
    same(len(found), len(expected), "number of components")
    return max(abs(a - b) for a, b in zip(found, expected))


def compare(program, case, method, compose, steps, keeps, show):
    tape = program.json(*command(case, method, compose, steps, "tape"))
    # large implicit kernels take a compiler long; the matrix and the reference cases compare those
    backend = "compiled" if method in ("gauss:stages=3", "newmark", "rk4") else "tape"
    compiled = program.json(*command(case, method, compose, steps, backend))
    error = {key: farthest(tape[key], case[key]) for key in ("q", "v")}
    if show:
        name = " ".join(filter(None, (method, compose)))
        print(
            f"{case['model']:15} {name:29} {steps:5} steps   q {error['q']:.1e}   v {error['v']:.1e}"
            f"   constraint {tape['constraint_max']:.1e}"
        )
    for key in ("q", "v"):
        same(compiled[key], tape[key], f"{key}: compiled and tape differ")
        check(error[key] <= case["tolerance"], f"{key} is off by {error[key]:.3g}")
    if keeps:
        found = tape["constraint_max"]
        check(found <= ROUND_OFF, f"the constraints are off by {found:.3g}")


def check_kind(program, model):
    facts = program.json("check", model)
    for constraint in facts["constraints"]:
        same(constraint["kind"], KINDS[model], constraint["name"])
        same(constraint["depends_on_time"], model == "turntable-ball", constraint["name"])
    same(facts["autonomous"], model not in ("turntable-ball", "driven-sleigh"), "autonomous")
    same(facts["conservative"], model != "driven-sleigh", "conservative")
    same(facts["constant_mass"], model in ("appell-hamel", "turntable-ball"), "constant mass matrix")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--print", action="store_true")
    given = parser.parse_args()
    program = Program(given.program)
    with open(os.path.join(HERE, "..", "data", "general.json")) as file:
        cases = json.load(file)["cases"]
    same({case["model"] for case in cases}, set(KINDS), "models")

    todo = []
    for case in cases:
        model = case["model"]
        todo.append((f"{model}: kind", lambda model=model: check_kind(program, model)))
        for choice in METHODS + SPECIAL.get(model, []):
            name = " ".join([model, choice[0], choice[1] or ""])
            todo.append((name, lambda c=case, m=choice: compare(program, c, *m, given.print)))
    return run_all(todo, workers=1 if given.print else 2)


if __name__ == "__main__":
    sys.exit(main())
