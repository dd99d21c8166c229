#!/usr/bin/env python3
"""test_order.py NONHOLO: measured orders and comparisons of methods, as a user sees

them. Command lines that must be refused are in bad_commands.txt."""

import json
import math
import os
import subprocess
import sys
import xml.etree.ElementTree

from harness import Program, cases_in_folders, check, run_all, same, terminal

ORDERS = {  # method: order; measured orders lie within BAND of it
    "dla01": 2,
    "leapfrog": 2,
    "dla:alpha=.4": 1,
    "gauss:stages=1": 2,
    "gauss:stages=2": 4,
    "gauss:stages=3": 6,
    "rk4": 4,
}
BAND = 0.15  # measured deviations reach 0.012, except where a test says so

# Mine: a skate on a tilted plane, written by a newcomer.
SKATE = """model skate
parameter g = 1
coordinate x, y
coordinate phi angle
lagrangian (x'^2 + y'^2 + phi'^2)/2 + g*x
constraint edge: x'*sin(phi) - y'*cos(phi) = 0
start phi' = 1
"""


def measured(program, model, methods, *arguments):
    found = program.json("order", model, "--methods", methods, *arguments)
    return found, {one["method"]: one for one in found["methods"]}


def write(folder, name, text):
    path = os.path.join(folder, name)
    with open(path, "w") as file:
        file.write(text)
    return path


# ---- order -------------------------------------------------------------------------------------


def check_orders(program, model, orders, *arguments):
    _, methods = measured(program, model, ",".join(orders), *arguments)
    same(list(methods), list(orders), "methods")
    for name, order in orders.items():
        one = methods[name]
        same((one["verdict"], one["nominal_order"]), ("measured", order), f"{model}, {name}: {one}")
        check(abs(one["order"] - order) < BAND, f"{model}, {name}: order {one['order']}")
        check(one["points_used"] >= 3, f"{model}, {name}: {one['points_used']} points")


def orders_of_a_gearbox(program, folder):
    check_orders(program, "pendulum-cvt", ORDERS)


def orders_of_a_disk(program, folder):
    check_orders(program, "rolling-disk", ORDERS)


def orders_of_a_particle(program, folder):
    check_orders(program, "chaotic-particle", ORDERS)


def orders_where_the_mass_varies(program, folder):
    orders = {"gauss:stages=1": 2, "gauss:stages=2": 4, "gauss:stages=3": 6, "rk4": 4}
    check_orders(program, "chaplygin-sleigh", orders, "--start", "theta'=1", "--time", 4, "--step", 1)


def orders_of_compositions(program, folder):
    _, methods = measured(program, "pendulum-cvt", "dla01", "--compose", "suzuki")
    same(methods["dla01"]["nominal_order"], 4)
    check(abs(methods["dla01"]["order"] - 4) < BAND, f"suzuki: {methods['dla01']['order']}")


def orders_of_ones_own_model(program, folder):
    path = write(folder, "skate.nh", SKATE)
    check_orders(program, path, {"dla01": 2, "gauss:stages=2": 4})


def order_has_its_keys(program, folder):
    found, methods = measured(program, "pendulum-cvt", "dla01,rk4", "--time", 2, "--step", 0.5)
    same(list(found), "model compose time t reference methods plot remarks".split(), "keys")
    same((found["model"], found["time"], found["t"]), ("pendulum-cvt", 2, 2))
    reference = found["reference"]
    check(reference["method"].startswith("gauss:stages=8"), "reference")
    check(0 < reference["error"] < 1e-12 and reference["tolerance_reached"], f"{reference}")
    check(len(reference["q"]) == 3 and len(reference["v"]) == 3, "state of the reference")
    points = methods["rk4"]["points"]
    same([point["steps"] for point in points], [4 * 2**i for i in range(8)], "steps")
    same(list(points[0]), "step steps error local_order state failure".split(), "keys of a point")
    same((points[0]["step"], points[0]["local_order"], points[0]["failure"]), (0.5, None, None))
    by_hand = math.log2(points[3]["error"] / points[4]["error"])
    check(abs(points[4]["local_order"] - by_hand) < 1e-12, "local order")


