#!/usr/bin/env python3
"""test_python.py NONHOLO SOURCE: the Python module against the command line, bit for bit. PYTHONPATH leads to the
module under test. Parts that need SymPy or xarray are left out, and named, where those are missing."""

import copy
import csv
import ctypes
import doctest
import importlib
import importlib.util
import os
import pickle
import subprocess
import sys
import tempfile
import warnings

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))
sys.path.insert(0, os.path.join(sys.argv[2], "tools"))

import numpy as np
from harness import PATIENCE, Program, check, run_all, same

import header
import nonholo
from nonholo import _header

PROGRAM, SOURCE = Program(sys.argv[1]), sys.argv[2]


def have(module):
    return importlib.util.find_spec(module) is not None


# ---- the declarations ----


def check_layout():
    """Sizes and offsets of every structure, as the C compiler sees them."""
    items = [i for i in header.read(os.path.join(SOURCE, "include", "nonholo.h")) if i.kind == "struct"]
    lines = ['#include "nonholo.h"', "#include <stdio.h>", "int main(void) {"]
    for item in items:
        lines.append(f'printf("{item.name} %zu\\n", sizeof({item.name}));')
        lines += [f'printf("{item.name}.{n} %zu\\n", offsetof({item.name}, {n}));' for _, n in item.members]
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "layout")
        with open(path + ".c", "w") as file:
            file.write("\n".join(lines + ["}"]))
        subprocess.run(["cc", "-I", os.path.join(SOURCE, "include"), path + ".c", "-o", path], check=True)
        expected = subprocess.run([path], capture_output=True, text=True, check=True).stdout.split("\n")
    for line in filter(None, expected):
        name, size = line.split()
        struct, _, member = name.partition(".")
        made = getattr(_header, struct)
        same(getattr(made, member).offset if member else ctypes.sizeof(made), int(size), name)
    check(len(items) >= 10, "structures were not found")


# ---- numbers ----

RUNS = [
    (["chaplygin-sleigh", "--method", "gauss:stages=3", "--step", ".1", "--time", "100"],
     dict(model="chaplygin-sleigh", method="gauss", stages=3, step=0.1, time=100)),
    (["pendulum-cvt", "--method", "dla01", "--step", ".05", "--steps", "200000", "--set", "eps=0.1"],
     dict(model="pendulum-cvt", method="dla01", step=0.05, steps=200000, set={"eps": 0.1})),
    (["rolling-disk", "--method", "newmark:beta=.1", "--step", ".1", "--steps", "77", "--start", "theta'=2,x1=.5", "--project", "--every", "10"],
     dict(model="rolling-disk", method="newmark", beta=".1", step=0.1, steps=77, start={"theta'": 2, "x1": 0.5}, project=True, every=10)),
    (["chaotic-particle", "--method", "dla01", "--compose", "suzuki", "--step", ".1", "--steps", "500", "--set", "N=3", "--backend", "compiled"],
     dict(model="chaotic-particle", method="dla01", compose="suzuki", step=0.1, steps=500, set={"N": 3}, backend="compiled")),
    (["rolling-disk", "--compose", "dla:1/4,gauss:1/2,dla:1/4", "--step", ".1", "--steps", "50"],
     dict(model="rolling-disk", compose="dla:1/4,gauss:1/2,dla:1/4", step=0.1, steps=50)),
    (["turntable-ball", "--method", "gauss", "--step", ".1", "--steps", "50", "--t0", "1", "--project", "--compensated", "on"],
     dict(model="turntable-ball", method="gauss", step=0.1, steps=50, t0=1, project=True, compensated=True)),
    (["suslov", "--step", ".1", "--steps", "50"], dict(model="suslov", step=0.1, steps=50)),
]


