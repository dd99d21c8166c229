#!/usr/bin/python3
"""make_general.py: writes general.json, end states of the general models, computed without nonholo.

Each system is reduced by hand to ordinary differential equations without multipliers (derivations
beside them) and integrated by DOP853. Before that, the reduced accelerations are compared with
Lagrange's equations with multipliers, derived by SymPy with Chetaev's rule, at random states and times.
Needs python3-sympy, python3-mpmath and python3-scipy; the tests only read the result."""

import os
import random

import mpmath
import sympy
from math import cos, sin, tan
from scipy.integrate import solve_ivp

import table

TIME = 2.0
TOLERANCE = 1e-8


class AppellHamel:
    """v = s (cos f, sin f, -a): the admissible variations are orthogonal to (-a^2 cos f, -a^2 sin f,
    -a), so they are spanned by (cos f, sin f, -a) and (-sin f, cos f, 0). D'Alembert along them:

        m (1 + a^2) s' = -k (x cos f + y sin f) + a m g,    m s f' = k (x sin f - y cos f)."""

    model = "appell-hamel"
    m, g, a, k = 1.3, 0.9, 0.7, 0.8
    settings = dict(m=m, g=g, a=a, k=k)
    start = [0.9, -0.3, 0.1, 1.1, 0.4]  # x, y, z, s, f

    def rate(self, t, u):
        x, y, z, s, f = u
        pull = self.k * (x * cos(f) + y * sin(f))
        ds = (self.a * self.m * self.g - pull) / (self.m * (1 + self.a**2))
        df = self.k * (x * sin(f) - y * cos(f)) / (self.m * s)
        return [s * cos(f), s * sin(f), -self.a * s, ds, df]

    def state(self, t, u):
        x, y, z, s, f = u
        return [x, y, z], [s * cos(f), s * sin(f), -self.a * s]

    def lagrange(self, t, q, v):
        m, g, a, k = map(sympy.Float, (self.m, self.g, self.a, self.k))
        L = m * (v[0] ** 2 + v[1] ** 2 + v[2] ** 2) / 2 - m * g * q[2] - k * (q[0] ** 2 + q[1] ** 2) / 2
        return L, [0, 0, 0], [v[2] ** 2 - a**2 * (v[0] ** 2 + v[1] ** 2)]


class TurntableBall:
    """Newton's law m x'' = X, m y'' = Y; the reaction (X, Y) at the contact point turns the ball:
    I w1' = r Y, I w2' = -r X, I w3' = 0 with I = 2/5 m r^2. The rates of the rolling conditions
    x' - r w2 = -Omega y and y' + r w1 = Omega x then give

        x'' = -2/7 (Omega y)',    y'' = 2/7 (Omega x)'."""

    model = "turntable-ball"
    m, r, Omega0, alpha = 1.4, 0.6, 1.2, 0.45
    settings = dict(m=m, r=r, Omega0=Omega0, alpha=alpha)
    start = [0.7, -0.4, 0.5, 0.6, 0.35]  # x, y, x', y', w3

    def rate(self, t, u):
        x, y, dx, dy, w3 = u
        Omega = self.Omega0 + self.alpha * t
        ddx = -2 / 7 * (self.alpha * y + Omega * dy)
        ddy = 2 / 7 * (self.alpha * x + Omega * dx)
        return [dx, dy, ddx, ddy, 0.0]

    def state(self, t, u):
        x, y, dx, dy, w3 = u
        Omega = self.Omega0 + self.alpha * t
        return [x, y], [dx, dy, (Omega * x - dy) / self.r, (dx + Omega * y) / self.r, w3]

    lagrange = None  # w has no coordinates; the equations above are Newton's and Euler's already


