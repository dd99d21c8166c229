#!/usr/bin/env python3
"""What a sweep of a parameter costs, as a multiple of as many starts of one machine.

    python3 bench/sweeps.py [--program PATH] [--values N] [--rounds N]

Processor time of whole commands on one thread, none of which finds a compiled kernel in the cache.
All entries are timed in turn, and the minimum of the rounds counts.
"""
import argparse
import os
import resource
import subprocess
import tempfile

CASES = (("rolling-coin", "m=1:2", "rk4", 0.001), ("chaplygin-sleigh", "m=1:2", "rk4", 0.01), ("pendulum-cvt", "eps=0.05:0.2", "dla01", 0.1),
         ("snakeboard", "m=1:2", "rk4", 0.01))
STEPS = 100, 10000


def seconds(program, arguments):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with tempfile.TemporaryDirectory() as cache:
        done = subprocess.run([program, "ensemble", *arguments, "--threads", "1", "--quiet"], capture_output=True, text=True,
                              env=dict(os.environ, XDG_CACHE_HOME=cache))
    if done.returncode != 0 and "members failed" not in done.stderr:
        raise SystemExit(done.stderr)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    here = os.path.dirname(os.path.abspath(__file__))
    parser.add_argument("--program", default=os.path.join(here, "..", "build", "nonholo"))
    parser.add_argument("--values", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    best = {}
    for _ in range(given.rounds):
        for model, sweep, method, step in CASES:
            for steps in STEPS:
                rest = ["--method", method, "--step", str(step), "--steps", str(steps)]
                for kind, what in (("values", ["--sweep", f"{sweep}:{given.values}"]), ("starts", ["--members", str(given.values)])):
                    key = model, steps, kind
                    best[key] = min(best.get(key, 1e9), seconds(given.program, [model, *what, *rest]))
    print(f"| {given.values} members | steps | values | starts | ratio |\n|---|---|---|---|---|")
    for model, _, method, _ in CASES:
        for steps in STEPS:
            values, starts = best[model, steps, "values"], best[model, steps, "starts"]
            print(f"| {model}, {method} | {steps} | {values:.3f} s | {starts:.3f} s | {values / starts:.2f} |")


if __name__ == "__main__":
    main()
