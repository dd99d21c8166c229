"""Steps in the polar frame with conditions on positions, by dense formulas that share nothing with the library.

    C = [A; G]: velocity rows A(q) v = 0 and the Jacobian G of conditions on positions g(q) = 0

avf_p() is discrete-gradient:frame=polar, collocation() is collocation:frame=polar, compose() splits a step. Models are
evaluated by independent.py; bases come from the singular values, means from many Gauss points, and equations are
solved by fixed-point iteration until nothing changes."""

import os
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import independent  # noqa: E402

POINTS, WEIGHTS = (lambda c, b: ((c + 1) / 2, b / 2))(*np.polynomial.legendre.leggauss(12))


class System:
    """Mass, forces at rest and constraints of a model at a point, as arrays."""

    def __init__(self, text):
        self.model = independent.Model(text)
        self.n = len(self.model.coordinates)
        q, v = self.model.start()
        self.q, self.v = np.array(q), np.array(v)

    def jet(self, q, v):
        L = self.model.jets(0.0, list(q), list(v)).value(self.model.lagrangian, {}) + independent.Jet(0.0)
        return L.value, L.d, lambda i, j: L.dd.get((min(i, j), max(i, j)), 0.0)

    def mass(self, q):
        _, _, dd = self.jet(q, np.zeros(self.n))
        v1 = 1 + self.n
        return np.array([[dd(v1 + i, v1 + j) for j in range(self.n)] for i in range(self.n)])

    def slope(self, q):
        _, d, _ = self.jet(q, np.zeros(self.n))
        return -np.array([d.get(1 + i, 0.0) for i in range(self.n)])

    def twist(self, q, w):
        """T[k, j] = d_k (M(q) w)_j"""
        _, _, dd = self.jet(q, w)
        return np.array([[dd(1 + k, 1 + self.n + j) for j in range(self.n)] for k in range(self.n)])

    def energy(self, q, v):
        L, d, _ = self.jet(q, v)
        return sum(d.get(1 + self.n + i, 0.0) * v[i] for i in range(self.n)) - L

    def rows(self, q):
        """A, G and g: the rows of conditions on positions are the last ones."""
        n, g = self.n, self.model.positions(0.0, list(q))
        C = np.array([[k.d.get(1 + n + i, 0.0) for i in range(n)]
                      for k in self.model.constraint_jets(0.0, list(q), [0.0] * n)]).reshape(-1, n)
        return C[:len(C) - len(g)], C[len(C) - len(g):], np.array(g)

    def all_rows(self, q):
        A, G, _ = self.rows(q)
        return np.vstack([A, G])


def basis(C, M):
    """Columns b with C b = 0 and b^T M b = 1."""
    L = np.linalg.cholesky(M)
    _, _, Vt = np.linalg.svd(np.linalg.solve(L, C.T).T)
    return np.linalg.solve(L.T, Vt[len(C):].T)


def polar(G):
    U, _, Vt = np.linalg.svd(G)
    return U @ Vt


def cayley(S):
    one = np.eye(len(S))
    return np.linalg.solve(one - S / 2, one + S / 2)


def closest(M, C, c):
    """The shortest x with C x = c."""
    B = np.linalg.solve(M, C.T)
    return B @ np.linalg.solve(C @ B, c) if len(C) else np.zeros(len(M))


def settled(step, x, rounds=200):
    """x = step(x), to round-off: until it changes by no more than a few units of the last place, twice."""
    for quiet in range(rounds):
        new = step(x)
        if np.max(np.abs(new - x)) <= 4e-16 * np.max(np.abs(new)):
            return step(new)
        if quiet > 40 and np.max(np.abs(new - x)) <= 1e-14 * np.max(np.abs(new)):
            return new
        x = new
    raise RuntimeError("no convergence")


def avf_p(s, q0, v0, h):
    A0, G0, g0 = s.rows(q0)
    B0 = basis(np.vstack([A0, G0]), s.mass(q0))
    start = B0.T @ s.mass(q0) @ v0
    kept = {}

    def step(dq):
        qm, w = q0 + dq / 2, dq / 2
        M = s.mass(qm)
        mean_G = sum(b * s.rows(q0 + c * dq)[1] for c, b in zip(POINTS, WEIGHTS))
        C = np.vstack([s.rows(qm)[0], mean_G])
        B, T = basis(C, M), s.twist(qm, w)
        turn = cayley(-B.T @ (T.T - T) @ B / 2)
        rho0 = turn @ polar(B0.T @ M @ B).T @ start
        force = sum(b * s.slope(q0 + c * dq) for c, b in zip(POINTS, WEIGHTS))
        rho1 = rho0 - h * B.T @ force
        kept.update(B=B, M=M, rho=turn @ rho1)
        gap = np.concatenate([np.zeros(len(A0)), g0])
        return h / 2 * B @ (rho0 + rho1) - closest(M, C, gap)

    dq = settled(step, h * v0)
    q1 = q0 + dq
    B1 = basis(s.all_rows(q1), s.mass(q1))
    return q1, B1 @ polar(B1.T @ kept["M"] @ kept["B"]) @ kept["rho"]