def check_run(words, keywords):
    """Every number of the command line's table, and its summary, against the arrays."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "run.csv")
        told = PROGRAM.json("run", *words, "-o", path, "--quiet", "--estimate")
        with open(path) as file:
            names, *rows = list(csv.reader(file))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        run = nonholo.simulate(**keywords, estimate=True)
    same(run.remarks, told["remarks"], "remarks")
    same([str(w.message) for w in caught], run.remarks, "warnings")
    same((run.estimate, run.estimate_q.tolist(), run.estimate_v.tolist()),
         (told["estimate"], told["estimate_q"], told["estimate_v"]), "estimate")
    same(nonholo.simulate(**keywords, estimate=False).estimate, None)
    same(run.columns, names, "columns")
    table = np.array(rows, dtype=float)
    same(table.shape, (len(run), len(names)), "shape of the table")
    for i, name in enumerate(names):
        check(np.array_equal(run[name], table[:, i]), f"column {name} differs")
    same(run.q[-1].tolist(), told["q"], "q")
    same(run.v[-1].tolist(), told["v"], "v")
    for key in ("energy_error_max", "constraint_max", "steps", "step"):
        same(getattr(run, key), told[key], key)
    same({n: a[-1] for n, a in run.observables.items()}, told["observables"], "observables")


def check_facts(model):
    told = PROGRAM.json("check", model)
    facts = nonholo.load(model).check()
    for key in ("constant_mass", "separable", "linear", "affine", "keeps_energy", "reversible", "integrable", "coupled", "volume_kept", "invariant_measure",
                "driver", "rank", "conserved", "parameters", "coordinates", "velocities", "observables", "advised",
                "advised_because", "advised_for_speed", "mass_entries", "fibration"):
        same(getattr(facts, key), told[key], f"{model}: {key}")
    same(facts.methods, [m["name"] for m in told["methods"] if m["applies"]], "methods")
    same(facts.constraints, {c["name"]: c["kind"] for c in told["constraints"]}, "constraints")


def check_compare(model):
    words = ["--methods", "dla01,gauss,rk4", "--step", ".1", "--time", "50"]
    told = PROGRAM.json("compare", model, *words)
    found = nonholo.compare(model, ["dla01", "gauss", "rk4"], step=0.1, time=50)
    for one, other in zip(found, told["methods"]):
        same(list(one.largest), list(other["errors"]), "quantities")
        for name, error in other["errors"].items():
            same(one.largest[name], error["max"], f"{one.method}: largest error of {name}")
            same(one.drift[name], error["slope"], f"{one.method}: drift of {name}")
            same(one.drift_error[name], error["slope_error"], f"{one.method}: drift error of {name}")
            same(one.verdict[name], error["verdict"], f"{one.method}: verdict on {name}")


def check_order():
    told = PROGRAM.json("order", "pendulum-cvt", "--methods", "dla01,gauss:stages=2")
    found = nonholo.order("pendulum-cvt", ["dla01", "gauss:stages=2"])
    for one, other in zip(found, told["methods"]):
        same(one.order, other["order"], one.method)
        same(one.errors, [p["error"] for p in other["points"]], one.method)


def check_multipliers():
    """M v' = gradient + A^T l, assembled by hand for the knife edge: v' = (1, 0, 0) + l (-sin, cos, 0)."""
    run = nonholo.simulate("knife-edge", "gauss", stages=3, step=0.1, time=3)
    system = nonholo.load("knife-edge").system()
    for q, v, l in zip(run.q, run.v, run.multipliers[:, 0]):
        a, multiplier = system.acceleration(q, v)
        same(multiplier[0], l, "multiplier")
        expected = np.array([1 - l * np.sin(q[2]), l * np.cos(q[2]), 0])
        check(np.abs(a - expected).max() < 1e-14, f"acceleration off by {np.abs(a - expected).max():.1e}")
        # v' of the constraint: -cos x1' xi' - sin x1'' - sin x2' xi' + cos x2'' = 0
        check(abs(-np.cos(q[2]) * v[0] * v[2] - np.sin(q[2]) * v[1] * v[2] + l - np.sin(q[2])) < 1e-13, "multiplier is wrong")


# ---- ensembles ----


def check_ensemble():
    starts = [{"x": 0.1 * i, "xi": 0.3} for i in range(21)]
    many = nonholo.ensemble("pendulum-cvt", "dla01", step=0.1, steps=300, starts=starts, project=True, threads=2, every=100)
    same(many.q.shape, (21, 4, 3), "shape")
    for i in (0, 7, 8, 20):
        alone = nonholo.simulate("pendulum-cvt", "dla01", step=0.1, steps=300, start=starts[i], project=True, every=100)
        for name in ("q", "v"):
            check(np.array_equal(getattr(alone, name), getattr(many, name)[i]), f"{name} of member {i} differs")
        check(np.array_equal(alone.energy, many.energy[i]), f"energy of member {i} differs")
        apart = np.abs(alone.multipliers - many.multipliers[i]).max()  # there at the wrapped angle
        check(apart < 1e-14, f"multipliers of member {i} differ by {apart:.1e}")
        check(np.array_equal(alone.t, many.t), "times differ")
    swept = nonholo.ensemble("pendulum-cvt", "dla01", step=0.1, steps=100, sweep={"eps": (0, 0.2, 2), "sign": (1, -1, 2)})
    same(swept.parameters["eps"].tolist(), [0, 0, 0.2, 0.2], "eps")
    alone = nonholo.simulate("pendulum-cvt", "dla01", step=0.1, steps=100, set={"eps": 0.2, "sign": 1})
    check(np.array_equal(alone.q[-1], swept.q[2, -1]), "a swept member differs")
    error = raised(nonholo.UsageError, nonholo.ensemble, "pendulum-cvt", "dla01", step=0.1, steps=1, sweep={"epsi": (0, 1, 2)})
    check("epsi" in str(error), str(error))


def check_random_ensemble():
    """The statistics of the command line, computed from the arrays."""
    words = ["--members", "100", "--energy", "1.535", "--seed", "3", "--method", "dla01", "--step", ".1", "--steps", "100"]
    told = PROGRAM.json("ensemble", "chaotic-particle", *words)
    found = nonholo.ensemble("chaotic-particle", "dla01", step=0.1, steps=100, members=100, energy=1.535, seed=3, threads=2)
    last = found.energy_error[:, -1]
    text = repr(told)
    check(repr(float(last.max())) in text and repr(float(last.min())) in text, "the range of the energy error is not the command line's")


def check_machines():
    """Distributions as a mapping or as a text; files of spreadsheets; nothing to vary."""
    how = {"step": 0.05, "time": 0.1, "members": 3}
    texts = {"m": "normal(1, 0.1)", "theta": "uniform(-1, 2*(1 + 1))"}
    one, two = (nonholo.ensemble("snakeboard", random=given, **how) for given in (texts, ", ".join(f"{n}={d}" for n, d in texts.items())))
    check(np.array_equal(one.q, two.q) and list(one.parameters) == ["m", "theta"], "text and mapping differ")
    raised(ValueError, nonholo.ensemble, "snakeboard", random="m normal(1, 0.1)", **how)
    with tempfile.NamedTemporaryFile(suffix=".csv") as file:
        file.write(b'\xef\xbb\xbf"m", theta\r\n"1", 0.2\r\n\r\n1.5,0.3\r\n')
        file.flush()
        listed = nonholo.ensemble("snakeboard", **{**how, "members": file.name})
    same([listed.parameters[name].tolist() for name in ("m", "theta")], [[1, 1.5], [0.2, 0.3]])
    for empty in {"members": 0}, {"members": {"m": []}}, {"members": None, "sweep": {"m": []}}:
        raised(ValueError, nonholo.ensemble, "snakeboard", **{**how, **empty})


def check_failing_members():
    model = nonholo.load("model fall\ncoordinate x\nlagrangian x'^2/2 + x^5\nstart x = 1\n")
    found = nonholo.ensemble(model, "rk4", step=0.01, steps=400, q=[[0.0], [1.0], [0.1]], v=[[0.0]], every=100)
    same(list(found.failures), [1], "failed members")
    check(np.isfinite(found.q[[0, 2]]).all() and np.isnan(found.q[1, -1]).all(), "rows of members")


def check_stopped():
    def stop(share):
        raise KeyboardInterrupt

    raised(KeyboardInterrupt, nonholo.ensemble, "pendulum-cvt", "dla01", step=0.1, steps=10**7, every=10**5, starts=[{}] * 16, progress=stop)


# ---- failures ----


def raised(kind, function, *arguments, **keywords):
    try:
        function(*arguments, **keywords)
    except kind as error:
        return error
    raise AssertionError(f"{kind.__name__} was not raised")


def check_errors():
    error = raised(nonholo.ModelError, nonholo.load, "model m\ncoordinate x\nlagrangian x'^2/2 - thta\n", file="mine.nh")
    same((error.line, error.column), (3, 21), "place")
    check("mine.nh:3:21" in str(error) and "^" in str(error), str(error))
    error = raised(nonholo.UsageError, nonholo.simulate, "chaplygin-sleigh", "leapfrog", step=0.1, steps=1)
    check("constant mass" in str(error), str(error))
    error = raised(nonholo.UsageError, nonholo.simulate, "pendulum-cvt", "dla01", step=0.1, steps=1, start={"y'": 1})
    check(error.residual > 0.9, "residual")
    raised(nonholo.UsageError, nonholo.simulate, "pendulum-cvt", "gauss", stagess=3, step=0.1, steps=1)
    raised(ValueError, nonholo.simulate, "pendulum-cvt", step=0.1, steps=1, time=1)
    raised(ValueError, nonholo.simulate, "pendulum-cvt", step=0.1, steps=1, q=[1, 2])
    raised(KeyError, nonholo.simulate("pendulum-cvt", step=0.1, steps=1).__getitem__, "z")


def check_shapes():
    """A gradient of another length is refused, not taken for all coordinates."""
    for wrong in ([1.0], 1.0, [1.0, 2.0, 3.0]):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            text = raised(nonholo.Error, lambda: nonholo.simulate(
                nonholo.from_functions(2, mass=lambda q: np.eye(2), constant_mass=True, potential=lambda q: 0.0, gradient=lambda q: wrong), "gauss", step=0.1, steps=2))
        check("expected (2,)" in str(text.__cause__), text)


def check_partial():
    """The points computed by a failing run are kept."""
    model = nonholo.load("model fall\ncoordinate x\nlagrangian x'^2/2 + x^5\nstart x = 1\n")
    error = raised(nonholo.ComputationError, nonholo.simulate, model, "rk4", step=0.01, time=100)
    check(error.step > 1 and len(error.trajectory) > 1, "nothing was kept")
    check(np.isfinite(error.trajectory.q).all(), "what is kept is not finite")


# ---- functions ----


def cvt_functions(fail_at=None):
    def constraint(q):
        if fail_at is not None and q[2] > fail_at:
            raise KeyError("too far")
        return np.array([[np.sin(q[2]), 1.0, 0.0]])

    return nonholo.from_functions(
        3, 1, potential=lambda q: (q[0] ** 2 + q[1] ** 2) / 2 + np.cos(q[2]),
        gradient=lambda q: np.array([q[0], q[1], -np.sin(q[2])]), constraint=constraint, reaction_is_linear=True)


def check_functions():
    start = dict(q=[1, 1, 0], v=[0, 0, 2.82842712])
    text = nonholo.simulate("pendulum-cvt", "dla01", step=0.05, time=20, **start)
    ours = nonholo.simulate(cvt_functions(), "dla01", step=0.05, time=20, **start)
    check(np.abs(text.q[-1] - ours.q[-1]).max() < 1e-10, "functions and text differ")
    error = raised(nonholo.ComputationError, nonholo.simulate, cvt_functions(3.0), "dla01", step=0.05, time=20, **start)
    check(isinstance(error.__cause__, KeyError), "the cause is lost")
    check(len(error.trajectory) > 10, "what was computed is lost")


# ---- SymPy ----


def check_sympy():
    import sympy
    from sympy.physics.mechanics import dynamicsymbols

    x, y, theta = q = dynamicsymbols("x1 x2 theta")
    dx, dy, w = (c.diff() for c in q)
    m, J, a = sympy.symbols("m J a")
    side = dy * sympy.cos(theta) - dx * sympy.sin(theta)
    L = m * (dx**2 + dy**2) / 2 + (J + m * a**2) * w**2 / 2 + m * a * w * side
    model = nonholo.from_sympy(L, q, {"no_slip": side}, {m: 1, J: 8, a: 1}, angles=[theta])
    state = nonholo.load("chaplygin-sleigh").system().start()
    ours = nonholo.simulate("chaplygin-sleigh", "gauss", stages=3, step=0.1, time=50)
    theirs = nonholo.simulate(model, "gauss", stages=3, step=0.1, time=50, q=state[0], v=state[1])
    check(np.abs(ours.q[-1] - theirs.q[-1]).max() < 1e-11, "the sleigh from SymPy goes elsewhere")
    error = raised(ValueError, nonholo.from_sympy, L, q, [side], {m: 1, J: 8})
    check("a" in str(error), str(error))
    odd = sympy.sqrt(1 + dx**2) - sympy.Rational(2, 3) / (1 + x**2) ** sympy.Rational(3, 2) - sympy.exp(-x) * sympy.Abs(x)
    value = nonholo.from_sympy(odd, [x]).system().energy([0.3], [0.4])
    number = (dx * odd.diff(dx) - odd).subs({dx: 0.4}).subs({x: 0.3})
    check(abs(value - float(number)) < 1e-14, f"energy {value}, by SymPy {number}")


def check_sympy_pieces():
    """Max, Min, Piecewise, sign and matrices, compared with SymPy's values."""
    import sympy
    from sympy.physics.mechanics import dynamicsymbols

    x, y = dynamicsymbols("x y")
    dx, dy = x.diff(), y.diff()
    bent = sympy.Piecewise((x**2, x < 0), (3 * x, (x <= 1) & (y > 0)), (sympy.cos(x), (x > 5) | (y < -1)), (y, True))
    seen = {
        "a": sympy.Max(x, y, 1) - sympy.Min(x, y, dx),
        "b": sympy.sign(x) * sympy.Abs(y),
        "c": bent,
        "d": sympy.Matrix([x, x * y, dy]),
        "e": sympy.Matrix([[1, x], [y, 2]]) * sympy.Matrix([dx, dy]),
    }
    plain = sympy.symbols("X Y DX DY")
    model = nonholo.from_sympy(dx**2 / 2 + dy**2 / 2, [x, y], [sympy.Matrix([dx - y * dy])], observe=seen)
    system = model.system()
    names = list(system.observables)
    same(names, ["a", "b", "c", "d[1]", "d[2]", "d[3]", "e[1]", "e[2]"], "names")
    flat = [e for value in seen.values() for e in (value if hasattr(value, "shape") else [value])]
    for q in [(-0.5, 2), (0.5, 1), (0.5, -3), (7, 1), (2, 0.3)]:
        v = (0.4, -0.2)
        at = dict(zip(plain, (*q, *v)))
        expected = [float(sympy.sympify(e).subs({dx: plain[2], dy: plain[3]}).subs({x: plain[0], y: plain[1]}).subs(at)) for e in flat]
        found = [float(a) for a in system.observe(q, v).values()]
        check(max(abs(a - b) for a, b in zip(found, expected)) < 1e-15, f"{q}: {found} for {expected}")
    error = raised(ValueError, nonholo.from_sympy, sympy.Piecewise((dx, x > 0)), [x])
    check("(value, True)" in str(error), str(error))


