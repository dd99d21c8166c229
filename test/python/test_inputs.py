"""Inputs and steppers: against solutions in closed form and impulses by numpy, for every way to give an input, with
the same bits on both backends, in lanes, after an interruption and in the user's own loop.

    test_inputs.py COMMAND SOURCE
"""

import itertools
import json
import os
import runpy
import shutil
import subprocess
import sys
import tempfile
import unittest
import warnings

import numpy as np

import nonholo

SOURCE = os.path.abspath(sys.argv.pop())
COMMAND = os.path.abspath(sys.argv.pop())
sys.path.insert(0, os.path.join(SOURCE, "test", "cli"))
from harness import run_unittest  # noqa: E402
PUSH = "model push\nparameter m = 1\ncoordinate x\ninput u = 0\nlagrangian m/2*x'^2\nforce x = u\n"
SLED = """model sled
parameter m = 1, J = 2, a = 0.3
coordinate x, y
coordinate theta angle
input u = 0.2*cos(t)
let side = y'*cos(theta) - x'*sin(theta)
lagrangian m/2*(x'^2 + y'^2) + (J + m*a^2)/2*theta'^2 + m*a*theta'*side
constraint skate: side = 0
constraint steer: theta' = u
start x' = 1, theta' = u
"""
TIMES, VALUES = [0.0, 0.5, 1.0], [0.0, 1.0, -1.0]
# x'' = u from rest, until t = 1.2: by hand, of the spline by its polynomials
HELD, LINEAR = (0.205, 0.3), (0.143 / 0.6, 0.05)


def command(*arguments, folder, code=0):
    done = subprocess.run([COMMAND, *arguments], cwd=folder, capture_output=True, text=True)
    assert done.returncode == code, (arguments, done.returncode, done.stderr)
    return done.stderr if code else done.stdout