def compose(step, parts):
    def composed(s, q, v, h):
        for part in parts:
            q, v = step(s, q, v, part * h)
        return q, v
    return composed


def triple_jump(step, order=2):
    a = 1 / (2 - 2 ** (1 / (order + 1)))
    return compose(step, [a, 1 - 2 * a, a])


def yoshida6(step):
    outer = [0.78451361047755726382, 0.23557321335935813368, -1.17767998417887100695]
    return compose(step, outer + [1 - 2 * sum(outer)] + outer[::-1])


# ---- avf-so3, for models whose last four coordinates are a unit quaternion ----

def product(p, q):
    return np.concatenate([[p[0] * q[0] - p[1:] @ q[1:]], p[0] * q[1:] + q[0] * p[1:] + np.cross(p[1:], q[1:])])


def hat(u):
    return np.array([[0, -u[2], u[1]], [u[2], 0, -u[0]], [-u[1], u[0], 0]])


def by_rates(p, k):
    """q' = Z xi for xi = (x', body rate)."""
    Z = np.zeros((k + 4, k + 3))
    Z[:k, :k] = np.eye(k)
    Z[k:, k:] = np.array([product(p, np.concatenate([[0.0], e])) for e in np.eye(3)]).T / 2
    return Z


def turned(q, d, s, k):
    c = np.concatenate([[1.0], s * d[k:] / 2])
    return np.concatenate([q[:k] + s * d[:k], product(q[k:], c / np.linalg.norm(c))])


def on_rotation(block, k):
    whole = np.eye(k + 3)
    whole[k:, k:] = block
    return whole


def avf_so3(s, q0, v0, h):
    k = s.n - 4

    def at(q):
        Z = by_rates(q[k:], k)
        return Z, Z.T @ s.mass(q) @ Z, s.rows(q)[0] @ Z

    def bracket(u, w):
        return np.concatenate([np.zeros(k), np.cross(u[k:], w[k:])])

    def chart(d):
        """xi = J d' in the chart of Cayley"""
        return on_rotation((np.eye(3) - hat(d[k:]) / 2) / (1 + d[k:] @ d[k:] / 4), k)

    Z0, I0, A0 = at(q0)
    b0, xi0 = basis(A0, I0), np.linalg.lstsq(Z0, v0, rcond=None)[0]
    kept = {}

    def change(q, Z, b):
        """The derivative of I(q) = Z^T M Z along the velocity b."""
        u, dZ = Z @ b, np.zeros_like(Z)
        dZ[k:, k:] = by_rates(u[k:], k)[k:, k:]
        dM = np.array([u @ s.twist(q, e) for e in np.eye(s.n)])
        half = dZ.T @ s.mass(q) @ Z
        return half + half.T + Z.T @ dM @ Z

    def rotation_K(q, Z, d, B, I):
        r = B.shape[1]
        slope = [change(q, Z, B[:, a]) @ d for a in range(r)]

        def entry(a, b):
            x, y = B[:, a], B[:, b]
            return (I @ d @ bracket(x, y) / 2 + bracket(x, d) @ I @ y / 4 - bracket(y, d) @ I @ x / 4 +
                    (slope[b] @ x - slope[a] @ y) / 2)
        return np.array([[entry(a, b) for b in range(r)] for a in range(r)])

    def step(d):
        qm = turned(q0, d, 1, k)
        Z, I, A = at(qm)
        B = basis(A, I)
        turn = cayley(-rotation_K(qm, Z, d, B, I))
        rho0 = turn @ polar(b0.T @ np.linalg.inv(chart(-d)).T @ I @ B).T @ b0.T @ I0 @ xi0
        force = np.zeros(k + 3)
        for c, b in zip(2 * POINTS - 1, WEIGHTS):
            there = turned(qm, d, c, k)
            force -= b * chart(c * d).T @ at(there)[0].T @ s.slope(there)
        rho1 = rho0 + h * B.T @ force
        kept.update(B=B, I=I, rho=turn @ rho1, qm=qm)
        return h / 4 * B @ (rho0 + rho1)

    d = settled(step, h / 2 * xi0)
    q1 = turned(kept["qm"], d, 1, k)
    Z1, I1, A1 = at(q1)
    b1 = basis(A1, I1)
    xi1 = b1 @ polar(b1.T @ np.linalg.inv(chart(d)).T @ kept["I"] @ kept["B"]) @ kept["rho"]
    return q1, Z1 @ xi1
