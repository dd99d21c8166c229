#!/usr/bin/env python3
"""test_termination.py NONHOLO: the program reacts to SIGTERM within a second, whatever it is doing: the process ends, or says that
it will end when the results so far are saved. Commands are interrupted during derivations, compilers that hang, long steps,
large files, figures and pictures. A run and an ensemble leave no compiler behind and save what can be saved."""

import os
import re
import signal
import subprocess
import sys
import tempfile
import time

from harness import Program, check, run_all, same

nonholo = Program(sys.argv[1])
LIMIT = 1.5  # seconds, where the processor is ours
LATE = 15  # seconds on a busy machine; a signal that is ignored takes far longer than this
DENSE = """model dense
parameter N = 300
coordinate x[1..N]
lagrangian sum(i in 1..N: x[i]'^2) + (sum(i in 1..N: x[i]*x[i]'))^2
start for i in 1..N: x[i] = 0.1*i
"""
LONG_STEPS = """model long_steps
parameter N = 240
coordinate x[1..N]
lagrangian sum(i in 1..N: x[i]'^2 - sin(x[i])^4)
constraint for i in 1..N/2: sum(j in 1..N: sin(i*j + x[j])*x[j]') = 0
start for i in 1..N: x[i] = 0.1*i
"""
HANGS = "#!/bin/sh\ncase \"$*\" in *--version*) exec cc \"$@\";; esac\necho $$ >>\"$HANGING\"\nexec sleep 1000\n"
CVT = ["pendulum-cvt", "--method", "dla01", "--step", "0.1"]


def begin(line, folder):
    places = {"XDG_CACHE_HOME": "cache", "NONHOLO_CC": "hangs", "HANGING": "hanging"}
    environment = dict(os.environ, NO_COLOR="1", LC_ALL="C", DISPLAY="",
                       **{name: os.path.join(folder, file) for name, file in places.items()})
    return subprocess.Popen([nonholo.path, *line], cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                            stderr=open(os.path.join(folder, "said"), "wb"), env=environment)


def processor_seconds(pid):
    with open(f"/proc/{pid}/stat") as file:
        words = file.read().rsplit(")", 1)[1].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def wait_until(child, ready, line):
    begun = time.monotonic()
    while not ready():
        check(child.poll() is None, f"{line} ended by itself: {child.returncode}")
        check(time.monotonic() - begun < 300, f"{line} does not get there")
        time.sleep(0.005)


def said(folder):
    with open(os.path.join(folder, "said"), encoding="utf-8") as file:
        return file.read()


def terminates(line, folder, ready, may_answer=False, after=0, codes=(1, -signal.SIGTERM)):
    """Seconds from the signal to the end, or to the answer."""
    child = begin(line, folder)
    try:
        wait_until(child, lambda: ready(child), line)
        time.sleep(after)
        sent = time.monotonic()
        child.send_signal(signal.SIGTERM)
        while child.poll() is None and not (may_answer and "stopping as soon" in said(folder)):
            check(time.monotonic() - sent < LATE, f"{' '.join(line)}: no reaction after {LATE} s")
            time.sleep(0.002)
        seconds = time.monotonic() - sent
        check(child.poll() in (None, *codes), f"{line}: exit code {child.returncode}: {said(folder)}")
        print(f"{seconds:6.2f} s  {'late' if seconds > LIMIT else '    '}  {' '.join(line)}", flush=True)
        return child.poll()
    finally:
        child.kill()
        child.wait()


def at_work(seconds=0.3):
    return lambda child: processor_seconds(child.pid) > seconds


def has(folder, name, size=1):
    path = os.path.join(folder, name)
    return lambda child: os.path.exists(path) and os.path.getsize(path) >= size


def prepare(folder):
    for name, text in (("dense.nh", DENSE), ("long.nh", LONG_STEPS), ("hangs", HANGS)):
        with open(os.path.join(folder, name), "w") as file:
            file.write(text)
    os.chmod(os.path.join(folder, "hangs"), 0o755)


def test_derivations():
    with tempfile.TemporaryDirectory() as folder:
        prepare(folder)
        rest = ["dense.nh", "--step", "0.1", "--steps", "10"]
        for line in (["run", *rest], ["run", *rest, "-o", "o.h5", "--checkpoint", "c"], ["ensemble", *rest, "--members", "4"],
                     ["compare", *rest], ["order", "dense.nh", "--step", "0.1", "--time", "1"],
                     ["export", "dense.nh", "--format", "c", "-o", "o.c"], ["export", "dense.nh", "--format", "latex", "-o", "o.tex"],
                     ["check", "dense.nh"], ["survey", "dense.nh"], ["view", "dense.nh", "--no-open"]):
            terminates([*line, "--quiet"], folder, at_work(0.1 if line[0] == "check" else 0.6))


