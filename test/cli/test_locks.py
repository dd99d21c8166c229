#!/usr/bin/env python3
"""test_locks.py NONHOLO [TRIES]: several processes on the same files, and runs over the leftovers of killed processes.

Two resumes at once, the same command twice at once, a run over leftovers, for every format: exactly one of two does the work,
and the other says which process does; the file has the bytes of a single run. 20 tries each by default."""

import os
import random
import signal
import subprocess
import sys
import tempfile
import time

from harness import Program, check, run_all, same

nonholo = Program(sys.argv[1])
TRIES = int(sys.argv[2]) if len(sys.argv) > 2 else 20
HAS_HDF5 = "no HDF5" not in nonholo("--version").stdout
ENDINGS = [".csv", ".npy", ".npz"] + [".h5"] * HAS_HDF5
RUN = ["run", "pendulum-cvt", "--method", "dla01", "--step", "0.1", "--steps", "40000", "--every", "4", "--no-estimate",
       "--quiet"]
OTHER = [*RUN, "--set", "eps=0.1"]
ENSEMBLE = ["ensemble", "chaotic-particle", "--members", "40", "--energy", "1.535", "--method", "dla01", "--step", "0.2",
            "--steps", "4000", "--every", "50", "--threads", "1", "--quiet"]
KEPT = ["--checkpoint", "c", "--checkpoint-every"]


def start(line, folder):
    return subprocess.Popen([nonholo.path, *line], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                            encoding="utf-8", env=dict(os.environ, NO_COLOR="1", LC_ALL="C"))


def content(folder, name):
    with open(os.path.join(folder, name), "rb") as file:
        return file.read()


def kill_midway(line, folder):
    """Kills a run when its first checkpoint exists; returns whether the run was still working."""
    child = start(line, folder)
    while child.poll() is None and not os.path.exists(os.path.join(folder, "c")):
        time.sleep(0.001)
    time.sleep(0.01 * random.random())
    child.kill()
    child.communicate()
    return child.returncode == -signal.SIGKILL and os.path.exists(os.path.join(folder, "c"))


def one_of_two(children):
    """At least one process does the work. The other says which process does, or started after the end: it has nothing to resume, or does the work again."""
    ends = [(child.communicate()[1], child.returncode) for child in children]
    check(any(code == 0 for _, code in ends), ends)
    for text, code in ends:
        check(code == 0 or (code == 1 and ("is being written by" in text or "cannot re" in text)), ends)
    return sum("is being written by process %d" % child.pid in text for child in children for text, _ in ends)


def expected(line, name):
    with tempfile.TemporaryDirectory() as folder:
        done = nonholo(*line, "-o", name, cwd=folder)
        same(done.returncode, 0, done.stderr)
        return content(folder, name)


def cases():
    for ending in ENDINGS:
        yield RUN, "1000", "o" + ending
    if HAS_HDF5:
        yield ENSEMBLE, "4000", "o.h5"


def test_the_same_command_twice():
    refused = 0
    for line, every, name in cases():
        whole = expected(line, name)
        for i in range(TRIES):
            with tempfile.TemporaryDirectory() as folder:
                full = [*line, "-o", name, *(KEPT + [every]) * (i % 2)]
                refused += one_of_two([start(full, folder), start(full, folder)])
                check(content(folder, name) == whole, f"{name} differs")
                same(os.listdir(folder), [name], "leftovers")
    print(f"the same command twice: {refused} of {TRIES * len(list(cases()))} were refused, the others came later")
    check(refused > 0, "nobody met a lock")


def test_two_resumes():
    refused = killed = 0
    for line, every, name in cases():
        whole = expected(line, name)
        full = [*line, "-o", name, *KEPT, every]
        for _ in range(TRIES):
            with tempfile.TemporaryDirectory() as folder:
                if not kill_midway(full, folder):
                    continue  # it had ended
                killed += 1
                refused += one_of_two([start([*full, "--resume", "c"], folder) for _ in range(2)])
                check(content(folder, name) == whole, f"{name} differs")
                same(os.listdir(folder), [name], "leftovers")
    print(f"two resumes: {refused} of {killed} were refused, the others came later")
    check(refused > 0, "nobody met a lock")


def test_over_leftovers():
    """A run over the leftovers of a killed run has its own bytes; the checkpoint of the killed run is then refused."""
    mixed = refused = 0
    for ending in ENDINGS:
        name = "o" + ending
        whole, other = expected(RUN, name), expected(OTHER, name)
        for i in range(TRIES):
            with tempfile.TemporaryDirectory() as folder:
                if not kill_midway([*OTHER, "-o", name, *KEPT, "1000"], folder):
                    continue
                os.rename(os.path.join(folder, "c"), os.path.join(folder, "old"))
                if i % 2 and kill_midway([*RUN, "-o", name, *KEPT, "1000"], folder):
                    done = nonholo(*OTHER, "-o", name, "--resume", "old", cwd=folder)
                    mixed += 1
                    refused += done.returncode == 1
                    check(done.returncode == 1 or content(folder, name) == other, "two runs in one file")
                done = nonholo(*RUN, "-o", name, cwd=folder)
                same(done.returncode, 0, done.stderr)
                check(content(folder, name) == whole, f"{name} differs")
    print(f"over leftovers: {refused} of {mixed} checkpoints whose file was another's were refused")


sys.exit(run_all([(name, test) for name, test in list(globals().items()) if name.startswith("test_")]))
