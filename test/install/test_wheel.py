"""test_wheel.py BUILD SOURCE COMMAND: the module packed as a wheel, installed in its own environment.

There is no compiler in the path, and the source tree is not visible: README's example gives the bits of the
command, on the tape. With the compiler in the path, it is found. The wheel is packed from the library of this build;
`make wheel` builds one that needs nothing but the C library."""

import json
import os
import subprocess
import sys
import tempfile

BUILD, SOURCE, COMMAND = map(os.path.abspath, sys.argv[1:4])
PROGRAM = """
import json, sys, nonholo
sleigh = nonholo.load("chaplygin-sleigh")
run = nonholo.simulate(sleigh, method="gauss", stages=3, step=0.1, time=250, backend=sys.argv[1])
print(json.dumps({"q": run.q[-1].tolist(), "v": run.v[-1].tolist(), "file": nonholo.__file__, "backend": run.backend}))
"""


def skip(why):
    print("skipped:", why)
    sys.exit(77)


def run(*arguments, **given):
    done = subprocess.run(arguments, capture_output=True, text=True, **given)
    return done


def main():
    with tempfile.TemporaryDirectory() as folder:
        made = run(sys.executable, os.path.join(SOURCE, "tools", "wheel.py"), BUILD, folder)
        assert made.returncode == 0, made.stderr
        wheel = made.stdout.strip()
        place = os.path.join(folder, "environment")
        if run(sys.executable, "-m", "venv", "--system-site-packages", place).returncode:
            skip("no venv (tools/setup.sh pip)")
        python = os.path.join(place, "bin", "python")
        clean = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "NONHOLO", "CC", "LD_"))}
        done = run(python, "-m", "pip", "install", "--no-deps", "--no-index", "--force-reinstall", wheel, cwd=folder, env=clean)
        assert done.returncode == 0, done.stderr
        empty = os.path.join(folder, "empty")
        os.mkdir(empty)
        shown = json.loads(run(COMMAND, "run", "chaplygin-sleigh", "--method", "gauss:stages=3", "--step", "0.1", "--time", "250",
                               "--json", "--quiet").stdout)
        for path, backend, expected in ((empty, "auto", "tape"), (os.environ["PATH"], "compiled", "compiled")):
            done = run(python, "-c", PROGRAM, backend, cwd=folder, env={**clean, "PATH": path, "HOME": folder})
            if backend == "compiled" and "compiler" in done.stderr:
                continue  # there is none on this machine
            assert done.returncode == 0, done.stderr
            found = json.loads(done.stdout)
            assert found["file"].startswith(os.path.realpath(place)) or found["file"].startswith(place), found
            assert (found["q"], found["v"], found["backend"]) == (shown["q"], shown["v"], expected), (found, shown)
        refused = run(python, "-c", PROGRAM, "compiled", cwd=folder, env={**clean, "PATH": empty, "HOME": folder})
        assert refused.returncode == 1 and "compiler" in refused.stderr, refused.stderr
    print("the wheel gives the bits of the command, with and without a compiler")


if __name__ == "__main__":
    main()
