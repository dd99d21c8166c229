#!/usr/bin/env python3
"""test_scaling.py NONHOLO FOLDER... [all]: every model there in other units of mass, length and time, and with another
unit for each coordinate. The results and the advice of `check` are the same, and so are the states at the end of a run, in
these units. With 'all', units are changed together too, and all methods run.

Measured on 2026-11-17: states differ by at most 9e-11 of their size (rattleback; all others 1e-11)."""

import functools
import itertools
import json
import math
import os
import re
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from harness import Program, check, run_all, same  # noqa: E402
from independent import ordinary
from units import Units  # noqa: E402

nonholo, ALL = Program(sys.argv[1]), sys.argv[-1] == "all"
FOLDERS = sys.argv[2:-1] if ALL else sys.argv[2:]
FACTORS = (1e-9, 1e-3, 1e3, 1e9)
STEP, STEPS = 0.02, 100
SAME = 1e-9  # of the size of the coordinates or velocities of a kind
# What is said of volumes is seen in a neighbourhood, whose size depends on units (docs/chaos.md).
NUMBERS = ("model", "parameters", "start", "divergence", "volume_kept", "invariant_measure")
# Their discrete gradients use lengths of vectors whose components have different units: other methods in other units.
DEPEND_ON_UNITS = ("dd", "gonzalez-f")


def texts():
    for folder in FOLDERS:
        for file in sorted(os.listdir(folder)):
            if file.endswith(".nh"):
                with open(os.path.join(folder, file)) as opened:
                    text = ordinary(nonholo.path, opened.read())
                if not re.search(r"^contact |\bgrip\b", text, re.MULTILINE):  # test/units.py does not read these
                    yield file, text


def changes():
    single = [{unit: f} for unit in ("mass", "length", "time") for f in FACTORS]
    several = [dict(zip(("mass", "length", "time"), f)) for f in itertools.product((1e-9, 1e3), repeat=3)]
    single += [dict(own=(1e-6, 1e3, 1.0, 1e6)), dict(own=(1e3, 1e-3))]
    return single + (several if ALL else [dict(mass=1e9, length=1e-9, time=1e3)])


def without_factors(text):
    """Integrals are written with factors, which have units."""
    return re.sub(r"(?<![\w\]^.])[0-9][0-9.]*(e[-+]?[0-9]+)?\*", "", text)


def verdicts(found):
    facts = {key: value for key, value in found.items() if key not in NUMBERS}
    for key in ("conserved", "surfaces"):
        facts[key] = [without_factors(text) for text in facts.get(key) or []]
    if facts.get("frequencies"):  # angles a second, of which one may be zero but for round-off
        facts["frequencies"] = {key: facts["frequencies"][key] for key in ("motion", "nondegenerate")}
    for entry in facts["methods"]:  # which name the model
        entry["reason"] = entry["reason"] and entry["reason"].replace(found["model"], "MODEL")
    return facts, found["start"]["consistent"]


def end(path, method, units):
    """The state at the end, in the original units: lists of lengths and of angles, of positions and of velocities."""
    done = nonholo("run", path, "--method", method, "--step", repr(STEP * units.time), "--steps", str(STEPS),
                   "--backend", "tape", "--json")
    if done.returncode:
        return re.sub(r"t = [-+.0-9e]+|step, now [-+.0-9e]+|correction [-+.0-9e]+", "", done.stderr)  # without units
    found, state = json.loads(done.stdout), {}
    for names, values, factor in ((found["coordinates"], found["q"], units.of_position),
                                  (found["velocities"], found["v"], units.of_velocity)):
        for name, value in zip(names, values, strict=True):
            plain = name.split("[")[0].rstrip("'")
            kind = plain in units.angles or plain in units.algebra
            state.setdefault((factor == units.of_velocity, kind), []).append(value / factor(plain))
    return state


def difference(found, expected):
    """The largest difference, relative to the largest number of its kind (or the distance covered by the velocities in this time)."""
    worst = 0.0
    if isinstance(expected, str) or isinstance(found, str):
        return 0.0 if found == expected else math.inf  # fails in the same way, or not
    for (velocity, kind), values in expected.items():
        other = [abs(x) for x in expected.get((not velocity, kind), [])]
        size = max([abs(x) for x in values] + [x / (STEP * STEPS) if velocity else x * STEP * STEPS for x in other])
        worst = max([worst] + [abs(x - y) / size for x, y in zip(values, found[velocity, kind], strict=True) if x != y])
    return worst


def look(units):
    """The results of `check` for a model in these units, and the end states of runs: with the advised method, or with all."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "scaled.nh")
        with open(path, "w") as out:
            out.write(units.text)
        facts = nonholo.json("check", path)
        methods = [m["name"] for m in facts["methods"] if m["applies"] and m["name"] not in DEPEND_ON_UNITS]
        methods = methods if ALL else [facts["advised"]]
        return verdicts(facts), {method: end(path, method, units) for method in methods}


@functools.lru_cache(None)
def original(text):
    return look(Units(text))


differences = {}


def examine(file, text, change):
    (facts, *consistent), state = original(text)
    (scaled, *scaled_consistent), there = look(Units(text, **change))
    same((scaled, scaled_consistent), (facts, consistent))
    found = {method: difference(there[method], state[method]) for method in state}
    differences[file, str(change)] = max(found.values())
    far = {method: d for method, d in found.items() if not d <= SAME}
    check(not far, f"the states differ: {far}")


answer = run_all([(f"{file} {change}", functools.partial(examine, file, text, change))
                  for file, text in texts() for change in changes()])
print("largest differences: " + ", ".join(f"{d:.2g} {file} {change}" for (file, change), d in
                                          sorted(differences.items(), key=lambda item: -item[1])[:3]))
sys.exit(answer)
