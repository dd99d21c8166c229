"""The examples of feedback and optimisation in examples/python.

    test_examples.py SOURCE
"""

import importlib.util
import os
import runpy
import sys
import unittest

import numpy as np

SOURCE = os.path.abspath(sys.argv.pop())
sys.path.insert(0, os.path.join(SOURCE, "test", "cli"))
from harness import run_unittest  # noqa: E402


def example(name):
    return runpy.run_path(os.path.join(SOURCE, "examples", "python", name + ".py"))


def needs(module):
    return unittest.skipUnless(importlib.util.find_spec(module), f"{module} is not installed")


class Segway(unittest.TestCase):
    def setUp(self):
        self.example = example("segway")
        self.names, self.gain = self.example["regulator_without_scipy"]()

    @needs("scipy")
    def test_scipy(self):
        names, gain = self.example["regulator"]()
        self.assertEqual(names, self.names)
        self.assertLess(abs(gain - self.gain).max(), 1e-10 * abs(gain).max())  # measured: 1.4e-13

    def test_push(self):
        """It returns from a push, in both directions; without feedback, or with its sign changed, it falls."""
        for push in (2.0, -2.0):
            pitch = self.example["pushed"](self.names, self.gain, push=push)
            self.assertEqual(abs(pitch[:100]).max(), 0)
            self.assertTrue(0.05 < abs(pitch).max() < 0.3)  # measured: 0.086
            self.assertLess(abs(pitch[-1]), 1e-9)  # measured: 4e-12
        for gain in (0 * self.gain, -self.gain):
            self.assertGreater(abs(self.example["pushed"](self.names, gain, seconds=3)).max(), 1)


class Bicycle(unittest.TestCase):
    def setUp(self):
        self.example = example("bicycle")
        self.rider = self.example["rider"]()

    @needs("scipy")
    def test_scipy(self):
        """Both gains, in the directions that the torque moves (not the speed)."""
        from scipy.linalg import solve_discrete_are

        r = self.rider
        kept = [i for i, name in enumerate(r.names) if name != "x'"]
        self.assertEqual(len(kept), 4)
        A, B, C = r.A[np.ix_(kept, kept)], r.B[kept], r.C[:, kept]
        P = solve_discrete_are(A, B, np.eye(4), [[0.01]])
        gain = np.linalg.solve(0.01 + B.T @ P @ B, B.T @ P @ A)
        self.assertLess(abs(gain - r.gain[:, kept]).max(), 1e-10 * abs(gain).max())  # measured: 4e-14
        seen = [r.outputs.index("leans"), r.outputs.index("steers")]
        C, V = C[seen], 0.003**2 * np.eye(2)
        S = solve_discrete_are(A.T, C.T, B @ B.T, V)
        filter = S @ C.T @ np.linalg.inv(C @ S @ C.T + V)
        self.assertLess(abs(filter - r.filter[np.ix_(kept, seen)]).max(), 1e-9 * abs(filter).max())

    def test_ride(self):
        """Struck three times, with errors of measurement and without, it stays up; nobody on it, it falls."""
        ride = self.example["ride"]
        lean = ride(self.rider)[:, 1]
        self.assertTrue(0.1 < abs(lean).max() < 0.25)  # measured: 0.18; for other seeds at most 0.2
        self.assertLess(abs(ride(self.rider, seconds=16, noise=0)[-1, 1]), 1e-4)  # measured: 1.1e-6
        self.assertLess(abs(ride(self.rider, noise=0, blows={})[:, 1]).max(), 1e-9)
        self.assertGreater(abs(ride(self.rider, seconds=4, feedback=False)[:, 1]).max(), 1)


class RecedingHorizon(unittest.TestCase):
    def test_pose(self):
        """Plans made anew bring the sleigh to its pose in spite of a blow; the first plan alone does not."""
        drive = example("receding_horizon")["drive"]
        x, y, theta = drive()[0][-1, :3]
        self.assertLess(np.hypot(x, y - 1), 0.1)  # measured: 0.0004, for blows from 0.4 to 0.8 at most 0.014
        self.assertLess(abs(theta), 0.2)  # measured: 0.001, at most 0.034
        x, y, theta = drive(seconds=3, planning=False)[0][-1, :3]
        self.assertGreater(abs(theta), 0.5)  # measured: 1.02, and 0.25 away


class Compositions(unittest.TestCase):
    def test_drift(self):
        """Of dla and gauss in turn: the driver as predicted (proposition 17 of docs/results.md), the passengers by h^6 at most."""
        example_ = example("compositions")
        rates, parts, asymmetry = example_["rates"], example_["COMPOSITIONS"], example_["asymmetry"]
        driver, passengers = rates(parts["in turn"], 0.2)
        self.assertLess(abs(driver / (7.009e-3 * 0.1**4) - 1), 0.03)  # measured: 0.977, and 0.997 at half the step
        self.assertLess(abs(passengers), 1e-8)  # measured: 3.9e-9
        self.assertLess(abs(rates(parts["dla"], 0.1)[1] / 3.15e-4 - 1), 0.02)
        for name, parts_ in parts.items():
            left = asymmetry(parts_)
            self.assertTrue(left > 1e-5 if name == "in turn" else left < 1e-13, (name, left))


class Others(unittest.TestCase):
    @needs("scipy")
    def test_gradient(self):
        """Derivatives agree with differences, and the least effort with that of `nonholo optimise`, found by IPOPT in docs/optimise.md."""
        scipy = example("with_scipy")
        gait, d = np.array([1.1, 0.6, 3.3, -1.2]), 1e-5
        for of, at in (("x", "end"), ("effort", "integral")):
            slope = scipy["value_and_gradient"](gait, of, at)[1]
            for i, e in enumerate(np.eye(4) * d):
                ahead, behind = (scipy["value_and_gradient"](gait + s * e, of, at)[0] for s in (1, -1))
                self.assertLess(abs((ahead - behind) / (2 * d) - slope[i]), 1e-7)
        best = scipy["main"]()
        self.assertTrue(best.success)
        self.assertLess(abs(best.fun - 4.1467989), 1e-4)  # measured: 4e-5, of the steps

    @needs("jax")
    def test_jax(self):
        """A push of 1 in step k of 0.05 moves a cart of mass 2 by 0.00125 and its speed by 0.025, which lasts for the other steps."""
        value, slope = example("with_jax")["main"]()
        moves = np.array([[0.00125 + 0.00125 * (19 - k), 0.025] for k in range(20)])
        off = moves.sum(axis=0) - [1, 0]
        self.assertLess(abs(value - off @ off), 1e-12)
        self.assertLess(abs(np.array(slope) - 2 * moves @ off).max(), 1e-12)

    @needs("torch")
    def test_torch(self):
        u, left = example("with_torch")["main"]()
        self.assertLess(left, 1e-12)  # measured: 7e-18
        # the smallest pushes that do it, as the search begins at zero and never leaves the plane of the gradients
        self.assertLess(abs(u.numpy() + u.numpy()[::-1]).max(), 1e-3)


if __name__ == "__main__":
    run_unittest()
