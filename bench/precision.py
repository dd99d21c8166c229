#!/usr/bin/env python3
"""precision.py --folder BUILD --program NONHOLO --peers LIBRARY [--only TEXT] [--repeat N]: error against time for systems with
a varying mass matrix, for our methods, other solvers, and an ideal DOP853. Points and a picture go to
BUILD/work-precision-models.csv and .svg.

The ideal solver takes the evaluations that SciPy's DOP853 counts with our accelerations as its right-hand side, each for
the time of a compiled evaluation (a quarter of a step of rk4), and nothing else. The other solvers (peer_models.c) use the
accelerations in the C code that 'nonholo export' writes, compiled with -O3 for this processor. Ours are dopri5, dop853 and
verner98, compiled, with their own steps, from the start to the end in one call. Errors are at the end, the largest of
|difference|/(1 + |value|) from a solution of order 16 (for the falling coin of order 12 with steps that follow the motion).
Times for errors between those of the points are interpolated. The solvers are timed in turn, several times in a row
so that each finds its code in the cache, and the shortest time counts."""

import argparse
import ctypes
import math
import os
import subprocess
import sys
import tempfile

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
TOLERANCES = [10.0 ** -k for k in range(2, 14)]
COARSE = TOLERANCES[:8]  # on the falling coin, which takes minutes otherwise
METHODS = {"dopri5": 1e-6, "dop853": 0, "verner98": 0}  # and the least tolerance that each is tried with
LEAST, MOST = 1e-11, 1e-3  # errors that are compared
SLOW = 0.5  # seconds: the limit for other solvers
IN_A_ROW = 5  # timings of one run; the first finds another run's code in the cache

RATE = """
void bench_rate(const double *y, double *dy);
void bench_rate(const double *y, double *dy)
{
    double a[N + M + 1];
    for (int i = 0; i < N; i++)
        dy[i] = y[N + i];
    fn_ACCELERATION(0, y, y + N, 0, a, 0);
    for (int i = 0; i < N; i++)
        dy[N + i] = a[i];
}
"""


def evaluations(system, q, v, T, tolerance):
    """The end of SciPy's solution, and the number of evaluations."""
    n, y = len(q), np.zeros(2 * len(q))
    dy, forces = np.zeros(2 * n), np.zeros(len(system.constraints) + 1)
    place = [array.ctypes.data for array in (y, y[n:], dy[n:], forces)]

    def slope(t, now):  # only the number of calls counts, not their cost
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
    """The time of repeated solutions from the start with the same run."""
    call(lib.nh_run_start, run.handle, 0, 0.0, run.q.ctypes.data, run.v.ctypes.data)
    before = lib.nh_run_seconds(run.handle)
    call(lib.nh_run_advance, run.handle, steps)
    return lib.nh_run_seconds(run.handle) - before


def end_of(run):
    """The state after time_of, and its constraints."""
    q, v = np.zeros(len(run.system.coordinates)), np.zeros(len(run.system.velocities))
    lib.nh_run_state(run.handle, 0, None, q.ctypes.data, v.ctypes.data)
    return np.concatenate([q, v]), float(np.max(np.abs(run.system.residual(q, v)), initial=0))


class Peers:
    """Other solvers, with the accelerations of models as C functions."""

    def __init__(self, library, program):
        self.library, self.program, self.labels = ctypes.CDLL(library), program, []
        self.library.peer_label.restype = ctypes.c_char_p
        self.library.peer_seconds.restype = ctypes.c_double
        while self.library.peer_label(len(self.labels)):
            self.labels.append(self.library.peer_label(len(self.labels)).decode())

    def rate(self, model, folder):
        """The model's bench_rate; the output of exporting is ignored."""
        source, shared = os.path.join(folder, model + ".c"), os.path.join(folder, model + ".so")
        subprocess.run([self.program, "export", model, "--format", "c", "--method", "rk4", "--step", "0.1", "--quiet", "-o", source],
                       check=True, stdout=subprocess.DEVNULL)
        with open(source, "a") as file:
            file.write(RATE)
        subprocess.run(["cc", "-O3", "-march=native", "-fno-math-errno", "-fno-trapping-math", "-w", "-fPIC", "-shared", source,
                        "-o", shared, "-lm"], check=True)
        return ctypes.CDLL(shared).bench_rate

    def seconds(self, which, rate, T, tolerance, start):
        """Seconds of one solution, and its end state; infinity if it fails."""
        y = start.copy()
        time = self.library.peer_seconds(which, rate, len(y) // 2, ctypes.c_double(T), ctypes.c_double(tolerance),
                                         y.ctypes.data_as(ctypes.c_void_p))
        return (time if time >= 0 else math.inf), y


