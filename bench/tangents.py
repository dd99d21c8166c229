#!/usr/bin/env python3
"""tangents.py NONHOLO: what derivatives cost on the tape, as a multiple of the run itself: those of a run by 1, 4 and 12 numbers, and the
gradient of a chain of 60 masses by all of its numbers. Runs with and without derivatives take turns, and the least time of each
counts; compare the ratios, not the times."""

import json
import os
import re
import subprocess
import sys

MODELS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "test", "cases", "models")
ROUNDS = 15
CASES = [
    (os.path.join(MODELS, "d-sleigh.nh"), "gauss:stages=2", 40000, "a", "m,J,u0", "th0,w0,start x,start y,start th,start th',start x',start y'"),
    ("rolling-coin", "dop853", 20000, "r", "m,g,A", "C,start x,start y,start phi,start theta,start psi,start phi',start theta'"),
    ("benchmark-bicycle", "gauss", 2000, "w", "c,g,rR", "mR,rF,mF,mB,mH,speed,start x,start y"),
]


def seconds(program, words, key="seconds"):
    found = subprocess.run([program] + words + ["--json", "--quiet"], capture_output=True, text=True)
    if found.returncode != 0:
        sys.exit("%s: %s" % (" ".join(words), found.stderr))
    return json.loads(found.stdout)[key]


def least(program, variants):
    best = [float("inf")] * len(variants)
    for _ in range(ROUNDS):
        for i, words in enumerate(variants):
            best[i] = min(best[i], seconds(program, words))
    return best


def tangents(program):
    for model, method, steps, *groups in CASES:
        words = ["run", model, "--method", method, "--step", "0.01", "--steps", str(steps), "--backend", "tape", "--every", str(steps)]
        lists = [",".join(groups[:k]) for k in range(1, len(groups) + 1)]
        best = least(program, [words] + [words + ["--sensitivity", names] for names in lists])
        name = re.sub(r"\.nh$", "", os.path.basename(model))
        ratios = ", ".join("%d: %.1f" % (len(names.split(",")), b / best[0]) for names, b in zip(lists, best[1:]))
        print("%-18s %-15s %9.3f us a step; times, by the number of directions: %s" % (name, method, 1e6 * best[0] / steps, ratios), flush=True)


def gradient(program):
    for method in ("leapfrog", "rk4", "dla01"):
        words = ["gradient", os.path.join(MODELS, "adj-chain.nh"), "--of", "cost", "--by", "all", "--method", method, "--step", "0.05",
                 "--steps", "10000", "--memory", "1M"]
        found = [json.loads(subprocess.run([program] + words + ["--json", "--quiet"], check=True, capture_output=True, text=True).stdout)
                 for _ in range(ROUNDS)]
        run, back = min(f["seconds"] for f in found), min(f["seconds_back"] for f in found)
        print("adj-chain gradient %-15s %9.3f us a step; the way back takes %.1f times the run, %.2f MB" %
              (method, 1e6 * run / 10000, back / run, found[0]["memory"] / 1e6), flush=True)


if __name__ == "__main__":
    tangents(sys.argv[1])
    gradient(sys.argv[1])
