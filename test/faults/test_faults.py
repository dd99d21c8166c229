#!/usr/bin/env python3
"""test_faults.py NONHOLO FAULTS.SO [MOST [CASE...]]: system calls and allocations that fail, and kills at every call.

Each case is a command line. It is run once to count its calls of each kind, and then again for every call: it fails
once, or permanently from there on, or writes only a part; and at every call that changes a file, the process is killed.
MOST is the number of calls of one kind that are tried (evenly spread if there are more; 0: all). The expected result
is the right files and numbers with exit code 0, or exit code 1 with a message; the file is then the previous
one, or as much of the right one as it states itself. With a checkpoint, the same command, or --resume, then leads to the
same bytes; the same holds after every kill."""

import collections
import concurrent.futures
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))
from harness import Program, check, same  # noqa: E402

nonholo = Program(sys.argv[1])
LIBRARY = os.path.abspath(sys.argv[2])
MOST = int(sys.argv[3]) if len(sys.argv) > 3 else 3
HAS_HDF5 = "no HDF5" not in nonholo("--version").stdout
PLACE = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # no test here depends on a disk
PATIENCE = 120  # seconds; a command normally takes milliseconds

RUN = ["run", "chaplygin-sleigh", "--method", "gauss", "--step", "0.1", "--steps", "400", "--every", "1", "--no-estimate"]
ENSEMBLE = ["ensemble", "chaotic-particle", "--members", "20", "--energy", "1.535", "--method", "dla01", "--step", "0.2",
            "--steps", "400", "--every", "50", "--threads", "2"]
SWEEP = ["ensemble", "pendulum-cvt", "--sweep", "eps=0:0.5:9", "--method", "dla01", "--step", "0.1", "--steps", "200",
         "--threads", "1"]
