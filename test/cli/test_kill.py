#!/usr/bin/env python3
"""test_kill.py NONHOLO [KILLS [CASE...]]: kill -9 at random moments of a run with output and checkpoints.

After each kill the file must open and contain all rows that the checkpoint counts; after resuming to the end,
final state and file must be those of the uninterrupted run, bit by bit. A kill counts if the process
was working: it had begun (its checkpoint existed) and had not ended. There are KILLS such kills per case
(the test suite does 2, issue 6 asks for 20). test_kill.py NONHOLO 0 interrupt: only the signals."""

import json
import os
import random
import shlex
import shutil
import signal
import subprocess
import sys
import struct
import tempfile
import time

from harness import Program, check, run_all, same

nonholo = Program(sys.argv[1])
KILLS = int(sys.argv[2]) if len(sys.argv) > 2 else 2
PAIRS = 10 * max(1, KILLS)  # of signals
HAS_HDF5 = "no HDF5" not in nonholo("--version").stdout
if HAS_HDF5 and subprocess.run(["/usr/bin/python3", "-c", "import h5py, numpy"], capture_output=True).returncode != 0:
    print("skipped: h5py is missing, tables are looked at instead of HDF5 files")
    HAS_HDF5 = False
ENVIRONMENT = dict(os.environ, NO_COLOR="1", LC_ALL="C")
# child processes must not inherit ignored signals from a background job or from nohup
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)
SEED = int.from_bytes(os.urandom(4), "little")
random.seed(SEED)

RUN = ["--checkpoint-every", "500"]
CASES = {
    # name: command line; about a second each, points often enough for several blocks
    "dla01": ["run", "pendulum-cvt", "--method", "dla01", "--step", "0.1", "--steps", "300000", "--every", "3"],
    "leapfrog": ["run", "pendulum-cvt", "--method", "leapfrog", "--step", "0.1", "--steps", "300000", "--every", "3"],
    "gauss": ["run", "pendulum-cvt", "--method", "gauss:stages=3", "--step", "0.1", "--steps", "100000"],
    "collocation": ["run", "pendulum-cvt", "--method", "collocation:stages=2", "--step", "0.1", "--steps", "40000"],
    "ensemble": ["ensemble", "chaotic-particle", "--members", "203", "--energy", "1.535", "--method", "dla01",
                 "--step", "0.2", "--steps", "100000", "--every", "500", "--threads", "2"],
}


