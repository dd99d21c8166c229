"""Models as equations: numpy code, SymPy scripts, JSON and LaTeX of every shipped model and of one with all
difficult features, evaluated on their own and compared with the library.

    test_equations.py COMMAND SOURCE [all]
"""

import importlib.util
import json
import math
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import numpy as np

import nonholo

ALL = sys.argv[-1] == "all" and bool(sys.argv.pop())  # the benchmark bicycle in SymPy, every document through TeX
SOURCE = os.path.abspath(sys.argv.pop())
COMMAND = os.path.abspath(sys.argv.pop())
sys.path.insert(0, os.path.join(SOURCE, "test", "cli"))
from harness import run_unittest  # noqa: E402
# Names that mean something elsewhere, and everything that the language has.
HOSTILE = """model while
parameter lambda = 1.2, m_1 = 2, I = 0.7, N = 2, alpha_max = 0.3, def = 4, y_1 = 0.9, np = 1.1, a1 = 1.3, int = 0.4, power = 3
coordinate x, class
coordinate y[1..N], psi
rotation R
velocity w1, w2, w3
input drive = 0.3*cos(t) + lambda
table profile = (-4, 0), (-1, 0.4), (0, 0.1), (2, -0.2), (4, 0.3)
let r = (x, y[1], 0.3*sin(psi)), double(s) = 2*s
let spin[i] = i*psi
lagrangian (m_1/2*(x'^2 + class'^2 + sum(i in 1..N: y[i]'^2)) + I/2*psi'^2 + lambda/2*dot(body(R), body(R)) +
    np/2*w1^2 + a1/2*w2^2 + int/2*w3^2 - double(y_1)*(x^2 + 0.1*abs(x)^power) - y[1]*sin(y[2]) -
    max(x, 0.1)*alpha_max - R[3,3]/(1 + class^2) - profile(x) + if(x > class, x - class, 0)^2 + cos(spin[2])*atan2(x, 4 + y_1))
bracket [w1, w2] = def/4*w3, [w2, w3] = w1, [w3, w1] = w2
dissipation alpha_max/2*x'^2
force class = drive + min(x, 1)
force at r = (0.1, 0.2*x', 0)
constraint roll: w1 + 0.3*w2 = 0
constraint tie: y[1]' = sin(x)*y[2]'
constraint on: class^2 + 0.2*psi = 0.5
start x = 0.3, class = 0.5, y = (0.2, 0.4), psi = 1.25, x' = 0.2, body(R) = (0.1, 0.2, 0.3), w1 = -0.06, w2 = 0.2, w3 = 0.5
start solve psi', y[1]', w1
observe height = R[3,3] + lambda
observe pull = reaction(roll)
"""
TOLERANCE = 1e-12


def module(path):
    spec = importlib.util.spec_from_file_location("exported", path)
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


def load(name):
    return nonholo.load(HOSTILE if name == "hostile" else name).system()


def names():
    return [*(name for name in nonholo.models() if not load(name).contacts and not load(name).grips), "hostile"]


def states(system):
    """The start, and others that satisfy the constraints."""
    q, v = system.start()
    q, v = system.project_state(q, v)
    yield 0.0, q, v
    generator = np.random.default_rng(len(q))
    for t in (0.3, 1.1):
        p, w = system.project_state(q + 0.05 * generator.standard_normal(len(q)),
                                    v + 0.2 * generator.standard_normal(len(v)), t)
        yield t, p, w


def near(found, expected, what, scale=0.0):
    found, expected = np.asarray(found, float), np.asarray(expected, float)
    scale = max(1.0, scale, np.abs(expected).max(initial=0))
    worst = np.abs(found - expected).max(initial=0) / scale
    assert found.shape == expected.shape and worst <= TOLERANCE, f"{what}: {worst:g}\n{found}\n{expected}"
    return worst


def value_of(node, values, given):
    """One node of a JSON graph, as docs/export.md describes it."""
    op = node["op"]
    if op == "number":
        return node["value"]
    if op in given:
        return given[op] if op == "t" else given[op][node["index"]]
    args = [values[i] for i in node["args"]]
    if op == "sum":
        return node.get("constant", 0) + sum(c * x for c, x in zip(node.get("coefficients", [1] * len(args)), args))
    if op == "product":
        return node.get("factor", 1) * math.prod(x ** c for c, x in zip(node.get("exponents", [1] * len(args)), args))
    if op in ("when", "unless"):
        return args[1] if (args[0] > 0) == (op == "when") else 0
    return getattr(math, op)(*args)


