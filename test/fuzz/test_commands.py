#!/usr/bin/env python3
"""Any command line is obeyed or refused: test_commands.py NONHOLO [COUNT [SEED]]

Command lines are drawn from the commands and options shown in the help and from troublesome values. Each ends with
exit code 0, 1 or 2, with a message unless it is 0, without anything on standard output if it is 2, and without a report from
a sanitizer. Those that take longer than a moment receive SIGTERM and must end. The lines depend only on SEED; 'make fuzz'
draws many, with the program that 'make sanitize' builds if there is one."""

import os
import random
import re
import signal
import subprocess
import sys
import tempfile

MOMENT, PATIENCE = 2, 600  # seconds; the latter is for what hangs
MODEL = "model tiny\nparameter k = 1\ncoordinate x, y\ninput u = 0\nlagrangian (x'^2 + y'^2)/2 - k*x^2/2\nforce y = u\nconstraint y' = x*x'\nstart x = 1\n"
MODELS = ["tiny.nh", "pendulum-cvt", "knife-edge", "heavy-top", "suslov", "closed-chain", "fourbar-skate"]
FILES = ["r.csv", "r.npy", "r.npz", "r.h5", "c.check", "bad.nh", "empty.csv", "small.fig", ".", "no/where.h5"]
VALUES = ["", "0", "-1", "1", "3", "0.1", "1e308", "-1e308", "1e-308", "nan", "inf", "0x10", "1e400", "9223372036854775808", "007", "1,2,3",
          "1:2:3", "0:1:5", "a:b:c", ":", ",", "=", "==", "'", "x", "x=1", "x'=1,y=2", "x[1]=2", "x=", "k=2", "k=nan", "u=sin(t)", "u=empty.csv",
          "u:held=r.csv", "R=turn((0,0,1),1)", "R=turn(", "keep=x'", "solve=", "gauss", "gauss:stages=3", "gauss:stages=", "dop853:tolerance=1e-8",
          "avf-p", "leapfrog", "nothing", "gauss,dla01,", "suzuki", "on", "off", "auto", "tape", "json", "c", "members", "1/2", "2/1", "%s%n",
          "\u00e9\u00df", "a" * 5000, "(" * 300, "energy", "all", *FILES]
SMALL = {"--steps": ["0", "1", "7", "-3", "1e3", "99999999999999999999"], "--time": ["0", "0.3", "-1", "nan"], "--members": ["0", "1", "3", "-2", "1e30"],
         "--step": ["0.1", "0.05", "0", "-0.1", "nan"], "--threads": ["0", "1", "2", "-1"], "--every": ["0", "1", "2", "1e30"]}
RESULTS = {  # what commands need before they compute something
    "fit": [["tiny.nh", "data.csv", "--fit", "k"], ["tiny.nh", "r.csv", "--fit", "k,start x"]],
    "gradient": [["tiny.nh", "--of", "x", "--by", "all", "--time", "1"], ["tiny.nh", "--of", "x", "--by", "k", "--at", "data.csv"]],
    "optimise": [["tiny.nh", "--control", "u", "--end", "y=1", "--time", "1", "--pieces", "3", "--tries", "1"]],
    "lyapunov": [["tiny.nh", "--time", "5"]], "periodic": [["tiny.nh", "--period", "6"]], "control": [["tiny.nh", "--period", "0.1"]],
    "linearise": [["tiny.nh", "--sweep", "k=1:2:3"]], "import": [["arm.urdf"]],
}
LEFT_OUT = {"bench", "view", "reproduce"}  # a table of minutes, a browser, and figures that have a target of their own


def vocabulary(program):
    """The commands and their options."""
    def told(*words):
        return subprocess.run([program, *words], capture_output=True, text=True, check=True).stdout
    commands = re.findall(r"^  (\w+)  +\S", told("--help"), re.M)
    return {c: re.findall(r"(?:^  |, )(--?[\w-]+)", told(c, "--help"), re.M) for c in commands if c not in LEFT_OUT and c != "nonholo"}


