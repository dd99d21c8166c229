#!/usr/bin/env python3
"""precision.py [--only TEXT] [--picture FILE.svg] [--repeat N]: error against time where the mass matrix varies, of our
methods and of an ideal DOP853.

The ideal solver takes the evaluations that SciPy's DOP853 counts with our accelerations as its right-hand side, each for
the time of a compiled evaluation (a quarter of a step of rk4), and nothing else. Ours are dop853 and verner98, compiled,
with their own steps, from the start to the end in one call. Errors are at the end, the largest of |difference|/(1 + |value|)
from a solution of order 16 (for the falling coin of order 12 with steps that follow the motion). Times for errors between
those of the points are interpolated. Timings take turns, and the least of each counts."""

import argparse
import math

import numpy as np
from scipy.integrate import DOP853

import nonholo
from nonholo._library import call, lib
from nonholo.system import as_system
from nonholo.trajectory import Beginning

FALL = {"theta": 0.6, "phi'": 0.02, "theta'": 0, "psi'": 0, "x'": 0, "y'": 0}
PROBLEMS = [  # label, model, time, start, method and options of the exact solution if they are not the usual ones
    ("rattleback, T = 3", "rattleback", 3, None, None),
    ("rolling coin, T = 10", "rolling-coin", 10, None, None),
    ("Chaplygin sleigh, T = 50", "chaplygin-sleigh", 50, None, None),
    ("Chaplygin sphere, T = 20", "chaplygin-sphere", 20, None, None),
    ("two-wheeled robot, T = 10", "two-wheeled-robot", 10, None, None),
    ("bicycle, T = 10", "bicycle", 10, None, None),
    ("falling coin, T = 20", "rolling-coin", 20, FALL, {"method": "gauss", "stages": 6, "pace": 0.2, "steps": 1}),
]
TOLERANCES = [1e-3, 1e-5, 1e-7, 1e-9, 1e-11, 1e-13]
COARSE = TOLERANCES[:4]  # for SciPy on the falling coin, which takes minutes otherwise
METHODS = ("dop853", "verner98")
LEAST, MOST = 1e-11, 1e-3  # errors that are compared


def evaluations(system, q, v, T, tolerance):
    """The end of SciPy's solution, and how often it evaluated."""
    n, y = len(q), np.zeros(2 * len(q))
    dy, forces = np.zeros(2 * n), np.zeros(len(system.constraints) + 1)
    place = [array.ctypes.data for array in (y, y[n:], dy[n:], forces)]

    def slope(t, now):  # of all that a call costs, only their number counts
        y[:] = now
        dy[:n] = now[n:]
        lib.nh_system_acceleration(system._handle, t, *place, None)
        return dy.copy()

    solver = DOP853(slope, 0, np.concatenate([q, v]), T, rtol=max(tolerance, 3e-14), atol=tolerance)
    while solver.status == "running":
        solver.step()
    return solver.y, solver.nfev


def error_of(y, exact):
    return float(np.max(np.abs(y - exact) / (1 + np.abs(exact))))


def begin(model, method, step, start):
    beginning = Beginning(as_system(model, None), 0.0, start, None, None, False)
    run = beginning.run(method, step, 1, None, None, "compiled")
    run.q, run.v = beginning.q, beginning.v
    return run


def time_of(run, steps):
    """From the start on, again and again with the same run."""
    call(lib.nh_run_start, run.handle, 0, 0.0, run.q.ctypes.data, run.v.ctypes.data)
    before = lib.nh_run_seconds(run.handle)
    call(lib.nh_run_advance, run.handle, steps)
    return lib.nh_run_seconds(run.handle) - before


def end_of(run):
    """The state after time_of, and its constraints."""
    q, v = np.zeros(len(run.system.coordinates)), np.zeros(len(run.system.velocities))
    lib.nh_run_state(run.handle, 0, None, q.ctypes.data, v.ctypes.data)
    return np.concatenate([q, v]), float(np.max(np.abs(run.system.residual(q, v)), initial=0))


def study(label, model, T, start, exact, repeat):
    shared = {"time": T, "start": start, "backend": "compiled", "estimate": False}
    how = exact or {"method": "reference", "step": T / 256}
    end = nonholo.run(model, **{**shared, **how})
    exact_end = np.concatenate([end.q[-1], end.v[-1]])
    q, v = end.q[0].copy(), end.v[0].copy()
    ours, ideal = {}, []
    for tolerance in COARSE if exact else TOLERANCES:
        y, count = evaluations(end.system, q, v, T, tolerance)
        ideal.append((error_of(y, exact_end), count))
    runs = {(method, tolerance): begin(model, f"{method}:tolerance={tolerance!r}", T, start)
            for method in METHODS for tolerance in TOLERANCES}
    evaluation, seconds = begin(model, "rk4", T * 1e-7, start), math.inf
    for _ in range(repeat):
        seconds = min(seconds, time_of(evaluation, 4000) / 16000)
        for key, run in runs.items():
            ours[key] = min(time_of(run, 1), ours.get(key, math.inf))
    for key, run in runs.items():
        y, off = end_of(run)
        ours[key] = error_of(y, exact_end), ours[key], off
    curve = sorted((error, time) for error, time, _ in ours.values() if error > 0)
    print(f"{label}: an evaluation takes {seconds * 1e9:.0f} ns; constraints at most {max(c for *_, c in ours.values()):.1e}")
    return curve, [(error, count * seconds) for error, count in ideal if error > 0]


