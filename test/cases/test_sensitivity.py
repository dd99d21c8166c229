#!/usr/bin/env python3
"""test_sensitivity.py NONHOLO: derivatives of end states that are known from maps in 66 digits, of sensitivity.json; what is
named, and what is refused.

A case has a model, its method, step and steps (without: the flow, of which a time is given), "inputs" as tables, names of
"outputs" and of "parameters", and the derivative of all outputs by each; "tolerance" is relative to the largest entry of a
column or 1."""

import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "cli"))
sys.path.insert(0, HERE)
import table as tables  # noqa: E402
from harness import Program, cases_in_folders, check, run_all, same  # noqa: E402


def flattened(derivative):
    """Those by values of inputs are lists."""
    columns = {}
    for name, column in derivative.items():
        if column and isinstance(column[0], list):
            columns.update({f"{name}[{k}]": part for k, part in enumerate(column)})
        else:
            columns[name] = column
    return columns


def words_of(case):
    model = case["model"]
    words = ["run", os.path.join(HERE, model) if model.endswith(".nh") else model]
    if "method" in case:
        words += ["--method", case["method"], "--step", repr(case["step"]), "--steps", str(case["steps"])]
    else:
        words += ["--time", repr(case["time"]), *case.get("options", ["--tolerance", "1e-12"])]
    for name, points in case.get("inputs", {}).items():
        words += ["--input", f"{name}:{case['interpolation']}=[" + "; ".join(f"{t!r} {u!r}" for t, u in points) + "]"]
    return words


def value_of(found, names, output, name):
    by = found["sensitivity"][name]
    if output.startswith("time of hit "):
        return found["events"][int(output.split()[-1]) - 1]["t_by"][list(found["sensitivity"]).index(name)]
    if output in by["observables"]:
        return by["observables"][output]
    coordinates, velocities = names
    return by["v"][velocities.index(output)] if output in velocities else by["q"][coordinates.index(output)]


def names_of(program, case, found):
    """Of coordinates and velocities, from the columns of a file."""
    header = program(*words_of(case), "-o", "-", "--quiet").stdout.splitlines()[0].split(",")
    count = len(found["q"])
    return header[1 : 1 + count], header[1 + count : 1 + count + len(found["v"])]


def run_case(program, case):
    columns = flattened(case["derivative"])
    names = case.get("parameters") or list(case["inputs"])
    found = program.json(*words_of(case), "--sensitivity", ",".join(names))
    same(sorted(found["sensitivity"]), sorted(columns))
    bare = program.json(*words_of(case))
    same((found["q"], found["v"]), (bare["q"], bare["v"]), "the run itself")
    shown = names_of(program, case, bare)
    for name, column in columns.items():
        size = max(1, *(abs(entry) for entry in column))
        for output, expected in zip(case["outputs"], column):
            value = value_of(found, shown, output, name)
            check(abs(value - expected) <= case["tolerance"] * size, f"d({output})/d({name}): {value!r}, expected {expected!r}")


def main():
    program = Program(sys.argv[1])
    cases = tables.read(os.path.join(HERE, "sensitivity.json"))["cases"]
    return run_all([(case["id"], lambda case=case: run_case(program, case)) for case in cases] + cases_in_folders(globals(), program))


if __name__ == "__main__":
    sys.exit(main())
