#!/usr/bin/env python3
"""test_mpi.py NONHOLO [KILLS LAUNCHES]: processes launched by MPI share an ensemble: their file has the bytes of one
process, even if one of them was killed at any moment and the same or another number of them continued. All installed
MPI implementations are tested."""

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
KILLS = int(sys.argv[2]) if len(sys.argv) > 2 else 2
LAUNCHES = int(sys.argv[3]) if len(sys.argv) > 3 else 1
SEED = int(os.environ.get("NONHOLO_SEED", 1))
LINE = ["ensemble", "chaotic-particle", "--members", "203", "--energy", "1.535", "--method", "dla01", "--step", "0.2",
        "--threads", "1", "--json", "--quiet"]
SHORT = [*LINE, "--steps", "500", "--every", "50"]
LONG = [*LINE, "--steps", "2000000", "--every", "50000", "-o", "two.h5"]  # a second
ENDLESS = [*LINE, "--steps", "1e11", "--every", "5e10", "-o", "two.h5"]
# of Open MPI: root may, and more ranks than cores may, who let others go first while they wait
# (PMIX_MCA_gds: mpirun itself waits forever for a lock in shared memory if a rank is killed that holds it)
ENVIRONMENT = dict(os.environ, NO_COLOR="1", OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                   OMPI_MCA_rmaps_base_oversubscribe="1", OMPI_MCA_mpi_yield_when_idle="1",
                   PMIX_MCA_gds="hash")
LAUNCHERS = [name for name in ("openmpi", "mpich") if shutil.which("mpiexec." + name) and
             any(os.path.exists(os.path.join(os.path.dirname(nonholo.path), folder, f"libnonholo-mpi-{name}.so"))
                 for folder in ("", "mpi", "../lib"))]


def launch_differently(launcher, programs, folder):
    """One launch whose ranks have different command lines: [(ranks, words), ...]."""
    line = []
    for ranks, words in programs:
        line += [":"] * bool(line) + ["-n", str(ranks), *map(str, words)]
    return subprocess.Popen(["mpiexec." + launcher, *line], cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, encoding="utf-8", env=ENVIRONMENT)


def launch(launcher, ranks, arguments, folder):
    return launch_differently(launcher, [(ranks, [nonholo.path, *arguments])], folder)


def finish(child):
    out, err = child.communicate(timeout=PATIENCE)
    same(child.returncode, 0, err)
    return json.loads(out)


def result(found):
    return {key: found[key] for key in found if key not in ("seconds", "ns_per_step", "output", "ranks", "backend")}


def read(folder, name):
    with open(os.path.join(folder, name), "rb") as file:
        return file.read()


def one_process(folder, line, name="one.h5", *more):
    done = nonholo(*line, *more, "-o", name, cwd=folder)
    same(done.returncode, 0, done.stderr)
    found = json.loads(done.stdout)
    same(found["ranks"], 1)
    return found


def same_bytes(launcher, folder):
    one = one_process(folder, SHORT)
    for ranks in (1, 2, 4):
        found = finish(launch(launcher, ranks, [*SHORT, "-o", "several.h5"], folder))
        same(found["ranks"], ranks)
        same(result(found), result(one))
        check(read(folder, "several.h5") == read(folder, "one.h5"), f"{ranks} ranks write other bytes")
    same(sorted(os.listdir(folder)), ["one.h5", "several.h5"], "something was left")


def two_launches(launcher, folder):
    """Two launches in one folder: with different file names they do not interfere; with the same name one of them is refused,
    whether they compute the same ensemble or not."""
    one_process(folder, SHORT)
    one_process(folder, SHORT, "other.h5", "--seed", 7)
    expected = [read(folder, "one.h5"), read(folder, "other.h5")]
    seeds = [[], ["--seed", 7]]
    for _ in range(LAUNCHES):
        children = [launch(launcher, 2, [*SHORT, *seeds[i], "-o", f"{i}.h5"], folder) for i in range(2)]
        for i, child in enumerate(children):
            finish(child)
            check(read(folder, f"{i}.h5") == expected[i], "two launches mixed")
        for second in range(2):
            line = [*SHORT, "-o", "same.h5"]
            children = [launch(launcher, 2, line, folder), launch(launcher, 2, [*line, *seeds[second]], folder)]
            ends = [child.communicate(timeout=PATIENCE) for child in children]
            codes = [child.returncode for child in children]
            check(0 in codes, ends)
            for code, (_, err) in zip(codes, ends):
                check(code == 0 or "same.h5 is being written by" in err, err)
            allowed = [bytes for code, bytes in zip(codes, (expected[0], expected[second])) if code == 0]
            check(read(folder, "same.h5") in allowed, "two launches with one name mixed")
    same(sorted(os.listdir(folder)), ["0.h5", "1.h5", "one.h5", "other.h5", "same.h5"], "something was left")