def fastest(curve, error):
    """The time for such an error: straight lines in logarithms between the points that no other one beats."""
    best, points = math.inf, []
    for e, time in sorted(curve):
        if time < best:
            best = time
            points.append((math.log(e), math.log(time)))
    x = math.log(error)
    if not points or x < points[0][0]:
        return None
    for (a, p), (b, r) in zip(points, points[1:]):
        if a <= x <= b:
            return math.exp(p + (r - p) * (x - a) / (b - a))
    return math.exp(points[-1][1])


def ratios(ours, ideal):
    found = []
    for k in range(0, 33):
        error = MOST * 10 ** (-k / 4)
        both = fastest(ours, error), fastest(ideal, error)
        if error >= LEAST * 0.999 and None not in both:
            found.append((both[0] / both[1], error))
    return found


# ---- the picture ----

WIDE, HIGH, LEFT, TOP = 250, 190, 46, 26


def panel(at, label, ours, ideal):
    x0, y0 = (at % 3) * (WIDE + 14) + LEFT, (at // 3) * (HIGH + 44) + TOP
    times = [t for _, t in ours + ideal]
    low, high = math.floor(math.log10(min(times))), math.ceil(math.log10(max(times)))
    wide = WIDE - LEFT

    def place(error, time):
        x = x0 + wide * (math.log10(error) + 13) / 12
        return max(x0, min(x0 + wide, x)), y0 + HIGH * (high - math.log10(time)) / (high - low)

    out = [f'<text x="{x0}" y="{y0 - 8}" font-weight="bold">{label}</text>',
           f'<rect x="{x0}" y="{y0}" width="{wide}" height="{HIGH}" fill="none" stroke="#999"/>']
    for k in range(low, high + 1):
        y = y0 + HIGH * (high - k) / (high - low)
        out.append(f'<line x1="{x0}" x2="{x0 + wide}" y1="{y:.1f}" y2="{y:.1f}" stroke="#ddd"/>'
                   f'<text x="{x0 - 4}" y="{y + 4:.1f}" text-anchor="end">{["1 s", "0.1 s", "10 ms", "1 ms", "0.1 ms", "10 us", "1 us"][-k] if -6 <= k <= 0 else f"1e{k} s"}</text>')
    for k in (-12, -9, -6, -3):
        x = x0 + wide * (k + 13) / 12
        out.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{y0}" y2="{y0 + HIGH}" stroke="#ddd"/>'
                   f'<text x="{x:.1f}" y="{y0 + HIGH + 14}" text-anchor="middle">1e{k}</text>')
    for points, colour in ((ideal, "#888"), (ours, "#25a")):
        placed = [place(*p) for p in sorted(points)]
        if colour == "#888":
            out.append('<polyline fill="none" stroke="#888" stroke-width="1.5" points="'
                       + " ".join(f"{x:.1f},{y:.1f}" for x, y in placed) + '"/>')
        out += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.6" fill="{colour}"/>' for x, y in placed]
    return out


def picture(found):
    rows = (len(found) + 1 + 2) // 3
    width, height = 3 * (WIDE + 14) + 6, rows * (HIGH + 44) + 10
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="11">',
           f'<rect width="{width}" height="{height}" fill="#fff"/>']
    for at, (label, ours, ideal) in enumerate(found):
        out += panel(at, label, ours, ideal)
    x, y = (len(found) % 3) * (WIDE + 14) + LEFT, (len(found) // 3) * (HIGH + 44) + TOP + 20
    out += [f'<circle cx="{x}" cy="{y}" r="3" fill="#25a"/><text x="{x + 10}" y="{y + 4}">nonholo, dop853 and verner98</text>',
            f'<circle cx="{x}" cy="{y + 20}" r="3" fill="#888"/><text x="{x + 10}" y="{y + 24}">ideal DOP853: only its evaluations</text>',
            f'<text x="{x}" y="{y + 50}">time against error at the end</text>', "</svg>"]
    return "\n".join(out) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--picture")
    parser.add_argument("--only", help="only problems whose label has this text")
    parser.add_argument("--repeat", type=int, default=20)
    args = parser.parse_args()
    found = []
    for label, model, T, start, exact in PROBLEMS:
        if args.only and args.only not in label:
            continue
        ours, ideal = study(label, model, T, start, exact, args.repeat)
        found.append((label, ours, ideal))
        each = ratios(ours, ideal)
        least, most = min(each), max(each)
        print(f"    our time as a multiple of the ideal solver's: {least[0]:.2f} (error {least[1]:.0e}) to {most[0]:.2f} "
              f"(error {most[1]:.0e})", flush=True)
    if args.picture:
        with open(args.picture, "w") as file:
            file.write(picture(found))


if __name__ == "__main__":
    main()
