"""Inputs in constraints and in conditions on positions, given in every way, at starts other than t = 0: the start is judged
with the values of the inputs there, projections reach it, and the motion is that of an independent computation.

    test_driven.py [COUNT [SEED]]
"""

import sys
import unittest
import warnings

import numpy as np

import nonholo

SEED = int(sys.argv.pop()) if len(sys.argv) > 2 else 0
COUNT = int(sys.argv.pop()) if len(sys.argv) > 1 else 40
STEP, STEPS, FINER = 0.05, 20, 16


class Drive:
    """An input, in one of the ways to give it, and what it is: its value, rate and second derivative between two times."""

    def __init__(self, random, jumps):
        kinds = ["linear", "spline", "expression"] + (["function", "held", "sampled"] if jumps else [])
        self.kind = str(random.choice(kinds))
        a, b, w = random.uniform(0.2, 1, 3).tolist()
        self.wave = lambda t: (a * np.sin(w * t) + b, a * w * np.cos(w * t), -a * w * w * np.sin(w * t))
        self.times = np.array([-1.0, 0.35, 1.1, 1.9, 4.0]) + random.uniform(-0.1, 0.1)
        self.values = random.uniform(-1, 1, 5)
        text = f"{a!r}*sin({w!r}*t) + {b!r}"
        self.given = {"expression": {"u": text}, "sampled": {"u:held": text},
                      "function": {"u": lambda t, q, v: self.wave(t)[0]}}.get(self.kind)
        self.given = self.given or {f"u:{self.kind}": (self.times, self.values)}

    def pieces(self, start, end):
        """(from, to, derivatives of the input as a function of time) where it is smooth."""
        if self.kind == "expression":
            return [(start, end, self.wave)]
        if self.kind in ("function", "sampled"):  # held during every step
            cuts = start + STEP * np.arange(STEPS + 1)
            return [(a, b, lambda t, u=self.wave(a)[0]: (u, 0, 0)) for a, b in zip(cuts, cuts[1:])]
        cuts = [start, *[t for t in self.times if start < t < end], end]
        return [(a, b, self.piece(int(np.searchsorted(self.times, (a + b) / 2)) - 1)) for a, b in zip(cuts, cuts[1:])]

    def piece(self, i):
        (a, b), (u, w) = self.times[i:i + 2], self.values[i:i + 2]
        slope = (w - u) / (b - a) if self.kind == "linear" else 0
        return lambda t: (u + slope * (t - a), slope, 0)


class Machine:
    """L = (x'^2 + (2 + a sin y) y'^2 + z'^2)/2 + b cos x - y^2/2, a force c on z, and one constraint with the input."""

    def __init__(self, random, positions):
        self.a, self.b, self.c = a, b, c = random.uniform(-0.6, 0.6, 3).tolist()
        self.positions = positions
        self.text = (f"model driven\ncoordinate x, y, z\ninput u = 0.3\nforce z = {c!r}\n"
                     f"lagrangian (x'^2 + (2 + {a!r}*sin(y))*y'^2 + z'^2)/2 + {b!r}*cos(x) - y^2/2\n"
                     + (f"constraint c: x + {a!r}*y + {b!r}*z = u*(1 + {c!r}*z/4)\n" if positions else
                        f"constraint c: x' + ({a!r} + {b!r}*sin(z))*y' + {c!r}*cos(x)*z' = u\n"))

    def row(self, q, v, u):
        """K with K v = r, and s with K v' = s."""
        a, b, c, (x, y, z) = self.a, self.b, self.c, q
        if self.positions:
            return np.array([1, a, b - u[0] * c / 4]), u[1] * (1 + c * z / 4), u[1] * c / 2 * v[2] + u[2] * (1 + c * z / 4)
        return (np.array([1, a + b * np.sin(z), c * np.cos(x)]), u[0],
                u[1] - b * np.cos(z) * v[2] * v[1] + c * np.sin(x) * v[0] * v[2])

    def rate(self, state, u):
        q, v = state
        mass = np.array([1, 2 + self.a * np.sin(q[1]), 1])
        force = np.array([-self.b * np.sin(q[0]), -q[1] - self.a * np.cos(q[1]) * v[1] ** 2 / 2, self.c])
        K, _, s = self.row(q, v, u)
        multiplier = (s - K @ (force / mass)) / (K @ (K / mass))
        return np.array([v, (force + K * multiplier) / mass])

    def jump(self, state, u):
        """The velocities after an impulse of the constraint."""
        q, v = state
        mass = np.array([1, 2 + self.a * np.sin(q[1]), 1])
        K, r, _ = self.row(q, v, u)
        return np.array([q, v + K / mass * (r - K @ v) / (K @ (K / mass))])

    def end(self, drive, q, v, start, end):
        """By Runge-Kutta steps of order 4."""
        state = np.array([q, v])
        for a, b, u in drive.pieces(start, end):
            state = self.jump(state, u(a))
            count = max(1, int(np.ceil((b - a) / STEP * FINER)))
            h = (b - a) / count
            for t in a + h * np.arange(count):
                k1 = self.rate(state, u(t))
                k2 = self.rate(state + h / 2 * k1, u(t + h / 2))
                k3 = self.rate(state + h / 2 * k2, u(t + h / 2))
                k4 = self.rate(state + h * k3, u(t + h))
                state = state + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        return state[0]