def check_positions_from_kane():
    """A pendulum in x and y with a configuration constraint, beside one in its angle."""
    import sympy
    from sympy.physics.mechanics import KanesMethod, LagrangesMethod, Particle, Point, ReferenceFrame, dynamicsymbols

    x, y, u, w = dynamicsymbols("x y u w")
    m, g, l = sympy.symbols("m g l")
    N, O, P = ReferenceFrame("N"), Point("O"), Point("P")
    O.set_vel(N, 0)
    P.set_pos(O, x * N.x + y * N.y)
    P.set_vel(N, u * N.x + w * N.y)
    bob = Particle("bob", P, m)
    kane = KanesMethod(N, q_ind=[x], q_dependent=[y], u_ind=[u], u_dependent=[w], kd_eqs=[x.diff() - u, y.diff() - w],
                       configuration_constraints=[x**2 + y**2 - l**2], velocity_constraints=[x * u + y * w])
    kane.kanes_equations([bob], [(P, -m * g * N.y)])
    start = {x: 0.6, y: -0.8, u: 0.8, w: 0.6}
    values = {m: 1, g: 2, l: 1}
    L = m * (x.diff() ** 2 + y.diff() ** 2) / 2 - m * g * y
    lagrange = LagrangesMethod(L, [x, y], hol_coneqs=[x**2 + y**2 - l**2])
    lagrange.form_lagranges_equations()
    angle = nonholo.load("model p\ncoordinate a\nlagrangian a'^2/2 + 2*cos(a)\nstart a = atan2(0.6, 0.8), a' = 1\n")
    a = nonholo.simulate(angle, "gauss", stages=3, step=0.01, time=5).q[-1][0]
    for model in (nonholo.from_mechanics(kane, values, start=start),
                  nonholo.from_mechanics(lagrange, values, start={x: 0.6, y: -0.8, x.diff(): 0.8, y.diff(): 0.6})):
        same(model.text.count("constraint"), 1, model.text)
        end = nonholo.simulate(model, "discrete-gradient", compose="yoshida6", step=0.01, time=5)
        apart = np.abs(end.q[-1] - [np.sin(a), -np.cos(a)]).max()
        check(apart < 1e-8, f"the pendulum ends {apart:.1e} away")  # 3e-10
        check(abs(np.hypot(*end.q[-1]) - 1) < 1e-14, "the length changed")


