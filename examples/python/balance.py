"""A robot that balances on two wheels, stabilised by feedback at 1 kHz.

The gain is that of the linear-quadratic regulator of the linearised step: differences of steps of the model itself
give the matrices, and Riccati's equation is iterated. The same loop runs in C with the exported model, to the same
bits (`balance.c` beside this file).
"""
import os

import numpy as np

import nonholo

MODEL = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "balancing-robot.nh")
STEP, W, R = 0.001, 0.09, 0.04


def state(z):
    """q and v that satisfy the constraints, from z = (distance, heading, pitch and their rates)."""
    s, psi, theta, ds, dpsi, dtheta = z
    q = [s, 0, psi, theta, 0, 0]
    v = [ds * np.cos(psi), ds * np.sin(psi), dpsi, dtheta, (ds - W * dpsi) / R, (ds + W * dpsi) / R]
    return q, v


def measured(q, v):
    """z, with the distance measured by the wheels."""
    return np.array([R * (q[4] + q[5]) / 2, q[2], q[3], R * (v[4] + v[5]) / 2, v[2], v[3]])


def linearised(robot, d=1e-5):
    """The step z -> A z + B u about rest, by central differences."""

    def step(z, u):
        q, v = state(z)
        q[4] = q[5] = z[0] / R
        robot.reset(q=q, v=v)
        robot.left, robot.right = u
        robot.step()
        return measured(robot.q, robot.v)

    columns = []
    for i in range(8):
        e = np.zeros(8)
        e[i] = d
        columns.append((step(e[:6], e[6:]) - step(-e[:6], -e[6:])) / (2 * d))
    both = np.array(columns).T
    return both[:, :6], both[:, 6:]


def regulator(A, B, Q, R):
    """The gain K of u = -K z, from the fixed point of Riccati's equation."""
    P = Q
    for _ in range(20000):
        K = np.linalg.solve(R + B.T @ P @ B, B.T @ P @ A)
        new = Q + A.T @ P @ (A - B @ K)
        if np.abs(new - P).max() < 1e-12 * np.abs(new).max():
            break
        P = new
    return K


def main(steps=5000, gain=None):
    with nonholo.Stepper(MODEL, "rk4", step=STEP) as robot:
        if gain is None:
            A, B = linearised(robot)
            gain = regulator(A, B, np.diag([10, 10, 1, 1, 1, 0.1]), 10 * np.eye(2))
            # decimal numbers for a microcontroller
            gain = np.round(gain, 4)
        robot.reset()
        largest = 0.0
        for _ in range(steps):
            z = measured(robot.q, robot.v)
            u = [0.0, 0.0]
            for i in range(2):  # written out, so that C rounds in the same order
                for j in range(6):
                    u[i] = u[i] - float(gain[i][j]) * float(z[j])
            robot.left, robot.right = u
            robot.step()
            largest = max(largest, abs(u[0]), abs(u[1]))
        return gain, robot.q.copy(), robot.v.copy(), largest


if __name__ == "__main__":
    gain, q, v, largest = main()
    print("gain", *(" ".join(f"{g:.4f}" for g in row) for row in gain), sep="\n  ")
    print(f"after 5 s: pitch {q[3]:.2e}, distance {0.04 * (q[4] + q[5]) / 2:.2e}, heading {q[2]:.2e}; largest torque {largest:.3f}")