class Driven(unittest.TestCase):
    def test_random(self):
        """Measured over 1000 models: residuals of at most 1.8e-15, ends within 2.5e-12."""
        warnings.simplefilter("ignore", nonholo.Remark)
        residuals, ends = [0.0], [0.0]
        for case in range(COUNT):
            random = np.random.default_rng([SEED, case])
            machine = Machine(random, case % 3 == 2)
            drive, t0 = Drive(random, not machine.positions), float(random.choice([0, 0.7, -0.4, 1.3]))
            first = dict(zip(["x", "y", "z", "x'", "y'", "z'"], random.uniform(-0.5, 0.5, 6).tolist()))
            how = dict(stages=3, step=STEP, t0=t0, input=drive.given)
            with self.subTest(case=case, kind=drive.kind, t0=t0, text=machine.text):
                run = nonholo.run(machine.text, "gauss", steps=1, start=first, project=True, **how)
                q, v = run.q[0], run.v[0]
                run = nonholo.run(machine.text, "gauss", steps=STEPS, q=q, v=v, **how)
                residuals.append(run.constraint_max)
                with self.assertRaisesRegex(nonholo.UsageError, "off the constraints"):
                    nonholo.run(machine.text, "gauss", steps=1, q=q + 0.01, v=v + 0.01, **how)
                if drive.kind != "spline":
                    ends.append(np.abs(run.q[-1] - machine.end(drive, q, v, t0, run.t[-1])).max())
        self.assertLess(max(residuals), 1e-13)
        self.assertLess(max(ends), 1e-10)

    def test_start_expressions(self):
        """Start expressions use the input at the start, also where its default is 0."""
        text = "model m\ncoordinate x\ninput u = 0\nlagrangian x'^2/2\nconstraint x' = u\nstart x' = u\n"
        for given, value in [({"u:held": "0.7"}, 0.7), ({"u": lambda t, q, v: 0.1 * t}, 0.2), ({"u:held": ([0, 3], [0.4, 1])}, 0.4),
                             ({"u": "[0 0; 4 2]"}, 1.0), (None, 0.0)]:
            run = nonholo.run(text, "gauss", step=0.1, steps=3, t0=2, input=given)
            self.assertAlmostEqual(run["x'"][0], value, delta=1e-15)
        with nonholo.Stepper(text, "gauss", step=0.1, t0=2) as s:  # used to take the time for the value of the input
            self.assertEqual(s.v[0], 0)


if __name__ == "__main__":
    unittest.main()