def reference_agrees_with_a_run(program, folder):
    found, _ = measured(program, "chaplygin-sleigh", "gauss", "--time", 10)
    fine = program.json("run", "chaplygin-sleigh", "--method", "gauss:stages=6", "--step", 0.05, "--time", 10)
    for name in ("q", "v"):
        for a, b in zip(found["reference"][name], fine[name]):
            check(abs(a - b) < 1e-12, f"{name}: {a} and {b}")


def errors_are_those_of_runs(program, folder):
    found, methods = measured(program, "rolling-disk", "dla01", "--steps-list", "10,20,50")
    for point in methods["dla01"]["points"]:
        run = program.json("run", "rolling-disk", "--method", "dla01", "--step", repr(point["step"]),
                           "--steps", point["steps"])
        end, scales = found["reference"]["q"] + found["reference"]["v"], found["reference"]["scales"]
        error = max(abs(a - b) / s for a, b, s in zip(run["q"] + run["v"], end, scales) if s > 0)
        same(point["error"], error, f"error at {point['steps']} steps")


def orders_do_not_depend_on_units(program, folder):
    """A slow coordinate in millimetres beside a fast one: each has its own scale."""
    for unit in (1e-9, 1, 1e9):
        path = f"{folder}/two.nh"
        with open(path, "w", encoding="utf-8") as f:
            f.write(f"model two\nparameter U = {unit}\ncoordinate x, y\n"
                    "lagrangian (x'^2/U^2 + y'^2)/2 - (1 - cos(x/U)) - 2*(1 - cos(y)) - sin(x/U - y)^2/3\n"
                    "start x = U, y = 0.4\n")
        _, methods = measured(program, path, "dla01,gauss,rk4")
        found = [p["error"] for m in methods.values() for p in m["points"]]
        first = found if unit == 1e-9 else first
        check(all(abs(a - b) < 1e-6 * a + 1e-12 for a, b in zip(first, found)), f"{unit}: {first} {found}")


def round_off_is_said(program, folder):
    _, methods = measured(program, "pendulum-cvt", "gauss:stages=10")
    one = methods["gauss:stages=10"]
    same((one["verdict"], one["order"], one["points_used"]), ("round-off", None, 0))
    same({point["state"] for point in one["points"][1:]}, {"round-off"})
    text = program("order", "pendulum-cvt", "--methods", "gauss:stages=10").stdout
    check("not measured: errors at round-off" in text, text)


def two_points_are_rough(program, folder):
    _, methods = measured(program, "pendulum-cvt", "dla01", "--steps-list", "16,32")
    same(methods["dla01"]["verdict"], "rough")
    check(abs(methods["dla01"]["order"] - 2) < BAND, "order")


def coarse_steps_that_fail_are_left_out(program, folder):
    _, methods = measured(program, "pendulum-cvt", "gauss", "--time", 40, "--steps-list",
                          "4,400,800,1600,3200")
    first = methods["gauss"]["points"][0]
    check(first["state"] in ("failed", "left out"), f"{first}")
    check(abs(methods["gauss"]["order"] - 4) < BAND, f"order {methods['gauss']['order']}")


def chaos_has_no_reference(program, folder):
    done = program("order", "chaotic-particle", "--methods", "rk4", "--time", 1000)
    same((done.returncode, done.stdout), (1, ""))
    check("no reference solution to t = 1000 was found" in done.stderr, done.stderr)


def odd_steps_are_adjusted_and_said(program, folder):
    done = program("order", "pendulum-cvt", "--methods", "dla01", "--step", "0.3", "--json")
    same(json.loads(done.stdout)["methods"][0]["points"][0]["steps"], 3)
    same(done.stderr, "nonholo: --time 1 is not a whole number of steps of 0.3; the longest step is 0.3333333333\n")