class Inputs(unittest.TestCase):
    def setUp(self):
        warnings.simplefilter("ignore", nonholo.Remark)

    def test_coefficient_of_a_constraint(self):
        """An input times a velocity in a constraint: y' = w x' with w = 1 + t until t = 1, then 2. The end is SciPy's of
        x'' (1 + w^2) = -x - w w' x'."""
        text = ("model belt\ncoordinate x, y\ninput w = 1\nlagrangian (x'^2 + y'^2)/2 - x^2/2\n"
                "constraint y' = w*x'\nstart x = 1\n")
        run = nonholo.run(text, "gauss", step=0.05, time=4, input={"w:linear": ([0, 1], [1, 2])})
        self.assertLess(max(abs(run.q[-1] - [-0.3269802, -2.59603715])), 1e-7)

    def test_jumps(self):
        """No step is taken over a jump, though the step does not divide the times of the table. Measured: 4e-16, and
        2e-15 of the method that chooses its steps."""
        for method, (kind, expected) in itertools.product(
            ("dla01", "leapfrog", "newmark", "gauss", "rk4", "dopri5", "dop853:tolerance=1e-10"),
            (("held", HELD), ("linear", LINEAR)),
        ):
            if kind == "linear" and method in ("dla01", "leapfrog", "newmark"):
                continue  # of order 2: not exact where u is not constant
            run = nonholo.run(PUSH, method, step=0.3, time=1.2, input={f"u:{kind}": (TIMES, VALUES)}, estimate=False)
            self.assertLess(abs(run.q[-1, 0] - expected[0]) + abs(run.v[-1, 0] - expected[1]), 1e-13, (method, kind))

    def test_order(self):
        """Between jumps a method keeps its order: dla01 has 2. Measured: ratios of
        errors 4.5 and 3.9, as the pieces at the jumps are of other lengths."""
        ends = [nonholo.run(PUSH, "dla01", step=h, time=1.2, input={"u": (TIMES, VALUES)}, estimate=False).q[-1, 0]
                for h in (0.02, 0.01, 0.005)]
        errors = [abs(x - LINEAR[0]) for x in ends]
        for coarse, fine in zip(errors, errors[1:]):
            self.assertTrue(3 < coarse / fine < 5, errors)

    def test_spline(self):
        """As scipy's natural spline, if there is scipy. Measured: 3e-13 at a tolerance of 1e-12."""
        try:
            from scipy.integrate import quad
            from scipy.interpolate import CubicSpline
        except ImportError:
            self.skipTest("no scipy")
        spline = CubicSpline(TIMES, VALUES, bc_type="natural")
        f = lambda s: float(spline(s)) if s < 1 else -1.0
        v = quad(f, 0, 1.2, points=[0.5, 1])[0]
        run = nonholo.run(PUSH, tolerance=1e-12, time=1.2, input={"u:spline": (TIMES, VALUES)})
        self.assertLess(abs(run.v[-1, 0] - v), 1e-11)

    def test_formula(self):
        """An expression is differentiated with everything else: a support that moves, x = u(t)."""
        model = "model m\ncoordinate x, y\ninput u = 0\nlagrangian x'^2/2 + y'^2/2 - (x - y)^2/2\nconstraint x = u\nstart solve x, x'\n"
        run = nonholo.run(model, "gauss", stages=3, step=0.01, time=2, input={"u": "sin(t)"})
        self.assertLess(np.abs(run["x"] - np.sin(run.t)).max(), 1e-12)  # measured: 1e-15
        exact = 0.5 * (np.sin(run.t) - run.t * np.cos(run.t))  # y'' = sin(t) - y from rest
        self.assertLess(np.abs(run["y"] - exact).max(), 1e-10)  # measured: 3e-13

    def test_impulse(self):
        """A jump of an input in a constraint moves the velocities as an impulse does: M (v+ - v-) = K^T l."""
        run = nonholo.run(SLED, "gauss", step=0.01, time=1, input={"u:held": ([0, 0.5], [0.2, -0.3])}, every=1)
        self.assertLess(run.constraint_max, 1e-13)  # measured: 2e-16
        before = nonholo.run(SLED, "gauss", step=0.01, time=0.5, input={"u": 0.2}, every=1, start={"theta'": 0.2})
        q, v = before.q[-1], before.v[-1]
        s, c = np.sin(q[2]), np.cos(q[2])
        M = np.array([[1, 0, -0.3 * s], [0, 1, 0.3 * c], [-0.3 * s, 0.3 * c, 2.09]])
        K, b = np.array([[-s, c, 0], [0, 0, 1.0]]), np.array([0, -0.3])
        jump = np.linalg.solve(M, K.T) @ np.linalg.solve(K @ np.linalg.solve(M, K.T), b - K @ v)
        at = int(np.argmin(abs(run.t - 0.5)))
        self.assertLess(np.abs(run.v[at] - (v + jump)).max(), 1e-13)  # measured: 2e-16

    def test_same_bits(self):
        """Both backends, the command line and Python, an expression, a function and the user's own loop."""
        law = lambda t, q, v: 1 - q[0] - v[0]
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "push.nh"), "w") as file:
                file.write(PUSH)
            runs = [
                nonholo.run(PUSH, "gauss", step=0.01, time=2, input={"u": law}, input_period=0.03, backend=backend, every=1)
                for backend in ("tape", "compiled" if nonholo_has_compiler() else "tape")
            ]
            runs.append(nonholo.run(PUSH, "gauss", step=0.01, time=2, input={"u": "1 - x - x'"}, input_period=0.03, every=1))
            shown = json.loads(command("run", "push.nh", "--method", "gauss", "--step", "0.01", "--time", "2", "--input",
                                       "u=1 - x - x'", "--input-period", "0.03", "--json", "--quiet", folder=folder))
        self.assertTrue((runs[1].q == runs[0].q).all() and (runs[1]["u"] == runs[0]["u"]).all())
        self.assertLess(np.abs(runs[2].q - runs[0].q).max(), 1e-14)  # sums are rounded differently in an expression
        self.assertEqual((shown["q"], shown["v"]), (runs[2].q[-1].tolist(), runs[2].v[-1].tolist()))
        with nonholo.Stepper(PUSH, "gauss", step=0.01) as s:
            for i in range(200):
                if i % 3 == 0:
                    s.u = law(s.t, s.q, s.v)
                s.step()
            self.assertEqual((s.q[0], s.v[0]), (runs[0].q[-1, 0], runs[0].v[-1, 0]))

    def test_stepper_mistakes(self):
        """A misspelt input, a closed stepper, a fractional number of steps, or an exception in a function is reported and has no further effect."""
        cart = "model cart\nparameter m = 1\ncoordinate x\ninput u = 0\nlagrangian m*x'^2/2\nforce x = u\n"
        s = nonholo.Stepper(cart, "gauss", step=0.1)
        self.assertEqual(s.m, 1)
        for wrong in (lambda: setattr(s, "w", 1), lambda: setattr(s, "m", 2)):
            self.assertRaises(AttributeError, wrong)
        self.assertRaisesRegex(TypeError, "whole number", s.step, 0.5)
        s.u = 1
        s.step(3)
        last = s.q.copy()
        s.close()
        s.close()
        for wrong in (s.step, s.reset, lambda: s.set(m=2), lambda: s.backend, lambda: setattr(s, "q", [1])):
            self.assertRaisesRegex((ValueError, RuntimeError), "closed", wrong)
        s.u = 2
        self.assertEqual((s.u, s.q, s.t), (2, last, 3 * 0.1))
        asked = []

        def give(t, q, v):
            asked.append(t)
            return 1 / (t != 0.2 or asked.count(0.2) > 1)

        s = nonholo.Stepper(cart, "gauss", step=0.1, input={"u": give})
        s.step()
        with self.assertRaises(nonholo.ComputationError) as told:
            s.step()
        self.assertIsInstance(told.exception.__cause__, ZeroDivisionError)
        nonholo.load(cart)
        s.step()
        text = nonholo.export(cart, format="c", method="leapfrog", step=0.1, input={"u:held": None})
        self.assertIn("cart_set_input", text)
        self.assertRaises(TypeError, nonholo.export, cart, params={"m": 2})

    def test_members_of_any_size(self):
        """Rows of members are what single steppers give, for every number of coordinates and with lanes that are not full;
        after a step that fails for one member, all are in their previous state and continue from there. States of full
        lanes are not saved before every step; they are restored by repeating some steps."""
        for n, members, compensated in itertools.product(range(1, 8), (7, 24), (False, True)):
            text = f"model many\nparameter N = {n}\ncoordinate x[1..N] angle\ninput u = 0, w = 1\n" \
                   "lagrangian sum(i in 1..N: x[i]'^2*i/2 + cos(x[i]))\nforce x[1] = u + w*sqrt(u + 5)\nstart x[1]' = 3\n"
            for method, backend in (("leapfrog", "auto"), ("gauss", "auto"), ("dla01", "tape")):
                rng = np.random.default_rng(n)
                given = rng.normal(size=(40, members, 2))
                with nonholo.Stepper(text, method, step=0.5, members=members, compensated=compensated, backend=backend) as many:
                    for step, u in enumerate(given):
                        if step in (3, 20, 30, 31):
                            q, v, t = many.q.copy(), many.v.copy(), many.t
                            many.u = [-6 if i == (5 * step) % members else 0 for i in range(members)]
                            with self.assertRaises(nonholo.Error):
                                many.step()
                            self.assertTrue((many.q == q).all() and (many.v == v).all() and many.t == t)
                        many.u, many.w = u[:, 0], u[:, 1]
                        many.step()
                    q, v = many.q.copy(), many.v.copy()
                for member in range(0, members, 1 if members < 10 else 5):
                    with nonholo.Stepper(text, method, step=0.5, compensated=compensated) as one:
                        for u in given[:, member]:
                            one.u, one.w = u
                            one.step()
                        self.assertTrue((one.q == q[member]).all() and (one.v == v[member]).all(), (n, method, member))

    def test_members(self):
        """Members of a stepper, and of an ensemble, have the bits of single runs."""
        inputs = np.linspace(-1, 1, 7)
        for method in ("dla01", "gauss", "newmark"):
            with nonholo.Stepper(PUSH, method, step=0.1, members=7) as many:
                for k in range(6):
                    many.u = inputs * (1 + k)
                    many.step(2)
                for i, u in enumerate(inputs):
                    with nonholo.Stepper(PUSH, method, step=0.1) as one:
                        for k in range(6):
                            one.u = u * (1 + k)
                            one.step(2)
                        self.assertEqual((one.q[0], one.v[0], one.t), (many.q[i, 0], many.v[i, 0], many.t))
        swept = nonholo.ensemble(SLED, "rk4", step=0.01, time=1, sweep={"m": (1, 2, 3)}, input={"u:held": "0.2*cos(t)"}, input_period=0.05)
        for i, m in enumerate((1, 1.5, 2)):
            run = nonholo.run(SLED, "rk4", step=0.01, time=1, set={"m": m}, input={"u:held": "0.2*cos(t)"}, input_period=0.05)
            self.assertTrue((run.q[-1] == swept.q[i, -1]).all() and run["u"][-1] == swept["u"][i, -1])

    def test_interruption(self):
        with tempfile.TemporaryDirectory() as folder:
            here = lambda name: os.path.join(folder, name)
            text = "t,u\n" + "".join(f"{0.0101 * i},{(i * 7919 % 101) / 101}\n" for i in range(300))
            with open(here("u.csv"), "w") as file:
                file.write(text)
            given = dict(method="gauss", step=0.001, steps=2000, every=100, input={"u": here("u.csv")}, estimate=False)
            whole = nonholo.run(PUSH, **given)

            def stop(share):
                if share > 0:
                    raise KeyboardInterrupt

            with self.assertRaises(KeyboardInterrupt):
                nonholo.run(PUSH, **given, checkpoint=here("c"), progress=stop)
            if os.path.exists(here("c")):  # it may be too fast to be stopped
                with self.assertRaisesRegex(nonholo.UsageError, "equations differ"):
                    nonholo.run(PUSH, **{**given, "input": {"u": ([0, 1], [0, 1])}}, resume=here("c"))
                resumed = nonholo.run(PUSH, **given, resume=here("c"))
                self.assertEqual((resumed.q[-1, 0], resumed.v[-1, 0]), (whole.q[-1, 0], whole.v[-1, 0]))

    def test_refusals(self):
        L = "model m\ncoordinate x\ninput u = 1\nlagrangian u*x'^2/2\n"
        for model, given, text in (
            (L, {"u:held": "t"}, "where its rate matters"),
            (L, {"u": "x"}, "not only in forces"),
            ("model m\ncoordinate x, y\ninput u = 1\nlagrangian x'^2 + y'^2\nconstraint x = u\nstart x = 1\n", {"u:held": "1"}, "where its rate matters"),
            (PUSH, {"u": "2*y"}, "unknown name 'y'"), (PUSH, {"w": 1}, "inputs of the model: u"), (PUSH, {"u:cubic": "t"}, "held, linear or spline"),
            (PUSH, {"u:linear": "t"}, "interpolates a table"), (PUSH, {"u": ([0, 0], [1, 2])}, "times must ascend"),
            (PUSH, {"u": ([0, 1], [1, np.nan])}, "point 2"), (PUSH, {"u": np.zeros((2, 3))}, "of shape"), (PUSH, {"u[1]": 1}, "not a family"),
            ("model m\ncoordinate x\n", {"u": 1}, "lagrangian|has none"),
        ):
            with self.assertRaisesRegex((nonholo.UsageError, ValueError), text):
                nonholo.run(model, step=0.1, steps=1, input=given)
        with self.assertRaisesRegex(nonholo.ComputationError, "the input 'u' is nan"):
            nonholo.run(PUSH, step=0.1, steps=1, input={"u": lambda t, q, v: np.nan})
        with tempfile.TemporaryDirectory() as folder:
            for text, what in (("t,u\n0,0\n0.5,x\n", "u.csv:3: column 2: expected a number, found 'x'"), ("0,1\n1\n", "u.csv:2: 1 column, expected 2"),
                               ("t,u\n0,1\n0,2\n", "u.csv:3: times must ascend"), ("a,b,c\n1,2,3\n", "u.csv:1: there is no column 't'"), ("", "has no points"),
                               ("1,2,3\n", "u.csv:1: 3 columns and no header")):
                with open(os.path.join(folder, "u.csv"), "w") as file:
                    file.write(text)
                with open(os.path.join(folder, "push.nh"), "w") as file:
                    file.write(PUSH)
                self.assertIn(what, command("check", "push.nh", "--input", "u=u.csv", folder=folder, code=2))

    def test_facts(self):
        model = nonholo.load(PUSH)
        self.assertTrue(model.system().check().keeps_energy)  # u = 0: no force
        for given in ({"u": "sin(t)"}, {"u": "-x"}, {"u:held": "1"}, {"u": ([0, 1], [0, 1])}):
            facts = model.system(input=given).check()
            self.assertFalse(facts.keeps_energy and "u" in given and given["u"] != "-x", given)
            self.assertEqual(facts.autonomous, given == {"u": "-x"}, given)
        self.assertEqual(model.system().inputs, ["u"])

    def test_family(self):
        text = "model m\nparameter N = 3\ncoordinate x[1..N]\ninput u[1..N] = 0\nlagrangian sum(i in 1..N: x[i]'^2)/2\nforce x = u\n"
        run = nonholo.run(text, "gauss", step=0.1, steps=10, input={"u": 1, "u[2]": "2*t"})
        self.assertLess(np.abs(run.v[-1] - [1, 1, 1]).max(), 1e-13)
        self.assertEqual(run["u[2]"][-1], 2.0)
        with nonholo.Stepper(text, "gauss", step=0.1) as s:
            s.u = [1, 2, 3]
            s.step(10)
            self.assertLess(np.abs(s.v - [1, 2, 3]).max(), 1e-13)

    def test_stepper(self):
        with nonholo.Stepper(PUSH, "dla01", step=0.5) as s:
            q, v = s.q, s.v
            s.u = np.float64(2)
            s.step()
            self.assertEqual((q[0], v[0], s.t, s.u), (0.25, 1.0, 0.5, 2.0))
            s.set(m=2)
            self.assertEqual((s.q[0], s.v[0], s.t, s.u, s.parameters["m"]), (0.25, 1.0, 0.5, 2.0, 2.0))
            s.step()
            self.assertEqual(s.v[0], 1.5)
            s.q = [7]
            self.assertEqual((s.q[0], s.v[0], s.t), (7.0, 1.5, 1.0))
            s.reset()
            self.assertEqual((s.q[0], s.v[0], s.t, s.u), (0.0, 0.0, 0.0, 0.0))
            with self.assertRaises(ValueError):
                s.q = [1, 2]
            with self.assertRaisesRegex(nonholo.UsageError, "the input 'u' would be inf"):
                s.u = float("inf")
                s.step()

    def test_names(self):
        for call, name, meant in ((nonholo.run, "params", "set"), (nonholo.run, "dt", "step"), (nonholo.ensemble, "workers", "threads"),
                                  (nonholo.Stepper, "num_envs", "members"), (nonholo.compare, "dt", "step"), (nonholo.run, "tolerence", "tolerance")):
            with self.assertRaisesRegex(TypeError, f"no argument '{name}'.*did you mean {meant}="):
                call(PUSH, **{name: 1})
        nonholo.run(PUSH, "gauss", stages=2, step=0.1, steps=1)  # options of methods are not affected


