#!/usr/bin/env python3
"""test_ranks.py NONHOLO: several processes share one ensemble, started as mpirun starts them (by mpirun too
where it is there); their files have the bits of one process, also after one of them was killed."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from harness import PATIENCE, Program, Skipped, check, run_all, same

nonholo = Program(sys.argv[1])
ENDING = ".csv" if "no HDF5" in nonholo("--version").stdout else ".h5"
LINE = ["ensemble", "chaotic-particle", "--members", "203", "--energy", "1.535", "--method", "dla01", "--step", "0.2",
        "--every", "50", "--threads", "1", "--json", "--quiet"]


def contents(path):
    if path.endswith(".csv"):
        return open(path).read()
    code = ("import h5py, sys, hashlib; f = h5py.File(sys.argv[1], 'r'); h = hashlib.sha256()\n"
            "for n in sorted(f): h.update(n.encode()); h.update(f[n][()].tobytes() if f[n].dtype != object"
            " else repr(f[n][()]).encode())\n"
            "print(h.hexdigest())")
    done = subprocess.run(["/usr/bin/python3", "-c", code, path], capture_output=True, encoding="utf-8")
    return done.stdout if done.returncode == 0 else None


def launch(arguments, ranks, folder, name):
    """Ranks as Open MPI tells them."""
    return [subprocess.Popen([nonholo.path, *arguments], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                             encoding="utf-8", env=dict(os.environ, OMPI_COMM_WORLD_RANK=str(rank), NO_COLOR="1",
                                                        OMPI_COMM_WORLD_SIZE=str(ranks), PMIX_NAMESPACE=name))
            for rank in range(ranks)]


def result(text):
    found = json.loads(text)
    for key in ("seconds", "ns_per_step", "output", "ranks", "backend"):
        found.pop(key)
    return found


def test_same_bits():
    with tempfile.TemporaryDirectory() as folder:
        one = nonholo(*LINE, "--steps", 2000, "-o", "one" + ENDING, cwd=folder)
        same(one.returncode, 0, one.stderr)
        for ranks in (2, 4):
            path = "several%d%s" % (ranks, ENDING)
            children = launch([*LINE, "--steps", "2000", "-o", path], ranks, folder, "test/%d" % ranks)
            ends = [child.communicate(timeout=PATIENCE) for child in children]
            same([child.returncode for child in children], [0] * ranks, ends)
            same([out for out, _ in ends[1:]], [""] * (ranks - 1))
            same(json.loads(ends[0][0])["ranks"], ranks)
            same(result(ends[0][0]), result(one.stdout))
            same(contents(os.path.join(folder, path)), contents(os.path.join(folder, "one" + ENDING)))
        same([name for name in os.listdir(folder) if name.startswith(".")], [])


def test_killed_rank():
    """One rank is killed; the launcher ends the other; --resume completes the file to the same bits."""
    with tempfile.TemporaryDirectory() as folder:
        line = [*LINE, "--steps", "60000"]
        one = nonholo(*line, "-o", "one" + ENDING, cwd=folder)
        same(one.returncode, 0, one.stderr)
        line += ["-o", "two" + ENDING, "--checkpoint", "c", "--checkpoint-every", "200000"]
        children = launch(line, 2, folder, "k")
        while not os.path.exists(os.path.join(folder, "c.rank1")) and children[1].poll() is None:
            time.sleep(0.005)
        children[1].kill()
        children[0].send_signal(signal.SIGTERM)
        for child in children:
            child.communicate(timeout=PATIENCE)
        check(children[0].returncode != 0, "rank 0 had ended before")
        again = launch([*line, "--resume", "c"], 2, folder, "again")
        ends = [child.communicate(timeout=PATIENCE) for child in again]
        same([child.returncode for child in again], [0, 0], ends)
        same(result(ends[0][0]), result(one.stdout))
        same(contents(os.path.join(folder, "two" + ENDING)), contents(os.path.join(folder, "one" + ENDING)))
        same(sorted(os.listdir(folder)), sorted(["one" + ENDING, "two" + ENDING]), "leftovers")


def test_mpirun():
    if not shutil.which("mpirun"):
        raise Skipped("there is no mpirun (tools/setup.sh mpi)")
    with tempfile.TemporaryDirectory() as folder:
        one = nonholo(*LINE, "--steps", 500, cwd=folder)
        done = subprocess.run(["mpirun", "--oversubscribe", "-n", "3", nonholo.path, *LINE, "--steps", "500"], cwd=folder,
                              capture_output=True, encoding="utf-8", timeout=PATIENCE,
                              env=dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1"))
        same(done.returncode, 0, done.stderr)
        same(result(done.stdout), result(one.stdout))


sys.exit(run_all([(name, test) for name, test in list(globals().items()) if name.startswith("test_")]))
