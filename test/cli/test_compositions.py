#!/usr/bin/env python3
"""test_compositions.py NONHOLO: steps composed of steps of different methods.

Texts that must be refused are in bad_commands.txt."""

import csv
import json
import os
import shutil
import subprocess
import sys

from harness import Program, cases_in_folders, check, run_all, same

PALINDROME = "dla:1/4,gauss:stages=1:1/2,dla:1/4"
CVT = ("pendulum-cvt", "--set", "eps=.5")


def rows(path):
    with open(path) as file:
        return [line for line in csv.reader(file) if line and not line[0].startswith("#")]


def halves_are_steps(program, folder):
    """Twice the same method over half a step is two of its steps, whatever it keeps to find them (to 4e-14)."""
    tried = 0
    for model in ("pendulum-cvt", "rolling-disk", "chaplygin-sleigh"):
        for one in program.json("methods")["methods"]:
            name = one["name"]
            twice = program("run", model, "--compose", f"{name}:1/2,{name}:1/2", "--step", "0.1", "--steps", "20", "--no-estimate", "--json")
            if twice.returncode:
                continue
            twice, tried = json.loads(twice.stdout), tried + 1
            single = program.json("run", model, "--method", name, "--step", "0.05", "--steps", "40", "--no-estimate")
            worst = max(abs(a - b) for key in "qv" for a, b in zip(twice[key], single[key]))
            check(worst < 1e-12, f"{model}, {name}: {worst}")
    check(tried > 50, tried)


def parts_follow_each_other(program, folder):
    """A step of a composition against runs of one step each."""
    state = [json.loads(program("run", *CVT, "--steps", "0", "--step", "1", "--method", "dla", "--json").stdout)]
    for method, h in (("dla", 0.03), ("gauss:stages=1", 0.05), ("rk4", 0.02)):
        start = [f"--{key}=" + ",".join(map(repr, state[-1][key])) for key in "qv"]
        state.append(program.json("run", *CVT, *start, "--method", method, "--step", h, "--steps", "1", "--no-estimate"))
    whole = program.json("run", *CVT, "--compose", "dla:.3,gauss:stages=1:.5,rk4:.2", "--step", "0.1", "--steps", "1", "--no-estimate")
    worst = max(abs(a - b) for key in "qv" for a, b in zip(whole[key], state[-1][key]))
    check(worst < 1e-15, worst)


def palindromes_are_symmetric(program, folder):
    """A step forth and one back, and what the program says."""
    for text, symmetric in ((PALINDROME, True), ("dla:1/2,gauss:stages=1:1/2", False), ("dla:alpha=.4:1/2,dla:alpha=.4:1/2", False)):
        same("symmetry" in program.json("methods", text)["keeps"], symmetric, text)
        forth = program.json("run", *CVT, "--compose", text, "--step", "0.1", "--steps", "1", "--no-estimate")
        start = [f"--{key}=" + ",".join(repr(sign * x) for x in forth[key]) for key, sign in (("q", 1), ("v", -1))]
        back = program.json("run", *CVT, *start, "--compose", text, "--step", "0.1", "--steps", "1", "--no-estimate")
        begin = program.json("run", *CVT, "--method", "dla", "--step", "1", "--steps", "0")
        worst = max(abs(sign * a - b) for key, sign in (("q", 1), ("v", -1)) for a, b in zip(back[key], begin[key]))
        check((worst < 1e-14) == symmetric, f"{text}: {worst}")
        told = program("run", *CVT, "--compose", text, "--step", "0.1", "--steps", "1", "--no-estimate").stdout
        check(("not symmetric" in told) != symmetric, told)


def orders(program, folder):
    """Least orders, and measured ones; the parts of a triple jump, written out, have its order."""
    jump = "dla:1.3512071919596578,gauss:stages=1:-1.7024143839193153,dla:1.3512071919596578"
    for text, least, measured in ((PALINDROME, 2, 2), ("euler-1:1/2,gauss:1/2", 1, 1), (jump, 2, 2), (jump.replace("gauss:stages=1", "dla"), 4, 4)):
        same(program.json("methods", text)["order"], least, text)
        found = program.json("order", *CVT, "--compose", text)["methods"][0]
        same(found["nominal_order"], least, text)
        check(abs(found["order"] - measured) < 0.1, f"{text}: {found['order']}")
    both = program.json("compare", *CVT, "--methods", "dla", "--compose", PALINDROME, "--step", ".1", "--time", "20")
    same([one["method"] for one in both["methods"]], ["dla", PALINDROME])
    same(both["compose"], None)


