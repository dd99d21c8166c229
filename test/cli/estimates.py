#!/usr/bin/env python3
"""estimates.py NONHOLO [MODEL..]: a table of printed estimates beside true errors, for every model, every method that applies and
three steps; not one of the tests, since it takes an hour. True are solutions of verner98 with a tolerance of 1e-13.

A case is bad if it has no remark and the estimate (largest over all components, in their units) is below a third of the error."""

import json
import sys

from harness import Program

program = Program(sys.argv[1])


def ended(*words):
    done = program(*words, "--json", "--quiet")
    return json.loads(done.stdout) if done.returncode == 0 else None


def compare(model, method, step, time, exact):
    found = ended("run", model, "--method", method, "--step", step, "--time", time, "--estimate")
    if not found or found["estimate"] is None:
        return "ended" if not found else "none"
    errors = [abs(a - b) for a, b in zip(found["q"] + found["v"], exact["q"] + exact["v"])]
    estimates = found["estimate_q"] + found["estimate_v"]
    rounding = 1e-11 * max(1, max(map(abs, exact["q"] + exact["v"])))
    below = max(errors) > 3 * max(estimates) + rounding
    single = sum(e > 3 * s + rounding for e, s in zip(errors, estimates))
    said = bool(found["remarks"])
    if (below or single) and not said:
        print(f"  {model} {method} step {step:.4g} time {time:.4g}: estimate {max(estimates):.2g}, error {max(errors):.2g}, "
              f"{single} components", flush=True)
    return "remarked" if said else "BAD" if below else "single" if single else "good"


def main():
    total = {}
    for entry in program.json("models")["models"]:
        model = entry["name"]
        if sys.argv[2:] and model not in sys.argv[2:]:
            continue
        methods = [m["name"] for m in program.json("check", model)["methods"] if m.get("applies", True)]
        time = ended("run", model, "--no-estimate")["t"] / 4
        exact = ended("run", model, "--method", "verner98", "--tolerance", "1e-13", "--time", time, "--no-estimate")
        for method in methods:
            for parts in (25, 100, 400):
                verdict = compare(model, method, time / parts, time, exact)
                total[verdict] = total.get(verdict, 0) + 1
        print(f"{model}: {len(methods)} methods; so far {total}", flush=True)


if __name__ == "__main__":
    main()