def measure_peers(peers, model, T, start, exact_end, repeat):
    """Points (error, seconds) of each solver."""
    points = {}
    with tempfile.TemporaryDirectory() as folder:
        rate = peers.rate(model, folder)
        for which, label in enumerate(peers.labels):
            best = 0.0
            for tolerance in TOLERANCES:
                best, y = peers.seconds(which, rate, T, tolerance, start)
                for _ in range(min(repeat, int(SLOW / 4 / best)) if best < math.inf else 0):
                    best = min(best, peers.seconds(which, rate, T, tolerance, start)[0])
                error = error_of(y, exact_end)
                if best < math.inf and 0 < error < 1:
                    points.setdefault(label, []).append((error, best))
                if best > SLOW:
                    break
    return points


def measure_ours(model, T, start, exact_end, repeat):
    """Points of our methods, the time of an evaluation, and the worst residual of a constraint."""
    runs = {(method, tolerance): begin(model, f"{method}:tolerance={tolerance!r}", T, start)
            for method, least in METHODS.items() for tolerance in TOLERANCES if tolerance >= least}
    evaluation, seconds, best = begin(model, "rk4", T * 1e-7, start), math.inf, {}
    for _ in range(repeat):
        seconds = min(seconds, time_of(evaluation, 4000) / 16000)
        for key, run in list(runs.items()):
            try:
                best[key] = min([best.get(key, math.inf), *(time_of(run, 1) for _ in range(IN_A_ROW))])
            except nonholo.ComputationError:  # too small a tolerance for this motion
                del runs[key]
    points, worst = [], 0.0
    for key, run in runs.items():
        y, off = end_of(run)
        worst = max(worst, off)
        if 0 < error_of(y, exact_end) < 1:
            points.append((error_of(y, exact_end), best[key]))
    return points, seconds, worst


def study(label, model, T, start, exact, repeat, peers):
    """Points of all solvers, by solver."""
    shared = {"time": T, "start": start, "backend": "compiled", "estimate": False}
    how = exact or {"method": "reference", "step": T / 256}
    end = nonholo.run(model, **{**shared, **how})
    exact_end = np.concatenate([end.q[-1], end.v[-1]])
    q, v = end.q[0].copy(), end.v[0].copy()
    ours, seconds, worst = measure_ours(model, T, start, exact_end, repeat)
    ideal = []
    for tolerance in COARSE if exact else TOLERANCES:
        y, count = evaluations(end.system, q, v, T, tolerance)
        ideal.append((error_of(y, exact_end), count * seconds))
    print(f"{label}: an evaluation takes {seconds * 1e9:.0f} ns; constraints at most {worst:.1e}")
    others = measure_peers(peers, model, T, np.concatenate([q, v]), exact_end, repeat) if peers else {}
    return {"nonholo": ours, "ideal DOP853": [point for point in ideal if 0 < point[0] < 1], **others}


def fastest(curve, error):
    """The time for a given error, by linear interpolation in logarithms between the best points."""
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


def ratios(ours, other):
    """The ratio of our time to the other solver's, and the error, for errors that both reach."""
    found = []
    for k in range(0, 33):
        error = MOST * 10 ** (-k / 4)
        both = fastest(ours, error), fastest(other, error)
        if error >= LEAST * 0.999 and None not in both:
            found.append((both[0] / both[1], error))
    return found


# ---- the picture ----

WIDE, HIGH, LEFT, TOP = 250, 190, 46, 26
COLOURS = {"nonholo": "#25a", "ideal DOP853": "#888", "GSL rk8pd": "#c50", "CVODE Adams": "#393", "IDA": "#a3a"}
UNITS = {0: "1 s", -1: "0.1 s", -2: "10 ms", -3: "1 ms", -4: "0.1 ms", -5: "10 us", -6: "1 us"}


