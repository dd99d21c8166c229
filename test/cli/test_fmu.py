#!/usr/bin/env python3
"""test_fmu.py NONHOLO [all]

FMUs of 'nonholo export --format fmu' in our own importer (importer.py), against 'nonholo run'. Without 'all' some
shipped models of every kind are tried; with it, all of them."""

import json
import os
import shutil
import sys
import tempfile

from harness import Program, Skipped, cases_in_folders, check, models_without_contacts, run_all, same
from importer import Failure, Fmu, Instance, platform_folder

STEP, STEPS = 0.01, 100
LARGEST = 200000  # bytes of a file, where the equations are not those of
LARGE = {"benchmark-bicycle": 270000}  # measured 259394
# with parameters that can be set, or directional derivatives, the first would be larger; constraints of the second are not ideal
PLAIN = ["benchmark-bicycle", "dry-skate"]
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
    """The Runge-Kutta method with steps that are halved until its order is visible; the error is then a fifteenth of
    the last change."""
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


def differences(f, h):
    """The derivative at 0 of a function with vectors for values: central differences and Richardson's extrapolation."""
    ends = [[(a - b) / (2 * s) for a, b in zip(f(s), f(-s))] for s in (h, 2 * h)]
    return [(4 * a - b) / 3 for a, b in zip(*ends)]


def check_directions(fmu):
    """Directional derivatives of rates and outputs with respect to states, against differences; not with respect to time."""
    x = Instance(fmu, "ModelExchange")
    x.initialise()
    names, states = state_names(fmu), x.states()
    rates = [v.name for v in fmu.description.derivatives]
    outputs = [v.name for v in fmu.description.outputs]
    seed = [0.3 + (i * 0.618 + 0.2) % 1 for i in range(len(names))]

    def moved(s):
        slope = x.slope(0.0, [a + s * b for a, b in zip(states, seed)])
        return slope + x.get(*outputs)

    moved(0)
    found = x.directional(rates + outputs, dict(zip(names, seed)))
    expected = differences(moved, 3e-5)  # the rattleback is a few centimetres high
    size = max(1, max(map(abs, expected)))
    apart = max(abs(a - b) for a, b in zip(found, expected))
    check(apart <= 1e-7 * size, f"derivatives differ by {apart}, of {size}")  # measured up to 1e-9 of it
    whole = x.directional(rates, {names[0]: 1.0})
    same([2 * a for a in whole], x.directional(rates, {names[0]: 2.0}), "derivatives are linear")
    try:
        x.directional(rates, {"time": 1.0})
        check(False, "a derivative by the time")
    except Failure as failure:
        check("derivatives exist only with respect to states, inputs and parameters" in str(failure), str(failure))
    x.close(terminate=False)


def try_model(program, folder, model, version):
    how = ["--fmi", version, "--step", STEP]
    fmu = export(program, folder, model, *how)
    same(fmu.version, version)
    same(sorted(fmu.description.interfaces), ["CoSimulation", "ModelExchange"])
    check_steps(fmu, end_of_run(program, model))
    check_exchange(program, fmu, model, [])
    same(fmu.description.directions, model not in PLAIN, "directional derivatives")
    if fmu.description.directions:
        check_directions(fmu)
    settable = [v for v in fmu.description.variables if (v.causality, v.variability) == ("parameter", "fixed")]
    constants = [v.name for v in fmu.description.variables if v.variability == "constant"]
    if model in PARAMETERS:
        same(constants, ["N"] if model == "disk-chain" else [])
        check_parameters(program, fmu, model, PARAMETERS[model])
    elif model not in PLAIN:
        check(settable or not constants, "no parameter can be set")


# Values that change the motion but not the start of the model.
PARAMETERS = {"suslov": {"I22": 2.5, "I13": 0.2}, "heavy-top": {"m": 1.3, "l": 0.7}, "fourbar-skate": {"k": 0.8, "m2": 0.9},
              "driven-sleigh": {"J": 3.0, "b": 0.4}, "disk-chain": {"k": 2.0, "J": 0.3}, "rolling-coin-rotation": {"g": 2.0}}


