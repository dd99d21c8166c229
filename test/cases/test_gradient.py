#!/usr/bin/env python3
"""test_gradient.py NONHOLO: gradients that are known from another program (gradient.json), those of sensitivity.json, against
derivatives forwards, closed forms and differences."""

import math
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "cli"))
sys.path.insert(0, HERE)
import table as tables  # noqa: E402
from harness import Program, cases_in_folders, check, run_all, same  # noqa: E402
from test_sensitivity import flattened, words_of  # noqa: E402

SLEIGH = os.path.join(HERE, "models/d-sleigh.nh")
BOUNCE = os.path.join(HERE, "models/d-bounce.nh")
STEERED = os.path.join(HERE, "models/d-steered.nh")
TABLES = ["--input", "push:{0}=[0 -0.2; 0.5 0.3; 1 0.8; 1.5 -0.2; 2 0.3]", "--input", "torque:{0}=[0 -0.3; 0.52 0.2; 1.01 0; 1.5 -0.2]"]

SPRING = """model spring
parameter m = 2, k = 3
parameter w = sqrt(k/m)
coordinate x
lagrangian m/2*x'^2 - k/2*x^2
start x = 1
observe square = x^2
"""

CHAIN = """model chain
parameter m1 = 1, m2 = 1.3, m3 = 0.8, k0 = 1.5, k1 = 1.2, k2 = 0.9
coordinate x, y, z
lagrangian m1*x'^2/2 + m2*y'^2/2 + m3*z'^2/2 - k0*x^2/2 - k1*(y - x)^2/2 - k2*(z - y)^2/2 - 0.1*(y - x)^4 - 0.2*(z - y)^4
start x = 1
observe cost = x^2 + y^2 + z^2
"""

DRIVEN = """model driven
parameter c = 0.3
input u = 0
coordinate x
lagrangian x'^2/2 - x^2/2
force x = u - c*x'
start x = 0.2
observe effort = u^2
"""


def close(found, expected, tolerance, what):
    check(abs(found - expected) <= tolerance, f"{what}: {found!r}, expected {expected!r}")


def run_case(program, case):
    words = ["gradient", os.path.join(HERE, case["model"]), "--of", case["of"], "--by", "all", "--method", case["method"],
             "--step", repr(case["step"]), "--steps", str(case["steps"])]
    found = program.json(*words)
    close(found["value"], case["value"], case["tolerance"] * abs(case["value"]), "value")
    most = max(abs(value) for value in case["gradient"].values())
    for name, value in case["gradient"].items():
        close(found["gradient"][name], value, case["tolerance"] * most, name)
    little = program.json(*words, "--memory", "200k")
    same(little["gradient"], found["gradient"], "gradients do not depend on the memory")
    check(little["memory"] < 200000, f"200 kB were allowed, {little['memory']} bytes used")


def run_known(program, case):
    """One output of the cases of derivatives forwards, here backwards."""
    columns = flattened(case["derivative"])
    output = case["outputs"][0]
    found = program.json("gradient", *words_of(case)[1:], "--of", output, "--by", ",".join(case.get("parameters") or case["inputs"]))
    for name, column in columns.items():
        close(found["gradient"][name], column[0], case["tolerance"] * max(1, *map(abs, column)), f"d({output})/d({name})")


def compare(program, model, of, *words, tolerance=1e-11):
    """Backwards and forwards."""
    back = program.json("gradient", model, "--of", of, "--by", "all", *words)
    by = program.json("run", model, "--sensitivity", "all", *words)["sensitivity"]
    same(list(back["gradient"]), list(by))
    most = max(abs(one["observables"].get(of, one["energy"])) for one in by.values())
    for name, one in by.items():
        expected = one["energy"] if of == "energy" else one["observables"][of]
        close(back["gradient"][name], expected, tolerance * most, f"{model} {of} by {name}")


def case_agrees_with_derivatives_forwards(program, folder):
    for model in "rattleback", "chaplygin-ball", "roller-racer", "snakeboard":
        compare(program, model, "energy", "--method", "dop853", "--step", "0.02", "--time", "0.4")
    path = written(folder, CHAIN)
    for method in "leapfrog", "gauss:stages=2", "discrete-gradient", "newmark", "rk4":
        compare(program, path, "cost", "--method", method, "--step", "0.05", "--steps", "60")
    compare(program, path, "cost", "--method", "gauss", "--compose", "suzuki", "--step", "0.05", "--steps", "40")
    compare(program, path, "cost", "--tolerance", "1e-9", "--time", "3")


