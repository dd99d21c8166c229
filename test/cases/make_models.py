#!/usr/bin/python3
"""make_models.py: writes models.json, end states of shipped models, computed without nonholo.

Each system is set up by Kane's method, without a Lagrangian and without multipliers: independent speeds u, into
which the rolling conditions are solved by hand; velocities of centres of mass and angular velocities as functions
of q and u, derived from positions and rotation matrices; then, for each speed,

    sum m a . dV/du + (dH/dt) . dW/du  =  sum F . dV/du + torque * d(rate)/du.

SymPy differentiates, DOP853 integrates. Needs python3-sympy and python3-scipy; the tests only read the result."""

import os

import numpy as np
import sympy as s
from scipy.integrate import solve_ivp
from sympy import Matrix, cos, sin, tan

import table

TIME, TOLERANCE = 2.0, 1e-8
t = s.Symbol("t")
EX, EY, EZ = Matrix([1, 0, 0]), Matrix([0, 1, 0]), Matrix([0, 0, 1])


class Motion:
    """Collects the moving bodies and forces; then gives u' as a function of t, q and u."""

    def __init__(self, q, u, rates):
        self.q, self.u, self.rates = list(q), list(u), [s.sympify(r) for r in rates]
        self.accelerations = s.symbols(f"a:{len(self.u)}")
        self.balance = [0] * len(self.u)

    def rate(self, field):
        """d/dt of a function of t, q and u."""
        found = field.diff(t)
        for a, b in [*zip(self.q, self.rates), *zip(self.u, self.accelerations)]:
            found += field.diff(a) * b
        return found

    def mass(self, m, V, force=s.zeros(3, 1), turning=None):
        """A mass whose velocity V is given in space, or in a frame that turns with `turning`."""
        a = self.rate(V) + (turning.cross(V) if turning is not None else s.zeros(3, 1))
        for i, u in enumerate(self.u):
            self.balance[i] += (m * a - force).dot(V.diff(u))

    def turn(self, inertia, W, turning=None):
        """A body with the angular velocity W and the inertia (a matrix), in space or in a turning frame."""
        H = inertia * W
        torque = self.rate(H) + (turning.cross(H) if turning is not None else s.zeros(3, 1))
        for i, u in enumerate(self.u):
            self.balance[i] += torque.dot(W.diff(u))

    def push(self, strength, rate):
        """A force or torque on the coordinate whose rate is given."""
        for i, u in enumerate(self.u):
            self.balance[i] -= strength * s.sympify(rate).diff(u)

    def solve(self, start, time):
        balance = Matrix(self.balance)
        matrix = balance.jacobian(Matrix(self.accelerations))
        rest = balance.subs({a: 0 for a in self.accelerations})
        number = s.lambdify((t, self.q, self.u), (matrix, rest, self.rates), "numpy", cse=True)
        n = len(self.q)

        def field(time_now, state):
            M, b, rates = number(time_now, state[:n], state[n:])
            return np.concatenate([np.array(rates, dtype=float), -np.linalg.solve(M, b).ravel()])

        state = lambda when, y: (y[:n].tolist(), field(when, y)[:n].tolist())
        found = solve_ivp(field, (0, time), start, method="DOP853", rtol=1e-13, atol=1e-14)
        assert found.success, found.message
        return state(0.0, np.array(start)), state(time, found.y[:, -1])


def plane(x, y, z=0):
    return Matrix([x, y, z])


def heading(angle):
    return plane(cos(angle), sin(angle))


def snakeboard(m, r, J, Jr, Jw, f, A, B, rate, k, c):
    """The wheels' conditions in the board's frame: b + r w = a tan(phi1), b - r w = a tan(phi2)."""
    x, y, th, psi, p1, p2 = q = s.symbols("x y th psi p1 p2")
    a, upsi, u1, u2 = u = s.symbols("a upsi u1 u2")
    w, b = a * (tan(p1) - tan(p2)) / (2 * r), a * (tan(p1) + tan(p2)) / 2
    V = a * heading(th) + b * heading(th + s.pi / 2)
    one = Motion(q, u, [V[0], V[1], w, upsi, u1, u2])
    one.mass(m, V, force=-f * V)
    for moment, turn in ((J, w), (Jr, w + upsi), (Jw, w + u1), (Jw, w + u2)):
        one.turn(moment * s.eye(3), turn * EZ)
    for angle, speed, swing in ((psi, upsi, B), (p1, u1, A), (p2, u2, -A)):
        one.push(k * sin(swing * sin(rate * t) - angle) + c * (swing * rate * cos(rate * t) - speed), speed)
    return one, [0.1, -0.2, 0.3, 0.2, 0.25, -0.3, 0.4, -0.3, 0.2, 0.1]


