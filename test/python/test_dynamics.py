"""The equations of motion in many states at once: accelerations, mass matrices, forces and Jacobians of every shipped model
against single states, identities and extrapolated differences.

    test_dynamics.py SOURCE
"""

import os
import sys
import unittest

import numpy as np

import nonholo

SOURCE = os.path.abspath(sys.argv.pop())
sys.path.insert(0, os.path.join(SOURCE, "test", "cli"))
from harness import run_unittest  # noqa: E402


def differences(f, x, h=1e-5):
    """The matrix of derivatives, by central differences that are extrapolated once."""
    columns = [np.zeros((len(f(x)), 0))]
    for e in h * np.eye(len(x)):
        one, two = ((f(x + k * e) - f(x - k * e)) / (2 * k * h) for k in (1, 2))
        columns.append(((4 * one - two) / 3)[:, None])
    return np.hstack(columns)


def times(p, r):
    return np.array([p[0] * r[0] - p[1:] @ r[1:], *(p[0] * r[1:] + r[0] * p[1:] + np.cross(p[1:], r[1:]))])


def turned(system, q, d):
    """q after small changes d of the coordinates; three for a rotation, about the axes of the body."""
    out, i, k = [], 0, 0
    while i < len(q):
        if system.coordinates[i].endswith(".0"):
            angle = np.linalg.norm(d[k : k + 3])
            turn = np.concatenate([[np.cos(angle / 2)], d[k : k + 3] * (np.sin(angle / 2) / angle if angle else 0.5)])
            out += list(times(q[i : i + 4], turn))
            i, k = i + 4, k + 3
        else:
            out.append(q[i] + d[k])
            i, k = i + 1, k + 1
    return np.array(out)


DRIVEN = """model driven
parameter m = 2
input push = 0, turn = 0.3*cos(t), seesaw = sin(2*t)
coordinate x, y
rotation R
lagrangian m/2*(x'^2 + y'^2) + x'*y'/3 + dot(body(R), (1, 2, 2.5)*body(R)[1])/2 + dot(body(R), body(R)) - cos(x)*y - R[3,3]*x
constraint edge: y' = turn*x' + body(R)[1]/5
force x = push*cos(y) + seesaw
force y = -0.1*y'^3 + push^2
start x = 0.3, y = 0.2, x' = 1
"""


class Many(unittest.TestCase):
    def check(self, system, q, v, t=0.0, inputs=None):
        near = lambda a, b, digits: np.testing.assert_allclose(a, b, rtol=digits, atol=digits * (1 + np.abs(b).max(initial=0)))
        f = lambda q, v: system.acceleration(q, v, t, inputs)[0]
        jacobian = system.jacobian(q, v, t, inputs)
        shift = np.zeros(jacobian.by_position.shape[1])
        near(jacobian.by_position, differences(lambda d: f(turned(system, q, d), v), shift), 1e-9)
        near(jacobian.by_velocity, differences(lambda v: f(q, v), v), 1e-9)
        mass = system.mass_matrix(q, v, t, inputs)
        near(mass, mass.T, 1e-15)
        if not system.constraints:
            near(mass @ f(q, v), system.forces(q, v, t, inputs), 1e-11)
        return jacobian

    def test_shipped_models(self):
        rng = np.random.default_rng(7)
        for name in nonholo.models():
            with self.subTest(name):
                system = nonholo.load(name).system()
                q, v = system.start()
                v = v + 0.01 * rng.normal(size=len(v))
                single = system.acceleration(q, v)
                for count in (1, 7):  # more than a register's lanes, and not a multiple of them
                    a, multipliers = system.acceleration([q] * count, v)
                    self.assertEqual((a.shape, multipliers.shape), ((count, len(v)), (count, len(system.constraints))))
                    for row in a:
                        np.testing.assert_allclose(row, single[0], rtol=1e-11, atol=1e-11 * (1 + np.abs(single[0]).max(initial=0)))
                self.check(system, q, v)

    def test_states_differ(self):
        """Every state is its own: times, inputs and all."""
        rng = np.random.default_rng(3)
        system = nonholo.load(DRIVEN).system()
        q0, v0 = system.start()
        q, v = np.array([turned(system, q0, d) for d in rng.normal(size=(9, 5))]), rng.normal(size=(9, 5))
        t = np.array([0, 0, 1, 1, 1, 1, 1, 2, 3.0])
        push = rng.normal(size=9)
        together = system.acceleration(q, v, t, {"push": push})
        for i in range(9):
            alone = nonholo.load(DRIVEN).system(input={"push": repr(push[i])}).acceleration(q[i], v[i], t[i])
            for a, b in zip(together, alone):
                np.testing.assert_allclose(a[i], b, rtol=1e-12, atol=1e-12)

    def test_inputs(self):
        system = nonholo.load(DRIVEN).system(input={"push": "-x/2"})
        q, v = system.start()
        for inputs in (None, {"push": 0.7}, {"push": 0.7, "turn": 0.2, "seesaw": 1.0}):
            given = inputs or {}
            jacobian = self.check(system, q, v, 0.4, inputs)
            for k, name in enumerate(system.inputs):
                default = {"push": -q[0] / 2, "turn": 0.3 * np.cos(0.4), "seesaw": np.sin(0.8)}
                value = given.get(name, default[name])
                by = differences(lambda u: system.acceleration(q, v, 0.4, {**given, name: u[0]})[0], np.array([value]))[:, 0]
                np.testing.assert_allclose(jacobian.by_input[:, k], by, rtol=1e-8, atol=1e-8)

    def test_refused(self):
        system = nonholo.load("pendulum-cvt").system()
        q, v = system.start()
        with self.assertRaisesRegex(ValueError, "'push' is unknown; pendulum-cvt has no inputs"):
            system.acceleration(q, v, inputs={"push": 1})
        with self.assertRaisesRegex(ValueError, "q needs 3 numbers in its last axis, not 2"):
            system.jacobian([[0, 0]], v)


if __name__ == "__main__":
    run_unittest()