def ranks_of(launcher_process):
    """The processes of nonholo below a launcher."""
    parents = {}
    for task in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{task}/stat") as file:
                name, rest = file.read().split("(", 1)[1].rsplit(")", 1)
        except OSError:
            continue
        parents.setdefault(int(rest.split()[1]), []).append((int(task), name))
    found, seen = [], [launcher_process.pid]
    while seen:
        for task, name in parents.get(seen.pop(), []):
            seen.append(task)
            if name == "nonholo":
                found.append(task)
    return sorted(found)


def lives(process):
    try:
        with open(f"/proc/{process}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def kill_a_rank(child, moment, generator):
    """Kills a rank after the given time. Returns how long it took all the others to end, or None if there was nothing to kill."""
    time.sleep(moment)
    ranks = ranks_of(child)
    while not ranks and child.poll() is None:  # the launcher is still at its own work
        time.sleep(0.001)
        ranks = ranks_of(child)
    if child.poll() is not None or not ranks:
        child.communicate()
        return None
    try:
        os.kill(generator.choice(ranks), signal.SIGKILL)
    except ProcessLookupError:
        child.communicate()
        return None
    begun = time.monotonic()
    out, err = child.communicate(timeout=PATIENCE)
    while any(lives(rank) for rank in ranks):
        check(time.monotonic() < begun + 60, "ranks live on without their launcher")
        time.sleep(0.01)
    if child.returncode == 0:
        return None
    check(out.strip() + err.strip(), "no message")  # MPICH's is on standard output
    return time.monotonic() - begun


def resume(launcher, ranks, line, folder):
    """Resumes as a user does: from the checkpoint if there is one, otherwise from the beginning; without a launcher if there is one process."""
    go_on = ["--resume", "c"] if os.path.exists(os.path.join(folder, "c")) else []
    if ranks == 1:
        done = nonholo(*line, *go_on, cwd=folder)
        same(done.returncode, 0, done.stderr)
    else:
        finish(launch(launcher, ranks, [*line, *go_on], folder))
    return bool(go_on)


def kill_and_resume(launcher, folder):
    """kill -9 of a rank at random moments, of two ranks or three; then the same number of ranks continues, and another number in a copy
    of the folder."""
    generator = random.Random(SEED)
    one_process(folder, LONG[:-2])
    expected = read(folder, "one.h5")
    line = [*LONG, "--checkpoint", "c", "--checkpoint-every", "20000000"]
    begun = time.monotonic()
    finish(launch(launcher, 2, line, folder))
    length = time.monotonic() - begun
    ends, resumed = [], 0
    while len(ends) < KILLS:
        work, ranks = os.path.join(folder, "work"), generator.choice([2, 2, 3])
        os.mkdir(work)
        seconds = kill_a_rank(launch(launcher, ranks, line, work), generator.random() * length, generator)
        if seconds is not None:
            ends.append(seconds)
            shutil.copytree(work, os.path.join(folder, "copy"))
            resumed += resume(launcher, ranks, line, work)
            others = generator.choice([n for n in (1, 2, 3) if n != ranks])
            resume(launcher, others, line, os.path.join(folder, "copy"))
            for place, count in (("work", ranks), ("copy", others)):
                check(read(folder, f"{place}/two.h5") == expected, f"seed {SEED}, resumed by {count}: other bytes")
                same(os.listdir(os.path.join(folder, place)), ["two.h5"], "something was left")
            shutil.rmtree(os.path.join(folder, "copy"))
        else:
            length *= 0.9
        shutil.rmtree(work)
    print(f"{launcher}: {KILLS} kills, the others ended within {max(ends):.1f} s; {resumed} had a checkpoint; all came to the same bytes")
    check(max(ends) < 10, f"{max(ends)} s until the others ended")


def begin_line(launcher, folder, line):
    """Two ranks at work on a line."""
    child = launch(launcher, 2, line, folder)
    while len(ranks_of(child)) < 2 and child.poll() is None or not os.path.exists(os.path.join(folder, "two.h5")):
        if child.poll():
            raise AssertionError(child.stderr.read())
        time.sleep(0.01)
    time.sleep(0.1)
    return child, ranks_of(child)


def interrupted(launcher, folder):
    """A signal to one rank ends all of them with a checkpoint, and rank 0 says how to resume."""
    one_process(folder, LONG[:-2])
    line = [*LONG, "--checkpoint", "c", "--checkpoint-every", "1h"]
    child, ranks = begin_line(launcher, folder, line)
    if ranks and child.poll() is None:
        os.kill(ranks[-1], signal.SIGTERM)
    _, err = child.communicate(timeout=PATIENCE)
    if child.returncode != 0 and os.path.exists(os.path.join(folder, "c")):
        check("resume with" in err, err)
        finish(launch(launcher, 2, [*line, "--resume", "c"], folder))
    check(read(folder, "two.h5") == read(folder, "one.h5"), "after an interruption: other bytes")


def halted(launcher, folder):
    """A rank that stands still for a while (SIGSTOP) is waited for."""
    one_process(folder, LONG[:-2])
    child, ranks = begin_line(launcher, folder, LONG)
    for rank in ranks[-1:]:
        os.kill(rank, signal.SIGSTOP)
        time.sleep(1)
        os.kill(rank, signal.SIGCONT)
    finish(child)
    check(read(folder, "two.h5") == read(folder, "one.h5"), "after a halt: other bytes")


def refused(launcher, folder, programs, message, code):
    """There is one message, and nothing is written. A launcher may end a rank that has not finished yet, and the rank says so."""
    before = os.listdir(folder)
    child = launch_differently(launcher, programs, folder)
    out, err = child.communicate(timeout=PATIENCE)
    same(child.returncode, code, out + err)
    said = [line for line in err.splitlines() if line.startswith("nonholo: ")]
    ended = "nonholo: stopped by a signal; there was nothing to save"
    same([line for line in said if line != ended], [f"nonholo: {message}"], err)
    same(os.listdir(folder), before)


def bad_input(launcher, folder):
    words = [nonholo.path, "ensemble", "chaotic-particle", "--members", 10, "--step", 1, "--steps", 1, "--method"]
    refused(launcher, folder, [(2, [*words, "dla99"])], "unknown method 'dla99'; did you mean 'dla'?", 2)
    refused(launcher, folder, [(2, [*words[:2], "-", *words[3:], "dla01"])],
            "only one process can read standard input; give the model as a file", 2)


def unlike_ranks(launcher, folder):
    """Machines, files or command lines that differ from rank to rank."""
    who, host = [nonholo.path, *SHORT, "-o", "a.h5"], os.uname().nodename
    another = (f"rank 1 on {host}: this ensemble differs from that of rank 0: the model's text, the options, the version "
               "of nonholo or the processor level is not the same")
    refused(launcher, folder, [(1, who), (1, [*who, "--seed", 3])], another, 1)
    refused(launcher, folder, [(1, who), (2, ["env", "NONHOLO_LEVEL=basic", *who])], another, 1)
    refused(launcher, folder, [(1, who), (2, [*who[:2], "nowhere.nh", *who[3:]])],
            f"rank 1 on {host}: cannot open nowhere.nh: No such file or directory", 1)


def failing_rank(launcher, folder):
    """A rank that can no longer write ends all of them, with its message. MPICH itself does not start then."""
    if launcher != "openmpi":
        raise Skipped("MPICH needs files of its own")
    who = [nonholo.path, *SHORT, "-o", "a.h5"]
    child = launch_differently(launcher, [(1, who), (1, ["sh", "-c", 'ulimit -f 8; exec "$@"', "sh", *who])], folder)
    _, err = child.communicate(timeout=PATIENCE)
    check(child.returncode != 0 and f"nonholo: rank 1 on {os.uname().nodename}: cannot write " in err and "File too large" in err, err)
    same(os.listdir(folder), [])


def foreign_checkpoint(launcher, folder):
    """There is one message, from rank 0."""
    line = [*ENDLESS, "--checkpoint", "c"]
    child, ranks = begin_line(launcher, folder, line)
    os.kill(ranks[0], signal.SIGTERM)
    _, err = child.communicate(timeout=PATIENCE)
    check(os.path.exists(os.path.join(folder, "c")), err)
    refused(launcher, folder, [(2, [nonholo.path, *line, "--seed", 9, "--resume", "c"])],
            "the checkpoint is from another run: its seed is 0, here it is 9", 2)
    with open(os.path.join(folder, "d"), "wb") as file:
        file.write(read(folder, "c")[:-100])
    refused(launcher, folder, [(2, [nonholo.path, *line, "--resume", "d"])], "d: the checkpoint is damaged: its digest does not match", 2)


def not_joined():
    """A launcher that MPI does not know, such as srun without a plugin: an error, never several single runs."""
    if "openmpi" not in LAUNCHERS:
        raise Skipped("there is no Open MPI")
    done = nonholo(*SHORT, env={"SLURM_STEP_NUM_TASKS": "2", **ENVIRONMENT})
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


TESTS = (same_bytes, two_launches, kill_and_resume, interrupted, halted, bad_input, unlike_ranks, failing_rank, foreign_checkpoint)
cases = [(f"{test.__name__} {launcher}", in_folder(test, launcher)) for launcher in LAUNCHERS for test in TESTS]
sys.exit(run_all([*cases, ("not_joined", not_joined)], workers=1))