class DrivenSleigh:
    """(x1', x2') = u (cos f, sin f), f' = w; the centre of mass is a ahead of the skate, its
    acceleration along the blade u' - a w^2, across it u w + a w'. Forces along the blade, torques
    about the skate:

        m (u' - a w^2) = -b u,    J w' + m a (u w + a w') = -c w + torque cos(rate t)."""

    model = "driven-sleigh"
    J, m, a, b, c, torque, drive = 1.7, 1.2, 0.6, 0.3, 0.25, 1.9, 2.3
    settings = dict(J=J, m=m, a=a, b=b, c=c, torque=torque, rate=drive)
    start = [0.2, -0.1, 0.3, 0.8, -0.6]  # x1, x2, f, u, w

    def rate(self, t, s):
        x1, x2, f, u, w = s
        du = self.a * w**2 - self.b / self.m * u
        turn = -self.c * w + self.torque * cos(self.drive * t) - self.m * self.a * u * w
        return [u * cos(f), u * sin(f), w, du, turn / (self.J + self.m * self.a**2)]

    def state(self, t, s):
        x1, x2, f, u, w = s
        return [x1, x2, f], [u * cos(f), u * sin(f), w]

    def lagrange(self, t, q, v):
        J, m, a, b, c, torque, drive = map(sympy.Float, self.settings.values())
        gx = v[0] - a * v[2] * sympy.sin(q[2])  # velocity of the centre of mass
        gy = v[1] + a * v[2] * sympy.cos(q[2])
        L = m * (gx**2 + gy**2) / 2 + J * v[2] ** 2 / 2
        force = [-b * v[0], -b * v[1], -c * v[2] + torque * sympy.cos(drive * t)]
        return L, force, [v[1] * sympy.cos(q[2]) - v[0] * sympy.sin(q[2])]


class RollingCoin:
    """Newton and Euler about the centre in the frame e (heading), s (from contact to centre), e x s,
    which turns with (theta', phi' sin(theta), phi' cos(theta)) = (p, q, c), c = q/tan(theta). The coin
    turns with (p, q, w), w = c - psi'; its centre moves with r (-w, 0, p). With the reaction
    eliminated:

        (A + m r^2) p' = A q c - (C + m r^2) q w - m g r cos(theta)
        A q' = C p w - A p c
        (C + m r^2) w' = m r^2 p q."""

    model = "rolling-coin"
    m, r, g, A, C = 1.1, 0.9, 1.3, 0.24, 0.41
    settings = dict(m=m, r=r, g=g, A=A, C=C)
    start = [0.1, 0.2, 0.4, 1.1, 0.3, 0.15, 0.5, -1.9]  # x, y, phi, theta, psi, p, q, w

    def rate(self, t, u):
        x, y, phi, theta, psi, p, q, w = u
        I = self.m * self.r**2
        c = q / tan(theta)
        weight = self.m * self.g * self.r * cos(theta)
        dp = (self.A * q * c - (self.C + I) * q * w - weight) / (self.A + I)
        dq = (self.C * p * w - self.A * p * c) / self.A
        return self.state(t, u)[1] + [dp, dq, I * p * q / (self.C + I)]

    def state(self, t, u):
        x, y, phi, theta, psi, p, q, w = u
        roll = q / tan(theta) - w
        dx, dy = self.r * roll * cos(phi), self.r * roll * sin(phi)
        return [x, y, phi, theta, psi], [dx, dy, q / sin(theta), p, roll]

    def lagrange(self, t, q, v):
        """From positions alone: the centre, and the rotation matrix, whose rate gives the angular
        velocity."""
        m, r, g, A, C = map(sympy.Float, (self.m, self.r, self.g, self.A, self.C))
        phi, theta, psi = q[2:]
        e = sympy.Matrix([sympy.cos(phi), sympy.sin(phi), 0])
        n = sympy.Matrix([-sympy.sin(phi), sympy.cos(phi), 0])
        s = sympy.cos(theta) * n + sympy.sin(theta) * sympy.Matrix([0, 0, 1])
        axle = s.cross(e)
        centre = sympy.Matrix([q[0], q[1], 0]) + r * s
        rate = lambda field: sum((field.diff(a) * b for a, b in zip(q, v)), sympy.zeros(3, 1))
        # Two diameters fixed to the coin, which turns by psi about the axle.
        one = sympy.cos(psi) * s + sympy.sin(psi) * e
        two = axle.cross(one)
        spin = [rate(two).dot(axle), rate(axle).dot(one), rate(one).dot(two)]
        L = m * rate(centre).dot(rate(centre)) / 2 - m * g * centre[2]
        L += A * (spin[0] ** 2 + spin[1] ** 2) / 2 + C * spin[2] ** 2 / 2
        slip = [v[0] - r * v[4] * sympy.cos(phi), v[1] - r * v[4] * sympy.sin(phi)]
        return L, [0] * 5, slip


