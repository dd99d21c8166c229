#!/usr/bin/env python3
"""same_bytes.py BUILD [-o FILE | -c FILE] [--before BUILD] [--models A,B] [--kinds A,B] [--backends A,B]
              [--sample N] [--jobs N]

One line "SHA-256 case" for every case: what a build of nonholo prints and every file that it writes, for all shipped models
x the methods that apply x the ways to run them, on the tape and compiled, on one and two threads. With -o the lines are
written to FILE; with -c they are compared with such a FILE of another build, and the exit code is 1 if any differs.
With --before, runs that the other build was killed in are resumed by this one. --sample N takes every N-th case.

Not a part of the tests: it compares two builds, before and after a change that must not change a bit."""

import argparse
import concurrent.futures
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile

STEPS = 40
TIMES = re.compile(rb'^  cost[ :].*\n|^  "(?:seconds|ns_per_step)".*\n', re.MULTILINE)  # the only lines that depend on the clock
OPTIONS = {"gauss": ["", ":stages=3", ":stages=6"], "lobatto-ab": ["", ":stages=3"], "lobatto-abd": ["", ":stages=3"],
           "dla": ["", ":alpha=0.25"], "collocation": ["", ":degree=2"], "newmark": ["", ":beta=0.3"]}
COMPOSABLE = ("dla01", "dla", "gauss", "lobatto-ab", "newmark-pair", "discrete-gradient")
STEPPER = """
import sys, nonholo
model, method, step, members = sys.argv[1], sys.argv[2], float(sys.argv[3]), int(sys.argv[4])
with nonholo.Stepper(nonholo.load(model), method, step=step, members=members or None, backend=sys.argv[5]) as s:
    for i in range(12):
        s.step(1 if i % 3 else 5)
        print(s.t, s.q.tolist(), s.v.tolist())
"""


class Build:
    def __init__(self, path):
        self.path = os.path.abspath(path)
        self.program = os.path.join(self.path, "nonholo")
        self.faults = os.path.join(self.path, "test/faults/faults.so")
        self.environment = dict(os.environ, NO_COLOR="1", LC_ALL="C", PYTHONPATH=os.path.join(self.path, "python"))

    def call(self, folder, words, fault=None):
        """(exit code, output, messages) of one command; 'python' is the interpreter with this build's module."""
        environment = dict(self.environment)
        if fault:
            environment.update(LD_PRELOAD=self.faults, FAULT=fault, MALLOC_PERTURB_="0")
        program = ["/usr/bin/python3"] if words[0] == "python" else [self.program, words[0]]
        done = subprocess.run(program + words[1:], cwd=folder, env=environment, stdin=subprocess.DEVNULL, capture_output=True)
        return done.returncode, done.stdout, done.stderr.splitlines()[-1:] if words[0] == "python" else done.stderr.splitlines()

    def json(self, *words):
        return json.loads(subprocess.run([self.program, *words, "--json"], capture_output=True, check=True).stdout)


def with_events(text, name):
    return text + f"\nevent bump: sin(1.7*t) + 0.01*{name}\nevent turn: cos(2.3*t)\nwhen bump: {name}' = -0.5*{name}'\n"


def with_inputs(text, name):
    return text + f"\ninput push = 0.1*sin(t)\ninput pull = 0.05*cos(3*t)\nforce {name} = push + pull\n"


class Model:
    """A shipped model, how long its steps are, and its variants, as files in a folder."""

    def __init__(self, build, name, folder):
        facts = build.json("check", name)
        self.name, self.methods = name, [m["name"] for m in facts["methods"] if m["applies"]]
        span = build.json("run", name, "--no-estimate", "--quiet")["t"]
        self.step = f"{span / 400:.2g}"
        coordinate = next((c for c in facts["coordinates"] if "." not in c), None)
        text = subprocess.run([build.program, "models", name], capture_output=True, text=True, check=True).stdout
        self.events = self.inputs = None
        if coordinate and not re.search(r"^(event|when|input) ", text, re.MULTILINE):
            self.events = self.write(folder, "events", with_events(text, coordinate))
            self.inputs = self.write(folder, "inputs", with_inputs(text, coordinate))
        elif re.search(r"^event ", text, re.MULTILINE):
            self.events = name
        elif re.search(r"^input ", text, re.MULTILINE):
            self.inputs = name

    def write(self, folder, kind, text):
        path = os.path.join(folder, f"{self.name}-{kind}.nh")
        with open(path, "w", encoding="utf-8") as out:
            out.write(text)
        return path


def options_of(method):
    return [method + options for options in OPTIONS.get(method, [""])]