def lists_of_methods_are_split(program, folder):
    def names(*arguments):
        found = program.json("order", "pendulum-cvt", "--steps-list", "4,8", *arguments)
        return [one["method"] for one in found["methods"]]

    same(names("--methods", "dla:alpha=.4,gauss:stages=3,si-dla"), ["dla:alpha=.4", "gauss:stages=3", "si-dla"])
    same(names("--methods", "dla01", "--methods", "rk4,dla01"), ["dla01", "rk4", "dla01"], "repeated")
    pair = "newmark:beta=.1,alpha=.4"
    same(names("--methods", f"dla01,{pair},rk4"), ["dla01", pair, "rk4"], "options with commas")


def order_text_has_a_table(program, folder):
    done = program("order", "pendulum-cvt", "--methods", "dla01,rk4")
    same((done.returncode, done.stderr), (0, ""))
    lines = done.stdout.splitlines()
    same(lines[0], "pendulum-cvt, errors at t = 1")
    check(lines[1].startswith("reference: gauss:stages=8, "), lines[1])
    same(lines[-3].split(), ["method", "nominal", "measured"])
    same([line.split()[:2] for line in lines[-2:]], [["dla01", "2"], ["rk4", "4"]])


# ---- compare -----------------------------------------------------------------------------------


def compared(program, model, methods, *arguments):
    found = program.json("compare", model, "--methods", methods, *arguments)
    return found, {one["method"]: one for one in found["methods"]}


def compare_a_gearbox(program, folder):
    found, methods = compared(program, "pendulum-cvt", "dla01,rk4,gauss:stages=3", "--set", "eps=.1",
                              "--step", 0.1, "--time", 500)
    keys = "model compose step steps t every quantities methods plot remarks"
    same(list(found), keys.split(), "keys")
    quantities = ["energy", "driver energy", "passenger energy", "latitude", "leapfrog_invariant", "constraints"]
    same(found["quantities"], quantities)
    same((found["steps"], found["every"], found["t"]), (5000, 1, 500))
    for one in methods.values():
        same(list(one["errors"]), quantities)
        same((one["steps"], one["failure"]), (5000, None))
        check(one["ns_per_step"] > 0 and one["backend"] in ("tape", "compiled"), "cost")
    same(list(methods["rk4"]["errors"]["energy"]), "start max mean last slope slope_error verdict verdict_text".split())
    worst = lambda name, what: methods[name]["errors"][what]["max"]
    check(worst("dla01", "constraints") < 1e-14, "dla01 keeps the constraint")
    check(worst("rk4", "constraints") > 1e-6, "rk4 does not")
    check(worst("gauss:stages=3", "energy") < 1e-4 * worst("dla01", "energy"), "gauss is better")
    # measured 6.05e-5 with a standard deviation of 1e-6: the passengers' energy drifts, the driver's does not
    drift = methods["dla01"]["errors"]["passenger energy"]
    check(3e-5 < drift["slope"] < 1e-4 and 0 < drift["slope_error"] < 1e-5, f"drift {drift}")
    check(abs(methods["dla01"]["errors"]["driver energy"]["slope"]) < 5e-6, "driver")
    verdicts = [methods["dla01"]["errors"][name]["verdict"] for name in quantities if name != "leapfrog_invariant"]
    same(verdicts, ["linear drift", "bounded", "linear drift", "linear drift", "round-off"], "verdicts")


def compare_agrees_with_a_run(program, folder):
    _, methods = compared(program, "rolling-disk", "rk4", "--step", 0.1, "--steps", 300)
    run = program.json("run", "rolling-disk", "--method", "rk4", "--step", 0.1, "--steps", 300)
    errors = methods["rk4"]["errors"]
    same(errors["energy"]["max"], run["energy_error_max"], "energy")
    same(errors["constraints"]["max"], run["constraint_max"], "constraints")


