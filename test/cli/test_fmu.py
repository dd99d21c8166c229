#!/usr/bin/env python3
"""test_fmu.py NONHOLO [all]

FMUs of 'nonholo export --format fmu' in an importer of our own (importer.py), against 'nonholo run'. Without 'all' some
shipped models of every kind are tried; with it, all of them."""

import json
import os
import shutil
import sys
import tempfile

from harness import Program, Skipped, cases_in_folders, check, run_all, same
from importer import Failure, Fmu, Instance, platform_folder

STEP, STEPS = 0.01, 100
LARGEST = 200000  # bytes of a file, where the equations are not those of
LARGE = {"benchmark-bicycle": 650000}  # measured 587089
# Velocities without coordinates, rotations, positions, families, time, varying masses, constraints on velocities only.
SOME = "suslov heavy-top fourbar-skate disk-chain driven-sleigh rolling-coin-rotation".split()


def export(program, folder, model, *options, name="exported", load=True):
    path = os.path.join(folder, name + ".fmu")
    done = program("export", model, "--format", "fmu", *options, "-o", path)
    same((done.returncode, done.stdout), (0, ""), done.stderr)
    fmu = Fmu(path, os.path.join(folder, name))
    same(fmu.description.problems, [])
    if load:
        same(done.stderr, "")
        check(os.path.getsize(path) <= LARGE.get(model, LARGEST), f"{os.path.getsize(path)} bytes")
        fmu.load()
    return fmu


def end_of_run(program, model, *options, steps=STEPS):
    done = program("run", model, "--step", STEP, *options, "--steps", steps, "--no-estimate", "--quiet", "--json")
    check(done.returncode == 0, done.stderr)
    return json.loads(done.stdout)


def state_names(fmu):
    return [v.name for v in fmu.description.states]


def written(model, folder, text):
    path = os.path.join(folder, model + ".nh")
    with open(path, "w") as file:
        file.write(text)
    return path


# ---- shipped models ----


def check_steps(fmu, end):
    """Communication steps of one, of several and of many steps of the method; a state that is saved and restored."""
    x = Instance(fmu, "CoSimulation")
    x.initialise()
    t = 0.0
    for count in (1, 2, 3, 44):
        same(x.do_step(t, count * STEP)[0], 0)
        t += count * STEP
    state = x.save()
    data = x.pack(state)
    for count in (25, 25):
        same(x.do_step(t, count * STEP)[0], 0)
        t += count * STEP
    names = state_names(fmu)
    found = x.get("time", *names)
    same(found, [end["t"], *end["q"], *end["v"]])
    observed = [name for name in end["observables"] if name in fmu.description.by_name and name not in names]
    same(x.get("energy", *observed), [end["energy"], *(end["observables"][name] for name in observed)])
    check(x.get("constraint_violation")[0] < 1e-9, "the constraints are violated")
    x.restore(state)
    x.do_step(0.5, 0.5)
    same(x.get("time", *names), found, "a state that was saved")
    x.forget(state)
    y = Instance(fmu, "CoSimulation")
    state = y.unpack(data)
    y.restore(state)
    y.do_step(0.5, 0.5)
    same(y.get("time", *names), found, "a state as bytes, in another instance")
    y.forget(state)
    x.close()
    y.close()


def check_exchange(program, fmu, model, options):
    """Runge and Kutta's method with steps that are halved until it has its order: then the error is a fifteenth of the
    last change."""
    exact = program.json("run", model, "--method", "dop853:tolerance=1e-13", "--step", STEP, "--steps", STEPS, "--no-estimate",
                         "--quiet", *options)
    ends, differ, steps = [], 1.0, STEPS
    while differ > 1e-4 and steps < 100 * STEPS:
        x = Instance(fmu, "ModelExchange")
        x.initialise()
        ends.append(x.integrate(0.0, STEP * STEPS, steps)[0])
        check(x.get("constraint_violation")[0] <= 1.1e-9, "the constraints are violated")
        x.close()
        if len(ends) > 1:
            differ = max(abs(a - b) for a, b in zip(*ends[-2:]))
        steps *= 2
    size = 1 + max(map(abs, ends[-1]))
    apart = max(abs(a - b) for a, b in zip(ends[-1], exact["q"] + exact["v"]))
    check(apart <= differ / 4 + 1e-8 * size, f"{apart} from the exact motion, where the steps differ by {differ}")


def try_model(program, folder, model, version):
    how = ["--fmi", version, "--step", STEP]
    fmu = export(program, folder, model, *how)
    same(fmu.version, version)
    same(sorted(fmu.description.interfaces), ["CoSimulation", "ModelExchange"])
    check_steps(fmu, end_of_run(program, model))
    check_exchange(program, fmu, model, [])


