#!/usr/bin/env python3
"""test_ensemble_files.py NONHOLO [KILLS]: an ensemble that Python writes to HDF5 has the bytes of the command line's, also after it
was killed at random moments and resumed, by Python or by the command line."""

import os
import random
import signal
import subprocess
import sys
import tempfile
import time

import numpy as np

import nonholo

PROGRAM = os.path.abspath(sys.argv[1])
KILLS = int(sys.argv[2]) if len(sys.argv) > 2 else 4
SEED = int(os.environ.get("NONHOLO_SEED", 1))
ARGUMENTS = dict(model="chaotic-particle", method="dla01", step=0.2, steps=400000, every=20000, members=203, energy=1.535, seed=3, threads=2)
LINE = ["ensemble", "chaotic-particle", "--method", "dla01", "--step", "0.2", "--steps", "400000", "--every", "20000", "--members", "203",
        "--energy", "1.535", "--seed", "3", "--threads", "1", "--quiet"]
FILES = dict(output="some.h5", checkpoint="c", checkpoint_every=3000000)
SCRIPT = "import sys, nonholo\nnonholo.ensemble(**%r, resume=sys.argv[1] if len(sys.argv) > 1 else None)\n" % {**ARGUMENTS, **FILES}


def check(condition, what):
    if not condition:
        raise AssertionError(what)


def raised(kind, function, *arguments, **named):
    try:
        function(*arguments, **named)
    except kind as error:
        return error
    raise AssertionError(f"no {kind.__name__}")


def read(folder, name):
    with open(os.path.join(folder, name), "rb") as file:
        return file.read()


def command_line(folder, *words):
    subprocess.run([PROGRAM, *LINE, *words], cwd=folder, check=True, stdout=subprocess.DEVNULL)


def python(folder, *words):
    return subprocess.Popen([sys.executable, "-c", SCRIPT, *words], cwd=folder)


def check_killed(folder, expected):
    """Killed at any moment, again and again; then one of the two completes it."""
    generator = random.Random(SEED)
    begun = time.monotonic()
    check(python(folder).wait() == 0, "a run that nobody kills")
    length = time.monotonic() - begun
    check(read(folder, "some.h5") == expected, "other bytes than the command line's")
    check(sorted(os.listdir(folder)) == ["one.h5", "some.h5"], f"something was left: {os.listdir(folder)}")
    resumed = 0
    for round in range(KILLS):
        os.remove(os.path.join(folder, "some.h5"))
        for _ in range(3):
            go_on = ["c"] if os.path.exists(os.path.join(folder, "c")) else []
            resumed += len(go_on)
            child = python(folder, *go_on)
            time.sleep(generator.uniform(0.2, 0.8) * length)
            child.send_signal(signal.SIGKILL)
            child.wait()
        go_on = os.path.exists(os.path.join(folder, "c"))
        if round % 2 == 0:
            check(python(folder, *["c"] * go_on).wait() == 0, "resumed by Python")
        else:
            command_line(folder, "-o", "some.h5", "--checkpoint", "c", *["--resume", "c"] * go_on)
        check(read(folder, "some.h5") == expected, f"seed {SEED}, round {round}: other bytes")
        check(sorted(os.listdir(folder)) == ["one.h5", "some.h5"], f"something was left: {os.listdir(folder)}")
    check(resumed > 0, "no kill left a checkpoint")


def check_interrupted(folder, expected):
    """An exception leaves a checkpoint. The result of the resumed ensemble has the last rows of all members."""
    os.chdir(folder)
    if os.path.exists("some.h5"):
        os.remove("some.h5")

    def stop(done):
        if done > 0.4:
            raise KeyboardInterrupt

    raised(KeyboardInterrupt, nonholo.ensemble, **ARGUMENTS, **FILES, progress=stop)
    check(os.path.exists("c") and os.path.exists("some.h5"), "a checkpoint and a file that can be read")
    resumed = nonholo.ensemble(**ARGUMENTS, **FILES, resume="c")
    check(read(folder, "some.h5") == expected and not os.path.exists("c"), "after an exception: other bytes")
    whole = nonholo.ensemble(**ARGUMENTS)
    check(np.array_equal(resumed.q[:, 0], whole.q[:, -1]) and np.array_equal(resumed.v[:, 0], whole.v[:, -1]), "the last states")
    check(np.array_equal(resumed.multipliers[:, 0], whole.multipliers[:, -1]), "the last multipliers")
    check(all(np.array_equal(resumed[name][:, 0], whole[name][:, -1]) for name in whole.columns), "the last columns")
    check(resumed.output == "some.h5" and whole.output is None and resumed.t.tolist() == whole.t[-1:].tolist(), "file and time")


def check_parts(folder, expected):
    for k in range(1, 4):
        nonholo.ensemble(**ARGUMENTS, part=(k, 3), output=os.path.join(folder, f"part-{k}.h5"))
    subprocess.run([PROGRAM, "join", *[f"part-{k}.h5" for k in (3, 1, 2)], "-o", "all.h5"], cwd=folder, check=True,
                   stdout=subprocess.DEVNULL)
    check(read(folder, "all.h5") == expected, "joined parts have other bytes")


def check_refusals():
    few = dict(model="pendulum-cvt", method="dla01", step=0.1, steps=3, members=3)
    raised(ValueError, nonholo.ensemble, **few, checkpoint="c")
    raised(ValueError, nonholo.ensemble, **few, output="x.h5", executor=object())
    raised(nonholo.UsageError, nonholo.ensemble, **few, output="x.csv")


def main():
    if "no HDF5" in subprocess.run([PROGRAM, "--version"], capture_output=True, text=True).stdout:
        print("skipped: built without HDF5")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        command_line(folder, "-o", "one.h5")
        expected = read(folder, "one.h5")
        check_killed(folder, expected)
        check_interrupted(folder, expected)
        check_parts(folder, expected)
    check_refusals()
    return 0


if __name__ == "__main__":
    sys.exit(main())