def compare_knows_momenta(program, folder):
    found, methods = compared(program, "knife-edge", "dla01,rk4", "--step", 0.1, "--steps", 100)
    same(found["quantities"][3:], ["momentum of xi'", "leapfrog_invariant", "constraints"])
    start = program.json("check", "knife-edge")["start"]["v"]
    momentum = methods["dla01"]["errors"]["momentum of xi'"]
    check(abs(momentum["start"]) > 0 and momentum["start"] in start, f"{momentum} and {start}")
    check(momentum["max"] < 1e-14, f"momentum {momentum}")


def compare_ones_own_model(program, folder):
    path, picture = write(folder, "skate.nh", SKATE), os.path.join(folder, "a.svg")
    done = program("compare", path, "--methods", "dla01,gauss,rk4", "--step", 0.1, "--time", 50,
                   "--plot", picture)
    same((done.returncode, done.stderr), (0, ""))
    lines = done.stdout.splitlines()
    same(lines[0], "skate, step 0.1, 500 steps to t = 50")
    check(lines[2].startswith("largest error") and "constraints" in lines[2], lines[2])
    same([line.split()[0] for line in lines[3:6]], ["dla01", "gauss", "rk4"])
    check(lines[7].startswith("drift in time"), lines[7])
    check(lines[12].startswith("verdict"), lines[12])
    check(lines[13].startswith("dla01") and "round-off" in lines[13], lines[13])
    same(lines[-1], f"picture  {picture}")
    xml.etree.ElementTree.parse(picture)


def compare_a_model_that_conserves_nothing(program, folder):
    path = write(folder, "damped.nh", "model damped\ncoordinate x\nlagrangian x'^2/2 - x^2/2\n"
                                      "force x = -x'/10\nstart x = 1\n")
    done = program("compare", path, "--methods", "gauss", "--step", 0.1, "--steps", 10)
    same((done.returncode, done.stderr), (0, ""))
    check("no conserved quantity is known" in done.stdout, done.stdout)


def survey_of_models(program, folder):
    """The results of compare for several models; a method that applies only to one of them is left out for the other."""
    words = ("--methods", "dla01,gauss:stages=1", "--steps", 400)
    found = program.json("survey", "harmonic-cvt", "chaplygin-sleigh", *words)["models"]
    same([[one["method"] for one in model["methods"]] for model in found], [["dla01", "gauss:stages=1"], ["gauss:stages=1"]])
    same((found[0]["step"], found[0]["steps"]), (0.2, 400))  # the span is 20
    alone = program.json("compare", "harmonic-cvt", "--methods", "dla01,gauss:stages=1", "--step", 0.2, "--steps", 400)
    same([one["errors"] for one in found[0]["methods"]], [one["errors"] for one in alone["methods"]], "errors")
    done = program("survey", "harmonic-cvt", *words)
    lines = done.stdout.splitlines()
    same((done.returncode, lines[0], lines[2]), (0, "## harmonic-cvt", "h = 0.2, T = 80"))
    same([line.split("|")[1].strip() for line in lines if line.startswith("| ")], ["method", "dla01", "gauss:stages=1"])
    check("dla01 | bounded, " in done.stdout and "| round-off, " in done.stdout, done.stdout)
    done = program("survey", "suslov", "--methods", "dla01")
    check(done.returncode == 0 and "none of the methods applies to suslov" in done.stderr, done.stderr)