KEPT = ["--checkpoint", "c", "--checkpoint-every"]
CASES = {
    "run": (RUN, None),
    **{"run " + end: (RUN, "o." + end) for end in ("csv", "npy", "npz", "h5")},
    **{"run %s with checkpoints" % end: ([*RUN, *KEPT, "100"], "o." + end) for end in ("csv", "npy", "npz", "h5")},
    "ensemble": (ENSEMBLE, None),
    "ensemble h5": (ENSEMBLE, "o.h5"),
    "ensemble h5 with checkpoints": ([*ENSEMBLE, *KEPT, "2000"], "o.h5"),
    "ensemble statistics": ([*ENSEMBLE, *KEPT, "2000"], "o.csv"),
    "ensemble members": ([*SWEEP, "--table", "members"], "o.csv"),
    "part h5": ([*ENSEMBLE, "--part", "1/2", *KEPT, "1000"], "o.h5"),
    "join h5": (["join", "1.h5", "2.h5"], "o.h5"),
    "join virtual h5": (["join", "1.h5", "2.h5", "--virtual"], "o.h5"),
    **{"export " + end: (["export", "chaplygin-sleigh", "--format", kind, *how], "o." + end) for kind, end, how in (
        ("c", "c", ["--method", "gauss", "--step", "0.1"]), ("fmu", "fmu", ["--method", "gauss", "--step", "0.1"]),
        ("latex", "tex", []), ("python", "py", []), ("sympy", "sympy.py", []), ("casadi", "casadi.py", []), ("matlab", "m", []), ("modelica", "mo", []), ("json", "json", []))},
    "plot html": (["plot", "r.csv"], "o.html"),
    "plot h5 html": (["plot", "r.h5"], "o.html"),
    "plot npz svg": (["plot", "r.npz"], "o.svg"),
    "run with a page": ([*RUN, "--plot", "o.html"], None),
    "linearise": (["linearise", "chaplygin-sleigh"], None),
    "linearise a sweep": (["linearise", "benchmark-bicycle", "--sweep", "speed=4:6:3", "--locate", "hopf"], None),
    "drift": (["order", "pendulum-cvt", "--drift", "--methods", "dla", "--time", "50"], None),
    "gradient": (["gradient", "cart.nh", "--of", "energy", "--by", "all", "--step", "0.1", "--time", "2"], None),
    "gradient by own steps": (["gradient", "chaplygin-sleigh", "--of", "energy", "--at", "integral", "--by", "all", "--time", "2"], None),
    "fit": (["fit", "chaplygin-sleigh", "r.csv", "--fit", "J,start theta'"], None),
    "lyapunov": (["lyapunov", "chaplygin-sleigh", "--time", "20"], None),
    "periodic": (["periodic", "well.nh", "--follow", "k=1:1.2"], None),
    "optimise": (["optimise", "cart.nh", "--control", "u", "--end", "x=1", "--pieces", "4", "--time", "2", "--tries", "2", "--inputs", "u.csv"],
                 "o.csv"),
    "control": (["control", "cart.nh", "--period", "0.1", "--matrices", "k.npz"], None),
    "import": (["import", "arm.urdf"], "o.nh"),
    "contacts": (["run", "block.nh", "--no-estimate"], "o.csv"),
    "sensitivity": (["run", "cart.nh", "--sensitivity", "all", "--step", "0.1", "--time", "2", "--no-estimate"], "o.csv"),
    "quad": (["run", "chaplygin-sleigh", "--precision", "quad", "--method", "gauss", "--step", "0.1", "--steps", "5"], "o.csv"),
    "machines at random": (["ensemble", "chaplygin-sleigh", "--members", "3", "--random", "m=normal(1,0.1)", "--time", "1"], None),
}
# what is there before: files by the command lines that make them
GIVEN = {
    "join": {"%d.h5" % k: [*ENSEMBLE, "--part", "%d/2" % k] for k in (1, 2)},
    "plot": {"r." + end: RUN for end in ("csv", "npz", "h5")},
    "fit": {"r.csv": [word if word != "400" else "20" for word in RUN]},
}
TEXTS = {
    "cart.nh": "model cart\nparameter k = 2, c = 0.1\ncoordinate x\ncoordinate a angle\ninput u = 0\n"
               "lagrangian x'^2 + x'*a'*cos(a) + a'^2/2 + cos(a) - k*x^2/2\nforce x = u\nobserve tip = x + sin(a)\n",
    "well.nh": "model well\nparameter k = 1\ncoordinate a\nlagrangian a'^2/2 + k*cos(a)\nstart a = 2\n",
    "block.nh": "model block\ncoordinate x, z\nlagrangian (x'^2 + z'^2)/2 - 9.81*z\ncontact ground: z >= 0 restitution 0.5\n"
                "constraint slip: x' = 0 grip 0.3*reaction(ground)\nforce x = 5*sin(3*t)\nstart z = 0.1, x' = 1\nspan 2\n",
    "arm.urdf": '<robot name="arm"><link name="base"/><link name="rod"><inertial><origin xyz="0 0 0.5"/><mass value="2"/>'
                '<inertia ixx="0.2" iyy="0.2" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link><joint name="hinge" '
                'type="revolute"><parent link="base"/><child link="rod"/><axis xyz="0 1 0"/><limit lower="-1" upper="1"/></joint></robot>',
}
FAILING = ["write", "pwrite", "fdatasync", "ftruncate", "rename", "unlink", "open", "close", "read", "pread", "flock",
           "mmap", "pthread_create", "malloc"]
PARTIAL = ["write", "pwrite"]


# ---- reading HDF5, by a process of the system's Python that stays ----

READER = """
import h5py, sys
for line in sys.stdin:
    part, whole = line.rstrip("\\n").split("\\t")
    try:
        with h5py.File(part, "r") as a, h5py.File(whole, "r") as b:
            assert sorted(a) == sorted(b), "variables"
            for member, records in enumerate(a["records"][:]):
                for name in ("q", "v", "energy"):
                    found, expected = a[name][member][:records], b[name][member][:records]
                    assert found.tobytes() == expected.tobytes(), (name, member, records)
            length = min(len(a["time"]), len(b["time"]))
            assert a["time"][:length].tobytes() == b["time"][:length].tobytes(), "times"
        print("good", flush=True)
    except Exception as error:
        print(repr(error), flush=True)
"""


