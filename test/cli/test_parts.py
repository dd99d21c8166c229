#!/usr/bin/env python3
"""test_parts.py NONHOLO: parts of an ensemble, computed one by one and joined, are the file of one process to the last
byte; parts that do not fit are named."""

import os
import signal
import subprocess
import sys
import time

from harness import Program, Skipped, cases_in_folders, check, run_all, same

LINE = ["ensemble", "chaotic-particle", "--members", "203", "--energy", "1.535", "--method", "dla01", "--step", "0.2",
        "--steps", "200", "--every", "50", "--quiet"]


def make(program, folder, name, *more):
    done = program(*LINE, *more, "-o", name, cwd=folder)
    same(done.returncode, 0, done.stderr)


def read(folder, name):
    with open(os.path.join(folder, name), "rb") as file:
        return file.read()


def refused(program, folder, message, *parts):
    done = program("join", *parts, "-o", "no.h5", cwd=folder)
    same((done.returncode, done.stderr), (2, f"nonholo: {message}\n"))
    check(not os.path.exists(os.path.join(folder, "no.h5")), "a file was written")


def same_bytes(program, folder):
    make(program, folder, "one.h5")
    for parts in (1, 3, 7):
        names = [f"part-{k}-{parts}.h5" for k in range(1, parts + 1)]
        for k, name in enumerate(names, 1):
            make(program, folder, name, "--part", f"{k}/{parts}", "--threads", 1 + k % 2)
        joined = program("join", *reversed(names), "-o", "all.h5", cwd=folder)
        same((joined.returncode, joined.stdout), (0, f"{parts} part{'s' * (parts > 1)}, 203 members, 0 failed: all.h5\n"), joined.stderr)
        check(read(folder, "all.h5") == read(folder, "one.h5"), f"{parts} parts give other bytes")


def sweeps_and_failures(program, folder):
    """Blocks end where a combination of values ends, and members that fail are left out of the statistics."""
    with open(os.path.join(folder, "fall.nh"), "w") as file:
        file.write("model fall\nparameter k = 1\ncoordinate x\nlagrangian x'^2/2 + k*x^4\nstart x = 1\nobserve twice = 2*x\n")
    line = ["ensemble", "fall.nh", "--sweep", "k=-1:0.5:13", "--method", "rk4", "--step", "0.05", "--time", "2.5", "--quiet"]
    one = program(*line, "-o", "one.h5", cwd=folder)
    same(one.returncode, 1, one.stderr)
    for k in range(1, 5):
        program(*line, "--part", f"{k}/4", "-o", f"p{k}.h5", cwd=folder)
    joined = program.json("join", "p1.h5", "p2.h5", "p3.h5", "p4.h5", "-o", "all.h5", cwd=folder)
    check(0 < joined["failed"] < 13, joined)
    check(read(folder, "all.h5") == read(folder, "one.h5"), "parts of a sweep give other bytes")


def virtual_file(program, folder):
    try:
        done = subprocess.run(["/usr/bin/python3", "-c", "import h5py"], capture_output=True)
    except OSError:
        raise Skipped("there is no /usr/bin/python3")
    if done.returncode:
        raise Skipped("there is no h5py (tools/setup.sh python)")
    make(program, folder, "one.h5")
    os.mkdir(os.path.join(folder, "parts"))
    for k in range(1, 4):
        make(program, folder, f"parts/p{k}.h5", "--part", f"{k}/3")
    done = program("join", "--virtual", "parts/p1.h5", "parts/p2.h5", "parts/p3.h5", "-o", "all.h5", cwd=folder)
    same(done.returncode, 0, done.stderr)
    check(len(read(folder, "all.h5")) < len(read(folder, "one.h5")) / 2, "rows were copied")
    code = ("import h5py\na, b = h5py.File('one.h5'), h5py.File('all.h5')\n"
            "assert list(a) == list(b) and dict(a.attrs) == dict(b.attrs)\n"
            "for n in a:\n    x, y = a[n][()], b[n][()]\n"
            "    assert list(x) == list(y) if x.dtype == object else x.tobytes() == y.tobytes(), n\n")
    done = subprocess.run(["/usr/bin/python3", "-c", code], cwd=folder, capture_output=True, encoding="utf-8")
    same(done.returncode, 0, done.stderr)
    pictures = []  # our own reader follows the references, from anywhere
    for name in ("one.h5", "all.h5"):
        done = program("plot", os.path.join(folder, name), "--member", "11", "-o", os.path.join(folder, "o.html"))
        same(done.returncode, 0, done.stderr)
        pictures.append(read(folder, "o.html").replace(name.encode(), b""))
    check(pictures[0] == pictures[1], "other numbers of a virtual file")