def check_rotation():
    """The form of a rotation in Python: a quaternion and the body rate."""
    text = "model r\ncoordinate x\nrotation R\nlet w = body(R)\nlagrangian x'^2/2 + (w[1]^2 + 2*w[2]^2 + 3*w[3]^2)/2\n" \
           "start R = turn((0, 0, 1), 1), body(R) = (0.1, 1, 0.2), x' = 1\n"
    run = nonholo.simulate(nonholo.load(text), "discrete-gradient", step=0.01, steps=100)
    same(run.q.shape[1], 5, "coordinates")
    same(run.v.shape[1], 4, "velocities")
    same(list(run.system.velocities), ["x'", "R.w1", "R.w2", "R.w3"], "names")
    check(np.abs((run.q[:, 1:] ** 2).sum(1) - 1).max() < 1e-14, "length")
    energy = run.v[:, 0] ** 2 / 2 + run.v[:, 1:] ** 2 @ [0.5, 1, 1.5]
    check(np.abs(energy - energy[0]).max() < 1e-14, "energy")
    q, v = run.system.start()
    acceleration, _ = run.system.acceleration(q, v)
    w = v[1:]
    euler = [(2 - 3) * w[1] * w[2], (3 - 1) / 2 * w[2] * w[0], (1 - 2) / 3 * w[0] * w[1]]
    check(np.abs(acceleration[1:] - euler).max() < 1e-14, f"{acceleration}, by Euler's equations {euler}")