def cases_of(model, method, backend):
    """(kind, commands) of one method of a model. A command is a list of words; one with a fault is a pair."""
    given = ["--method", method, "--step", model.step, "--backend", backend, "--no-estimate"]
    steps = ["--steps", str(STEPS)]
    base = method.partition(":")[0]
    run = lambda text, *more: ["run", text, *given, *steps, *more]
    many = lambda *more: ["ensemble", model.name, *given[:-1], *steps, "--seed", "3", *more]
    yield "run", [run(model.name, "--json"), run(model.name, "-o", "a.csv"), run(model.name, "-o", "a.h5", "--every", "3")]
    yield "compensated", [run(model.name, "--compensated", "on", "-o", "a.csv")]
    yield "times", [run(model.name, "--every-time", f"{0.37 * float(model.step):.3g}", "-o", "a.csv")]
    if base in COMPOSABLE:
        yield "compose", [run(model.name, "--compose", "suzuki", "-o", "a.csv")]
        yield "pace", [["run", model.name, *given[:1], method + (":" if method == base else ",") + "pace=0.05", *given[2:], *steps,
                        "-o", "a.csv"]]
    if base in ("dopri5", "dop853", "verner98", "reference"):
        yield "tolerance", [["run", model.name, "--method", method, "--tolerance", "1e-7", "--time", f"{20 * float(model.step):g}",
                             "--backend", backend, "--no-estimate", "-o", "a.csv"]]
    if model.events:
        yield "events", [run(model.events, "-o", "a.csv", "--json"), run(model.events, "--section", "turn", "-o", "b.csv"),
                         run(model.events, "--stop", "bump", "--every-time", model.step)]
    if model.inputs:
        h = float(model.step)
        table = f"push:held=[0 0; {3.3 * h:g} 0.4; {17.5 * h:g} -0.3]"
        yield "inputs", [run(model.inputs, "-o", "a.csv", "--input", table),
                         run(model.inputs, "-o", "b.csv", "--input", f"push:spline=[0 0; {30 * h:g} 0.4; {60 * h:g} 0]"),
                         run(model.inputs, "--input", "pull:held=0.1*cos(t)", "--input-period", f"{2.6 * h:g}", "--json")]
    # a kernel that is stored in the cache is a rename, too: first a run that leaves none to be stored
    yield "resume", [run(model.name)] + [command for k in (2, 4, 6) for command in (
        (run(model.name, "-o", f"{k}.csv", "--checkpoint", f"c{k}", "--checkpoint-every", "5"), f"rename:{k}:kill"),
        run(model.name, "-o", f"{k}.csv", "--resume", f"c{k}", "--checkpoint", f"c{k}", "--checkpoint-every", "5"))]
    for members in (1, 2, 3, 5, 9):
        yield f"ensemble-{members}", [many("--members", str(members), "--threads", str(1 + members % 2), "-o", "e.h5", "--json")]
    yield "table", [many("--members", "6", "-o", "e.csv"), many("--members", "6", "--table", "members", "-o", "m.csv", "--threads", "2")]
    yield "parts", [many("--members", "11", "--part", "1/2", "-o", "p1.h5"), many("--members", "11", "--part", "2/2", "-o", "p2.h5"),
                    ["join", "p1.h5", "p2.h5", "-o", "whole.h5"]]
    yield "resume-ensemble", [many("--members", "6"),
                              (many("--members", "6", "-o", "e.h5", "--checkpoint", "c", "--checkpoint-every", "9"), "rename:3:kill"),
                              many("--members", "6", "-o", "e.h5", "--resume", "c", "--checkpoint", "c", "--checkpoint-every", "9")]
    for members in (0, 3):
        yield f"stepper-{members}", [["python", "-c", STEPPER, model.name, method, model.step, str(members), backend]]


def digest(build, before, commands):
    """Of what all commands print, their exit codes and all files that they leave."""
    sha = hashlib.sha256()
    with tempfile.TemporaryDirectory() as folder:
        for command in commands:
            words, fault = command if isinstance(command, tuple) else (command, None)
            code, out, err = (before if fault else build).call(folder, words, fault)
            if not fault:  # what was printed before the kill depends on when it came
                said = b"\n".join(err)
                for path in {folder} | {os.path.dirname(word) for word in words if word.endswith(".nh")}:
                    said = said.replace(path.encode(), b"")
                sha.update(b"%d\n%s\n%s\n" % (code, TIMES.sub(b"", out), said))
        for name in sorted(name for name in os.listdir(folder) if not name.endswith(".lock")):
            with open(os.path.join(folder, name), "rb") as file:
                sha.update(name.encode() + b"\n" + file.read())
    return sha.hexdigest()


def all_cases(build, models, kinds, backends, folder):
    for name in models:
        model = Model(build, name, folder)
        for method in model.methods:
            for spelt in options_of(method):
                for backend in backends:
                    for kind, commands in cases_of(model, spelt, backend):
                        if not kinds or kind.partition("-")[0] in kinds:
                            yield f"{name} {spelt} {backend} {kind}", commands


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=Build)
    parser.add_argument("--before", type=Build)
    parser.add_argument("-o", "--output")
    parser.add_argument("-c", "--compare")
    parser.add_argument("--models", type=lambda text: text.split(","))
    parser.add_argument("--kinds", type=lambda text: text.split(","))
    parser.add_argument("--backends", type=lambda text: text.split(","), default=["tape", "compiled"])
    parser.add_argument("--sample", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    given = parser.parse_args()
    known = {}
    if given.compare:
        with open(given.compare, encoding="utf-8") as file:
            known = {case: sha for sha, _, case in (line.rstrip("\n").partition(" ") for line in file)}
    names = given.models or [line.split()[0] for line in subprocess.run(
        [given.build.program, "models"], capture_output=True, text=True, check=True).stdout.splitlines()]
    count = differ = 0
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(given.jobs) as pool:
        cases = [case for i, case in enumerate(all_cases(given.build, names, given.kinds, given.backends, folder))
                 if (i % given.sample == 0) and (not known or case[0] in known)]
        out = open(given.output, "w", encoding="utf-8") if given.output else None
        for (case, _), sha in zip(cases, pool.map(lambda c: digest(given.build, given.before or given.build, c[1]), cases)):
            count += 1
            if known and known[case] != sha:
                differ += 1
                print("differs:", case, flush=True)
            if out:
                print(sha, case, file=out, flush=True)
            if count % 500 == 0:
                print(f"{count} of {len(cases)}", file=sys.stderr, flush=True)
    print(f"{count} cases, {differ} differ" if known else f"{count} cases")
    sys.exit(1 if differ else 0)


if __name__ == "__main__":
    main()