def two_wheeled_robot(m, J, d, Jw, b, r, g, beta):
    x, y, th, right, left = q = s.symbols("x y th right left")
    v, w = u = s.symbols("v w")
    one = Motion(q, u, [v * cos(th), v * sin(th), w, (v + b * w) / r, (v - b * w) / r])
    across = heading(th + s.pi / 2)
    one.mass(m, v * heading(th) + d * w * across, force=m * g * s.sin(beta) * EX)
    one.turn(J * s.eye(3), w * EZ)
    for spin in (v + b * w) / r, (v - b * w) / r:
        one.turn(Jw * across * across.T, w * EZ + spin * across)
    return one, [0.1, 0.2, 0.9, 0.3, -0.2, 0.4, 1.1]


def bicycle(m, mw, g, p, c, b, J, Js, K1, K2, K3, K4):
    x, y, th, lean, steer = q = s.symbols("x y th lean steer")
    v, ul, us = u = s.symbols("v ul us")
    w = v * tan(steer) / b
    one = Motion(q, u, [v * cos(th), v * sin(th), w, ul, us])
    place = plane(x, y) + c * heading(th) + p * (cos(lean) * EZ + sin(lean) * heading(th - s.pi / 2))
    one.mass(m, one.rate(place), force=-m * g * EZ)
    one.mass(mw, v * heading(th))
    one.turn(J * s.eye(3), w * EZ)
    one.turn(Js * s.eye(3), us * EZ)  # the model's steering has inertia of its own only
    one.push(-K1 * sin(lean) - K2 * ul - K3 * sin(steer) - K4 * us, us)
    return one, [0.1, 0.2, 0.3, 0.15, 0.1, 4.0, 0.2, -0.3]


def tractor_trailers(K, M, m, J, Js, b, l, k, A, rate):
    """Each axle is pulled along: v_i = v_(i-1) cos(d), theta_i' = v_(i-1) sin(d)/l with d the angle of the hitch."""
    x, y = s.symbols("x y")
    th, delta = s.symbols(f"th:{K + 1}"), s.Symbol("delta")
    v, us = u = s.symbols("v us")
    speeds, turns = [v], [v * tan(delta) / b]
    for i in range(1, K + 1):
        turns.append(speeds[-1] * sin(th[i - 1] - th[i]) / l)
        speeds.append(speeds[-1] * cos(th[i - 1] - th[i]))
    one = Motion([x, y, *th, delta], u, [v * cos(th[0]), v * sin(th[0]), *turns, us])
    for i in range(K + 1):
        one.mass(m if i else M, speeds[i] * heading(th[i]))
        one.turn(J * s.eye(3), turns[i] * EZ)
    one.turn(Js * s.eye(3), us * EZ)
    one.push(-k * sin(delta - A * sin(rate * t)), us)
    return one, [0.2, -0.1, 0.3, 0.2, 0.1, -0.1, -0.2, 0.15, 1.2, 0.1][: 2 + K + 1] + [0.15, 1.2, 0.1]


def turn_matrix(axis, angle):
    c, sn = cos(angle), sin(angle)
    return {"x": Matrix([[1, 0, 0], [0, c, -sn], [0, sn, c]]), "y": Matrix([[c, 0, sn], [0, 1, 0], [-sn, 0, c]]),
            "z": Matrix([[c, -sn, 0], [sn, c, 0], [0, 0, 1]])}[axis]


def angle_rates(R, angles, w):
    """The angles' rates for the angular velocity w in the body: columns of R^T dR/d(angle)."""
    columns = []
    for angle in angles:
        skew = s.simplify(R.T * R.diff(angle))
        columns.append(Matrix([skew[2, 1], skew[0, 2], skew[1, 0]]))
    return s.simplify(Matrix.hstack(*columns)).LUsolve(w)


def chaplygin_sphere(m, r, I1, I2, I3):
    x, y, phi, theta, psi = q = s.symbols("x y phi theta psi")
    w = Matrix(s.symbols("w1:4"))
    R = turn_matrix("z", phi) * turn_matrix("x", theta) * turn_matrix("z", psi)
    V = (R * w).cross(r * EZ)  # of the centre: the ball's point below it is at rest
    one = Motion(q, list(w), [V[0], V[1], *s.simplify(angle_rates(R, [phi, theta, psi], w))])
    one.mass(m, V)
    one.turn(s.diag(I1, I2, I3), w, turning=w)
    return one, [0.1, 0.2, 0.3, 1.2, 0.5, 0.6, -0.4, 0.8]


def rattleback(m, g, a, b, c, h, I1, I2, I3, I12):
    x, y, yaw, roll, pitch = q = s.symbols("x y yaw roll pitch")
    w = Matrix(s.symbols("w1:4"))
    R = turn_matrix("z", yaw) * turn_matrix("x", roll) * turn_matrix("y", pitch)
    up = R.T * EZ  # the vertical in the body
    D = s.diag(a**2, b**2, c**2)
    touch = h * EZ - D * up / s.sqrt((up.T * D * up)[0])
    V = -w.cross(touch)  # of the centre of mass, in the body's axes
    space = R * V
    one = Motion(q, list(w), [space[0], space[1], *s.simplify(angle_rates(R, [yaw, roll, pitch], w))])
    one.mass(m, V, force=-m * g * up, turning=w)
    one.turn(Matrix([[I1, I12, 0], [I12, I2, 0], [0, 0, I3]]), w, turning=w)
    return one, [0.01, -0.02, 0.3, 0.02, 0.03, 0.1, 0.2, -4.0]


