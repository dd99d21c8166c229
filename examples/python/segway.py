"""A robot on two wheels, pushed over and brought back by the feedback of a linear-quadratic regulator.

The gain takes ten lines, and no differences: linearise() has exact derivatives, within the constraints, without
the symmetries of the plane. nonholo.control() gives the same gain without SciPy.
"""
import os

import numpy as np

import nonholo

MODEL = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "balancing-robot.nh")
PERIOD, Q, R = 0.01, np.diag([10, 1, 0.1, 0.01]), 10 * np.eye(2)


def regulator():
    """What is fed back (theta, psi', theta', a'), and the gain K of u = -K x, by SciPy."""
    from scipy.linalg import expm, solve_discrete_are

    about = nonholo.linearise(MODEL, start={"theta": 0})
    n, inputs = about.B.shape
    held = expm(PERIOD * np.block([[about.A, about.B], [np.zeros((inputs, n + inputs))]]))
    A, B = held[:n, :n], held[:n, n:]
    S = solve_discrete_are(A, B, Q, R)
    return about.names, np.linalg.solve(R + B.T @ S @ B, B.T @ S @ A)


def regulator_without_scipy():
    found = nonholo.control(MODEL, start={"theta": 0}, period=PERIOD, weights=(Q, R))
    return found.names, found.gain


def pushed(names, gain, seconds=8, push=2.0):
    """The pitch after each period, when the robot stands and is pushed after one second: its pitch rate jumps."""
    with nonholo.Stepper(MODEL, "rk4", step=PERIOD / 5, start={"theta": 0}) as robot:
        all_names = robot.system.coordinates + robot.system.velocities
        measured, rate = [all_names.index(name) for name in names], robot.system.velocities.index("theta'")
        pitch = []
        for k in range(round(seconds / PERIOD)):
            if k * PERIOD == 1:
                v = robot.v.copy()
                v[rate] += push
                robot.v = v
            robot.left, robot.right = -gain @ np.concatenate([robot.q, robot.v])[measured]
            robot.step(5)
            pitch.append(robot.q[robot.system.coordinates.index("theta")])
        return np.array(pitch)


if __name__ == "__main__":
    names, gain = regulator()
    print("gain of", ", ".join(names), *gain, sep="\n  ")
    pitch = pushed(names, gain)
    print(f"largest pitch {np.degrees(abs(pitch).max()):.1f} degrees, at the end {np.degrees(abs(pitch[-1])):.1e}")