def check_bridge():
    sys.path.insert(0, os.path.join(SOURCE, "examples", "python"))
    import bridge

    disk = nonholo.simulate(bridge.disk(), "gauss", stages=3, step=0.05, time=20, project=True)
    check(disk.constraint_max < 5e-14, f"constraints {disk.constraint_max:.1e}")
    check(disk.system.check().keeps_energy, "gravity was not found to have a potential")
    upright = np.array([0, 0, 0, np.pi / 2, 0])  # the shipped coin measures its lean from the ground
    coin = nonholo.simulate("rolling-coin", "gauss", stages=3, step=0.05, time=20, q=disk.q[0] + upright, v=disk.v[0])
    apart = np.abs(disk.q[-1] + upright - coin.q[-1]).max()
    check(apart < 1e-11, f"the disk of KanesMethod ends {apart:.1e} from the shipped coin")
    sleigh = bridge.sleigh()
    facts = sleigh.check()
    same(facts.integrable, False, "sleigh")
    state = sleigh.system().start()
    shipped = nonholo.simulate("chaplygin-sleigh", "gauss", stages=3, step=0.05, time=20, q=state[0], v=state[1])
    ours = nonholo.simulate(sleigh, "gauss", stages=3, step=0.05, time=20)
    check(np.abs(shipped.q[-1] - ours.q[-1]).max() < 1e-11, "the sleigh of LagrangesMethod goes elsewhere")


def rolling_disc(auxiliary=False, slides=False):
    """The disc of SymPy's documentation, whose contact point has velocity 0: with Kane's method, and with auxiliary speeds for
    the forces at the contact."""
    import sympy
    from sympy.physics.mechanics import KanesMethod, Point, ReferenceFrame, RigidBody, dynamicsymbols, inertia

    q, u, w, f = (dynamicsymbols(name) for name in ("q1:4", "u1:4", "w1:4", "f1:4"))
    m, r, g = sympy.symbols("m r g")
    N = ReferenceFrame("N")
    Y = N.orientnew("Y", "Axis", [q[0], N.z])
    L = Y.orientnew("L", "Axis", [q[1], Y.x])
    R = L.orientnew("R", "Axis", [q[2], L.y])
    turning = R.ang_vel_in(N)
    R.set_ang_vel(N, u[0] * L.x + (2 * u[1] if slides else u[1]) * L.y + u[2] * L.z)
    C = Point("C")
    ahead, across = L.x, Y.z.cross(L.x)
    C.set_vel(N, w[0] * ahead + w[1] * across + w[2] * Y.z if auxiliary else 0)
    centre = C.locatenew("centre", r * L.z)
    centre.v2pt_theory(C, N, R)
    body = RigidBody("disc", centre, R, m, (inertia(L, m * r**2 / 4, m * r**2 / 2, m * r**2 / 4), centre))
    rates = [(u[0] * L.x + u[1] * L.y + u[2] * L.z - turning).dot(axis) for axis in L]
    more = {"u_auxiliary": list(w)} if auxiliary else {}
    kane = KanesMethod(N, q_ind=list(q), u_ind=list(u), kd_eqs=rates, **more)
    loads = [(centre, -m * g * Y.z)] + ([(C, f[0] * ahead + f[1] * across + f[2] * Y.z)] if auxiliary else [])
    kane.kanes_equations([body], loads)
    return kane, {m: 1, r: 1, g: 1}, q, u


