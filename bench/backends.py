#!/usr/bin/env python3
"""backends.py [--warm] [--wall] [--models A,B] [--methods A,B] [--steps 100,10000] NONHOLO: how good the choice of --backend auto is.

For every method, model and number of steps the whole command is run with each backend, one after the other, without the
estimate of the error (which is made only if the clock allows it), and the time of auto is divided by the better of tape
and compiled. Times are processor times of the command and the compiler that it calls, which other processes hardly
change; with --wall they are wall-clock times. The cache of compiled kernels is a new, empty folder for each command; with
--warm it already contains the kernel. The tape is stopped when it takes longer than the compiled run, and not started if a
tenth of its steps take a fifth of that time: it is then not the better one. Measurements are repeated --repeat times, and
up to three times more if the ratio is above 1.5, because other processes lengthen single times; the smallest time counts.
With --most, rows whose compiled run takes longer than so many seconds are left out. The last lines count them and the
ratios above 1.5."""
import argparse
import json
import math
import os
import resource
import subprocess
import tempfile
import time

LIMIT = 1.5
SHORT = 0.02  # seconds by which two commands may differ without anyone noticing: starting a process takes as long
LONG = 2  # seconds of a run that is worth a look before the tape is tried
AGAIN = 3  # times that a poor choice has to be confirmed


def seconds_of(args, model, method, steps, backend, folder, limit=None):
    """Seconds, and the backend that was in use at the end; (None, text) if the method does not apply,
    (inf, backend) if it takes longer than `limit`."""
    command = [args.program, "run", model, "--method", method, "--step", "0.001", "--steps", str(steps),
               "--backend", backend, "--json", "--quiet", "--no-estimate"]
    stop = math.ceil(limit) + 1 if limit else resource.RLIM_INFINITY
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "XDG_CACHE_HOME": folder},
                          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (stop, stop)))
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = time.perf_counter() - begin
    if not args.wall:
        seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    if done.returncode < 0:
        return float("inf"), backend
    if done.returncode > 2:
        raise SystemExit("%s: exit code %d\n%s" % (" ".join(command), done.returncode, done.stderr))
    if done.returncode != 0:
        return None, done.stderr.strip()
    return seconds, json.loads(done.stdout)["backend"]


def tape_seconds(args, model, method, steps, folder, compiled):
    """As seconds_of, for the tape; infinite where the compiled run is certainly the better one."""
    if compiled > LONG:
        tenth, _ = seconds_of(args, model, method, steps // 10, "tape", folder, compiled)
        if tenth > compiled / 5:
            return float("inf"), "tape"
    return seconds_of(args, model, method, steps, "tape", folder, compiled)


def is_poor(best):
    """Whether auto took much longer than the better of the two."""
    better = min(best["tape"], best["compiled"])
    return best["auto"] > LIMIT * better and best["auto"] - better > SHORT


def times_of(args, model, method, steps):
    """The smallest time of each backend, and which one auto ended with; None and infinity where the row takes too long,
    None twice where the method does not apply."""
    best, chosen = {}, ""
    for attempt in range(args.repeat + AGAIN):
        if attempt >= args.repeat and not is_poor(best):
            break
        for backend in ("compiled", "auto", "tape"):
            with tempfile.TemporaryDirectory() as folder:
                if args.warm:
                    seconds_of(args, model, method, 1, "compiled", folder)
                if backend == "tape":
                    seconds, used = tape_seconds(args, model, method, steps, folder, best["compiled"])
                else:
                    seconds, used = seconds_of(args, model, method, steps, backend, folder, args.most)
            if seconds is None or (backend == "compiled" and math.isinf(seconds)):
                return None, seconds
            best[backend] = min(seconds, best.get(backend, seconds))
            chosen = used if backend == "auto" else chosen
    return best, chosen


def names(program, what):
    lines = subprocess.run([program, what], capture_output=True, text=True, check=True).stdout.splitlines()
    return [line.split()[0] for line in lines if line.split()[0] != "name"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("--warm", action="store_true")
    parser.add_argument("--wall", action="store_true")
    parser.add_argument("--models")
    parser.add_argument("--methods")
    parser.add_argument("--steps", default="100,10000,1000000")
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--most", type=float)
    args = parser.parse_args()
    models = args.models.split(",") if args.models else names(args.program, "models")
    methods = args.methods.split(",") if args.methods else names(args.program, "methods")
    ratios, long = [], []
    print("%-22s %-20s %9s %9s %9s %9s  %-9s %s" % ("model", "method", "steps", "tape s", "compiled", "auto", "ended", "ratio"))
    for model in models:
        for method in methods:
            for steps in map(int, args.steps.split(",")):
                best, chosen = times_of(args, model, method, steps)
                if best is None:
                    long += [(model, method, steps)] if chosen else []
                    break
                ratio, poor = best["auto"] / min(best["tape"], best["compiled"]), is_poor(best)
                ratios.append((ratio, poor))
                print("%-22s %-20s %9d %9.3f %9.3f %9.3f  %-9s %.2f%s" % (model, method, steps, best["tape"],
                      best["compiled"], best["auto"], chosen, ratio, " <--" if poor else ""), flush=True)
    for row in long:
        print("longer than %g s: %s %s %d" % (args.most, *row))
    print("%d cases, largest ratio %.2f, above %.1f (and by more than %g s): %d" % (
        len(ratios), max((r for r, _ in ratios), default=0), LIMIT, SHORT, sum(poor for _, poor in ratios)))


main()
