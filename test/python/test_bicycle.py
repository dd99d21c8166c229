#!/usr/bin/env python3
"""test_bicycle.py SOURCE

The bicycle of test/data/benchmark-bicycle.nh has the eigenvalues that Meijaard, Papadopoulos, Ruina & Schwab (2007) publish
for their benchmark. Accelerations of the full nonlinear model are differentiated about straight riding: they are odd
functions of lean, steer and their rates, so a polynomial in the square of the step through five steps gives the slope at 0.
Positions of the two dependent coordinates are found here, from rotation matrices written out."""

import os
import sys

import numpy as np

import nonholo

TILT, REAR, FRONT = np.pi / 10, 0.3, 0.35  # of the steering axis; radii of the wheels
FREE, DEPENDENT = [3, 6, 7], [0, 1, 2, 4, 5, 8]  # velocities: lean, steer and rear wheel; all others
STEPS = [0.02, 0.04, 0.06, 0.08, 0.10]
# The published eigenvalues by speed, from castering over weave to capsize
PUBLISHED = {
    0: [-5.53094371765393, -3.13164324790656, 3.13164324790656, 5.53094371765393],
    5: [-14.0783896927982, -0.775341882195845 - 4.46486771378823j, -0.775341882195845 + 4.46486771378823j, -0.32286642900409],
    10: [-24.6245963501740, -3.72016840437287 - 10.9068113947629j, -3.72016840437287 + 10.9068113947629j, 0.161053386531720],
}
TOLERANCE = 1e-12  # relative to the largest; measured: 3e-14


def turn(axis, angle):
    """Quaternion and matrix of a rotation."""
    n = np.array(axis, dtype=float)
    cross = np.array([[0, -n[2], n[1]], [n[2], 0, -n[0]], [-n[1], n[0], 0]])
    return np.array([np.cos(angle / 2), *np.sin(angle / 2) * n]), np.eye(3) + np.sin(angle) * cross + (1 - np.cos(angle)) * cross @ cross


def heights(lean, steer, z, pitch):
    """Of the lowest points of both wheels."""
    frame = turn((1, 0, 0), lean)[1] @ turn((0, 1, 0), pitch)[1]
    fork = frame @ turn((np.sin(TILT), 0, np.cos(TILT)), steer)[1]
    centre = np.array([0, 0, z]) + frame @ [1.1, 0, REAR] + fork @ [-0.08, 0, -FRONT]
    return np.array([z + REAR * np.sqrt(1 - frame[2, 1] ** 2), centre[2] + FRONT * np.sqrt(1 - fork[2, 1] ** 2)])


def position(lean, steer):
    y, e = np.array([-REAR, 0.0]), 1e-6
    for _ in range(30):
        slope = [(heights(lean, steer, *(y + e * d)) - heights(lean, steer, *(y - e * d))) / (2 * e) for d in np.eye(2)]
        y = y - np.linalg.solve(np.array(slope).T, heights(lean, steer, *y))
    (a, b), (c, d) = turn((1, 0, 0), lean)[0][:2], turn((0, 1, 0), y[1])[0][[0, 2]]
    return np.array([0, 0, y[0], a * c, b * c, a * d, b * d, steer, 0, 0])


def acceleration(system, speed, state):
    lean, steer, *rates = state
    q, v = position(lean, steer), np.zeros(9)
    v[FREE] = [*rates, -speed / REAR]
    k = np.array(system.residual(q, v))
    K = np.array([np.array(system.residual(q, v + np.eye(9)[j])) - k for j in DEPENDENT]).T
    v[DEPENDENT] = np.linalg.lstsq(K, -k, rcond=None)[0]
    return system.acceleration(q, v)[0][[3, 6]]


def eigenvalues(model, speed):
    system = model.system({"speed": speed})
    weight = [np.prod([b**2 / (b**2 - a**2) for b in STEPS if b != a]) for a in STEPS]
    A = np.zeros((4, 4))
    A[0, 2] = A[1, 3] = 1
    for i, e in enumerate(np.eye(4)):
        odd = [(acceleration(system, speed, h * e) - acceleration(system, speed, -h * e)) / (2 * h) for h in STEPS]
        A[2:, i] = sum(w * f for w, f in zip(weight, odd))
    return np.array(sorted(np.linalg.eigvals(A), key=lambda z: (z.real, z.imag)))


def main():
    model = nonholo.load(os.path.join(sys.argv[1], "test", "data", "benchmark-bicycle.nh"))
    lines = model.text.strip().count("\n") + 1
    bad = lines > 40
    for speed, published in PUBLISHED.items():
        found = eigenvalues(model, speed)
        error = np.abs(found - np.array(published)).max() / np.abs(published).max()
        print(f"{speed:2} m/s: off by {error:.1e} of the largest")
        bad |= not error < TOLERANCE
    print(f"{lines} lines")
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main())
