#!/usr/bin/env python3
"""test_grip.py NONHOLO [ID..] [--print]

Motions with contacts and grips (grip.json; models in grip/, or shipped ones) through the command line, with --tolerance 1e-12. Expected are
values of coordinates, velocities and observables at the end, and

    t                 the time at the end
    lost              the energy lost in slip and impacts, of all items together
    time:EVENT[#N]    the time of an event by its name; of its Nth occurrence
    count:EVENT       how often it occurs

each within `within` times the larger of 1 and its size; `told` are events with their times. With `exit`, the run ends with
that exit code and a message that contains the words in `says`. `options` are further words of the command.

`orders` has methods with steps of given length: the largest error of what is expected in a case, in these numbers of steps, has to
fall at a rate within .4 of `order` from each to the next until it is below 1e-11."""

import argparse
import collections
import json
import math
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "cli"))
sys.path.insert(0, HERE)
import table as tables  # noqa: E402
from harness import Program, check, run_all, same  # noqa: E402


def command(case):
    file = os.path.join(HERE, "grip", case["model"])
    words = ["run", file if os.path.exists(file) else case["model"], "--time", repr(case["time"]), "--json"]
    words += ["--method", case["method"]] if "method" in case else ["--tolerance", "1e-12"]
    for name, value in case.get("set", {}).items():
        words += ["--set", f"{name}={value!r}"]
    return words + (["--stop", case["stop"]] if "stop" in case else []) + case.get("options", [])


def values_of(found):
    """What the result of a run says, by the names that cases use."""
    values = dict(zip(found["coordinates"] + found["velocities"], found["q"] + found["v"]), **found["observables"])
    values.update({"t": found["t"], "energy": found["energy"]})
    values["lost"] = sum(value for name, value in found["observables"].items() if name.endswith(".dissipated"))
    number = collections.Counter()
    for event in found["events"]:
        name = event["name"]
        number[name] += 1
        values[f"time:{name}#{number[name]}"] = event["t"]
        values.setdefault("time:" + name, event["t"])
    values.update({"count:" + name: number[name] for name in found["event_counts"]})
    return values


def measure_order(program, row, case, show):
    errors = []
    for steps in row["steps"]:
        changed = {**case, "method": row["method"], "options": ["--step", repr(case["time"] / steps), "--no-estimate"]}
        values = values_of(json.loads(program(*command(changed)).stdout))
        errors.append(max(abs(values[name] - expected) / max(1, abs(expected)) for name, expected in case["expect"].items()))
    check(errors[0] > 1e-11, f"the steps are too short to show an order: {errors}")
    for before, after in zip(errors, errors[1:]):
        found = math.log2(before / after)
        check(abs(found - row["order"]) <= 0.4 or after < 1e-11, f"order {found}, expected {row['order']}: {errors}")
    if show:
        print(f"{case['id']:26} {row['method']:22}", *(f"{error:.1e}" for error in errors))


def compare(program, case, show):
    done = program(*command(case))
    same(done.returncode, case.get("exit", 0), f"exit code: {done.stderr}")
    for word in case.get("says", []):
        check(word in done.stderr, f"'{word}' is not in the message: {done.stderr}")
    if "expect" not in case:
        return
    found = json.loads(done.stdout)
    values = values_of(found)
    worst = 0
    for name, expected in case["expect"].items():
        check(name in values, f"no {name}; events: {found['events']}")
        off = abs(values[name] - expected) / max(1, abs(expected))
        worst = max(worst, off)
        check(off <= case["within"], f"{name} = {values[name]!r}, expected {expected!r}: off by {off:.2g} > {case['within']}")
    for t, name in case.get("told", []):
        times = [event["t"] for event in found["events"] if event["name"] == name]
        check(any(abs(t - other) <= 2e-9 + case["within"] for other in times), f"'{name}' is not told at t = {t}: {times}")
    if show:
        print(f"{case['id']:26} {worst:.1e} of {case['within']:.0e}  ", "; ".join(found["remarks"]))


def on_every_processor(program):
    """Where there is no machine code, functions are interpreted: the second mode of a run crashed there."""
    for model in ("bowling", "bounce", "robot"):
        path = os.path.join(HERE, "grip", model + ".nh")
        here, basic = (program.json("run", path, "--no-estimate", env=env) for env in ({}, {"NONHOLO_LEVEL": "basic"}))
        same([event["name"] for event in here["events"]], [event["name"] for event in basic["events"]], model)
        far = max(abs(a - b) for a, b in zip(here["q"] + here["v"], basic["q"] + basic["v"]))
        check(far < 1e-9, f"{model}: {far}")  # rounding: products are not fused there


def what_is_told(program):
    """The report says how often, how long and at what cost something slipped, as the events and columns do."""
    found = program.json("run", "slipping-sleigh", "--no-estimate")
    sign = {"blade slips": -1, "blade grips": 1}
    time = sum(sign[event["name"]] * event["t"] for event in found["events"])
    [blade] = found["contacts_and_grips"]
    check(abs(blade["time"] - time) < 1e-12 and blade["times"] == found["event_counts"]["blade slips"], str(blade))
    lost = found["observables"]["blade.dissipated"]
    sentence = f"  blade slips twice ({time:.3g} of 10), lost {lost:.3g}\n"
    check(sentence in program("run", "slipping-sleigh").stdout, sentence)
    dropped = program("run", os.path.join(HERE, "grip", "dropped-wheel.nh")).stdout
    for words in ("  w.touch is open once (0.428 of 2), lost 2.94\n", "  w.roll slips in impacts only, lost 7.89\n"):
        check(words in dropped, f"{words} is not in {dropped}")


def what_is_left_out(program):
    """Methods that cannot follow a mode which is met in the run are left out, unless they are asked for."""
    ball = ("bowling-ball", "--time", "1")
    for command in (("compare", *ball, "--step", "0.1"), ("order", *ball, "--halvings", "1"), ("survey", ball[0], "--steps", "20")):
        done = program(*command)
        same(done.returncode, 0, done.stderr)
        check("left out, because they cannot follow what slips or holds on the way: dla01, " in done.stderr, done.stderr)
        check("gauss" in done.stdout and "dla01" not in done.stdout, done.stdout)
    done = program("compare", *ball, "--step", "0.1", "--methods", "gauss,dla01")
    same((done.returncode, "while 'roll' slips, dla01 needs" in done.stderr), (2, True), done.stderr)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("id", nargs="*")
    parser.add_argument("--print", action="store_true")
    given = parser.parse_args()
    program = Program(given.program)
    table = tables.read(os.path.join(HERE, "grip.json"))
    cases = {case["id"]: case for case in table["cases"] if not given.id or case["id"] in given.id}
    tests = [(name, lambda case=case: compare(program, case, given.print)) for name, case in cases.items()]
    tests += [(f"{row['case']} {row['method']}", lambda row=row: measure_order(program, row, cases[row["case"]], given.print))
              for row in table["orders"] if row["case"] in cases]
    if not given.id:
        tests.append(("on every processor", lambda: on_every_processor(program)))
        tests.append(("what is told", lambda: what_is_told(program)))
        tests.append(("what is left out", lambda: what_is_left_out(program)))
    return run_all(tests, workers=1 if given.print else 2)


if __name__ == "__main__":
    sys.exit(main())