def disk_chain(N, m, r, J, I, k, kt):
    x, y = s.symbols(f"x:{N}"), s.symbols(f"y:{N}")
    th, phi = s.symbols(f"th:{N}"), s.symbols(f"phi:{N}")
    turn, spin = s.symbols(f"ut:{N}"), s.symbols(f"us:{N}")
    speeds = [r * spin[i] * heading(th[i]) for i in range(N)]
    rates = [v[0] for v in speeds] + [v[1] for v in speeds] + [*turn, *spin]
    one = Motion([*x, *y, *th, *phi], [*turn, *spin], rates)
    for i in range(N):
        pull, twist = s.zeros(3, 1), 0
        for j in (i - 1, i + 1):
            if 0 <= j < N:
                pull += k * plane(x[j] - x[i], y[j] - y[i])
                twist += kt * sin(th[j] - th[i])
        one.mass(m, speeds[i], force=pull)
        axle = heading(th[i] + s.pi / 2)
        one.turn(I * axle * axle.T + J * EZ * EZ.T, turn[i] * EZ + spin[i] * axle)
        one.push(twist, turn[i])
    start = [0.1, -0.2, 0.3, 0.05, 0.2, 0.1, -0.1, 0.3, 0.4, -0.5, 0.6, 0.2, 0, 0.1, 0.2, 0.3]
    return one, start[: 4 * N] + [0.3, -0.2, 0.4, 0.1][:N] + [1.0, 0.5, -0.3, 0.2][:N]


def asymmetric_gearbox(eps, sign, shift):
    x, y, xi = q = s.symbols("x y xi")
    vx, vxi = u = s.symbols("vx vxi")
    one = Motion(q, u, [vx, -sin(xi) * vx, vxi])
    V = sign * cos(xi) - eps * sin(2 * xi) / 2 + shift
    one.mass(1, plane(vx, -sin(xi) * vx), force=-plane(x, y))
    one.turn(s.eye(3), vxi * EZ)
    one.push(-V.diff(xi), vxi)
    return one, [0.9, -0.3, 0.4, 0.7, 1.8]


CASES = [
    (snakeboard, dict(m=1.2, r=0.45, J=0.12, Jr=0.14, Jw=0.03, f=0.35, A=0.5, B=0.9, rate=2.2, k=3.5, c=0.7)),
    (two_wheeled_robot, dict(m=1.1, J=0.23, d=0.17, Jw=0.06, b=0.37, r=0.16, g=1.2, beta=0.35)),
    (bicycle, dict(m=1.1, mw=0.15, g=9.7, p=0.9, c=0.45, b=1.1, J=0.25, Js=0.06, K1=6.5, K2=1.4, K3=8.2, K4=1.9)),
    (tractor_trailers, dict(K=3, M=1.9, m=1.1, J=0.35, Js=0.12, b=1.1, l=1.3, k=2.1, A=0.45, rate=0.9)),
    (tractor_trailers, dict(K=1, M=1.9, m=1.1, J=0.35, Js=0.12, b=1.1, l=1.3, k=2.1, A=0.45, rate=0.9)),
    (tractor_trailers, dict(K=0, M=1.9, m=1.1, J=0.35, Js=0.12, b=1.1, l=1.3, k=2.1, A=0.45, rate=0.9)),
    (chaplygin_sphere, dict(m=1.1, r=0.9, I1=0.35, I2=0.6, I3=0.85)),
    (rattleback, dict(m=1.1, g=9.7, a=0.19, b=0.032, c=0.021, h=0.011, I1=0.00022, I2=0.0015, I3=0.0018, I12=-0.00003)),
    (disk_chain, dict(N=3, m=1.1, r=0.9, J=0.3, I=0.45, k=1.2, kt=0.35)),
    (disk_chain, dict(N=4, m=1.1, r=0.9, J=0.3, I=0.45, k=1.2, kt=0.35)),
    (asymmetric_gearbox, dict(eps=0.4, sign=1, shift=0)),
]


def main():
    cases = []
    for build, settings in CASES:
        motion, start = build(**settings)
        (q0, v0), (q, v) = motion.solve(start, TIME)
        model = build.__name__.replace("_", "-")
        print(model, settings.get("K", settings.get("N", "")), flush=True)
        cases.append(dict(model=model, set=settings, q0=q0, v0=v0, time=TIME, q=q, v=v, tolerance=TOLERANCE))
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "models.json")
    table.update(path, cases)


if __name__ == "__main__":
    main()
