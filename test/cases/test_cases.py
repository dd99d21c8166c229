#!/usr/bin/env python3
"""test_cases.py NONHOLO TABLE [--all] [--methods rk4,gauss] [--print]

Models whose motion is known from elsewhere, through the command line. A table TABLE.json of this folder (or any path) has
"cases", each on a line; a key beside "cases" holds for every case that does not say otherwise:

    id                      what failures call it (otherwise the model and the method)
    model, set              a shipped model, or a file beside the table; its parameters
    q0, v0, project         the start, if it is not the model's own; whether it is moved onto the constraints
    methods, also           variants of the case, as objects with keys of their own; "also" adds to those of the whole table
    method, compose, step, steps, time, finer
                            how it is run; "steps" are those to "time", if no "step" is given, "finer" times as many
    q, v, energy, tolerance the end state, and how far from it the result may be in any component
    near                    {name: [value, limit]} for single coordinates, velocities and observables at the end
    like, names, within     another model of the same system, run to the same time with a tolerance of 1e-12; {name here: name
                            there} of what must agree, by "within" times 1 + its size
    constraint              the largest residual allowed at any recorded point
    remark                  the first line of standard error; "..." stands for anything
    facts, constraint_facts what 'check' says of the model, and of each of its constraints
    compiled, interpreted   run it that way too: the same bits as on the tape with machine code

--all runs every case compiled; --methods leaves out the others; --print shows the measured differences."""

import argparse
import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "cli"))
sys.path.insert(0, HERE)
import table as tables  # noqa: E402
from harness import Program, check, like, run_all, same  # noqa: E402

EXACT = {"method": "dop853:tolerance=1e-12"}


def farthest(found, expected):
    same(len(found), len(expected), "number of components")
    return max((abs(a - b) for a, b in zip(found, expected)), default=0.0)


class Cases:
    def __init__(self, program, path, given):
        self.program, self.given = program, given
        self.folder = os.path.dirname(os.path.abspath(path))
        whole = tables.read(path)
        self.cases = [self.filled(whole, case, variant) for case in whole["cases"]
                      for variant in case.get("methods", whole.get("methods", [{}])) + case.get("also", [])]
        self.exact = {}  # end states of what a case is like

    def filled(self, whole, case, variant):
        case = {**{key: value for key, value in whole.items() if key != "cases"}, **case, **variant}
        if case["model"].endswith(".nh"):
            case["model"] = os.path.join(self.folder, case["model"])
        case.setdefault("id", os.path.basename(case["model"]))
        return case

    def command(self, case, backend):
        words = ["run", case["model"], "--method", case["method"], "--backend", backend, "--no-estimate", "--json"]
        if "steps" in case:
            steps = case["steps"] * case.get("finer", 1)
            words += ["--steps", steps, "--step", repr(case["step"] if "step" in case else case["time"] / steps)]
        else:
            words += ["--time", repr(case["time"])] + (["--step", repr(case["step"])] if "step" in case else [])
        for name, value in case.get("set", {}).items():
            words += ["--set", f"{name}={value!r}"]
        for key in ("q0", "v0"):
            if key in case:
                words += ["--" + key[0], ",".join(map(repr, case[key]))]
        words += ["--compose", case["compose"]] if "compose" in case else []
        return words + (["--project"] if case.get("project") else []) + (["--every", 1] if "constraint" in case else [])

    def end(self, case, backend="tape", env=None):
        done = self.program(*self.command(case, backend), env=env)
        check(done.returncode == 0, f"exit code {done.returncode}: {done.stderr}")
        found = json.loads(done.stdout)
        found["named"] = dict(zip(found["coordinates"] + found["velocities"], found["q"] + found["v"]), **found["observables"])
        return found, done.stderr.partition("\n")[0]

    def same_bits(self, case, found):
        for way, backend, env in (("compiled", "compiled", None), ("interpreted", "tape", {"NONHOLO_MACHINE_CODE": "0"})):
            if case.get(way) or (way == "compiled" and self.given.all):
                other, _ = self.end(case, backend, env)
                for key in ("q", "v", "energy"):
                    same(other[key], found[key], f"{key}: {way}, it differs from the tape")

    def differences(self, case, found):
        """(what, by how much it differs, by how much it may)."""
        for key in ("q", "v"):
            if key in case:
                yield key, farthest(found[key], case[key]), case["tolerance"]
        if "energy" in case:
            yield "energy", abs(found["energy"] - case["energy"]), case["tolerance"]
        for name, (value, limit) in case.get("near", {}).items():
            yield name, abs(found["named"][name] - value), limit
        if "like" in case:
            twin = {**EXACT, "model": os.path.join(self.folder, case["like"]), "time": case["time"],
                    "project": case.get("project")}
            exact = self.end(twin)[0]["named"]
            for here, there in case["names"].items():
                yield here, abs(found["named"][here] - exact[there]), case["within"] * (1 + abs(exact[there]))
        if case.get("constraint") is not None:
            yield "the largest constraint residual", found["constraint_max"], case["constraint"]

    def compare(self, case):
        found, remark = self.end(case)
        if "step" in case and "steps" in case:
            same(found["steps"], case["steps"], "steps")
        self.same_bits(case, found)
        known = list(self.differences(case, found))
        check(known, "nothing is known of this case")
        if self.given.print:
            print(f"{case['id']:20} {case['method']:25}", ", ".join(f"{what} {by:.1e}" for what, by, _ in known))
        for what, by, limit in known:
            check(by <= limit, f"{what} is off by {by:.3g} > {limit:.3g}")
        if "remark" in case:
            like(remark, case["remark"], "remark")

    def compare_facts(self, case):
        told = self.program.json("check", case["model"])
        for key, value in case["facts"].items():
            same(told[key], value, key)
        for constraint in told["constraints"]:
            for key, value in case.get("constraint_facts", {}).items():
                same(constraint[key], value, f"{constraint['name']}: {key}")

    def todo(self):
        found = []
        with_facts = {case["model"]: case for case in self.cases if "facts" in case}
        for case in with_facts.values():
            found.append((f"{case['id']}: check", lambda case=case: self.compare_facts(case)))
        for case in self.cases:
            if not self.given.methods or case["method"].split(":")[0] in self.given.methods.split(","):
                name = " ".join([case["id"], case["method"], case.get("compose", "")]).strip()
                found.append((name, lambda case=case: self.compare(case)))
        return found


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("table")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--methods")
    parser.add_argument("--print", action="store_true")
    given = parser.parse_args()
    path = given.table if given.table.endswith(".json") else os.path.join(HERE, given.table + ".json")
    cases = Cases(Program(given.program), path, given).todo()
    check(cases, "no case is left to run")
    return run_all(cases, workers=1 if given.print else 2)


if __name__ == "__main__":
    sys.exit(main())