def test_compilers_that_hang():
    with tempfile.TemporaryDirectory() as folder:
        prepare(folder)
        kept = ["--checkpoint", "c"]
        for line in (["run", *CVT, "--steps", "1000"], ["run", *CVT, "--steps", "1000", *kept, "-o", "o.csv"],
                     ["ensemble", *CVT, "--steps", "1000", "--members", "8"],
                     ["ensemble", *CVT, "--steps", "1000", "--members", "8", *kept, "-o", "o.h5"],
                     ["compare", "pendulum-cvt", "--methods", "dla01", "--step", "0.1", "--steps", "1000"],
                     ["order", "pendulum-cvt", "--methods", "dla01", "--step", "0.1", "--time", "10"],
                     ["survey", "pendulum-cvt", "--steps", "1000"]):
            terminates([*line, "--backend", "compiled", "--quiet"], folder, has(folder, "hanging"))
            with open(os.path.join(folder, "hanging")) as file:
                compilers = [int(number) for number in file.read().split()]
            os.remove(os.path.join(folder, "hanging"))
            time.sleep(0.1)
            left = [number for number in compilers if os.path.exists(f"/proc/{number}")]
            for number in left:
                os.kill(number, signal.SIGKILL)
            same(left if line[0] in ("run", "ensemble") else [], [], f"compilers left by {line[0]}")


def test_long_computations():
    with tempfile.TemporaryDirectory() as folder:
        prepare(folder)
        os.remove(os.path.join(folder, "hangs"))
        for ending in ("csv", "npy", "npz", "h5"):
            line = ["run", *CVT, "--steps", "1e8", "--every", "1", "-o", "o." + ending, "--quiet"]
            terminates(line, folder, at_work(0.3), may_answer=True)
        many = ["ensemble", *CVT, "--steps", "1e9", "--members", "5000", "--quiet"]
        terminates(many, folder, at_work(0.3))
        for seconds in (0.3, 1, 3, 10):  # where the processor is slow, work begins late
            terminates([*many, "--checkpoint", "c", "-o", "o.h5"], folder, at_work(seconds))
            if "nothing to save" not in said(folder):
                break
        check(os.path.exists(os.path.join(folder, "c")), "no checkpoint")
        terminates(["compare", "pendulum-cvt", "--methods", "dla01", "--step", "0.1", "--steps", "1e10"], folder, at_work(0.3))
        terminates(["order", "pendulum-cvt", "--methods", "dla01", "--step", "0.01", "--time", "1e4"], folder, at_work(0.3))
        terminates(["survey", "--steps", "1e9"], folder, at_work(0.5))
        terminates(["reproduce", "all", "--out", "figures", "--quiet"], folder, at_work(0.5))
        terminates(["run", *CVT, "--steps", "1e11", "--plot", "o.html"], folder, at_work(0.3))
        with open(os.path.join(folder, "big.csv"), "w") as file:
            file.write("t,x\n" + "".join(f"{i},{i % 7}.25\n" for i in range(2000000)))
        terminates(["plot", "big.csv", "-o", "o.html"], folder, at_work(0.1))
        terminates(["view", "rattleback", "--time", "1e9", "--no-open"], folder, at_work(0.3), may_answer=True)
        terminates(["view", "rattleback", "--no-open"], folder, lambda child: True, after=1,
              codes=(0, 1, -signal.SIGTERM))  # a server is asked to stop after it has done its work


MOVED = """model moved
parameter k = 1, c = 0.01
coordinate x, y
input u = 0
lagrangian (x'^2 + y'^2)/2 - k*x^2/2 - y^2/2 - x^2*y + y^3/3
force x = u - c*x'
start x = 0.1, y = 0.3, x' = 0.1
"""


def test_what_derivatives_are_for():
    """Computations that consist of many runs keep what they have found, or say how far they came."""
    lines = {"fit moved.nh long.csv --fit k,c": "the best values so far|before a sum of squares",
             "optimise moved.nh --control u --end x=1,y=1 --time 1000 --pieces 1000": "the best inputs so far|before a motion",
             "linearise benchmark-bicycle --sweep speed=0:10:3e6 --locate hopf": "interrupted after . of 3000000 values",
             "periodic moved.nh --set c=0 --follow k=1:30 --period 600 --tolerance 1e-13": "steps of Newton's method|motions of the family",
             "gradient moved.nh --of x --by all --method gauss --step 0.001 --time 5e4": "there is no gradient",
             "lyapunov moved.nh --time 1e7": "the part of the time that was computed",
             "run moved.nh --precision quad --time 1e6 -o quad.csv": "interrupted after . of 100 steps"}
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "moved.nh"), "w") as file:
            file.write(MOVED)
        with open(os.path.join(folder, "long.csv"), "w") as file:
            file.write("t,x\n" + "".join(f"{i / 10},0.1\n" for i in range(200000)))
        for line, words in lines.items():
            same(terminates(line.split(), folder, at_work(1)), 1, line)
            check(re.search(words.replace(" . ", " [0-9]+ "), said(folder)), f"{line}: {said(folder)}")
        with open(os.path.join(folder, "quad.csv")) as rows:
            check(len(rows.readlines()) >= 2, "the rows are kept")


def test_long_steps():
    with tempfile.TemporaryDirectory() as folder:
        prepare(folder)
        line = ["run", "long.nh", "--method", "gauss:stages=6", "--step", "0.01", "--steps", "100000", "--backend", "tape", "--checkpoint", "c"]
        terminates(line, folder, at_work(1), may_answer=True)


sys.exit(run_all([(name, test) for name, test in list(globals().items()) if name.startswith("test_")]))