def verdicts_of_known_motions(program, folder):
    """Formerly, quantities that are lost here were called bounded, and bounded ones a random walk."""
    for model, methods, step, time, quantity, verdict in (
        ("pendulum-cvt", "dla:alpha=.4", 0.1, 3000, "passenger energy", "lost"),
        ("rolling-disk", "dla:alpha=.3", 0.1, 3000, "passenger energy", "lost"),
        ("mobile-robot", "dla:alpha=.3", 0.1, 3000, "passenger energy", "lost"),
        ("chaplygin-sleigh", "gauss:stages=1,newmark", 0.2, 1000, "energy", "bounded"),
        ("chaotic-particle-holonomic", "dla01", 0.2, 2000, "energy", "bounded"),
        ("pendulum-cvt", "dla01,gauss", 0.1, 1000, "energy", "bounded"),
        ("pendulum-cvt", "dla:alpha=.6", 0.1, 1000, "passenger energy", "exponential growth"),
        ("pendulum-cvt", "rk4", 0.1, 1000, "driver energy", "linear drift"),
        ("chaotic-particle", "gauss", 0.2, 32000, "energy", "random walk"),  # at 4000, one walk in four has not left its bounds
        ("rolling-disk", "discrete-gradient", 0.1, 300, "energy", "round-off"),
    ):
        _, found = compared(program, model, methods, "--step", step, "--time", time)
        for method, one in found.items():
            same(one["errors"][quantity]["verdict"], verdict, f"{model}, {method}: {quantity}")


def one_failure_does_not_hide_the_others(program, folder):
    # The gauss step of length 20 is too long to be solved; rk4 runs on.
    done = program("compare", "chaotic-particle", "--methods", "gauss,rk4", "--step", 20, "--steps", 20, "--json")
    same(done.returncode, 1)
    methods = {one["method"]: one for one in json.loads(done.stdout)["methods"]}
    failure = methods["gauss"]["failure"]
    same((failure["status"], failure["step"]), ("not converged", methods["gauss"]["steps"] + 1))
    check(done.stderr.startswith("nonholo: gauss: step "), done.stderr)
    check(methods["rk4"]["steps"] > 0, "rk4 was not tried")


def no_steps_at_all(program, folder):
    picture = os.path.join(folder, "a.svg")
    found, methods = compared(program, "pendulum-cvt", "dla01", "--step", 0.1, "--steps", 0, "--plot", picture)
    one = methods["dla01"]
    same((found["steps"], one["errors"]["energy"]["max"], one["errors"]["energy"]["slope"]), (0, 0, None))
    xml.etree.ElementTree.parse(picture)


# ---- both --------------------------------------------------------------------------------------


def pictures_are_drawn(program, folder):
    many = "dla01,leapfrog,rk4,gauss:stages=1,gauss,gauss:stages=3,dla,dla:alpha=.4,euler-1"
    for kind, begin in [("svg", b"<?xml"), ("png", b"\x89PNG"), ("pdf", b"%PDF")]:
        for name, length in [("order", ["--time", 1]), ("compare", ["--step", 0.1, "--time", 10])]:
            path = os.path.join(folder, f"{name}.{kind}")
            found = program.json(name, "knife-edge", "--methods", many, *length, "--plot", path)
            same(found["plot"], path)
            with open(path, "rb") as file:
                check(file.read().startswith(begin), f"{path} is no {kind}")
    svg = open(os.path.join(folder, "compare.svg")).read()
    for text in ("momentum of ξ", "driver energy", "constraints", "dla:α=.4"):
        check(text in svg, f"'{text}' is not in the picture")


def progress_only_on_terminals(program, folder):
    words = ["order", "pendulum-cvt", "--methods", "gauss:stages=8", "--time", "400", "--step", "0.01",
             "--halvings", "3"]
    master, slave = terminal()
    child = subprocess.Popen([program.path, *words], stdout=subprocess.DEVNULL, stderr=slave)
    os.close(slave)
    seen = b""
    while True:
        try:
            part = os.read(master, 4096)
        except OSError:
            break
        if not part:
            break
        seen += part
    os.close(master)
    same(child.wait(), 0)
    check(b"% " in seen and b"left" in seen, f"no progress bar: {seen[:200]}")
    same(program(*words).stderr, "", "without a terminal")


def the_advised_method_keeps_the_energy(program, folder):
    for model in ("pendulum-cvt", "chaplygin-sleigh"):
        facts = program.json("check", model)
        if facts["advised"] != "discrete-gradient":
            continue  # not built in
        _, methods = compared(program, model, facts["advised"], "--step", 0.1, "--steps", 1000)
        energy = methods["discrete-gradient"]["errors"]["energy"]["max"]
        check(energy < 1e-12, f"{model}: energy error {energy}")
    same(program.json("check", "pendulum-cvt")["advised_for_speed"], "shifted")
    same(program.json("check", "chaplygin-sleigh")["advised_for_speed"], None)