def lanes_have_the_bits_of_a_run(program, folder):
    """Six members side by side, in a full group and a partial one, and each alone; also compiled."""
    how = ["--set", "eps=.5", "--compose", PALINDROME, "--step", "0.1", "--steps", "200", "--every", "10"]
    table = []
    for backend in ("tape", "compiled"):
        path = os.path.join(folder, backend + ".csv")
        done = program("ensemble", "pendulum-cvt", "--sweep", "xi'=2.5:3:6", *how, "--backend", backend, "-o", path)
        same(done.returncode, 0, done.stderr)
        table.append(rows(path))
    same(table[0], table[1], "backends")
    energy = []
    for speed in ("2.5", "2.6", "2.7", "2.8", "2.9", "3"):
        path = os.path.join(folder, "one.csv")
        done = program("run", "pendulum-cvt", "--start", f"xi'={speed}", *how, "--no-estimate", "-o", path)
        same(done.returncode, 0, done.stderr)
        names, *lines = rows(path)
        energy.append([float(line[names.index("passenger_energy")]) for line in lines])
    names, *lines = table[0]
    for word, choose in (("min", min), ("max", max)):
        together = [float(line[names.index("passenger_energy_" + word)]) for line in lines]
        same(together, [choose(values) for values in zip(*energy)], word)


def random_members_in_lanes(program, folder):
    """Ten members, three groups of lanes, each of which keeps what the methods keep."""
    how = ["ensemble", "pendulum-cvt", "--members", "10", "--compose", PALINDROME, "--step", "0.1", "--steps", "100"]
    whole, compiled = (program.json(*how, "--backend", backend) for backend in ("tape", "compiled"))
    same(whole["statistics"], compiled["statistics"])
    check(whole["constraint_max"] < 1e-14 and whole["energy_error_max"] < 0.02, (whole["constraint_max"], whole["energy_error_max"]))


def a_run_is_resumed(program, folder):
    """After a kill, with the same bits as in one piece; not by another composition."""
    line = ["run", *CVT, "--compose", PALINDROME, "--step", "0.1", "--steps", "2e5", "--no-estimate"]
    child = subprocess.Popen([program.path, *line, "--checkpoint", "c", "--checkpoint-every", "1000"], cwd=folder, stdout=subprocess.DEVNULL)
    while not os.path.exists(os.path.join(folder, "c")):
        check(child.poll() is None, "it ended")
    child.kill()
    child.wait()
    shutil.copy(os.path.join(folder, "c"), os.path.join(folder, "d"))
    again, whole = program.json(*line, "--resume", "c", cwd=folder), program.json(*line)
    same((again["q"], again["v"]), (whole["q"], whole["v"]))
    other = PALINDROME.replace("1/4", ".3").replace("1/2", ".4")
    done = program(*[other if word == PALINDROME else word for word in line], "--resume", "d", cwd=folder)
    same(done.returncode, 2, done.stderr)
    check(f"its composition is {PALINDROME}, here it is {other}" in done.stderr, done.stderr)


def inputs_and_switches(program, folder):
    """Forces that jump at a known time and inputs that are held: order 2 still."""
    path = os.path.join(folder, "push.nh")
    with open(path, "w") as file:
        file.write("model push\ncoordinate x, y\nlagrangian (x'^2 + y'^2)/2 - x^2/2\ninput u = sin(t)\nforce x = u + if(t < 1, 0, 2)\n"
                   "constraint y' = x*x'\nstart x = 1\n")
    best = program.json("run", path, "--method", "gauss:stages=4", "--step", "0.01", "--time", "2.5", "--no-estimate")
    error = []
    for h in (0.03, 0.015):
        found = program.json("run", path, "--compose", "dla:1/4,gauss:1/2,dla:1/4", "--step", h, "--time", "2.5", "--no-estimate")
        error.append(max(abs(a - b) for key in "qv" for a, b in zip(found[key], best[key])))
    check(error[0] < 1e-3 and 3.4 < error[0] / error[1] < 4.6, error)


def main():
    return run_all(cases_in_folders(globals(), Program(sys.argv[1])))


if __name__ == "__main__":
    sys.exit(main())