def check_hidden_constraints():
    """SymPy's textbook disc puts the rolling condition into the velocities: it gets coordinates for the place of its centre, and
    rolls like the shipped coin."""
    for auxiliary in False, True:
        kane, values, q, u = rolling_disc(auxiliary)
        disc = nonholo.from_mechanics(kane, values, start={q[1]: 0.3, u[0]: 0.2, u[1]: 1.5, u[2]: 0.4})
        found = nonholo.simulate(disc, "gauss", stages=3, step=0.02, time=5)
        same(found.system.coordinates, ["q1", "q2", "q3", "disc_x", "disc_y"], "coordinates")
        check(found.energy_error_max < 1e-10 and disc.check().keeps_energy, f"energy {found.energy_error_max:.1e}")
        coin = nonholo.load("""model coin
coordinate x, y
coordinate yaw, lean, spin angle
let P = turn((0, 0, 1), yaw)*turn((1, 0, 0), lean)
gravity (0, 0, -1)
wheel w radius 1 mass 1 inertia (1/4, 1/2) at (x, y, 0) + P*(0, 0, 1) attitude P axis (0, 1, 0) spin spin
start solve x', y'
""")
        start = dict(zip(["yaw", "lean", "spin", "yaw'", "lean'", "spin'"], [*found.q[0][:3], *found.v[0][:3]]))
        rolled = nonholo.simulate(coin, "gauss", stages=3, step=0.02, time=5, start=start)
        apart = np.abs(found.q[-1][:3] - rolled.q[-1][2:]).max()
        check(apart < 1e-8, f"the disc of SymPy's documentation ends {apart:.1e} from the coin")  # 1e-11
    kane, values, *_ = rolling_disc(slides=True)
    error = str(raised(ValueError, nonholo.from_mechanics, kane, values))
    check("Kane" in error and "change the line R.set_ang_vel(N, ...)" in error, error)


def check_inputs_from_sympy():
    """Functions of time that are not coordinates are inputs: of forces, in the Lagrangian and in constraints."""
    import sympy
    from sympy.physics.mechanics import KanesMethod, LagrangesMethod, Particle, Point, ReferenceFrame, dynamicsymbols

    x, u, F, d = dynamicsymbols("x u F d")
    m, k = sympy.symbols("m k")
    time = dynamicsymbols._t
    N, P = ReferenceFrame("N"), Point("P")
    P.set_vel(N, x.diff() * N.x)
    lagrange = LagrangesMethod(m * x.diff() ** 2 / 2 - k * (x - d) ** 2 / 2, [x], forcelist=[(P, F * N.x)], frame=N)
    lagrange.form_lagranges_equations()
    moved = nonholo.from_mechanics(lagrange, {m: 1, k: 4, d: sympy.sin(time)})
    same(sorted(line for line in moved.text.splitlines() if line.startswith("input")), ["input F = 0", "input d = sin(t)"], "inputs")
    end = nonholo.simulate(moved, time=2, input={"F": 2.0, "d": 0.0}).q[-1][0]
    check(abs(end - 0.5 * (1 - np.cos(4))) < 1e-8, f"a spring that is pulled ends at {end}")
    P.set_vel(N, u * N.x)
    kane = KanesMethod(N, [x], [u], kd_eqs=[x.diff() - u])
    kane.kanes_equations([Particle("p", P, m)], [(P, (F - k * x) * N.x)])
    end = nonholo.simulate(nonholo.from_mechanics(kane, {m: 1, k: 4, F: 2}), time=2).q[-1][0]
    check(abs(end - 0.5 * (1 - np.cos(4))) < 1e-8, f"Kane's spring ends at {end}")
    led = nonholo.from_sympy(m * x.diff() ** 2 / 2, [x], [x.diff() - d.diff()], {m: 1, d: sympy.sin(time)}, start={x.diff(): 1})
    end = nonholo.simulate(led, time=1).q[-1][0]
    check(abs(end - np.sin(1)) < 1e-8, f"led to {end}")


def check_reaction():
    """A skate that rubs: the reaction |psi| brakes it along the blade. Straight ahead on a slope without turning nothing
    pushes sideways, so nothing brakes; turning, the energy falls."""

    def skate(friction):
        def rubbing(t, q, v, psi):
            along = np.array([np.cos(q[2]), np.sin(q[2]), 0.0])
            across = np.array([-np.sin(q[2]), np.cos(q[2]), 0.0])
            return psi[0] * across - friction * abs(psi[0]) * np.tanh(10 * along @ v) * along

        return nonholo.from_functions(3, 1, reaction=rubbing, constant_mass=True,
                                      constraint=lambda q: np.array([[-np.sin(q[2]), np.cos(q[2]), 0.0]]))

    def energies(friction, turn):
        run = nonholo.simulate(skate(friction), "gauss", step=0.05, time=2, v=[1.0, 0, turn])
        check(run.constraint_max < 1e-13, f"constraint {run.constraint_max:.1e}")
        return run.energy

    for friction, turn in ((0.2, 0.0), (0.0, 1.0)):
        check(np.ptp(energies(friction, turn)) < 1e-12, "an ideal skate, or a straight one, loses energy")
    # u' = -friction |psi|, and psi = u turn: the speed falls like exp(-friction turn t) while tanh is 1
    speed = np.sqrt(2 * energies(0.2, 1.0)[-1] - 1)
    check(abs(speed - np.exp(-0.2 * 2)) < 1e-4, f"speed {speed}, by hand {np.exp(-0.4)}")


