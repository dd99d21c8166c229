#!/usr/bin/env python3
"""test_groups.py NONHOLO [--cases FILE] [--all]

Conditions on positions and rotations: every case of test/data/groups through the command line. End
states must agree with those of an independent implementation within the case's tolerance. The first
case of each method (with --all, every case) is also run compiled and must give the same bits, except for the
reference, whose kernel takes ten times as long to compile."""

import argparse
import json
import os
import sys

from harness import Program, case_command, check, farthest, run_all, same

HERE = os.path.dirname(os.path.abspath(__file__))

def compare(program, case, folder, both):
    model = os.path.join(folder, case["model"])
    tape = program.json(*case_command(case, model, "tape"))
    compiled = program.json(*case_command(case, model, "compiled")) if both else tape
    for key in ("q", "v", "energy"):
        same(compiled[key], tape[key], f"{key}: compiled and tape differ")
    same(tape["steps"], case["steps"], "steps")
    for key in ("q", "v"):
        error = farthest(tape[key], case[key])
        check(error <= case["tolerance"], f"{key} is off by {error:.3g} > {case['tolerance']:.3g}")
    # measured: at most 6e-16
    check(tape["constraint_max"] <= 1e-14, f"constraints are off by {tape['constraint_max']:.3g}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--cases", default=os.path.join(HERE, "..", "data", "groups", "groups.json"))
    parser.add_argument("--all", action="store_true", help="compile every case")
    given = parser.parse_args()
    program = Program(given.program)
    folder = os.path.dirname(given.cases)
    with open(given.cases) as file:
        cases = json.load(file)
    first = {case["method"].split(":")[0]: case for case in reversed(cases)}
    compiled = [case for method, case in first.items() if method != "reference"]
    return run_all(
        [
            (case["id"], lambda case=case: compare(program, case, folder, given.all or case in compiled))
            for case in cases
        ]
    )


if __name__ == "__main__":
    sys.exit(main())