def evaluate(graph, t, q, v):
    given = {"t": t, "q": q, "v": v, "u": [], "parameter": [p["value"] for p in graph["parameters"]]}
    values = []
    for node in graph["nodes"]:
        values.append(value_of(node, values, given))
    read = lambda places: values[places] if isinstance(places, int) else [read(place) for place in places]
    return {name: read(places) for name, places in graph["outputs"].items()}


class Equations(unittest.TestCase):
    def export(self, folder, name, format, *options):
        model = name
        if name == "hostile":
            model = os.path.join(folder, "hostile.nh")
            with open(model, "w") as file:
                file.write(HOSTILE)
        path = os.path.join(folder, "exported." + {"json": "json", "latex": "tex"}.get(format, "py"))
        done = subprocess.run([COMMAND, "export", model, "--format", format, "-o", path, "--quiet", *options], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""), name)
        return path

    def compare(self, name, found, system, t, q, v):
        """Compares the outputs of the complete formats at a state."""
        a, multipliers = system.acceleration(q, v, t)
        size = np.abs(a).max()
        near(found["accelerations"], a, f"{name}: accelerations")
        near(found["multipliers"], multipliers, f"{name}: multipliers", size)
        near(found["energy"], system.energy(q, v, t), f"{name}: energy")
        near(found["constraints"], system.residual(q, v, t), f"{name}: constraints")
        p = np.asarray(found["mass"])
        near(p, p.T, f"{name}: the mass matrix")

    def test_numpy(self):
        with tempfile.TemporaryDirectory() as folder:
            for name in names():
                system, code = load(name), module(self.export(folder, name, "python"))
                everything = list(states(system))
                for t, q, v in everything:
                    self.compare(name, {f: getattr(code, f)(t, q, v) for f in
                                        ("accelerations", "multipliers", "energy", "constraints", "mass")}, system, t, q, v)
                t, q, v = (np.stack(part, axis=-1) for part in zip(*everything))
                near(code.accelerations(t, q, v)[:, 1], code.accelerations(*everything[1]), f"{name}: members")
                near(code.right_hand_side(t, np.concatenate([q, v]))[:, 2],
                     code.right_hand_side(everything[2][0], np.concatenate(everything[2][1:])), f"{name}: right-hand side")
                self.assertEqual(code.START[1].tolist(), list(system.start()[0]))

    def test_parameters_of_numpy_code(self):
        with tempfile.TemporaryDirectory() as folder:
            code = module(self.export(folder, "heavy-top", "python"))
            other = nonholo.load("heavy-top").system({"I1": 1.5, "m": 2})
            q, v = other.start()
            near(code.accelerations(0, q, v, parameters={"I1": 1.5, "m": 2}), other.acceleration(q, v)[0], "parameters")
            members = code.accelerations(0, q[:, None], v[:, None], parameters={"I1": [1.5, 2], "m": 2})
            near(members[:, 0], other.acceleration(q, v)[0], "a parameter of members")
            with self.assertRaisesRegex(ValueError, "not among m, g, l"):
                code.accelerations(0, q, v, parameters={"mass": 2})
            fixed = module(self.export(folder, "chaotic-particle", "python"))
            self.assertIn("N", fixed.FIXED)

    def test_exponents_are_fixed(self):
        """x^n has its derivative where x = 0 as well."""
        spring = "model spring\nparameter n = 2\ncoordinate x\nlagrangian x'^2/2 - x^n\n"
        space = {}
        exec(nonholo.export(spring, format="python"), space)
        self.assertEqual(space["FIXED"], {"n": 2})
        self.assertEqual(space["accelerations"](0, [0], [1]).tolist(), [0])

    def test_a_solver_of_scipy(self):
        try:
            from scipy.integrate import solve_ivp
        except ImportError:
            self.skipTest("there is no SciPy")
        with tempfile.TemporaryDirectory() as folder:
            code = module(self.export(folder, "heavy-top", "python"))
        end = solve_ivp(code.right_hand_side, (0, 1), code.start(), method="DOP853", rtol=1e-12, atol=1e-12).y[:, -1]
        run = nonholo.simulate("heavy-top", method="gauss", step=0.01, steps=100, stages=5)
        self.assertLess(np.abs(end - np.concatenate([run.q[-1], run.v[-1]])).max(), 1e-10)  # measured: 5.1e-13

    def test_inputs_of_numpy_code(self):
        with tempfile.TemporaryDirectory() as folder:
            system = load("hostile")
            code = module(self.export(folder, "hostile", "python", "--input", "drive:held"))
            self.assertEqual(code.INPUTS, ("drive",))
            for t, q, v in states(system):
                near(code.accelerations(t, q, v), system.acceleration(q, v, t)[0], "the default")
                near(code.accelerations(t, q, v, u=[0.3 * math.cos(t) + 1.2]), system.acceleration(q, v, t)[0], "an input")

    def test_json(self):
        for name in names():
            system = load(name)
            graph = json.loads(nonholo.export(system, format="json"))
            self.assertEqual((graph["format"], graph["version"]), ("nonholo equations", 1))
            self.assertEqual([c["name"] for c in graph["coordinates"]], system.coordinates)
            self.assertEqual([c["name"] for c in graph["velocities"]], system.velocities)
            self.assertEqual(graph["constraints"], system.constraints)
            for t, q, v in states(system):
                self.compare(name, evaluate(graph, t, q, v), system, t, q, v)

    def test_sympy(self):
        try:
            import sympy  # noqa: F401
        except ImportError:
            self.skipTest("there is no SymPy")
        with tempfile.TemporaryDirectory() as folder:
            for name in names():
                if name == "benchmark-bicycle" and not ALL:
                    continue
                system, code = load(name), module(self.export(folder, name, "sympy"))
                for t, q, v in list(states(system))[1:2]:
                    a, multipliers = code.accelerations(t, list(q), list(v))
                    expected = system.acceleration(q, v, t)
                    near([float(x) for x in a], expected[0], f"{name}: accelerations")
                    near([float(x) for x in multipliers], expected[1], f"{name}: multipliers", np.abs(expected[0]).max())


    def test_latex(self):
        """Everything is closed, and documents contain only printable characters."""
        for name in names():
            text = nonholo.export(load(name), format="latex")
            self.assertRegex(text, r"^[ -~\n]*\\end\{document\}\n$", name)
            self.assertEqual(re.findall(r"(?<!\\)(?:\\\\)*\{", text).__len__(), re.findall(r"(?<!\\)(?:\\\\)*\}", text).__len__(), name)
            opened = []
            for kind, environment in re.findall(r"\\(begin|end)\{(\w+\*?)\}", text):
                opened.append(environment) if kind == "begin" else self.assertEqual(opened.pop(), environment, name)
            self.assertEqual(opened, [])

    def test_latex_says_what_the_model_says(self):
        text = nonholo.export(load("hostile"), format="latex")
        for part in (r"\frac{m_{1}}{2}", r"\dot{\mathit{class}}^{2}", r"\sum_{i=1}^{N} \dot{y}_{i}^{2}", r"\alpha_{\mathrm{max}}",
                     r"\lambda = 1.2", r"\boldsymbol{\omega}_{R} \cdot \boldsymbol{\omega}_{R}", r"\begin{cases}", r"\left\lvert x\right\rvert",
                     r"[w_{1}, w_{2}] &= \frac{\mathit{def}}{4}\,w_{3}", r"\Lambda", r"F_{\mathit{class}} &= \mathit{drive}", "(-4, 0), (-1, 0.4)"):
            self.assertIn(part, text)
        done = subprocess.run([COMMAND, "check", "suslov", "--latex"], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stdout), (0, nonholo.export("suslov", format="latex", excerpt=True)))
        self.assertIn(r"I_{11}\,\dot{w}_{1} + I_{13}\,\dot{w}_{3} &= ", done.stdout)
        shown = nonholo.load("suslov")._repr_latex_()
        self.assertNotIn("%", shown)
        self.assertIn(r"\begin{align*}", shown)

    def test_latex_compiles(self):
        tex = shutil.which("pdflatex")
        if not tex:
            self.skipTest("there is no pdflatex (texlive-latex-base)")
        with tempfile.TemporaryDirectory() as folder:
            for name in names() if ALL else ["hostile", "rattleback", "suslov", "spherical-robot"]:
                path = self.export(folder, name, "latex")
                done = subprocess.run([tex, "-interaction=nonstopmode", "-halt-on-error", os.path.basename(path)],
                                      cwd=folder, capture_output=True, text=True, errors="replace")
                self.assertEqual(done.returncode, 0, name + done.stdout[-2000:])
                wide = [float(x) for x in re.findall(r"Overfull \\hbox \(([\d.]+)pt", done.stdout)]
                self.assertLess(max(wide, default=0), 15, name)  # the widest of all models: 9.8pt, of a matrix in parentheses

    def test_formats(self):
        """The command line offers the formats of the library."""
        from nonholo._library import lib
        formats = [lib.nh_export_format(i).decode() for i in range(lib.nh_export_formats())]
        done = subprocess.run([COMMAND, "export", "suslov", "--format", "none"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 2)
        self.assertIn("|".join(formats), done.stderr)


if __name__ == "__main__":
    run_unittest()