def cases_of_models(program, everything):
    models = [m["name"] for m in program.json("models")["models"]] if everything else SOME
    for place, model in enumerate(models):
        for version in (2, 3):
            if everything or version == 2 + place % 2:
                def one(model=model, version=version):
                    with tempfile.TemporaryDirectory() as folder:
                        try_model(program, folder, model, version)
                yield f"{model} {version}.0", one


# ---- the interface ----


def test_other_steps(program, folder):
    """Communication steps that are no multiples end with a shorter step, as a run does; too short ones are done; bad ones are errors."""
    for version in (2, 3):
        fmu = export(program, folder, "pendulum-cvt", "--fmi", version, "--step", STEP, "--method", "leapfrog", name=f"other{version}")
        end = program.json("run", "pendulum-cvt", "--step", STEP, "--method", "leapfrog", "--time", 0.1034, "--no-estimate", "--quiet")
        x = Instance(fmu, "CoSimulation")
        x.initialise()
        same(x.do_step(0.0, 0.1034)[0], 0)
        same(x.get("time", *state_names(fmu)), [end["t"], *end["q"], *end["v"]])
        same(x.do_step(0.1034, 0.0021)[0], 0)
        check(abs(x.get("time")[0] - 0.1055) < 1e-15, "time")
        same(x.do_step(0.2, 0.01)[0], 3)
        same(x.messages[-1][1], "the communication point is not where the last step ended")
        x.close(terminate=False)


def test_calls_out_of_order(program, folder):
    for version in (2, 3):
        fmu = export(program, folder, "chaplygin-sleigh", "--fmi", version, "--step", STEP, name=f"order{version}")
        same(Instance(fmu, "CoSimulation", token="{another}").pointer, None)
        x = Instance(fmu, "CoSimulation")
        same(x.do_step(0.0, 0.01)[0], 3)
        check("was called where it must not be" in x.messages[-1][1], x.messages)
        x.initialise()
        same(x.do_step(0.0, 0.01)[0], 0)
        end = x.get(*state_names(fmu))
        try:
            x.set(x1=1.0)
            check(False, "a state was set")
        except Failure as failure:
            check("states are set before the initialization ends" in str(failure), str(failure))
        x.call("Reset")
        x.initialise()
        same(x.do_step(0.0, 0.01)[0], 0)
        same(x.get(*state_names(fmu)), end)
        x.close()


def test_early_return(program, folder):
    """After every step of the method the importer may look and return."""
    fmu = export(program, folder, "pendulum-cvt", "--step", STEP)
    seen = []

    def update(environment, time, asked, may_get, finished, may_return, wanted, when):
        seen.append((time, asked, may_get, finished, may_return))
        wanted[0] = len(seen) == 5

    x = Instance(fmu, "CoSimulation", update=update, early=True)
    x.initialise()
    status, last = x.do_step(0.0, 0.2)
    same((status, last), (0, 0.05))
    same([s[1:] for s in seen], [(False, True, True, True)] * 5)
    same(x.do_step(last, 0.05), (0, 0.1))
    end = end_of_run(program, "pendulum-cvt", steps=10)
    same(x.get(*state_names(fmu)), end["q"] + end["v"])
    x.close()


def test_starts(program, folder):
    """A start that is set; one that violates the constraints is moved to them, with a warning."""
    fmu = export(program, folder, "chaplygin-sleigh", "--step", STEP)
    x = Instance(fmu, "CoSimulation")
    x.set_all({"theta": 0.3, "der(theta)": 0.5, "der(x1)": 1.0, "der(x2)": 0.0})
    x.initialise()
    check("violated a constraint" in x.messages[-1][1], x.messages)
    check(x.get("constraint_violation")[0] < 1e-15, "constraint")
    check(x.get("theta")[0] == 0.3, "positions do not move")
    start = x.get(*state_names(fmu))
    x.do_step(0.0, 1.0)
    end = end_of_run(program, "chaplygin-sleigh", "--q", ",".join(map(repr, start[:3])), "--v", ",".join(map(repr, start[3:])))
    same(x.get(*state_names(fmu)), end["q"] + end["v"])
    x.close()


CART = """model cart
parameter m = 2
coordinate x
coordinate phi angle
input u = 0.25
lagrangian m/2*x'^2 + phi'^2/2 + cos(phi)
force x = u
force phi = u*cos(phi)
observe power = u*x'
start phi = 0.5
"""