class Reader:
    def __init__(self):
        self.lock = threading.Lock()
        self.child = None
        if HAS_HDF5 and subprocess.run(["/usr/bin/python3", "-c", "import h5py"], capture_output=True).returncode == 0:
            self.child = subprocess.Popen(["/usr/bin/python3", "-c", READER], stdin=subprocess.PIPE,
                                          stdout=subprocess.PIPE, encoding="utf-8")

    def compare(self, part, whole):
        """An HDF5 file must open, and its records must be those of the complete file."""
        if not self.child:
            return
        with self.lock:
            self.child.stdin.write(part + "\t" + whole + "\n")
            self.child.stdin.flush()
            answer = self.child.stdout.readline().strip()
        check(answer == "good", "what is left is not good: " + answer)


reader = Reader()


# ---- one command line ----

def result(text):
    if not text.startswith("{"):
        return text
    found = json.loads(text)
    for key in ("seconds", "seconds_back", "ns_per_step", "output", "backend", "threads"):
        found.pop(key, None)
    return found


def content(path):
    try:
        with open(path, "rb") as file:
            return file.read()
    except FileNotFoundError:
        return None


class Case:
    def __init__(self, name):
        line, self.output = CASES[name]
        self.name, self.kept = name, "--checkpoint" in line
        computes = line[0] in ("run", "ensemble")
        self.line = [*line, *["--backend", "tape"] * computes, "--quiet", "--json"] + (["-o", self.output] if self.output else [])
        self.folder = tempfile.mkdtemp(dir=PLACE)
        self.given = {file: text.encode() for file, text in TEXTS.items() if file in line}
        self.lay_out(self.folder)
        for file, how in GIVEN.get(line[0], {}).items():
            if file in line:
                same(nonholo(*how, "-o", file, "--quiet", cwd=self.folder).returncode, 0, file)
                self.given[file] = content(os.path.join(self.folder, file))
        done = self.start(self.folder, {"FAULT_COUNT": os.path.join(self.folder, "counts")})
        same(done.returncode, 0, done.stderr)
        self.expected = result(done.stdout)
        self.beside = sorted({*os.listdir(self.folder)} - {"counts", self.output})  # a header, a page
        self.bytes = content(os.path.join(self.folder, self.output)) if self.output else None
        self.others = {name: content(os.path.join(self.folder, name)) for name in self.beside}
        with open(os.path.join(self.folder, "counts")) as file:
            self.counts = {line.split()[0]: int(line.split()[1]) for line in file}

    def start(self, folder, environment, more=()):
        preload = {"LD_PRELOAD": LIBRARY} if environment else {}
        return subprocess.run([nonholo.path, *self.line, *more], cwd=folder, capture_output=True, encoding="utf-8",
                              stdin=subprocess.DEVNULL, timeout=PATIENCE,
                              env=dict(os.environ, NO_COLOR="1", LC_ALL="C", MALLOC_PERTURB_="0", NONHOLO_CC="false", **preload,
                                       **environment))  # failures in a compiler are not ours

    def is_right(self, folder, done):
        same(done.returncode, 0, done.stderr)
        same(result(done.stdout), self.expected, "other numbers")
        if self.output:
            check(content(os.path.join(folder, self.output)) == self.bytes, "other bytes")
        for name, expected in self.others.items():
            check(content(os.path.join(folder, name)) == expected, "other bytes of " + name)

    def lay_out(self, folder):
        for name, data in self.given.items():
            with open(os.path.join(folder, name), "wb") as file:
                file.write(data)

    def look_at_rest(self, folder, old):
        """Examines the files after a failure or a kill."""
        for name, expected in self.others.items():
            check(content(os.path.join(folder, name)) in (None, expected), "half a file: " + name)
        if not self.output:
            return
        path = os.path.join(folder, self.output)
        there = content(path)
        if there is None or there == self.bytes or there == old:
            return
        check(self.output.endswith(".h5"), "half a file under the final name")
        reader.compare(path, os.path.join(self.folder, self.output))

    def goes_on(self, folder):
        """The same command again, from the checkpoint if there is one."""
        resume = ["--resume", "c"] if self.kept and os.path.exists(os.path.join(folder, "c")) else []
        self.is_right(folder, self.start(folder, {}, resume))
        files = [self.output] if self.output else []
        same(sorted(os.listdir(folder)), sorted([*files, *self.beside]), "leftovers")

    def is_complete(self, folder):
        """Everything was done except for the final output."""
        return self.output and content(os.path.join(folder, self.output)) == self.bytes and \
            not os.path.exists(os.path.join(folder, "c"))

    def fail(self, fault):
        """Returns the exit code."""
        with tempfile.TemporaryDirectory(dir=PLACE) as folder:
            self.lay_out(folder)
            done = self.start(folder, {"FAULT": fault})
            check(done.returncode in (0, 1), "exit code %d: %s" % (done.returncode, done.stderr))
            if done.returncode == 0:
                self.is_right(folder, done)
            else:
                check(done.stderr.startswith("nonholo: "), "no message: %r" % done.stderr)
                self.look_at_rest(folder, None)
            if not (done.returncode == 0 and not self.kept):
                self.goes_on(folder)
            return done.returncode

    def kill(self, fault):
        with tempfile.TemporaryDirectory(dir=PLACE) as folder:
            self.lay_out(folder)
            done = self.start(folder, {"FAULT": fault})
            if done.returncode == 0:  # not a call that writes bytes, or threads made fewer calls this time
                self.is_right(folder, done)
                return 0
            same(done.returncode, -9, done.stderr)
            self.look_at_rest(folder, None)
            self.goes_on(folder)
            return -9