def parts_that_do_not_fit(program, folder):
    for k in range(1, 4):
        make(program, folder, f"p{k}.h5", "--part", f"{k}/3")
    make(program, folder, "seed.h5", "--part", "2/3", "--seed", "5")
    make(program, folder, "energy.h5", "--part", "2/3", "--energy", "1.6")
    make(program, folder, "five.h5", "--part", "2/5")
    refused(program, folder, "part 2 of 3 is missing", "p1.h5", "p3.h5")
    refused(program, folder, "parts 1, 3 of 3 are missing", "p2.h5")
    refused(program, folder, "p1.h5 and p1.h5 are both part 1 of 3", "p1.h5", "p2.h5", "p1.h5", "p3.h5")
    refused(program, folder, "p1.h5 and seed.h5 are not parts of one ensemble: their seed differs", "p1.h5", "seed.h5", "p3.h5")
    refused(program, folder, "p1.h5 and energy.h5 are not parts of one ensemble: their members, parameters, starts, "
            "processor level or version of nonholo differ", "p1.h5", "energy.h5", "p3.h5")
    refused(program, folder, "p1.h5 and five.h5 are not parts of one ensemble: their number of parts differs", "p1.h5", "five.h5")
    with open(os.path.join(folder, "cut.h5"), "wb") as file:
        file.write(read(folder, "p2.h5")[:3000])
    done = program("join", "p1.h5", "cut.h5", "p3.h5", "-o", "no.h5", cwd=folder)
    same((done.returncode, done.stderr), (1, "nonholo: cut.h5: cannot be read as an HDF5 file\n"))
    done = program("run", "chaotic-particle", "--method", "dla01", "--step", "0.1", "--steps", "5", "-o", "single.h5", cwd=folder)
    done = program("join", "single.h5", "-o", "no.h5", cwd=folder)
    same((done.returncode, done.stderr), (1, "nonholo: single.h5: this is not an ensemble written by nonholo\n"))


def unfinished_part(program, folder):
    """A part that was interrupted is refused; resumed it fits."""
    line = [*LINE[:-5], "--steps", "60000", "--every", "20000", "--quiet", "--part"]
    for part in ("1/2", "2/2"):
        done = program(*line, part, "-o", f"p{part[0]}.h5", cwd=folder)
        same(done.returncode, 0, done.stderr)
    whole = read(folder, "p2.h5")
    words = [*line, "2/2", "-o", "p2.h5", "--checkpoint", "c", "--checkpoint-every", "100000"]
    child = subprocess.Popen([program.path, *words], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while not os.path.exists(os.path.join(folder, "c")) and child.poll() is None:
        time.sleep(0.002)
    child.send_signal(signal.SIGTERM)
    if child.wait() == 0:
        raise Skipped("the part was done before it could be interrupted")
    done = program("join", "p1.h5", "p2.h5", "-o", "no.h5", cwd=folder)
    same(done.returncode, 2)
    check(done.stderr.startswith("nonholo: p2.h5 is not complete: member "), done.stderr)
    other = program(*line, "1/2", "-o", "p1.h5", "--resume", "c", cwd=folder)
    same((other.returncode, other.stderr), (2, "nonholo: the checkpoint is of part 2 of 2, this is part 1 of 2\n"))
    again = program(*words, "--resume", "c", cwd=folder)
    same(again.returncode, 0, again.stderr)
    check(read(folder, "p2.h5") == whole, "the resumed part has other bytes")


program = Program(sys.argv[1])
if "no HDF5" in program("--version").stdout:
    print("skipped: parts are HDF5 files, and this nonholo was built without")
    sys.exit(77)
sys.exit(run_all(cases_in_folders(globals(), program)))
