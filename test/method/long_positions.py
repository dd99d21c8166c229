#!/usr/bin/env python3
"""Many steps on conditions on positions and rotations: long_positions.py NONHOLO SOURCES [STEPS [NAME...]]

10^6 steps of avf-p (and of avf-so3 on rotations) on closed chains, linkages, a bicycle, a disk on a sphere, a pendulum and
balls. At 500 recorded points g, g' and the velocity constraints are evaluated by independent.py, relative to the size of their
terms; attitudes are compared with unit quaternions; the energy is that reported by the program for every step. Prints one line for
each and how far observables have changed. Part of `make positions-test`; takes many minutes."""

import csv
import json
import math
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import independent  # noqa: E402

PENDULUM = """model spherical-pendulum
coordinate x, y, z
lagrangian (x'^2 + y'^2 + z'^2)/2 - z
constraint rod: x^2 + y^2 + z^2 = 1
start x = .6, y = 0, z = -.8, x' = .4, y' = .9, z' = .3
"""
# Name: text or file, settings, methods, step.
CASES = {"spherical-pendulum": (PENDULUM, [], ["avf-p"], .05)}
CASES |= {f"closed-chain of {n}": ("models/closed-chain.nh", [f"N={n}"], ["avf-p"], step)
          for n, step in ((3, .01), (5, .005), (10, .002), (20, .001))}
CASES |= {"fourbar-skate": ("models/fourbar-skate.nh", [], ["avf-p"], .01),
          "disk-on-sphere": ("test/data/groups/disk-on-sphere.nh", [], ["avf-p"], .02),
          "chaplygin-ball": ("models/chaplygin-ball.nh", [], ["avf-p", "avf-so3", "dep-suslov"], .05),
          "routh-sphere": ("models/routh-sphere.nh", [], ["avf-p", "avf-so3"], .05),
          "benchmark-bicycle": ("models/benchmark-bicycle.nh", [], ["avf-p"], .01)}
LIMIT = 1e-13  # of g, g' and the constraints, scaled


def scaled_residuals(model, q, v):
    """|g| and |K v| relative to their size for coordinates and velocities of this size: files contain angles with all
    revolutions, and hence their rounding errors."""
    n = len(q)
    jets = model.constraint_jets(0.0, q, v)
    reach, size = max(1.0, *map(abs, q)), max(1.0, *map(abs, v))
    of_v = max(abs(k.value) / max(1e-300, reach * size * sum(abs(k.d.get(1 + n + i, 0.0)) for i in range(n))) for k in jets)
    rows, g = jets[len(jets) - len(model.positions(0.0, q)):], model.positions(0.0, q)
    return max(abs(x) / (reach * sum(abs(k.d.get(1 + n + i, 0.0)) for i in range(n))) for x, k in zip(g, rows)), of_v


def look(model, path):
    """The largest residuals, the largest change of |p|^2, and the changes of observables."""
    with open(path, encoding="utf-8") as file:
        head, *rows = csv.reader(line for line in file if not line.startswith("#"))
    n, m = len(model.coordinates), len(model.shown_names())
    g = k = unit = 0.0
    for row in rows:
        x = list(map(float, row))
        q, v = x[1:1 + n], model.inner(x[1:1 + n], x[1 + n:1 + n + m])
        found = scaled_residuals(model, q, v)
        g, k = max(g, found[0]), max(k, found[1])
        for first in model.rotations.values():
            unit = max(unit, abs(math.fsum(p * p for p in q[first:first + 4]) - 1))
    drift = []
    for i in range(1 + n + m, len(head)):
        column = [float(row[i]) for row in rows]
        moved = [abs(x - column[0]) for x in column]
        drift.append(f"{head[i]} {max(moved):.1e} (first tenth {max(moved[:len(moved) // 10]):.1e})")
    return g, k, unit, drift


def run(program, sources, name, method, steps):
    text, settings, _, step = CASES[name]
    if "\n" not in text:
        with open(os.path.join(sources, text), encoding="utf-8") as file:
            text = file.read()
    text = independent.ordinary(program, text)
    for setting in settings:  # for the independent evaluator
        key = setting.split("=")[0]
        text = "\n".join(f"parameter {setting}" if line.startswith(f"parameter {key} =") else line for line in text.split("\n"))
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model")
        with open(path + ".nh", "w", encoding="utf-8") as file:
            file.write(text)
        done = subprocess.run([program, "run", path + ".nh", "--method", method, "--step", repr(step), "--steps", str(steps),
                               "--every", str(max(1, steps // 500)), "--json", "--quiet", "--no-estimate", "-o", path + ".csv"],
                              capture_output=True, text=True, check=False)
        if done.returncode:
            print(f"FAIL {name}, {method}: {done.stderr}", flush=True)
            return False
        said = json.loads(done.stdout)
        g, k, unit, drift = look(independent.Model(text), path + ".csv")
    energy = said["energy_error_max"] / max(1.0, abs(said["energy"]))
    keeps = method.startswith("avf")
    # A walk of rounding errors: measured at most 3e-12 in 10^6 steps, for the bicycle.
    own = said["constraint_max"] / max(1.0, *map(abs, said["v"]))  # by the program itself, of angles without revolutions
    fine = max(g, k, own) <= LIMIT and unit <= 1e-14 and (not keeps or energy <= 1e-14 * math.sqrt(steps))
    print(f"{'ok  ' if fine else 'FAIL'} {name}, {method}, step {step}, {said['steps']} steps: g {g:.1e}, constraints {k:.1e} ({own:.1e}), "
          f"|R^T R - 1| {unit:.1e}, energy {energy:.1e} of {said['energy']:.3g}, {said['ns_per_step'] / 1000:.1f} us a step"
          + "".join("\n       " + line for line in drift + said["remarks"]), flush=True)
    return fine


def main():
    program, sources = sys.argv[1:3]
    steps = int(sys.argv[3]) if sys.argv[3:] else 10**6
    names = sys.argv[4:] or CASES
    fine = [run(program, sources, name, method, steps) for name in names for method in CASES[name][2]]
    return not all(fine)


if __name__ == "__main__":
    sys.exit(main())