def case_through_events_and_inputs(program, folder):
    compare(program, BOUNCE, "energy", "--method", "gauss", "--step", "0.01", "--time", "1.6")
    compare(program, BOUNCE, "energy", "--time", "1.6")
    compare(program, BOUNCE, "energy", "--method", "gauss", "--step", "0.01", "--time", "1.6", "--stop", "hit")
    flat = ["--set", "g=8,s=0,h0=1,e=0.5"]  # hits at 0.5, 1, 1.25
    for end in "0.5", "1", "1.3":  # at the end of a step, or in the last step, which is shorter
        compare(program, BOUNCE, "energy", "--method", "rk4", "--step", "0.1", "--time", end, *flat)
        compare(program, BOUNCE, "energy", "--method", "rk4", "--step", "0.25", "--time", end, *flat)
    for kind in "held", "linear", "spline":
        compare(program, STEERED, "energy", "--method", "gauss", "--step", "0.1", "--time", "2.2", *[word.format(kind) for word in TABLES])


def written(folder, text):
    path = os.path.join(folder, text.split()[1] + ".nh")
    with open(path, "w") as file:
        file.write(text)
    return path


def case_at_rest(program, folder):
    """Where nothing moves, own steps have errors of 0, whose roots have no derivative; nothing depends on them."""
    rest = written(folder, "model rest\nparameter k = 2\ncoordinate x\ncoordinate a angle\n"
                           "lagrangian x'^2 + x'*a'*cos(a) + a'^2/2 + cos(a) - k*x^2/2\n")
    for how in ([], ["--method", "dopri5", "--tolerance", "1e-6"], ["--method", "gauss", "--step", "0.1"]):
        found = program.json("gradient", rest, "--of", "x", "--by", "all", "--time", "2", *how)
        same((found["value"], found["gradient"]["k"]), (0, 0), how)
        forwards = program.json("run", rest, "--sensitivity", "start x,start a'", "--time", "2", *how)["sensitivity"]
        for name, columns in forwards.items():
            close(found["gradient"][name], columns["q"][0], 1e-9, f"{how}: {name}")


def case_names(program, folder):
    found = program.json("gradient", written(folder, CHAIN), "--of", "cost", "--by", "m*, start x", "--set", "m2=1.4", "--time", "2")
    same(list(found["gradient"]), ["m1", "m2", "m3", "start x"])


FAMILY = """model family
parameter N = 3, l = 0.5
parameter m[1..N] = (1, 2*l, 3), k[0..N - 1] = m[1]/2
parameter w = m[2]*k[0]
coordinate x, y, z
lagrangian m[1]*x'^2/2 + m[2]*y'^2/2 + m[3]*z'^2/2 - w*(x^2 + sum(i in 1..N: m[i])*y^2 + dot(m, (x, y, z))^2)/2 - z^2
start x = m[3]/10, y = k[2]
"""


def case_families_of_parameters(program, folder):
    path, how = written(folder, FAMILY), ["--method", "gauss", "--step", "0.05", "--time", "1"]
    found = program.json("gradient", path, "--of", "x", "--by", "m*,l", *how)["gradient"]
    same(list(found), ["m[1]", "m[2]", "m[3]", "l"])
    close(found["l"], 2 * found["m[2]"], 1e-13, "m[2] follows from l")
    checked = program.json("run", path, "--sensitivity", "all", "--verify", *how)["verify"]
    same(checked["checked"], 14)
    check(checked["difference"] < 1e-10, f"differences: {checked}")
    values = program.json("run", path, "--set", "m=2", "--set", "m[3]=5", *how)["parameters"]
    same([values[f"m[{i}]"] for i in (1, 2, 3)], [2, 2, 5])
    for text, message in [("m[4]=1", "'m[4]' does not exist: the index runs from 1 to 3"), ("l[1]=1", "unknown parameter 'l[1]'")]:
        done = program("run", path, "--set", text)
        check(done.returncode == 2 and message in done.stderr, done.stderr)