def costs_are_counted(program, folder):
    costs = {method["name"]: method["evaluations"] for method in program.json("methods")["methods"]}
    same((costs["dla01"], costs["rk4"]), (2, 4), "evaluations")
    check(costs["gauss"] > costs["rk4"], "an implicit method evaluates more often")
    check(all(cost is not None and cost > 0 for cost in costs.values()), f"costs {costs}")


def steps_are_timed(program, folder):
    """The times depend on the machine; the test checks that every way of stepping is timed."""
    table = program.json("bench", "rolling-disk", "--methods", "dla01,rk4", "--step", "0.1")["models"]
    same([model["model"] for model in table], ["rolling-disk"], "models")
    same([row["method"] for row in table[0]["methods"]], ["dla01", "rk4"], "methods")
    for row in table[0]["methods"]:
        for way in ("tape", "compiled", "tape_64", "compiled_64"):
            check(0 < row[way] < 1e7, f"{row['method']}, {way}: {row[way]} ns a step")


def bench_takes_a_step_that_suits_the_motion(program, folder):
    """With the step of 0.05 that was fixed before, rk4 leaves the rattleback's motion in its fourth step."""
    done = program("bench", "rattleback", "--json")
    same((done.returncode, done.stderr), (0, ""))
    (found,) = json.loads(done.stdout)["models"]
    check(0 < found["step"] < 0.005, f"step {found['step']}")  # measured: 0.0001
    for row in found["methods"]:
        check(all(row[way] > 0 for way in ("tape", "compiled", "tape_64", "compiled_64")), row)


def bench_takes_the_methods_that_apply(program, folder):
    """Methods of the standard list are used if they apply; a method that the user names must apply."""
    (found,) = program.json("bench", "chaplygin-sleigh")["models"]  # M(q): dla01 and leapfrog do not apply
    facts = {m["name"]: m["applies"] for m in program.json("check", "chaplygin-sleigh")["methods"]}
    names = [row["method"] for row in found["methods"]]
    same(names, [n for n in ["dla01", "leapfrog", "gauss:stages=3", "discrete-gradient", "rk4"] if facts[n.split(":")[0]]])
    check(0 < len(names) < 5, names)
    done = program("bench", "chaplygin-sleigh", "--methods", "dla01")
    same((done.returncode, done.stdout), (2, ""))
    check("mass matrix" in done.stderr, done.stderr)


def a_model_is_enough(program, folder):
    """compare, order and ensemble choose what is not given: methods that apply, a step that suits them, the span."""
    for model in ("pendulum-cvt", "heavy-top", "suslov"):
        listed = program.json("check", model)["methods"]
        applicable = [one["name"] for one in listed if one["applies"] and one["name"] != "reference"]
        found = program.json("compare", model, "--quiet")
        same([one["method"] for one in found["methods"]], applicable, model)
        span = program.json("run", model, "--no-estimate")["t"]
        check(abs(found["step"] * found["steps"] - span) < found["step"], f"{model}: {found['steps']} steps of {found['step']}")
        check(found["steps"] > 50, f"{model}: {found['steps']}")
    same([one["method"] for one in program.json("order", "suslov", "--halvings", 2)["methods"]], applicable)
    found = program.json("ensemble", "suslov", "--members", 3)
    check(abs(found["t"] - span) < 1e-9 and "tolerance" in found["method"], found)
    found = program.json("ensemble", "suslov", "--members", 3, "--method", "gauss")
    check(found["method"] == "gauss" and abs(found["t"] - span) < 1e-9, found)


def main():
    return run_all(cases_in_folders(globals(), Program(sys.argv[1])))


if __name__ == "__main__":
    sys.exit(main())
