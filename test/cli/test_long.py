#!/usr/bin/env python3
"""test_long.py NONHOLO: long ways to the first recorded time are interrupted, saved and resumed to the same bytes, also within
long steps; what would never end is refused or ends with its reason."""

import os
import signal
import subprocess
import sys
import tempfile
import time

from harness import Program, check, run_all, same

nonholo = Program(sys.argv[1])
OSCILLATOR = "model osc\ncoordinate x\nlagrangian x'^2/2 - x^2/2\nstart x = 1\n"
BALL = "model ball\ncoordinate x\nlagrangian x'^2/2 - 9.81*x\nstart x = 1\nevent hit: x falling\nwhen hit: x' = -0.9*x'\n"
NOISE = OSCILLATOR + "event n: x + 0.3*sin(1e15*x) falling\n"
FLAT = "model flat\ncoordinate x\nlagrangian x'^2/2 - x^2/2\nstart x = 1\nevent n: sin(1e12*t)\n"


def write(folder, text):
    with open(os.path.join(folder, "m.nh"), "w") as file:
        file.write(text)


def interrupted(folder, line, seconds=0.3):
    """Exit code and messages of a run that gets SIGTERM; it ends soon after that."""
    child = subprocess.Popen([nonholo.path, *line.split()], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                             text=True, env=dict(os.environ, NO_COLOR="1", LC_ALL="C"))
    time.sleep(seconds)
    child.send_signal(signal.SIGTERM)
    sent = time.monotonic()
    said = child.communicate()[1]
    check(time.monotonic() - sent < 15, f"{line}: {time.monotonic() - sent} s")
    return child.returncode, said


def way_to_the_first_time():
    """A run that was interrupted on the way to its first time, or after it, resumes to the same bytes."""
    for ending, how in (("csv", ""), ("npz", "--method gauss --step 0.01"), ("csv", "--method lobatto-abd --step 0.01")):
        with tempfile.TemporaryDirectory() as folder:
            write(folder, OSCILLATOR)
            line = f"run m.nh {how} --times 6000:6001:11 --quiet"
            same(nonholo(*line.split(), "-o", f"a.{ending}", cwd=folder).returncode, 0)
            line += f" -o b.{ending} --checkpoint c"
            code, said = interrupted(folder, line, 0.2)
            for _ in range(100):
                if code == 0:
                    break
                check("resume" in said and "nothing to save" not in said, said)
                code, said = interrupted(folder, f"{line} --resume c", 0.4)
            same(code, 0, said)
            with open(os.path.join(folder, f"a.{ending}"), "rb") as a, open(os.path.join(folder, f"b.{ending}"), "rb") as b:
                check(a.read() == b.read(), f"{how}: other bytes")


def other_lead():
    """A checkpoint belongs to one first time."""
    with tempfile.TemporaryDirectory() as folder:
        write(folder, OSCILLATOR)
        line = "run m.nh --method gauss --step 1e-4 --checkpoint c"
        interrupted(folder, f"{line} --times 1e5:100001:11")
        done = nonholo(*line.split(), "--resume", "c", "--times", "2e5:200001:11", cwd=folder)
        same(done.returncode, 2)
        check("first recorded state is 100000 after its start" in done.stderr, done.stderr)


def stopped_on_the_way():
    """Without a checkpoint the state is kept that was reached, whatever takes long."""
    for text, how in ((OSCILLATOR, "--method gauss --step 1e-5 --times 1e6:1000001:11"), (NOISE, "--time 10"),
                      (OSCILLATOR, "--time 5e6 --steps 10"), (BALL, "--time 1e5 --steps 1 --tolerance 1e-13 --set g=0"),
                      (OSCILLATOR + "pace 1e-5/(1 + x^2)\n", "--method leapfrog:pace=1e-5 --time 1e6")):
        with tempfile.TemporaryDirectory() as folder:
            write(folder, text)
            code, said = interrupted(folder, f"run m.nh {how.replace(' --set g=0', '')} -o o.csv")
            if code == 2:
                continue  # a method that does not apply
            check(code != 0 and "nothing to save" not in said, f"{how}: {code} {said}")
            check(os.path.exists(os.path.join(folder, "o.csv")), f"{how}: {said}")


HOPELESS = [  # the model, the command, exit code, words
    (OSCILLATOR, "run --times 1e9:1000000001:11 --step 1e-9", 2, "needs too many steps of 1e-09"),
    (OSCILLATOR, "run --time 1e12", 1, "would take too many"),
    (OSCILLATOR, "run --time 1e30", 1, "would take too many"),
    (BALL, "run --tolerance 1e-100 --time 3", 1, "would take too many"),
    (OSCILLATOR, "run --tolerance 1e-100 --time 3", 1, "would take too many"),
    (NOISE, "run --time 10", 1, "event 'n' changes sign so often there"),
    (FLAT, "run --time 1 --method gauss --step 0.1", 1, "event 'n' changes sign so often there"),
    (OSCILLATOR, "ensemble --members 3 --method gauss --step 1e15 --time 1", 2, "shorter than a step of 1e+15"),
    ("heavy-top", "ensemble --members 1 --energy 1e308 --time 1", 2, "contain no state of energy 1e+308"),
    ("closed-chain", "ensemble --members 1 --energy 1e200 --time 1", 2, "no state of energy 1e+200"),
]


def hopeless():
    for model, line, code, words in HOPELESS:
        command, *rest = line.split()
        done = nonholo(command, "-" if "\n" in model else model, *rest, input=model if "\n" in model else None, processor=100)
        same(done.returncode, code, f"{line}: {done.stderr}")
        check(words in done.stderr, f"{line}: {done.stderr}")


def one_short_step():
    """A time shorter than the step is one shorter step."""
    for step in ("1e15", "1e300", "1e11", "2"):
        done = nonholo("run", "-", "--method", "gauss", "--step", step, "--time", "1", "-o", "-", input=OSCILLATOR)
        same(done.returncode, 0, done.stderr)
        same(done.stdout.splitlines()[-1].split(",")[0], "1", step)


def contacts_in_steps_far_too_long():
    """Hits and openings without end within a step of given length: it took 40 s to fail, and no signal was answered."""
    for step in (0.25, 0.5):
        done = nonholo("run", "hopping-hoop", "--method", "lobatto-ab", "--step", step, "--time", 1, processor=10)
        same((done.returncode, "a shorter step may help" in done.stderr), (1, True), done.stderr)
    done = nonholo("run", "hopping-hoop", "--method", "lobatto-ab", "--step", 0.02, "--time", 0.5, processor=10)
    same(done.returncode, 0, done.stderr)  # with its error, for which longer steps are taken


CASES = [way_to_the_first_time, other_lead, stopped_on_the_way, hopeless, one_short_step, contacts_in_steps_far_too_long]
sys.exit(run_all([(case.__name__.replace("_", " "), case) for case in CASES]))