def check_parameters(program, fmu, model, values):
    """Parameters that are set: the motion of 'run --set' up to the growth of round-off; those of the description, set
    again, lead to the same bits."""
    settings = [word for name, value in values.items() for word in ("--set", f"{name}={value!r}")]
    names = state_names(fmu)
    defaults = {name: fmu.description.by_name[name].start for name in values}
    end = end_of_run(program, model, *settings)
    for kind in ("CoSimulation", "ModelExchange"):
        x = Instance(fmu, kind)
        x.initialise(**values)
        same(x.get(*values), list(values.values()))
        if kind == "CoSimulation":
            same(x.do_step(0.0, STEP * STEPS)[0], 0)
            found, most = x.get(*names), 1e-11
        else:
            found, most = x.integrate(0.0, STEP * STEPS, 4 * STEPS)[0], 1e-3
        size = 1 + max(map(abs, found))
        apart = max(abs(a - b) for a, b in zip(found, end["q"] + end["v"]))
        check(apart <= most * size, f"{kind} with {values}: {apart} from the run")
        try:
            x.set_all(values)
            check(False, "a parameter was set during the simulation")
        except Failure as failure:
            check("parameters can be set only before the initialization ends" in str(failure), str(failure))
        x.close(terminate=False)
    x = Instance(fmu, "CoSimulation")
    x.set_all(values)
    x.initialise(**defaults)
    same(x.do_step(0.0, STEP * STEPS)[0], 0)
    end = end_of_run(program, model)
    same(x.get(*names), end["q"] + end["v"], "parameters that are set to what they are")
    x.close()


def cases_of_models(program, everything):
    models = models_without_contacts(program) if everything else SOME
    for place, model in enumerate(models):
        for version in (2, 3):
            if everything or version == 2 + place % 2:
                def one(model=model, version=version):
                    with tempfile.TemporaryDirectory() as folder:
                        try_model(program, folder, model, version)
                yield f"{model} {version}.0", one


# ---- the interface ----


def test_other_steps(program, folder):
    """Communication steps that are not multiples of the step end with a shorter step, as a run does; very short ones are computed; invalid ones are errors."""
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
        check("must not be called in this state" in x.messages[-1][1], x.messages)
        x.initialise()
        same(x.do_step(0.0, 0.01)[0], 0)
        end = x.get(*state_names(fmu))
        try:
            x.set(x1=1.0)
            check(False, "a state was set")
        except Failure as failure:
            check("states can be set only before the initialization ends" in str(failure), str(failure))
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


def test_inputs_of_parameters(program, folder):
    """An input whose default depends on parameters that are set; derivatives with respect to inputs and parameters."""
    model = written("lift", folder, "model lift\nparameter m = 2, g = 9.81\ncoordinate z\ninput u = m*g\n"
                                    "lagrangian m/2*z'^2 - m*g*z\nforce z = u\nstart z' = 0.5\n")
    fmu = export(program, folder, model, "--step", STEP, "--method", "gauss", "--input", "u:held")
    x = Instance(fmu, "CoSimulation")
    x.initialise(m=4.0)
    same(x.do_step(0.0, 1.0)[0], 0)
    check(abs(x.get("der(z)")[0] - (0.5 - 9.81 / 2)) < 1e-12, "the input keeps the value of the description")
    x.close()
    y = Instance(fmu, "ModelExchange")
    y.initialise(m=4.0, u=3.0)
    same(y.directional(["der(z,2)"], {"u": 1.0}), [0.25])
    check(abs(y.directional(["der(z,2)"], {"m": 1.0})[0] + 3 / 16) < 1e-15, "by a parameter")
    check(abs(y.directional(["energy"], {"z": 1.0, "der(z)": 2.0})[0] - (4 * 9.81 + 4 * 0.5 * 2)) < 1e-13, "of the energy")
    y.close()


def test_inputs(program, folder):
    """An input that is left open is an input of the FMU, held over a communication step; others are as in the model."""
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
    same((done.returncode, done.stderr), (2, "nonholo: the input u is given by a table or at samples, which exports do not contain; "
                                             "declare it as open ('u:held') and set it where the export is used\n"))


WALL = """model wall
coordinate x
parameter e = 0.5
lagrangian x'^2/2 - 9.81*x
start x = 1
event floor: x falling
event top: x' falling
"""


def test_events(program, folder):
    """Events are indicators; events that change velocities are supported only in model exchange."""
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
    """Without a compiler the FMU has sources, which suffice to build a binary."""
    path = os.path.join(folder, "plain.fmu")
    done = program("export", "chaplygin-sleigh", "--format", "fmu", "--step", STEP, "-o", path, env={"NONHOLO_CC": "/nowhere/cc"})
    same(done.returncode, 0)
    same(done.stderr, "nonholo: there is no C compiler '/nowhere/cc': the FMU has sources but no binary, so importers have to compile it\n")
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