def check_notebook():
    """Where a notebook's kernel is loaded the bar is drawn, although there is no terminal."""
    script = ("import sys, types; sys.modules['ipykernel'] = types.ModuleType('ipykernel'); import nonholo\n"
              "nonholo.progress.PAUSE = 0; nonholo.simulate('pendulum-cvt', 'dla01', step=.1, steps=1000)")
    for begin, shown in ((script, True), (script.split(";", 1)[0] + "; import nonholo\n" + script.split("\n")[1], False)):
        done = subprocess.run([sys.executable, "-c", begin], capture_output=True, text=True, timeout=PATIENCE)
        same((done.returncode, "s left" in done.stderr), (0, shown), done.stderr[-300:])


def check_xarray():
    data = nonholo.simulate("rolling-disk", "gauss", step=0.1, steps=20).to_xarray()
    same(dict(data.sizes), {"t": 21, "coordinate": 4, "velocity": 4, "constraint": 2}, "sizes")
    check(float(data.q.sel(coordinate="phi")[-1]) > 0, "phi")
    many = nonholo.ensemble("pendulum-cvt", "dla01", step=0.1, steps=20, sweep={"eps": (0, 0.2, 3)}).to_xarray()
    same(dict(many.sizes), {"member": 3, "t": 2, "coordinate": 3, "velocity": 3, "constraint": 1}, "sizes of an ensemble")
    same(float(many.eps.sel(member=2)), 0.2, "swept values")


def check_progress():
    shares = []
    nonholo.simulate("pendulum-cvt", "dla01", step=0.1, steps=100, every=10, progress=shares.append)
    same(shares[-1], 1.0, "last share")
    check(shares == sorted(shares) and len(shares) > 1, f"{shares}")


# ---- files and checkpoints ----

WORDS = ["pendulum-cvt", "--method", "leapfrog", "--step", ".1", "--steps", "200000", "--every", "7", "--quiet"]
CALL = dict(model="pendulum-cvt", method="leapfrog", step=0.1, steps=200000, every=7)
ENDINGS = [".csv", ".npy", ".npz"] + ([] if "no HDF5" in PROGRAM("--version").stdout else [".h5"])


def content(path):
    with open(path, "rb") as file:
        return file.read()


def check_output():
    """The bytes of the command line's files; only the last point stays in memory."""
    whole = nonholo.simulate(**CALL)
    with tempfile.TemporaryDirectory() as folder:
        for ending in ENDINGS:
            ours, theirs = os.path.join(folder, "ours" + ending), os.path.join(folder, "theirs" + ending)
            PROGRAM.json("run", *WORDS, "-o", theirs)
            run = nonholo.simulate(**CALL, output=ours)
            same(content(ours) == content(theirs), True, ending)
            same((run.output, len(run), run.steps), (ours, 1, 200000), ending)
            same(run.q.tolist(), whole.q[-1:].tolist(), "last point")
            same(run.multipliers.shape, (1, 1), "multipliers")
            same((run.energy_error_max, run.constraint_max), (whole.energy_error_max, whole.constraint_max), "measures")
        same(sorted(os.listdir(folder)), sorted(n + e for n in ("ours", "theirs") for e in ENDINGS), "files")
    same(whole.output, None, "no file")


def check_resume():
    """Interrupted and resumed, by Python and by the command line, a run has the bytes of an uninterrupted one."""

    def interrupt(share):
        if share > 0:
            raise KeyboardInterrupt

    with tempfile.TemporaryDirectory() as folder:
        for ending in ENDINGS:
            expected, path, keep = (os.path.join(folder, n) for n in ("expected" + ending, "run" + ending, "keep"))
            nonholo.simulate(**{**CALL, "steps": 30_000_000, "every": 700}, output=expected)
            # longer than a moment, so that Ctrl-C comes in between
            long = {**CALL, "steps": 30_000_000, "every": 700, "output": path, "checkpoint": keep}
            raised(KeyboardInterrupt, nonholo.simulate, **long, progress=interrupt)
            check(os.path.exists(keep), "no checkpoint was left")
            if ending == ".csv":  # the other program goes on as well
                words = [{"200000": "30000000", "7": "700"}.get(word, word) for word in WORDS]
                PROGRAM.json("run", *words, "-o", path, "--checkpoint", keep, "--resume", keep)
            else:
                run = nonholo.simulate(**long, resume=keep)
                same((run.steps, run.output), (30_000_000, path), ending)
            same(content(path) == content(expected), True, ending)
            same(os.path.exists(keep), False, "checkpoint of a complete run")


def check_checkpoint_errors():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "c")
        raised(ValueError, nonholo.simulate, **CALL, checkpoint_every="5s")
        error = raised(ValueError, nonholo.simulate, **CALL, checkpoint=path, checkpoint_every="5x")
        check("checkpoint_every needs a time such as 60s" in str(error), error)
        raised(nonholo.UsageError, nonholo.simulate, **CALL, output=os.path.join(folder, "run.txt"))
        raised(nonholo.Error, nonholo.simulate, **CALL, output=os.path.join(folder, "none", "run.csv"))
        raised(nonholo.Error, nonholo.simulate, **CALL, resume=path)
        same(os.listdir(folder), [], "files")
        # a run that fails keeps what it computed
        model = "model m\ncoordinate x, y\nlagrangian (x'^2 + y'^2)/2 + x^4\nconstraint y' = x*x'\nstart x = 5, x' = 30, y' = 150\n"
        table = os.path.join(folder, "run.npy")
        error = raised(nonholo.ComputationError, nonholo.simulate, model, "dla01", step=0.01, steps=5000, every=1, output=table)
        same(error.trajectory.output, table, "output")
        rows = np.load(table)
        same((len(rows), rows["t"][-1]), (error.trajectory.steps + 1, error.trajectory.t[-1]), "rows of a failed run")


