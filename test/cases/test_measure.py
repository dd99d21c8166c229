#!/usr/bin/env python3
"""test_measure.py NONHOLO: what check says about volumes and densities, for the systems of measure.json, where it is known.

A case has a model or its text, parameters ("set"), the answers "kept" and "measure" and maybe the "divergence" at the start."""

import os
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "cli"))
sys.path.insert(0, HERE)
import table as tables  # noqa: E402
from harness import Program, cases_in_folders, check, run_all, same  # noqa: E402


def run_case(program, folder, case):
    model = case.get("model") or os.path.join(folder, case["id"] + ".nh")
    if "text" in case:
        with open(model, "w") as file:
            file.write(f"model {case['id']}\n" + case["text"])
    found = program.json("check", os.path.join(HERE, model) if model.endswith(".nh") else model,
                         *(["--set", case["set"]] if "set" in case else []))
    same((found["volume_kept"], found["invariant_measure"]), (case["kept"], case["measure"]), case["id"])
    if "divergence" in case:  # measured: 2e-16 to 4e-15, relative
        off = abs(found["divergence"] - case["divergence"])
        check(off <= 1e-12 * abs(case["divergence"]), f"{case['id']}: divergence {found['divergence']!r}")


def words(program, folder):
    """The line for people."""
    for model, said in (("chaplygin-ball", "kept along the motion"), ("rattleback", "density is excluded: "),
                        ("routh-sphere", "density is likely: "), ("d-bounce", "unknown: events")):
        path = os.path.join(HERE, "models", model + ".nh") if model == "d-bounce" else model
        line = [line for line in program("check", path).stdout.splitlines() if line.startswith("  volume ")]
        check(len(line) == 1 and said in line[0], f"{model}: {line}")


def main():
    program = Program(sys.argv[1])
    if "no LAPACK" in program("--version").stdout:
        print("skipped: this build has no LAPACK")
        return 77

    def in_folder(case):
        with tempfile.TemporaryDirectory() as folder:
            run_case(program, folder, case)

    cases = tables.read(os.path.join(HERE, "measure.json"))["cases"]
    tests = [(case["id"], lambda case=case: in_folder(case)) for case in cases]
    return run_all(tests + cases_in_folders(globals(), program))


if __name__ == "__main__":
    sys.exit(main())
