#!/usr/bin/env python3
"""test_reference.py NONHOLO [--methods rk4,dla,...] [--cases FILE]

Runs every case of test/data/reference.json through the command line: on the tape, as machine code and
interpreted, and compiled. End state and energy must agree with the independent implementation within
the case's tolerance, and all three must agree bit for bit. Cases whose method (or composition) the program does not
list are counted as skipped and named."""

import argparse
import json
import os
import sys

from harness import Program, case_command, check, farthest, run_all, same

HERE = os.path.dirname(os.path.abspath(__file__))


def compare(program, case):
    tape = program.json(*case_command(case, case["model"], "tape"))
    compiled = program.json(*case_command(case, case["model"], "compiled"))
    interpreted = program.json(*case_command(case, case["model"], "tape"), env={"NONHOLO_MACHINE_CODE": "0"})
    same(tape["steps"], case["steps"], "steps")
    for key in ("q", "v", "energy"):
        same(interpreted[key], tape[key], f"{key}: interpreted and machine code differ")
        same(compiled[key], tape[key], f"{key}: compiled and tape differ")
    for key in ("q", "v"):
        error = farthest(tape[key], case[key])
        check(error <= case["tolerance"], f"{key} is off by {error:.3g} > {case['tolerance']:.3g}")
    error = abs(tape["energy"] - case["energy"])
    check(error <= case["tolerance"], f"energy is off by {error:.3g} > {case['tolerance']:.3g}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--methods", help="only these, separated by commas; all must be known")
    parser.add_argument("--cases", default=os.path.join(HERE, "..", "data", "reference.json"))
    given = parser.parse_args()
    program = Program(given.program)
    with open(given.cases) as file:
        cases = json.load(file)["cases"]

    listed = program.json("methods")
    known = {method["name"] for method in listed["methods"]}
    if given.methods:
        wanted = set(given.methods.split(","))
        check(wanted <= known, f"methods are missing: {sorted(wanted - known)}")
        cases = [case for case in cases if case["method"].split(":")[0] in wanted]
    todo, skipped = [], []
    for case in cases:
        possible = case["method"].split(":")[0] in known
        if case.get("compose") and case["compose"] not in listed["compositions"]:
            possible = False
        (todo if possible else skipped).append(case)
    if skipped:
        names = sorted({case["method"].split(":")[0] for case in skipped})
        print(f"{len(skipped)} skipped, of methods not known: {', '.join(names)}")
    check(todo, "no case is left to run")
    return run_all([(case["id"], lambda case=case: compare(program, case)) for case in todo])


if __name__ == "__main__":
    sys.exit(main())