def check_copies():
    """Copies are the object itself; pickles are the text and the settings, or are refused."""
    model = nonholo.load("pendulum-cvt")
    system = model.system({"eps": 0.25})
    for thing in (model, system):
        check(copy.copy(thing) is thing and copy.deepcopy([thing])[0] is thing, "a copy is another object")
    again = pickle.loads(pickle.dumps((model, system)))
    same((again[0].text, again[1].parameters), (model.text, system.parameters), "after a pickle")
    del model
    expected = nonholo.simulate(system, "dla01", step=0.1, steps=50)
    same(nonholo.simulate(again[1], "dla01", step=0.1, steps=50).q[-1].tolist(), expected.q[-1].tolist(), "the same numbers")
    check(copy.deepcopy(expected) is expected, "a trajectory's copy is another object")
    own = nonholo.from_functions(1, potential=lambda q: float(q[0] ** 2))
    for thing in (expected, own):
        try:
            pickle.dumps(thing)
            check(False, f"{thing} was pickled")
        except TypeError as error:
            check("cannot be pickled" in str(error), str(error))
    try:
        nonholo.load("model m\ncoordinate x\nlagrangian y\n")
    except nonholo.ModelError as error:
        twin = pickle.loads(pickle.dumps(error))
        same((type(twin), str(twin), twin.line, twin.column), (type(error), str(error), error.line, error.column), "an error")


def check_docstrings(module):
    failures, tried = doctest.testmod(importlib.import_module(module))
    check(failures == 0 and tried > 0, f"{module}: {failures} of {tried} failed")


def check_example():
    """The five lines of the README print the numbers of the command line."""
    path = os.path.join(SOURCE, "examples", "python", "five_lines.py")
    done = subprocess.run([sys.executable, path], capture_output=True, text=True, timeout=PATIENCE)
    same(done.stderr, "", "messages")
    told = PROGRAM.json("run", "chaplygin-sleigh", "--method", "gauss:stages=3", "--step", ".1", "--time", "250")
    lines = done.stdout.splitlines()
    same(lines[0], f"forward speed -0.6000 -> {told['observables']['forward']:.4f}", "first line")
    same(lines[1], f"largest errors: energy {told['energy_error_max']:.1e}, constraint {told['constraint_max']:.1e}", "second line")


def check_timing():
    """Whatever says how long, in which steps and what to record is accepted or refused as on the command line."""
    pace = [{}, {"step": 0.1}, {"tolerance": 1e-8}, {"step": 0.1, "method": "gauss"}, {"method": "gauss"}]
    length = [{"times": "0:8:81"}, {"every_time": 0.5}, {"every_time": 0.33, "time": 4}, {"time": 4}, {"steps": 40}, {"every": 5, "time": 4},
              {"times": "0:8:81", "time": 4}, {"times": "0:8:81", "every": 2}, {"steps": 40, "time": 4}, {"times": "1:8:8"}, {"times": "0:0.73:8"}]
    for given in ({**a, **b} for a in pace for b in length):
        words = [word for name, value in given.items() for word in ("--" + name.replace("_", "-"), value)]
        done = PROGRAM("run", "pendulum-cvt", "--quiet", "-o", "-", *words)
        expected = None if done.returncode else np.array([float(line.split(",")[0]) for line in done.stdout.split()[1:]]).tolist()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = nonholo.simulate("pendulum-cvt", **given).t.tolist()
        except (nonholo.Error, ValueError):
            found = None
        same(found, expected, f"{given}: times")


def main():
    cases = [("layout", check_layout), ("order", check_order), ("timing", check_timing)]
    cases += [("multipliers", check_multipliers), ("ensemble", check_ensemble), ("random", check_random_ensemble), ("machines", check_machines),
              ("failing members", check_failing_members), ("stopped", check_stopped), ("errors", check_errors)]
    cases += [("partial", check_partial), ("shapes", check_shapes), ("functions", check_functions), ("reaction", check_reaction), ("rotation", check_rotation),
              ("progress", check_progress), ("notebook", check_notebook)]
    cases += [("output", check_output), ("resume", check_resume), ("copies", check_copies), ("checkpoint errors", check_checkpoint_errors)]
    cases += [("example", check_example)]
    cases += [(f"compare {m}", lambda m=m: check_compare(m)) for m in ("pendulum-cvt", "chaotic-particle-holonomic")]
    cases += [(f"run {w[0]}", lambda w=w, k=k: check_run(w, k)) for w, k in RUNS]
    cases += [(f"facts {m}", lambda m=m: check_facts(m)) for m in nonholo.models()]
    symbolic = [check_sympy, check_sympy_pieces, check_positions_from_kane, check_bridge, check_hidden_constraints,
                check_inputs_from_sympy]
    optional = {"sympy": symbolic, "xarray": [check_xarray]}
    modules = "_library system trajectory functions comparison ensembles".split()
    for module, checks in optional.items():
        if have(module):
            cases += [(c.__name__, c) for c in checks]
        else:
            print(f"{module} is not installed: left out")
    modules += ["symbolic"] if have("sympy") else []
    cases += [(f"docstrings {m}", lambda m=m: check_docstrings(f"nonholo.{m}")) for m in modules]
    return run_all(cases, workers=1)  # doctest captures standard output


if __name__ == "__main__":
    sys.exit(main())
