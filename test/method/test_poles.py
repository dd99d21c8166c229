#!/usr/bin/env python3
"""Balls that pass the poles of Euler angles: test_poles.py NONHOLO SOURCES [RUNS]

Chaplygin's ball and Routh's sphere roll with an axis that is exactly vertical, up or down, in the middle of the run, where
Euler angles have no velocities. End states are compared with SciPy's solution of the equations of Newton and Euler in body
axes: s from the centre of mass to the contact, (I + m (s^2 - s s^T)) w' = -w x I w + m s x (w x v - w x s' + g e), v = -w x s.
A few runs of each by default; 40 of each were measured: the largest error is 5e-11."""

import json
import os
import subprocess
import sys

try:
    import numpy as np
    from scipy.integrate import solve_ivp
except ImportError:
    print("skipped: no SciPy")
    sys.exit(77)

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from polar_steps import product  # noqa: E402

# File, moments of inertia, distance of the centre of mass, gravity; m = r = 1, as in the files.
BALLS = {"chaplygin-ball": ("models/chaplygin-ball.nh", np.array([.4, .6, .8]), 0.0, 1.0),
         "routh-sphere": ("models/routh-sphere.nh", np.array([.5, .5, .4]), .3, 1.0)}
WAYS = [["--tolerance", "1e-11"], ["--method", "gauss:stages=5", "--step", "0.02"]]
TIME = 1.0  # to the pole, and beyond it
LIMIT = 1e-8


def matrix(p):
    w, v = p[0], p[1:]
    return (w * w - v @ v) * np.eye(3) + 2 * np.outer(v, v) + 2 * w * np.array([[0, -v[2], v[1]], [v[2], 0, -v[0]], [-v[1], v[0], 0]])


def rate(I, a, g):
    def f(_, state):
        p, w = state[2:6], state[6:]
        R = matrix(p)
        e = R[2]
        s = np.array([0, 0, a]) - e
        v, s_rate = -np.cross(w, s), -np.cross(e, w)
        inertia = np.diag(I) + (s @ s) * np.eye(3) - np.outer(s, s)
        push = -np.cross(w, I * w) + np.cross(s, np.cross(w, v) - np.cross(w, s_rate) + g * e)
        space = R @ w
        return np.concatenate([[space[1], -space[0]], product(p, np.concatenate([[0.0], w])) / 2, np.linalg.solve(inertia, push)])
    return f


def follow(f, state, time):
    return solve_ivp(f, (0, time), state, method="DOP853", rtol=1e-13, atol=1e-14).y[:, -1]


def end_of(program, path, start, way):
    x, y, *rest = start
    p, w = np.array(rest[:4]), np.array(rest[4:])
    space = matrix(p) @ w
    p /= np.linalg.norm(p)
    state = [f"--q={','.join(map(repr, map(float, [x, y, *p])))}", f"--v={','.join(map(repr, map(float, [space[1], -space[0], *w])))}"]
    done = subprocess.run([program, "run", path, *way, "--time", repr(2 * TIME), "--every", "1000000", "--json", "--quiet", "--no-estimate",
                           "--project", *state], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr)
    found = json.loads(done.stdout)
    return np.array([*found["q"], *found["v"][2:]])


def main():
    program, sources = sys.argv[1:3]
    runs = int(sys.argv[3]) if sys.argv[3:] else 2
    random, failed = np.random.default_rng(17), 0
    for name, (path, I, a, g) in BALLS.items():
        f, worst, wrong = rate(I, a, g), [0.0] * len(WAYS), 0
        for i in range(runs):
            half = random.uniform(0, np.pi)
            p = np.array([np.cos(half), 0, 0, np.sin(half)]) if i % 2 else np.array([0, np.cos(half), np.sin(half), 0])
            pole = np.concatenate([random.normal(size=2), p, random.normal(size=3)])
            start = follow(f, pole, -TIME)
            truth = follow(f, pole, TIME)
            for k, way in enumerate(WAYS):
                error = np.max(np.abs(end_of(program, os.path.join(sources, path), start, way) - truth))
                worst[k] = max(worst[k], error)
                wrong += error > LIMIT
        failed += wrong
        print(f"{'FAIL' if wrong else 'ok  '} {name}: {runs} runs through a pole, {wrong} wrong; largest error "
              + ", ".join(f"{x:.1e} ({' '.join(way)})" for x, way in zip(worst, WAYS)))
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
