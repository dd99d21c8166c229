#!/usr/bin/env python3
"""test_module.py NONHOLO SOURCE MODULE: the library in WebAssembly, as the worker of the playground uses it, in node.
End states have the bits of the program without AVX2 and FMA; models that are refused are refused with the same message."""

import glob
import json
import os
import re
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "cli"))
from harness import Program, check, run_all, same  # noqa: E402

METHODS = ["gauss", "dop853", "rk4"]  # and others, until there are four that apply to a model
STEPS = 40


def compute(source, module, jobs):
    """The answers of the module, in order."""
    command = ["node", os.path.join(HERE, "compute.js"), module, os.path.join(source, "playground", "worker.js")]
    done = subprocess.run(command, input=json.dumps(jobs), capture_output=True, text=True, check=False)
    check(done.returncode == 0, done.stderr)
    return [json.loads(line) for line in done.stdout.splitlines()]


def same_bits(program, source, module, model):
    """Four methods; every bit of the end state, or the same error where a method cannot follow contacts that slip."""
    applying = compute(source, module, [{"model": model, "file": model + ".nh"}])[0]["methods"]
    names = [one["name"] for one in applying if one["applies"]]
    methods = ([m for m in METHODS if m in names] + [m for m in names if m not in METHODS] + ["gauss:stages=3", "gauss:stages=4"])[:4]
    step = 0.01
    jobs = [{"model": model, "file": model + ".nh", "runs": [{"method": m, "step": step, "tolerance": 0, "time": STEPS * step}]} for m in methods]
    answers = compute(source, module, jobs)
    check(any(a["error"] is None for a in answers), "no method runs")
    for method, answer in zip(methods, answers):
        done = program("run", model, "--method", method, "--step", step, "--time", STEPS * step, "--backend", "tape", "--no-estimate",
                       "--json", env={"NONHOLO_LEVEL": "basic"})
        if answer["error"] is not None:
            check(done.returncode != 0, f"{method}: only the module fails: {answer['error']['text']}")
            check(answer["error"]["text"] in done.stderr, f"{method}: {answer['error']['text']} instead of {done.stderr}")
            continue
        same(done.returncode, 0, method)
        native = json.loads(done.stdout)
        wanted = native["q"] + native["v"]
        same(answer["ends"][0][1:1 + len(wanted)], wanted, method)


def same_message(program, answer, folder, model):
    done = program("check", model, cwd=folder)
    same(done.returncode, 2, "exit code")
    check(answer["error"] is not None, "the module does not refuse it")
    text = "".join("?" if ord(c) < 32 and c not in "\n\t" or ord(c) == 127 else c for c in answer["error"]["text"])
    same(text, done.stderr.removeprefix("nonholo: ").rstrip("\n"), "message")
    place = (answer["error"]["line"], answer["error"]["column"])
    stated = re.match(r"(?:nonholo: )?%s:(\d+)(?::(\d+))?: " % re.escape(model), done.stderr)
    same(place, tuple(int(number or 0) for number in stated.groups()) if stated else (0, 0), "line and column")


def main():
    program, source, module = Program(sys.argv[1]), os.path.abspath(sys.argv[2]), os.path.abspath(sys.argv[3])
    if not shutil.which("node"):
        print("skipped: no node (tools/setup.sh playground)")
        return 77
    if not os.path.exists(os.path.join(module, "nonholo.wasm")):
        print("skipped: the library was not built for WebAssembly ('make playground', which needs emscripten)")
        return 77
    models = [os.path.basename(f)[:-3] for f in sorted(glob.glob(os.path.join(source, "models", "*.nh")))]
    cases = [(model, lambda m=model: same_bits(program, source, module, m)) for model in models]
    folder = os.path.join(source, "test", "model", "bad_models")
    bad, jobs = [], []
    for file in sorted(glob.glob(os.path.join(folder, "*.nh"))):
        try:
            with open(file, encoding="utf-8", newline="") as opened:
                text = opened.read()
        except UnicodeDecodeError:
            continue  # a page has only text
        if "\0" not in text:
            bad.append(os.path.basename(file))
            jobs.append({"file": os.path.basename(file), "text": text})
    check(len(bad) >= 40, f"{len(bad)} bad models")
    answers = compute(source, module, jobs)
    same(len(answers), len(bad), "answers")
    cases += [(model, lambda m=model, a=a: same_message(program, a, folder, m)) for model, a in zip(bad, answers)]
    return run_all(cases)


if __name__ == "__main__":
    sys.exit(main())
