#!/usr/bin/env python3
"""Conditions on positions in the methods that preserve the energy: test_positions.py NONHOLO MODELS

Steps agree with dense formulas that share nothing with the library (polar_steps.py). Orders are measured from three
step sizes; energy, g = 0 and C v = 0 hold to round-off; a run forwards and backwards ends where it began.
Long runs are in long_positions.py."""

import json
import math
import os
import subprocess
import sys

import numpy as np

import polar_steps
from polar_steps import System

# Systems with the time that is simulated and the steps of the coarsest run of avf-p.
SYSTEMS = {
    "double-pendulum": (1, 8), "bead": (1, 8), "disk-trailer": (1, 8), "fourbar-skate": (.25, 8), "free-body": (1, 8),
    "heavy-top": (1, 16), "suslov": (1, 8), "veselova": (1, 8), "chaplygin-ball": (1, 8), "routh-sphere": (1, 8),
    "rattleback": (.1, 100)}
# Methods by their command line, with their order and how many times fewer steps they take.
METHODS = {"avf-p": (["--method", "avf-p"], 2, 1),
           "triple jump": (["--method", "avf-p", "--compose", "triple-jump"], 4, 1),
           "yoshida6": (["--method", "avf-p", "--compose", "yoshida6"], 6, 2)}
ROTATIONS = {"heavy-top": .1, "veselova": .1, "chaplygin-ball": .2, "routh-sphere": .1}  # with steps


class Library:
    def __init__(self, program, folder):
        self.program, self.folder = program, folder

    def text(self, name):
        with open(os.path.join(self.folder, name + ".nh"), encoding="utf-8") as f:
            return f.read()

    def run(self, name, words, step, steps, state=None):
        command = [self.program, "run", os.path.join(self.folder, name + ".nh"), *words, "--step", repr(step), "--steps",
                   str(steps), "--every", str(max(steps, 1)), "--backend", "tape", "--json", "--quiet", "--no-estimate"]
        if state is not None:
            command += [f"--{key}=" + ",".join(map(repr, map(float, x))) for key, x in zip("qv", state)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(" ".join(command) + "\n" + done.stderr)
        return json.loads(done.stdout)


def distance(a, b):
    return max(abs(x - y) for key in "qv" for x, y in zip(a[key], b[key]))


class Checks:
    def __init__(self):
        self.failed = 0

    def __call__(self, fine, text):
        if not fine:
            self.failed += 1
        print(("ok   " if fine else "FAIL ") + text)


def compare_with_formulas(check, library):
    """Two steps. Measured: 2e-16 .. 3e-15 (rattleback, whose velocities are of size 2)."""
    for name, step in (("bead", .2), ("fourbar-skate", .03), ("heavy-top", .1), ("chaplygin-ball", .3)):
        s = System(library.text(name))
        q, v = s.q, s.v
        for _ in range(2):
            q, v = polar_steps.avf_p(s, q, v, step)
        off = distance(library.run(name, ["--method", "avf-p"], step, 2), {"q": q, "v": v})
        check(off <= 1e-13, f"{name}: avf-p and its formulas differ by {off:.1g}")


def compare_rotations(check, library):
    """avf-so3: two steps by the formulas (measured: 2e-16 .. 8e-16), then order, energy and constraints."""
    for name, step in ROTATIONS.items():
        s = System(library.text(name))
        rates, k = lambda q, v: np.linalg.lstsq(polar_steps.by_rates(q[k:], k), v, rcond=None)[0], s.n - 4
        start, (q, v) = (s.q, rates(s.q, s.v)), (s.q, s.v)
        for _ in range(2):
            q, v = polar_steps.avf_so3(s, q, v, step)
        words = ["--method", "avf-so3"]
        off = distance(library.run(name + "-rotation", words, step, 2, start), {"q": q, "v": rates(q, v)})
        ends = [library.run(name + "-rotation", words, 1 / n, n, start) for n in (16, 32, 64)]
        order = math.log2(distance(ends[0], ends[1]) / distance(ends[1], ends[2]))
        energy = max(end["energy_error_max"] for end in ends)
        norm = max(abs(np.linalg.norm(end["q"][k:]) - 1) for end in ends)
        Cv = max(end["constraint_max"] for end in ends)
        back = library.run(name + "-rotation", words, 1 / 16, 16, (ends[0]["q"], [-x for x in ends[0]["v"]]))
        trip = distance({"q": back["q"], "v": [-x for x in back["v"]]}, dict(zip("qv", start)))
        check(off <= 1e-13 and abs(order - 2) <= .1 and energy <= 1e-13 and norm <= 1e-14 and Cv <= 1e-13 and trip <= 1e-12,
              f"{name}, avf-so3: off its formulas by {off:.0e}, order {order:.2f}, energy {energy:.0e}, |p| {norm:.0e}, "
              f"C v {Cv:.0e}, forth and back {trip:.0e}")


def residuals(s, end):
    """g and C v at the end, relative to the size of their terms: velocities pass through zero."""
    q, v = np.array(end["q"]), np.array(end["v"])
    A, G, g = s.rows(q)
    C = np.vstack([A, G])
    return (np.max(np.abs(g) / (np.abs(G) @ np.abs(q) + 1)), np.max(np.abs(C @ v) / np.sum(np.abs(C), axis=1)) / np.max(np.abs(v)))


def measure(check, library, name, method):
    time, coarsest = SYSTEMS[name]
    words, order, fewer = METHODS[method]
    steps = [coarsest // fewer * 2**i for i in range(3)]
    ends = [library.run(name, words, time / n, n) for n in steps]
    errors = [distance(a, b) for a, b in zip(ends, ends[1:])]
    seen = math.log2(errors[0] / errors[1]) if errors[1] > 1e-13 else None
    s = System(library.text(name))
    g, Cv = (max(x) for x in zip(*(residuals(s, end) for end in ends)))
    energy = max(end["energy_error_max"] for end in ends)
    back = library.run(name, words, time / steps[0], steps[0], (ends[0]["q"], [-x for x in ends[0]["v"]]))
    trip = distance({"q": back["q"], "v": [-x for x in back["v"]]}, {"q": s.q, "v": s.v})
    size = max(abs(x) for x in [*ends[0]["q"], *ends[0]["v"], 1])
    text = f"{name}, {method}: order {'(round-off)' if seen is None else f'{seen:.2f}'}, energy {energy:.0e}, g {g:.0e}"
    check((seen is None or abs(seen - order) <= .1) and energy <= 1e-13 * size**2 and g <= 1e-13 and Cv <= 1e-13 and
          trip <= 1e-12 * size, f"{text}, C v {Cv:.0e}, forth and back {trip:.0e}")


def main():
    check, library = Checks(), Library(*sys.argv[1:3])
    compare_with_formulas(check, library)
    compare_rotations(check, library)
    for name in SYSTEMS:
        for method in METHODS:
            measure(check, library, name, method)
    return check.failed > 0


if __name__ == "__main__":
    sys.exit(main())