def spread(count):
    """Numbers from 1 to count, at most MOST of them."""
    if MOST == 0 or count <= MOST:
        return list(range(1, count + 1))
    return sorted({1 + round(i * (count - 1) / max(1, MOST - 1)) for i in range(MOST)})


def faults(case):
    for call in FAILING:
        for k in spread(case.counts[call]):
            for how in ("once", "ever"):
                yield case.fail, "%s:%d:%s" % (call, k, how)
    for call in PARTIAL:
        for k in spread(min(case.counts[call], 3)):
            yield case.fail, "%s:%d:short" % (call, k)
    for k in spread(case.counts["change"]):
        yield case.kill, "change:%d:kill" % k
        yield case.kill, "change:%d:tear" % k


def main():
    names = [name for name in sys.argv[4:] or CASES if HAS_HDF5 or "h5" not in name]
    tried, exceptions, codes = collections.Counter(), 0, collections.Counter()
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for name in names:
            case = Case(name)
            jobs = [(what, pool.submit(act, what)) for act, what in faults(case)]
            for what, job in jobs:
                tried["kill" if what.split(":")[2] in ("kill", "tear") else what.split(":")[0]] += 1
                try:
                    codes[job.result()] += 1
                except (AssertionError, subprocess.TimeoutExpired) as error:
                    exceptions += 1
                    print("FAILED %s, %s: %s" % (name, what, error), flush=True)
            shutil.rmtree(case.folder)
    print("%d faults: %s" % (sum(tried.values()), ", ".join("%d %s" % (n, c) for c, n in tried.most_common())))
    print("%d ended well, %d with a message, %d were killed and went on; %d exceptions" %
          (codes[0], codes[1], codes[-9], exceptions))
    return 1 if exceptions else 0


sys.exit(main())