class Examples(unittest.TestCase):
    def test_balance(self):
        """The regulator brings the robot upright and back; with its sign changed it falls, and says so by its pitch."""
        example = runpy.run_path(os.path.join(SOURCE, "examples", "python", "balance.py"))
        gain, q, v, largest = example["main"](steps=4000)
        self.assertLess(abs(q[3]) + abs(v[3]), 1e-4)  # measured: 1e-6
        self.assertLess(largest, 0.5)  # measured: 0.195
        again = example["main"](steps=4000, gain=gain)
        self.assertTrue((again[1] == q).all() and (again[2] == v).all())
        self.assertGreater(abs(example["main"](steps=300, gain=-gain)[1][3]), 1)

    def test_balance_in_c(self):
        """The same loop around the exported model gives the same bits."""
        compiler = shutil.which("cc") or shutil.which("gcc")
        listed = subprocess.run([COMMAND, "export", "--help"], capture_output=True)
        if not compiler or listed.returncode:
            self.skipTest("no compiler, or a command without export")
        example = runpy.run_path(os.path.join(SOURCE, "examples", "python", "balance.py"))
        gain, q, v, _ = example["main"](steps=2000)
        with tempfile.TemporaryDirectory() as folder:
            command("export", os.path.join(SOURCE, "examples", "balancing-robot.nh"), "--method", "rk4", "--step", "0.001", "--format", "c",
                    "--input", "left:held", "--input", "right:held", "-o", "robot.c", folder=folder)
            program = os.path.join(folder, "balance")
            subprocess.run([compiler, "-O3", "-march=native", "-ffp-contract=off", "-I", folder, "-o", program,
                            os.path.join(SOURCE, "examples", "python", "balance.c"), os.path.join(folder, "robot.c"), "-lm"], check=True)
            done = subprocess.run([program, "2000", *(repr(float(g)) for row in gain for g in row)], capture_output=True, text=True)
        self.assertEqual([float(x) for x in done.stdout.split()], [*q.tolist(), *v.tolist()], done.stderr)

    def test_environment(self):
        example = runpy.run_path(os.path.join(SOURCE, "examples", "python", "environment.py"))
        environment = example["Balance"](count=8)
        observations, _ = environment.reset()
        falls = 0
        for _ in range(300):
            observations, rewards, fallen, _, _ = environment.step(np.zeros(8))
            falls += fallen.sum()
        self.assertGreater(falls, 8)
        self.assertTrue((np.abs(observations[:, 0]) <= environment.limit).all())


def nonholo_has_compiler():
    try:
        nonholo.run(PUSH, "gauss", step=0.1, steps=1, backend="compiled")
        return True
    except nonholo.Error:
        return False


if __name__ == "__main__":
    run_unittest()