def draw(chance, words):
    command = chance.choice(sorted(words))
    line = [command]
    if command in RESULTS and chance.random() < 0.8:
        line += chance.choice(RESULTS[command])
    elif chance.random() < 0.9:
        line.append(chance.choice(FILES if command in ("plot", "join") else MODELS + FILES[:6]))
    if command in ("run", "compare", "order", "ensemble") and chance.random() < 0.9:  # so that something is computed
        line += ["--step", "0.1", "--steps", "5"]
    for _ in range(chance.randrange(5)):
        option = chance.choice(words[command] + ["--" + chance.choice(VALUES)[:20]])
        value = chance.choice(SMALL.get(option, VALUES))
        line += [[option], [option, value], [f"{option}={value}"]][chance.choice([0, 1, 1, 1, 2])]
    return [word for word in line if "\0" not in word]


def damage(chance):
    """Data of a measurement, in which now and then bytes are changed, cut or put in."""
    data = bytearray(b"t,x,y\n0,1,0\n0.5,0.9,0.1\n1,0.5,\n1.5,0.1,0.3\n2,-0.4,0.2\n")
    for _ in range(chance.choice([0, 0, 1, 1, 3])):
        at = chance.randrange(len(data))
        data[at:at + chance.randrange(3)] = chance.choice([b"", b"\0", b"\xff", b",", b"\n", b"e", b"-", b"9" * 400, b"nan", b"x", b'"', b"\x1b[1m"])
    return bytes(data)


def run(program, line, folder, damaged):
    environment = {**os.environ, "LC_ALL": "C.UTF-8", "XDG_CACHE_HOME": os.path.join(folder, "cache"), "DISPLAY": ""}
    with open(os.path.join(folder, "data.csv"), "wb") as file:  # good ones, and damaged ones
        file.write(damaged)
    running = subprocess.Popen([program, *line], cwd=folder, env=environment, stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    was_told = False
    try:
        out, said = running.communicate(timeout=MOMENT)
    except subprocess.TimeoutExpired:
        was_told = True
        running.send_signal(signal.SIGTERM)
        try:
            out, said = running.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            running.kill()
            return "does not end"
    said = said.decode("utf-8", "replace")
    if "Sanitizer" in said or "runtime error" in said:
        return said
    if running.returncode not in (0, 1, 2) and not (was_told and running.returncode in (-signal.SIGTERM, 128 + signal.SIGTERM)):
        return f"exit code {running.returncode}: {said}"
    if running.returncode in (1, 2) and "nonholo: " not in said and ":" not in said:
        return f"exit code {running.returncode} without a message"
    if running.returncode == 2 and out:
        return f"exit code 2 with output {out[:200]!r}"
    return None


def prepare(program, folder):
    for name, text in {"tiny.nh": MODEL, "bad.nh": "model bad\ncoordinate x\nlagrangian x'^2 +", "empty.csv": "",
                       "arm.urdf": '<robot name="a"><link name="b"/><link name="c"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"'
                                    ' ixy="0" ixz="0" iyz="0"/></inertial></link><joint name="j" type="revolute"><parent link="b"/>'
                                    '<child link="c"/><axis xyz="0 1 0"/></joint></robot>',
                       "small.fig": "figure small\nmodel knife-edge\nstep 0.1\ntime 1\nmethod gauss\npanel\n  draw error energy\n"}.items():
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write(text)
    for name in FILES[:4]:
        subprocess.run([program, "run", "tiny.nh", "--method", "gauss", "--step", "0.1", "--steps", "4", "--quiet", "-o", name,
                        "--checkpoint", "c.check"], cwd=folder, capture_output=True, check=False)


def main(program, count="150", seed="1"):
    chance = random.Random(int(seed))
    program, tried, failed = os.path.abspath(program), 0, 0
    words = vocabulary(program)
    with tempfile.TemporaryDirectory() as folder:
        prepare(program, folder)
        try:
            while tried < int(count):
                line = draw(chance, words)
                wrong = run(program, line, folder, damage(chance))
                tried += 1
                if wrong:
                    failed += 1
                    print("FAILED", line, "\n  ", wrong, flush=True)
        except KeyboardInterrupt:  # a long run that is stopped says how far it got
            pass
    print(f"{tried} command lines, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