def lagrange_acceleration(system, n):
    """(t, q, v) -> q'' from M q'' = f + dL/dq - (dp/dq) v + K^T l and K q'' + (dk/dq) v + dk/dt = 0."""
    t, q, v = sympy.Symbol("t"), sympy.symbols(f"q:{n}"), sympy.symbols(f"v:{n}")
    L, force, k = system.lagrange(t, q, v)
    p = sympy.Matrix([L.diff(b) for b in v])
    k = sympy.Matrix(k)
    K, m = k.jacobian(v), len(k)
    matrix = sympy.Matrix(sympy.BlockMatrix([[p.jacobian(v), -K.T], [K, sympy.zeros(m, m)]]))
    right = sympy.Matrix(force) + sympy.Matrix([L.diff(a) for a in q])
    right -= p.jacobian(q) * sympy.Matrix(v) + p.diff(t)
    right = right.col_join(-k.jacobian(q) * sympy.Matrix(v) - k.diff(t))
    numbers = sympy.lambdify((t, q, v), (matrix, right, k), "mpmath")

    def acceleration(t, q, v):
        matrix, right, k = numbers(t, q, v)
        assert max(map(abs, k)) < 1e-12, "the state is off the constraints"
        return [float(a) for a in mpmath.lu_solve(matrix, right)[:n]]

    return acceleration


def check(system):
    """The largest difference between the two accelerations at a few states."""
    n = len(system.state(0.0, system.start)[1])
    acceleration = lagrange_acceleration(system, n)
    worst, dice = 0.0, random.Random(1)
    for _ in range(20):
        t = dice.uniform(0, 3)
        u = [a + dice.uniform(-0.3, 0.3) for a in system.start]
        q, v = system.state(t, u)
        # v' along the reduced motion: the rate of state(t, u) by a central difference of high order.
        du = system.rate(t, u)
        at = lambda e: system.state(t + e, [a + e * b for a, b in zip(u, du)])[1]
        e = 1e-2
        weights = ((1, 4 / 5), (2, -1 / 5), (3, 4 / 105), (4, -1 / 280))
        reduced = [sum(w * (at(i * e)[j] - at(-i * e)[j]) for i, w in weights) / e for j in range(n)]
        worst = max([worst] + [abs(a - b) for a, b in zip(reduced, acceleration(t, q, v))])
    return worst


def end_state(system):
    found = solve_ivp(system.rate, (0, TIME), system.start, method="DOP853", rtol=1e-13, atol=1e-14)
    assert found.success, found.message
    return system.state(TIME, found.y[:, -1].tolist())


def main():
    cases = []
    for system in (AppellHamel(), TurntableBall(), DrivenSleigh(), RollingCoin()):
        if system.lagrange:
            worst = check(system)
            print(f"{system.model}: reduced and Lagrange's accelerations differ by {worst:.1e}")
            assert worst < 1e-10
        q0, v0 = system.state(0.0, system.start)
        q, v = end_state(system)
        case = dict(model=system.model, set=system.settings, q0=q0, v0=v0, time=TIME, q=q, v=v)
        cases.append(dict(case, tolerance=TOLERANCE))
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "general.json")
    table.update(path, cases)


if __name__ == "__main__":
    main()
