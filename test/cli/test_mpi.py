#!/usr/bin/env python3
"""test_mpi.py NONHOLO [KILLS]: processes launched by MPI share an ensemble: their file has the bytes of one process, also
after one of them was killed and another number of them went on. With every MPI implementation that is there."""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from harness import PATIENCE, Program, Skipped, check, run_all, same

nonholo = Program(sys.argv[1])
KILLS = int(sys.argv[2]) if len(sys.argv) > 2 else 1
LINE = ["ensemble", "chaotic-particle", "--members", "203", "--energy", "1.535", "--method", "dla01", "--step", "0.2",
        "--every", "50", "--threads", "1", "--json", "--quiet"]
# of Open MPI: root may, and more ranks than cores may
ENVIRONMENT = dict(os.environ, NO_COLOR="1", OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                   OMPI_MCA_rmaps_base_oversubscribe="1")
LAUNCHERS = [name for name in ("openmpi", "mpich") if shutil.which("mpiexec." + name) and
             any(os.path.exists(os.path.join(os.path.dirname(nonholo.path), folder, f"libnonholo-mpi-{name}.so"))
                 for folder in ("", "mpi", "../lib"))]


def launch(launcher, ranks, arguments, folder):
    return subprocess.Popen(["mpiexec." + launcher, "-n", str(ranks), nonholo.path, *map(str, arguments)], cwd=folder,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8", env=ENVIRONMENT)


def finish(child):
    out, err = child.communicate(timeout=PATIENCE)
    same(child.returncode, 0, err)
    return json.loads(out)


def result(found):
    return {key: found[key] for key in found if key not in ("seconds", "ns_per_step", "output", "ranks", "backend")}


def read(folder, name):
    with open(os.path.join(folder, name), "rb") as file:
        return file.read()


def one_process(folder, steps):
    found = nonholo.json(*LINE[:-2], "--quiet", "--steps", steps, "-o", "one.h5", cwd=folder)
    same(found["ranks"], 1)
    return found


def same_bytes(launcher, folder):
    one = one_process(folder, 500)
    for ranks in (1, 2, 4):
        found = finish(launch(launcher, ranks, [*LINE, "--steps", 500, "-o", "several.h5"], folder))
        same(found["ranks"], ranks)
        same(result(found), result(one))
        check(read(folder, "several.h5") == read(folder, "one.h5"), f"{ranks} ranks write other bytes")
    same(sorted(os.listdir(folder)), ["one.h5", "several.h5"], "something was left")


def two_launches(launcher, folder):
    """In one folder: with names of their own nothing mixes, with the same name one of them is told to wait."""
    one_process(folder, 500)
    children = [launch(launcher, 2, [*LINE, "--steps", 500, "-o", f"{i}.h5"], folder) for i in range(2)]
    for i, child in enumerate(children):
        finish(child)
        check(read(folder, f"{i}.h5") == read(folder, "one.h5"), "two launches mixed")
    children = [launch(launcher, 2, [*LINE, "--steps", 500, "-o", "same.h5"], folder) for _ in range(2)]
    ends = [child.communicate(timeout=PATIENCE) for child in children]
    codes = [child.returncode for child in children]
    check(0 in codes, ends)
    for code, (_, err) in zip(codes, ends):
        check(code == 0 or "same.h5" in err, err)
    check(read(folder, "same.h5") == read(folder, "one.h5"), "two launches with one name mixed")


def ranks_of(launcher_process):
    """The processes of nonholo below a launcher."""
    found, seen = [], [launcher_process.pid]
    while seen:
        parent = seen.pop()
        for task in os.listdir("/proc"):
            try:
                with open(f"/proc/{task}/stat") as file:
                    name, rest = file.read().split("(", 1)[1].rsplit(")", 1)
            except (OSError, IndexError, ValueError):
                continue
            if int(rest.split()[1]) == parent:
                seen.append(int(task))
                if name == "nonholo":
                    found.append(int(task))
    return sorted(found)


def killed(launcher, folder, generator):
    """A rank is killed at a random moment after the first checkpoint; others go on from it, in other numbers."""
    line = [*LINE, "--steps", 20000, "-o", "two.h5", "--checkpoint", "c", "--checkpoint-every", "100000"]
    child = launch(launcher, 2, line, folder)
    while not os.path.exists(os.path.join(folder, "c")) and child.poll() is None:
        time.sleep(0.002)
    time.sleep(generator.random() * 0.2)
    ranks = ranks_of(child)
    if child.poll() is not None or not ranks:
        child.communicate()
        return False
    os.kill(generator.choice(ranks), signal.SIGKILL)
    out, err = child.communicate(timeout=PATIENCE)
    if child.returncode == 0 or not os.path.exists(os.path.join(folder, "c")):
        return False  # it was done
    check(out.strip() + err.strip(), "no message")  # MPICH's is on standard output
    ranks = generator.choice([1, 2, 3])
    if ranks == 1:
        done = nonholo(*line, "--resume", "c", cwd=folder)
        same(done.returncode, 0, done.stderr)
    else:
        finish(launch(launcher, ranks, [*line, "--resume", "c"], folder))
    check(read(folder, "two.h5") == read(folder, "one.h5"), f"resumed by {ranks}: other bytes")
    return True


def kill_and_resume(launcher, folder):
    generator = random.Random(1)
    one_process(folder, 20000)
    hit = sum(killed(launcher, folder, generator) for _ in range(KILLS))
    if KILLS > 1:
        print(f"{launcher}: {hit} of {KILLS} kills in time, each resumed to the same bytes")


def interrupted(launcher, folder):
    """A signal to one rank ends all of them with a checkpoint, and rank 0 tells how to go on."""
    one_process(folder, 20000)
    line = [*LINE, "--steps", 20000, "-o", "two.h5", "--checkpoint", "c", "--checkpoint-every", "1h"]
    child = launch(launcher, 2, line, folder)
    while len(ranks_of(child)) < 2 and child.poll() is None or not os.path.exists(os.path.join(folder, "two.h5")):
        time.sleep(0.002)
    time.sleep(0.1)
    ranks = ranks_of(child)
    if ranks and child.poll() is None:
        os.kill(ranks[-1], signal.SIGTERM)
    _, err = child.communicate(timeout=PATIENCE)
    if child.returncode != 0 and os.path.exists(os.path.join(folder, "c")):
        check("resume with" in err, err)
        finish(launch(launcher, 2, [*line, "--resume", "c"], folder))
    check(read(folder, "two.h5") == read(folder, "one.h5"), "after an interruption: other bytes")


def bad_input(launcher, folder):
    """Complained about once."""
    child = launch(launcher, 2, ["ensemble", "chaotic-particle", "--members", 10, "--method", "dla99", "--step", 1, "--steps", 1], folder)
    _, err = child.communicate(timeout=PATIENCE)
    check(child.returncode != 0 and err.count("dla99") == 1, err)


def not_joined():
    """A launcher that MPI knows nothing of, as srun without a plugin: an error, never several single runs."""
    if "openmpi" not in LAUNCHERS:
        raise Skipped("there is no Open MPI")
    done = nonholo(*LINE, "--steps", 10, env={"SLURM_STEP_NUM_TASKS": "2", **ENVIRONMENT})
    same(done.returncode, 1, done.stderr)
    check("the launcher started 2 processes, but" in done.stderr and "--part K/N" in done.stderr, done.stderr)


if "no HDF5" in nonholo("--version").stdout:
    print("skipped: ranks share an HDF5 file, and this nonholo was built without")
    sys.exit(77)
if not LAUNCHERS:
    print("skipped: there is no MPI (tools/setup.sh mpi)")
    sys.exit(77)


def in_folder(test, launcher):
    def run():
        with tempfile.TemporaryDirectory() as folder:
            test(launcher, folder)

    return run


TESTS = (same_bytes, two_launches, kill_and_resume, interrupted, bad_input)
cases = [(f"{test.__name__} {launcher}", in_folder(test, launcher)) for launcher in LAUNCHERS for test in TESTS]
sys.exit(run_all([*cases, ("not_joined", not_joined)], workers=1))