def test_inputs(program, folder):
    """An input that is left open is an input of the FMU, held over a communication step; others are what the model says."""
    model = written("cart", folder, CART)
    for version in (2, 3):
        fmu = export(program, folder, model, "--fmi", version, "--step", STEP, "--method", "leapfrog", "--input", "u:held", name=f"cart{version}")
        v = fmu.description.by_name["u"]
        same((v.causality, v.start), ("input", 0.25))
        x = Instance(fmu, "CoSimulation")
        x.initialise()
        same(x.get("u"), [0.25])
        for i in range(20):
            x.set(u=0.1 * i)
            same(x.do_step(0.05 * i, 0.05)[0], 0)
        table = written("u", folder, "t,u\n" + "".join(f"{0.05 * i!r},{0.1 * i!r}\n" for i in range(20)))
        os.rename(table, os.path.join(folder, "u.csv"))
        end = end_of_run(program, model, "--method", "leapfrog", "--input", "u:held=" + os.path.join(folder, "u.csv"))
        same(x.get(*state_names(fmu)), end["q"] + end["v"])
        x.close()
        y = Instance(fmu, "ModelExchange")
        y.initialise(u=1.0)
        same(y.slope(0.0, [0, 0, 0, 0]), [0, 0, 0.5, 1.0])
        y.close()
    fmu = export(program, folder, model, "--step", STEP, name="closed")
    same(fmu.description.by_name["u"].causality, "output", "a closed input")
    done = program("export", model, "--format", "fmu", "--step", STEP, "--input", f"u={folder}/u.csv", "-o", f"{folder}/table.fmu")
    same((done.returncode, done.stderr), (2, "nonholo: the input u is given by a table or at samples, which an FMU cannot do; "
                                             "an importer can: 'u:held'\n"))


WALL = """model wall
coordinate x
parameter e = 0.5
lagrangian x'^2/2 - 9.81*x
start x = 1
event floor: x falling
event top: x' falling
"""


def test_events(program, folder):
    """Events that are told are indicators; those that act make an FMU for model exchange only."""
    model = written("wall", folder, WALL)
    bounce = written("bounce", folder, WALL.replace("model wall", "model bounce") + "when floor: x' = -e*x'\n")
    fall = (2 / 9.81) ** 0.5
    for version in (2, 3):
        fmu = export(program, folder, model, "--fmi", version, "--step", STEP, name=f"told{version}")
        same((fmu.description.indicators, sorted(fmu.description.interfaces)), (2, ["CoSimulation", "ModelExchange"]))
        x = Instance(fmu, "ModelExchange")
        x.initialise()
        end, times = x.integrate(0.0, 0.6, 6)
        check(len(times) == 1 and abs(times[0] - fall) < 1e-12, f"{times}")
        x.close()
        fmu = export(program, folder, bounce, "--fmi", version, "--step", STEP, name=f"acts{version}")
        same(sorted(fmu.description.interfaces), ["ModelExchange"])
        same(Instance(fmu, "CoSimulation").pointer, None)
        x = Instance(fmu, "ModelExchange")
        x.initialise()
        end, times = x.integrate(0.0, 1.0, 10)
        run = program.json("run", bounce, "--time", 1, "--method", "dop853:tolerance=1e-12", "--step", 0.1, "--no-estimate", "--quiet")
        apart = max(abs(a - b) for a, b in zip(end, run["q"] + run["v"]))
        check(apart < 1e-10, f"{apart}")  # measured 4e-13
        check(any(abs(t - fall) < 1e-12 for t in times), f"{times}")
        x.close()


def test_same_bytes(program, folder):
    """The same model gives the same file, and another one another token."""
    tokens, files = set(), set()
    for i, more in enumerate(([], [], ["--set", "J=3"])):
        fmu = export(program, folder, "chaplygin-sleigh", "--step", STEP, "--name", "sleigh", *more, name=f"f{i}")
        tokens.add(fmu.description.token)
        with open(os.path.join(folder, f"f{i}.fmu"), "rb") as file:
            files.add(file.read())
        same(fmu.description.identifier, "sleigh")
        same(fmu.description.by_name["J"].start, 3.0 if more else 8.0)
    same((len(tokens), len(files)), (2, 2))


def test_source_only(program, folder):
    """Without a compiler the FMU has sources, and they are all that a binary needs."""
    path = os.path.join(folder, "plain.fmu")
    done = program("export", "chaplygin-sleigh", "--format", "fmu", "--step", STEP, "-o", path, env={"NONHOLO_CC": "/nowhere/cc"})
    same(done.returncode, 0)
    same(done.stderr, "nonholo: there is no C compiler '/nowhere/cc': the FMU has sources but no binary, and importers have to compile it\n")
    fmu = Fmu(path, os.path.join(folder, "plain"))
    check(fmu.binary not in fmu.names and "sources/buildDescription.xml" in fmu.names, fmu.names)


def main():
    program = Program(sys.argv[1])
    if not shutil.which(os.environ.get("NONHOLO_CC", "cc")):
        raise SystemExit(77)
    if not platform_folder(2):
        print("there are no FMUs for this kind of machine")
        raise SystemExit(77)
    cases = cases_in_folders(globals(), program)
    cases += cases_of_models(program, "all" in sys.argv[2:])
    return run_all(cases)


if __name__ == "__main__":
    sys.exit(main())