def spawn(arguments, folder, nice=0):
    # whether there is an estimate depends on how long it took, and there is none after resuming
    plain = ["--no-estimate"] if arguments[0] == "run" else []
    return subprocess.Popen(["nice", "-n", str(nice), nonholo.path, *arguments, *plain, "--json", "--quiet"], cwd=folder, env=ENVIRONMENT,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8")


H5_OPENS = """
import h5py, numpy, sys
f = h5py.File(sys.argv[1], "r")
records, q = f["records"][:], f["q"]
for member in range(len(records)):
    assert not numpy.isnan(q[member, :records[member]]).any(), member
print(int(records.max()))
"""

H5_CONTENTS = """
import h5py, sys, hashlib
h = hashlib.sha256()
def attributes(where):
    for name in sorted(where.attrs):
        value = where.attrs[name]
        if getattr(value, "dtype", None) != object or isinstance(value, str):  # no references
            h.update(("%s=%r" % (name, value)).encode())
f = h5py.File(sys.argv[1], "r")
attributes(f)
for name in sorted(f):
    attributes(f[name])
    h.update(("%s %s" % (name, f[name].shape)).encode())
    h.update(f[name][()].tobytes() if f[name].dtype != object else repr(f[name][()]).encode())
print(h.hexdigest())
"""


def h5(code, path):
    """Runs the system's Python, which has h5py if HAS_HDF5 is true."""
    done = subprocess.run(["/usr/bin/python3", "-c", code, path], capture_output=True, encoding="utf-8")
    check(done.returncode == 0, "%s does not open: %s" % (path, done.stderr[-400:]))
    return done.stdout


def contents(path):
    if path.endswith(".h5"):
        return h5(H5_CONTENTS, path)
    with open(path, "rb") as file:
        return file.read()


def identity(path):
    """The identity of a file, which differs for another file of the same name; None if there is no file."""
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return None
    return found.st_ino, found.st_mtime_ns


def progress_of(checkpoint):
    """The progress of a run: steps recorded so far, total steps, rows of the file."""
    data = open(checkpoint, "rb").read()
    at = data.index(b"\n") + 1 + 8
    first = struct.unpack_from("<q", data, at)[0]
    steps, _, recorded, _, _, rows = struct.unpack_from("<6q", data, at + 8 + first + 8)
    return recorded, steps, rows


def result(text):
    found = json.loads(text)
    for key in ("seconds", "ns_per_step", "output", "backend", "threads"):
        found.pop(key, None)
    return found


class Victim:
    """One command line that is killed and resumed until it is complete."""

    def __init__(self, name, line, folder, part):
        self.name, self.part, self.folder = name, part, folder
        self.checkpoint = os.path.join(folder, "check")
        every = ["--checkpoint-every", "1e6"] if name == "ensemble" else RUN
        self.line = line + ["-o", part, "--checkpoint", self.checkpoint, *every]
        self.at_work, self.others, self.where = 0, 0, []

    def look(self, begun):
        """After a kill: was the process working, and is everything there?"""
        now = identity(self.checkpoint)
        worked = now is not None and now != begun
        self.at_work += worked
        self.others += not worked
        rows = 0
        if now and self.name != "ensemble":
            recorded, steps, rows = progress_of(self.checkpoint)
            self.where += [recorded / steps] * worked
        if self.part.endswith(".h5") and os.path.exists(self.part):
            there = int(h5(H5_OPENS, self.part))
            check(there >= rows, "the file has %d rows, the checkpoint counts %d" % (there, rows))
        return worked

    def has_ended(self):
        """Other files get their names only when they are complete; then a kill came too late, unless rows that should
        have been removed are still there: this case is also resumed."""
        if self.part.endswith(".h5") or not os.path.exists(self.part):
            return False
        return not (os.path.exists(self.part + ".part") and os.path.exists(self.checkpoint))

    def to_the_end(self, longest):
        """The final output after any number of kills; None if the last kill came after the work."""
        while True:
            begun = identity(self.checkpoint)
            child = spawn(self.line + (["--resume", self.checkpoint] if begun else []), self.folder)
            try:
                out, err = child.communicate(timeout=random.uniform(0.02, longest))
                break
            except subprocess.TimeoutExpired:
                child.kill()
                out, err = child.communicate()
                if child.returncode != -signal.SIGKILL:  # it ended in between
                    break
                longest *= 1 if self.look(begun) else 1.1  # on a busy machine it needs more time to begin
                if self.has_ended():  # files that a later run of that name would remove
                    for name in os.listdir(self.folder):
                        if name.endswith(".lock") or name == os.path.basename(self.checkpoint):
                            os.remove(os.path.join(self.folder, name))
                    return None
        if child.returncode != 0 and os.environ.get("NONHOLO_KEEP"):
            shutil.copytree(self.folder, os.environ["NONHOLO_KEEP"], dirs_exist_ok=True)
        same(child.returncode, 0, "%s, seed %d: %s" % (self.name, SEED, err))
        return out


def kill_and_resume(name, line, ending):
    with tempfile.TemporaryDirectory() as folder:
        whole, part = os.path.join(folder, "whole" + ending), os.path.join(folder, "part" + ending)
        begun = time.monotonic()
        done = spawn(line + ["-o", whole], folder)
        out, err = done.communicate()
        same(done.returncode, 0, err)
        length = time.monotonic() - begun
        expected = contents(whole)
        victim, ends = Victim(name, line, folder, part), 0
        while victim.at_work < KILLS:
            found = victim.to_the_end(length + 0.1)
            if found is not None:
                same(result(found), result(out), "%s, seed %d" % (name, SEED))
            check(contents(part) == expected, "%s: files differ, seed %d" % (name, SEED))
            same(sorted(os.listdir(folder)), sorted(["part" + ending, "whole" + ending]), "leftovers")
            os.remove(part)
            ends += 1
        where = ", at %s %% of the way" % " ".join("%.0f" % (100 * w) for w in sorted(victim.where)) if victim.where else ""
        print("%s%s: %d kills at work%s; %d before; %d times to the end, the same bits" %
              (name, ending, victim.at_work, where, victim.others, ends))


def interrupted(line, folder, number, second=None, delay=0.0):
    """The output of a process that was asked to stop in the middle, a little after it has installed handlers for SIGINT and
    SIGTERM. On a busy machine it may have ended by then; so it runs at low priority, and is tried again with an earlier signal
    and without the files it left. A `second` signal may follow after `delay` seconds."""
    before = set(os.listdir(folder))
    for wait in (0.15, 0.1, 0.05, 0.02, 0.01, 0.005, 0, 0, 0, 0):
        child = spawn(line, folder, nice=19)
        while child.poll() is None:
            with open("/proc/%d/status" % child.pid) as status:
                caught = [int(line.split()[1], 16) for line in status if line.startswith("SigCgt")]
            if caught and all(caught[0] >> (n - 1) & 1 for n in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)):
                break
            time.sleep(0.001)
        time.sleep(wait)
        child.send_signal(number)
        if second:
            time.sleep(delay)
            child.send_signal(second)
        out, err = child.communicate()
        if child.returncode != 0 and "there was nothing to save" not in err:  # or it had ended, or not begun to compute
            break
        for name in set(os.listdir(folder)) - before:
            os.remove(os.path.join(folder, name))
    same(child.returncode, 1, err)
    check("interrupted" in err, err)
    return out, err