def axes(x0, y0, wide, low, high, label):
    out = [f'<text x="{x0}" y="{y0 - 8}" font-weight="bold">{label}</text>',
           f'<rect x="{x0}" y="{y0}" width="{wide}" height="{HIGH}" fill="none" stroke="#999"/>']
    for k in range(low, high + 1):
        y = y0 + HIGH * (high - k) / (high - low)
        out.append(f'<line x1="{x0}" x2="{x0 + wide}" y1="{y:.1f}" y2="{y:.1f}" stroke="#ddd"/>'
                   f'<text x="{x0 - 4}" y="{y + 4:.1f}" text-anchor="end">{UNITS.get(k, f"1e{k} s")}</text>')
    for k in (-12, -9, -6, -3):
        x = x0 + wide * (k + 13) / 12
        out.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{y0}" y2="{y0 + HIGH}" stroke="#ddd"/>'
                   f'<text x="{x:.1f}" y="{y0 + HIGH + 14}" text-anchor="middle">1e{k}</text>')
    return out


def panel(at, label, points):
    x0, y0, wide = (at % 3) * (WIDE + 14) + LEFT, (at // 3) * (HIGH + 44) + TOP, WIDE - LEFT
    times = [t for of in points.values() for _, t in of]
    low, high = math.floor(math.log10(min(times))), math.ceil(math.log10(max(times)))
    out = axes(x0, y0, wide, low, high, label)
    for who, of in points.items():
        placed = [(x0 + wide * (math.log10(error) + 13) / 12, y0 + HIGH * (high - math.log10(time)) / (high - low))
                  for error, time in sorted(of) if 1e-13 <= error <= 0.1]
        if who != "nonholo":
            out.append(f'<polyline fill="none" stroke="{COLOURS[who]}" stroke-width="1.2" points="'
                       + " ".join(f"{x:.1f},{y:.1f}" for x, y in placed) + '"/>')
        out += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.4" fill="{COLOURS[who]}"/>' for x, y in placed]
    return out


def picture(found):
    rows = (len(found) + 1 + 2) // 3
    width, height = 3 * (WIDE + 14) + 6, rows * (HIGH + 44) + 10
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="11">',
           f'<rect width="{width}" height="{height}" fill="#fff"/>']
    for at, (label, points) in enumerate(found):
        out += panel(at, label, points)
    x, y = (len(found) % 3) * (WIDE + 14) + LEFT, (len(found) // 3) * (HIGH + 44) + TOP + 20
    told = {"nonholo": "nonholo: dopri5, dop853, verner98", "ideal DOP853": "ideal DOP853: only its evaluations"}
    for who in {name: 0 for _, points in found for name in points}:
        out.append(f'<circle cx="{x}" cy="{y}" r="3" fill="{COLOURS[who]}"/><text x="{x + 10}" y="{y + 4}">{told.get(who, who)}</text>')
        y += 20
    return "\n".join(out + [f'<text x="{x}" y="{y + 10}">time against error at the end</text>', "</svg>"]) + "\n"


def write_points(found, path):
    with open(path, "w") as file:
        file.write("problem,solver,error,seconds\n")
        for label, points in found:
            for who, of in points.items():
                file.writelines(f'"{label}","{who}",{error!r},{time!r}\n' for error, time in sorted(of))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", required=True)
    parser.add_argument("--program", required=True)
    parser.add_argument("--peers", help="the shared library of peer_models.c")
    parser.add_argument("--only", help="only problems whose label has this text")
    parser.add_argument("--repeat", type=int, default=20)
    args = parser.parse_args()
    peers = Peers(args.peers, args.program) if args.peers else None
    found = []
    for label, model, T, start, exact in PROBLEMS:
        if args.only and args.only not in label:
            continue
        points = study(label, model, T, start, exact, args.repeat, peers)
        found.append((label, points))
        for who in list(points)[1:]:
            each = ratios(points["nonholo"], points[who])
            if each:
                least, most = min(each), max(each)
                print(f"    our time as a multiple of that of {who + ':':14} {least[0]:.3f} (error {least[1]:.0e}) to {most[0]:.3f} "
                      f"(error {most[1]:.0e})", flush=True)
    write_points(found, os.path.join(args.folder, "work-precision-models.csv"))
    with open(os.path.join(args.folder, "work-precision-models.svg"), "w") as file:
        file.write(picture(found))


if __name__ == "__main__":
    sys.path.insert(0, os.path.join(sys.argv[sys.argv.index("--folder") + 1], "python") if "--folder" in sys.argv else "")
    try:
        import numpy as np
        from scipy.integrate import DOP853
    except ImportError as missing:
        sys.exit(print(f"precision.py: skipped, {missing}"))
    import nonholo
    from nonholo._library import call, lib
    from nonholo.system import as_system
    from nonholo.trajectory import Beginning
    main()
