#!/usr/bin/env python3
"""How the cost of long machines grows with their length.

    python3 bench/long_machines.py [--program PATH] [--kinds absolute,relative,...] [--sizes 10,20,...]

For chains of N links, in absolute and in relative angles, with velocities written out, with
rotations, with hinges in space, in the coordinates of all bodies, and for tractors with N trailers: the
processor time and memory of a run of one step, and the time per step; then the exponents between
the sizes. All entries are timed in turn, and the minimum of the rounds counts.
"""
import argparse
import json
import math
import os
import resource
import subprocess
import sys
import tempfile

PLANAR = """model planar-chain
parameter l = 1, m = 1, g = 9.81
coordinate a[1..{N}] angle
{more}let place[i] = l*sum(j in 1..i: (sin({angle}), -cos({angle})))
lagrangian sum(i in 1..{N}: m/2*dot(place[i]', place[i]') - m*g*place[i][2])
start for i in 1..{N}: a[i] = 0.1*sin(i)
"""

WRITTEN = """model planar-chain
parameter l = 1, m = 1, g = 9.81
coordinate a[1..{N}] angle
let vx(i) = sum(j in 1..i: l*cos(a[j])*a[j]'), vy(i) = sum(j in 1..i: l*sin(a[j])*a[j]')
lagrangian sum(i in 1..{N}: m/2*(vx(i)^2 + vy(i)^2) + m*g*sum(j in 1..i: l*cos(a[j])))
start for i in 1..{N}: a[i] = 0.1*sin(i)
"""

BODIES = """model planar-chain
parameter l = 1, m = 1, g = 9.81
coordinate x[1..{N}], y[1..{N}]
lagrangian sum(i in 1..{N}: m/2*(x[i]'^2 + y[i]'^2) - m*g*y[i])
constraint (x[1]^2 + y[1]^2 - l^2)/2 = 0
constraint for i in 2..{N}: ((x[i] - x[i-1])^2 + (y[i] - y[i-1])^2 - l^2)/2 = 0
start for i in 1..{N}: x[i] = sum(j in 1..i: sin(0.1*sin(j)))
start for i in 1..{N}: y[i] = -sum(j in 1..i: cos(0.1*sin(j)))
"""

ROTATIONS = """model rotation-chain
parameter l = 0.4, m = 1, g = 9.81
rotation R[1..{N}]
let joint[i] = sum(j in 1..i: R[j]*(0, 0, -l)), middle[i] = joint[i] - R[i]*(0, 0, -l/2)
lagrangian sum(i in 1..{N}: m/2*dot(middle[i]', middle[i]') - m*g*middle[i][3]
  + (0.02*body(R[i])[1]^2 + 0.03*body(R[i])[2]^2 + 0.01*body(R[i])[3]^2)/2)
start for i in 1..{N}: R[i] = turn((1, 0.2*i, 0), 0.1*sin(i))
"""


def hinges(N):
    lines = ["model hinge-chain", "parameter l = 0.4, g = 9.81", f"coordinate a[1..{N}] angle"]
    for i in range(1, N + 1):
        before = f"A{i - 1}*" if i > 1 else ""
        joint = f"J{i - 1}" if i > 1 else "(0, 0, 0)"
        axis = "(1, 0, 0)" if i % 2 else "(0, 1, 0)"
        lines += [f"let A{i} = {before}turn({axis}, a[{i}])",
                  f"let J{i} = {joint} + A{i}*(0, 0, -l)",
                  f"body b{i} mass 1 inertia (0.02, 0.03, 0.01) at {joint} + A{i}*(0, 0, -l/2)"
                  f" attitude A{i}"]
    lines += ["gravity (0, 0, -g)", f"start for i in 1..{N}: a[i] = 0.1*sin(i)"]
    return "\n".join(lines) + "\n"


MODELS = {
    "absolute": lambda N: PLANAR.format(N=N, angle="a[j]", more=""),
    "relative": lambda N: PLANAR.format(N=N, angle="f[j]",
                                        more="let f[i] = sum(j in 1..i: a[j])\n"),
    "written": lambda N: WRITTEN.format(N=N),
    "bodies": lambda N: BODIES.format(N=N),
    "rotations": lambda N: ROTATIONS.format(N=N),
    "hinges": hinges,
    "trailers": None,  # the shipped model
}


def command(program, kind, N, folder, steps):
    if MODELS[kind]:
        model = [os.path.join(folder, f"{kind}-{N}.nh")]
        with open(model[0], "w") as file:
            file.write(MODELS[kind](N))
    else:
        model = ["tractor-trailers", "--set", f"K={N}"]
    return [program, "run", *model, "--method", "dop853", "--backend", "tape", "--step", "0.001",
            "--steps", str(steps), "--json", "--quiet"]


def measure(program, kind, N, folder):
    """Seconds to the first step, megabytes, microseconds per step; None if the run fails."""
    run = subprocess.Popen(command(program, kind, N, folder, 1), stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(run.pid, 0)
    if status != 0:
        return None
    many = subprocess.run(command(program, kind, N, folder, 50), capture_output=True, text=True)
    if many.returncode != 0:
        return None
    step = json.loads(many.stdout)["ns_per_step"] / 1000
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024, step


def best(a, b):
    return b if a is None else a if b is None else tuple(map(min, a, b))


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="build/nonholo")
    parser.add_argument("--kinds", default=",".join(MODELS))
    parser.add_argument("--sizes", default="10,20,40,80,160,200")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=int, default=120, help="limit of one run")
    options = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_CPU, (options.seconds, options.seconds))
    sizes = [int(size) for size in options.sizes.split(",")]
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(options.rounds):
            for kind in options.kinds.split(","):
                for N in sizes:
                    if (kind, N) not in found or found[kind, N]:
                        one = measure(options.program, kind, N, folder)
                        found[kind, N] = best(found.get((kind, N)), one)
    print("| machine | N | to the first step | memory | per step | exponents |\n|---|---|---|---|---|---|")
    for kind in options.kinds.split(","):
        before = None
        for N in sizes:
            now = found[kind, N]
            if not now:
                print(f"| {kind} | {N} | fails | | | |")
                break
            growth = ""
            if before:
                growth = ", ".join(f"{math.log(now[k] / before[1][k]) / math.log(N / before[0]):.1f}"
                                   for k in (0, 2))
            print(f"| {kind} | {N} | {now[0]:.2f} s | {now[1]:.0f} MB | {now[2]:.0f} us | {growth} |")
            before = N, now
    return 0


if __name__ == "__main__":
    sys.exit(main())
