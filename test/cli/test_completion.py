#!/usr/bin/env python3
"""test_completion.py NONHOLO: the completion scripts complete, and know every option that the help knows."""

import os
import re
import shutil
import subprocess
import sys
import tempfile

from harness import PATIENCE, Program, check, run_all, same

PROGRAM = Program(sys.argv[1])
COMMANDS = re.findall(r"^  (\w+) +\S", PROGRAM("--help").stdout.split("\n\n")[2], re.M)


def complete(*words):
    """The completions that bash offers for the last word."""
    script = PROGRAM("completion", "bash").stdout
    line = " ".join(f"'{w}'" for w in words)
    script += f'COMP_WORDS=({line})\nCOMP_CWORD={len(words) - 1}\n_nonholo\nprintf "%s\\n" "${{COMPREPLY[@]}}"\n'
    with tempfile.TemporaryDirectory() as folder:
        open(os.path.join(folder, "mine.nh"), "w").close()
        done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=PATIENCE, cwd=folder)
    same(done.stderr, "", "messages of bash")
    return done.stdout.split()


def help_options(command):
    return set(re.findall(r"^  (?:-o, )?(--[\w-]+)", PROGRAM(command, "--help").stdout.split("Options:")[1], re.M))


def check_bash():
    same(complete("nonholo", "com"), ["compare", "completion"], "commands")
    check({"run", "check", "--version"} <= set(complete("nonholo", "")), "commands")
    same(complete("nonholo", "run", "chaplygin-sl"), ["chaplygin-sleigh"], "models")
    same(complete("nonholo", "run", "mi"), ["mine.nh"], "files")
    same(complete("nonholo", "run", "pendulum-cvt", "--method", "leap"), ["leapfrog"], "methods")
    same(complete("nonholo", "run", "pendulum-cvt", "--backend", "t"), ["tape"], "choices")
    same(complete("nonholo", "run", "pendulum-cvt", "-o", "mi"), ["mine.nh"], "files of -o")
    same(complete("nonholo", "compare", "pendulum-cvt", "--compose", "suz"), ["suzuki"], "compositions")
    same(complete("nonholo", "methods", "leap"), ["leapfrog"], "methods explained")
    same(complete("nonholo", "run", "pendulum-cvt", "--step", ""), [], "a number")


def check_options(command):
    options = help_options(command)
    check({"--json", "--help"} <= options, "the help was not understood")
    same({w for w in complete("nonholo", command, "--")}, options, command)


def check_zsh():
    script = PROGRAM("completion", "zsh").stdout
    check(script.startswith("#compdef nonholo\n"), "first line")
    for command in COMMANDS:
        part = script.split(f"\n        {command}) _arguments")[1].split(";;")[0]
        same(set(re.findall(r"'\*(--[\w-]+)\[", part)), help_options(command), command)
    if shutil.which("zsh"):
        done = subprocess.run(["zsh", "-n"], input=script, capture_output=True, text=True, timeout=PATIENCE)
        same((done.returncode, done.stderr), (0, ""), "zsh reads it")


def check_unknown():
    done = PROGRAM("completion", "fish")
    same((done.returncode, done.stderr), (2, "nonholo: completion supports bash and zsh, not 'fish'\n"), "fish")


def check_examples(command):
    """Every command's help has examples, and they begin with the program."""
    text = PROGRAM(command, "--help").stdout
    examples = text.split("\nExamples:\n")[1].splitlines()
    check(examples and any("nonholo " + command in line for line in examples), f"{command} has no example")


def main():
    cases = [("bash", check_bash), ("zsh", check_zsh), ("unknown", check_unknown)]
    cases += [(f"options of {c}", lambda c=c: check_options(c)) for c in COMMANDS]
    cases += [(f"examples of {c}", lambda c=c: check_examples(c)) for c in COMMANDS]
    check(len(COMMANDS) >= 7, f"commands: {COMMANDS}")
    return run_all(cases)


if __name__ == "__main__":
    sys.exit(main())