def case_derivatives_are_verified_by_differences(program, folder):
    """All variables are compared: also turns, rates of bodies without constraints, and values of tables."""
    turns = written(folder, "model turns\nparameter k = 1.3\nrotation R\ncoordinate x\nrotation S\nlet w = body(R), u = body(S)\n"
                            "lagrangian (w[1]^2 + 2*w[2]^2 + 3*w[3]^2 + u[1]^2 + 2*u[2]^2 + u[3]^2 + x'^2)/2 - k*x*R[1,3] - R[3,3]*S[1,3]\n"
                            "start body(R) = (0.3, 1, 0.2), x = 0.4, body(S) = (1, 0.2, -0.5)\n")
    # positions move to the nearest ones, velocities as `start solve` says
    solves = written(folder, "model solves\nparameter m = 1.3, l = 1.1\ncoordinate x, y, z, s\n"
                             "lagrangian (x'^2 + 2*y'^2 + m*z'^2 + s'^2)/2 - 9.81*z - s^2 - x*s\n"
                             "constraint rod: x^2 + y^2 + z^2 = l^2\nconstraint drive: s' = x*y' - 0.3*y*x'\n"
                             "start x = 0.3, y = 0.4, z = -sqrt(l^2 - 0.25), s = 0.2, x' = 0.5, y' = -0.2\nstart solve z', s'\n")
    # all terms of what l changes in the constraints cancel
    cancels = written(folder, "model cancels\nparameter l = 1, m = 1.2\ncoordinate a, b, c\n"
                              "let P = l*(sin(a), -cos(a)), Q = (1.5, 0) + l*(sin(c), -cos(c))\n"
                              "lagrangian m*dot(P', P')/2 + dot(Q', Q')/2 + (a'^2 + b'^2 + c'^2)/20 + 9.81*l*(cos(a) + cos(c))\n"
                              "constraint loop: P + 1.5*(cos(b), sin(b)) = Q\nstart a = 0.6, c = 0.6, a' = 0.3\nstart solve b', c'\n")
    tables = [word for kind, points in (("push:spline", "0 0.5; 0.3 -0.2; 1 0.4"), ("torque:linear", "0 0.2; 0.02 0.1"))
              for word in ("--input", f"{kind}=[{points}]")]
    shipped = ["ball-in-bowl", "fourbar-skate", "chaplygin-sleigh", "two-wheeled-robot", "pendulum-cvt", "knife-edge"]
    for model, more, count in [(name, [], None) for name in shipped] + [(turns, [], 15), (solves, [], 8), (cancels, [], None), (STEERED, tables, 15)]:
        found = program.json("run", model, "--sensitivity", "all", "--verify", "--method", "gauss:stages=2", "--step", "0.01", "--steps", "5", *more)
        check(found["verify"]["difference"] < 1e-9, f"{model}: {found['verify']}")
        if count:
            same(found["verify"]["checked"], count, model)


def case_remarks(program, folder):
    """Kinks that are crossed, and growth beyond all digits, both ways."""
    kink = written(folder, "model kink\nparameter k = 1\ncoordinate x\nlagrangian x'^2/2 - k*abs(x - 0.2)\nstart x = 1\n")
    expo = written(folder, "model expo\nparameter k = 1\ncoordinate x\nlagrangian x'^2/2 + k*x^2/2\nstart x = 1\n")
    for path, time, expected in (kink, "3", "near t = 1.2"), (kink, "1.2", None), (expo, "40", "derivatives reach 2.4e+18"), (expo, "20", None):
        for how in (), ("--method", "gauss", "--step", "0.01"):
            for command in ("run", path, "--sensitivity", "k"), ("gradient", path, "--of", "x", "--by", "k"):
                remarks = [text for text in program.json(*command, "--time", time, *how)["remarks"] if "derivatives" in text]
                check(bool(remarks) == bool(expected) and all(expected in text for text in remarks), f"{command}: {remarks}")


def case_events_that_only_touch(program, folder):
    """A ball that just reaches the ceiling: derivatives end there, those of the time before are kept; the run goes on."""
    ceiling = written(folder, "model ceiling\nparameter g = 8, h = 1\ncoordinate y\nlagrangian y'^2/2 - g*y\n"
                              "event top: y - h rising\nwhen top: y' = -y'\nstart y' = 4\n")
    for how in (), ("--method", "rk4", "--step", "0.3"):
        for command in ("run", ceiling, "--sensitivity", "h"), ("gradient", ceiling, "--of", "y", "--by", "h"):
            done = program(*command, "--time", "1", *how)
            same(done.returncode, 1, done.stderr)
            check("t = 0.5: the event 'top' only grazes zero (the rate of its function is" in done.stderr, done.stderr)
            same(program(*command, "--time", "0.4", *how).returncode, 0)
        check("'top' (t = 0.5)" in program("run", ceiling, "--time", "1", *how).stderr, "a remark without derivatives")