def go_on(err, folder):
    """Runs the command that the message gives for resuming."""
    words = shlex.split(err.strip().splitlines()[-1])
    same(words[0], "nonholo")
    done = subprocess.run([nonholo.path, *words[1:]], cwd=folder, env=ENVIRONMENT, encoding="utf-8",
                          capture_output=True)
    same(done.returncode, 0, done.stderr)
    return done.stdout


def test_interrupt():
    """SIGINT and SIGTERM write a checkpoint and print the command that resumes; that command works."""
    with tempfile.TemporaryDirectory() as folder:
        line = ["run", "pendulum-cvt", "--method", "leapfrog", "--step", "0.1", "--steps", "5e7"]
        out, _ = spawn(line, folder).communicate()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            _, err = interrupted(line + ["--checkpoint", "with space"], folder, number)
            check("interrupted after" in err and os.path.exists(os.path.join(folder, "with space")), err)
            same(result(go_on(err, folder)), result(out))
        # the rows of these stay as FILE.part meanwhile
        for ending in (".csv", ".npy", ".npz"):
            whole, part = [os.path.join(folder, n + ending) for n in ("whole", "part")]
            spawn(line + ["-o", whole], folder).communicate()
            _, err = interrupted(line + ["-o", part, "--checkpoint", "kept"], folder, signal.SIGTERM)
            same(sorted(os.listdir(folder)), ["kept", "part" + ending + ".part", "whole" + ending])
            same(result(go_on(err, folder)), result(out))
            check(contents(part) == contents(whole), "%s differs" % ending)
            os.remove(whole), os.remove(part)
        # without a checkpoint the points so far are kept
        out, err = interrupted(line + ["-o", "x.csv"], folder, signal.SIGINT)
        steps = json.loads(out)["steps"]
        check(0 <= steps < 5e7, steps)
        check(len(open(os.path.join(folder, "x.csv")).readlines()) >= steps // 5000, "points are missing")


def test_pairs_of_signals():
    """Two signals at once, as batch systems and closing terminals send them: the checkpoint is written nevertheless."""
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    line = ["run", "pendulum-cvt", "--method", "leapfrog", "--step", "0.1", "--steps", "1e9", "--checkpoint", "c"]
    with tempfile.TemporaryDirectory() as folder:
        for i in range(PAIRS):
            delay = random.choice((0, 0.02 * random.random()))
            pair = random.choice(numbers), random.choice(numbers)
            _, err = interrupted(line, folder, *pair, delay)
            check("interrupted after" in err and os.path.exists(os.path.join(folder, "c")), f"{pair}, {delay} s: {err}")
            os.remove(os.path.join(folder, "c"))


def test_interrupt_ensemble():
    """The same for an ensemble on 2 threads with a file: it continues to the same numbers."""
    with tempfile.TemporaryDirectory() as folder:
        ending = ".h5" if HAS_HDF5 else ".csv"
        whole, part, line = "whole" + ending, "part" + ending, CASES["ensemble"]
        out, err = spawn(line + ["-o", whole], folder).communicate()
        expected = contents(os.path.join(folder, whole))
        for number in (signal.SIGINT, signal.SIGTERM):
            _, err = interrupted(line + ["-o", part, "--checkpoint", "kept"], folder, number)
            check("interrupted after" in err and os.path.exists(os.path.join(folder, "kept")), err)
            check(HAS_HDF5 or not os.path.exists(os.path.join(folder, part)), "half a file")
            same(result(go_on(err, folder)), result(out))
            check(contents(os.path.join(folder, part)) == expected, "files differ")
            same(sorted(os.listdir(folder)), [part, whole], "leftovers")
            os.remove(os.path.join(folder, part))
        _, err = interrupted(line + ["-o", part], folder, signal.SIGTERM)
        check("with --checkpoint FILE a" in err and "can be resumed" in err, err)
        same(sorted(os.listdir(folder)), [whole], "leftovers without a checkpoint")


ENDINGS = {"dla01": [".csv"], "leapfrog": [".npy"], "gauss": [".csv", ".npz"]}
chosen = sys.argv[3:] or ["interrupt", *CASES]
tests = [("interrupt", test_interrupt), ("pairs of signals", test_pairs_of_signals),
         ("interrupt ensemble", test_interrupt_ensemble)] * ("interrupt" in chosen)
for name, line in CASES.items():
    for ending in [".h5"] * HAS_HDF5 + ENDINGS.get(name, [] if HAS_HDF5 else [".csv"]):
        if name in chosen:
            tests.append((name + ending, lambda n=name, l=line, e=ending: kill_and_resume(n, l, e)))
sys.exit(run_all(tests))
