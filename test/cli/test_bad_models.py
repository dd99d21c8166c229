#!/usr/bin/env python3
"""test_bad_models.py NONHOLO [FOLDER]

For every NAME.nh of test/model/bad_models, `nonholo check NAME.nh` must exit with 2 and print the text of
NAME.expected on standard error, in which "..." stands for anything within a line, and nothing on standard output (only
a start off the constraints is reported after the other results)."""

import glob
import os
import sys

from harness import Program, check, like, processor_seconds, run_all, same

AT_ONCE = processor_seconds(20)
HERE = os.path.dirname(os.path.abspath(__file__))


def refuse(program, folder, model):
    done = program("check", model, cwd=folder, processor=AT_ONCE)
    expected = os.path.join(folder, model[:-3] + ".expected")
    with open(expected, encoding="utf-8", errors="surrogateescape") as file:
        like(done.stderr.removeprefix("nonholo: ").rstrip("\n"), file.read().rstrip("\n"), "message")
    same(done.returncode, 2, "exit code")
    if "--project" not in done.stderr:
        same(done.stdout, "", "standard output")


def main():
    program = Program(sys.argv[1])
    folder = sys.argv[2] if len(sys.argv) > 2 else os.path.join(HERE, "..", "model", "bad_models")
    models = sorted(map(os.path.basename, glob.glob(os.path.join(folder, "*.nh"))))
    check(len(models) >= 100, f"{len(models)} models in {folder}")
    print(f"{len(models)} models that must be refused, each by its message")
    return run_all([(model, lambda m=model: refuse(program, folder, m)) for model in models])


if __name__ == "__main__":
    sys.exit(main())