def case_own_steps_at_fine_tolerances(program, folder):
    """Round-off decides which steps are taken: those with derivatives by parameters are the run's all the same. Found 5e-12."""
    def by(tolerance, command=("run", "--sensitivity")):
        return program.json(command[0], "benchmark-bicycle", command[1], "w,c", *command[2:], "--tolerance", tolerance, "--time", "1")

    fine, coarse = by("1e-13")["sensitivity"], by("5e-13")["sensitivity"]
    back = by("5e-13", ("gradient", "--by", "--of", "y"))["gradient"]
    for name in "w", "c":
        for kind in "q", "v":
            for i, (a, b) in enumerate(zip(coarse[name][kind], fine[name][kind])):
                close(a, b, 2e-10, f"{kind}[{i}] by {name}")
        close(back[name], coarse[name]["q"][1], 1e-12, f"y by {name}, backwards")


def case_integrals(program, folder):
    """Of cos(w t)^2, w^2 = k/m, by k; and of an input that is held."""
    path, k, m, time = written(folder, SPRING), 3.0, 2.0, 2.0
    found = program.json("gradient", path, "--of", "square", "--at", "integral", "--by", "k,start x", "--method", "gauss:stages=4",
                         "--step", "0.02", "--time", str(time))
    w = math.sqrt(k / m)
    close(found["value"], time / 2 + math.sin(2 * w * time) / (4 * w), 1e-12, "integral")
    by_w = time * math.cos(2 * w * time) / (2 * w) - math.sin(2 * w * time) / (4 * w * w)
    close(found["gradient"]["k"], by_w / (2 * w * m), 1e-11, "by k")
    close(found["gradient"]["start x"], 2 * found["value"], 1e-11, "by start x")
    values = [0.5, -1.0, 2.0]
    points = "; ".join(f"{t} {u}" for t, u in zip((0, 0.5, 1), values))
    found = program.json("gradient", written(folder, DRIVEN), "--of", "effort", "--at", "integral", "--by", "u", "--input", f"u:held=[{points}]",
                         "--method", "gauss", "--step", "0.05", "--time", "1.5")
    close(found["value"], sum(u * u for u in values) / 2, 1e-13, "effort")
    for i, u in enumerate(values):
        close(found["gradient"][f"u[{i}]"], u, 1e-13, f"u[{i}]")


def case_integrals_with_inputs_agree_with_differences(program, folder):
    path = written(folder, DRIVEN)

    def at(third):
        return program.json("gradient", path, "--of", "energy", "--at", "integral", "--by", "u", "--input", f"u:held=[0 0.5; 0.5 {third!r}; 1 2]",
                            "--method", "gauss", "--step", "0.05", "--time", "1.5")

    d = 1e-3
    close(at(-1.0)["gradient"]["u[1]"], (at(-1.0 + d)["value"] - at(-1.0 - d)["value"]) / (2 * d), 1e-8, "u[1]")


def case_data(program, folder):
    """The sum of squares is that of a fit, and its gradient vanishes at the estimate."""
    data = os.path.join(HERE, "sleigh-data.csv")
    fit = program.json("fit", SLEIGH, data, "--fit", "J,a")
    settings = [f"--set={name}={value!r}" for name, value in fit["estimate"].items()]
    found = program.json("gradient", SLEIGH, "--at", data, "--by", "J,a", *settings)
    close(found["value"], fit["residual_sum"], 1e-9, "sum of squares")
    for name in "J", "a":
        close(found["gradient"][name], 0, 1e-6, name)
    one = program.json("gradient", SLEIGH, "--of", "x", "--at", data, "--by", "J", "--method", "gauss", "--step", "0.05")
    d = 1e-4

    def value(J):
        return program.json("gradient", SLEIGH, "--of", "x", "--at", data, "--by", "J", "--method", "gauss", "--step", "0.05", "--set", f"J={J!r}")["value"]

    J = 2.1
    close(one["gradient"]["J"], (value(J + d) - value(J - d)) / (2 * d), 1e-6 * abs(one["gradient"]["J"]), "J")


def main():
    program = Program(sys.argv[1])
    cases = tables.read(os.path.join(HERE, "gradient.json"))["cases"]
    known = [case for case in tables.read(os.path.join(HERE, "sensitivity.json"))["cases"] if not case["outputs"][0].startswith("R.")]
    return run_all([(case["id"], lambda case=case: run_case(program, case)) for case in cases] +
                   [(case["id"], lambda case=case: run_known(program, case)) for case in known] + cases_in_folders(globals(), program))


if __name__ == "__main__":
    sys.exit(main())
