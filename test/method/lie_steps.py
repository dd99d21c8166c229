"""Steps on R^k x SO(3) by dense formulas that share nothing with the library: lie_newmark(), lie_newmark_pair(), dep_suslov().

The model has a unit quaternion p in its last four coordinates, with g = (|p|^2 - 1)/2 as its only condition on positions, and
is evaluated by independent.py. A state is (q, xi), xi = (x', body rate). All equations of a step are one function of all its
unknowns, which Newton's method solves with differences."""

import numpy as np

from node_steps import momentum_and_force, solve, take
from polar_steps import by_rates, hat, product


def exponential(d):
    half = np.linalg.norm(d) / 2
    return np.concatenate([[np.cos(half)], d / 2 * (np.sin(half) / half if half else 1)])


def cayley(d):
    p = np.concatenate([[1.0], d / 2])
    return p / np.linalg.norm(p)


def along(p, share):
    """exp(share log p)"""
    size = np.linalg.norm(p[1:])
    angle = np.arctan2(size, p[0])
    return np.concatenate([[np.cos(share * angle)], p[1:] / size * np.sin(share * angle)]) if size else p


def moved(q, d, tau, share=1.0):
    k = len(q) - 4
    return np.concatenate([q[:k] + share * d[:k], product(q[k:], along(tau(d[k:]), share))])


def rows(s, q):
    """A in terms of xi, and b"""
    n, k = s.n, s.n - 4
    constraint = s.model.constraint_jets(0.0, list(q), [0.0] * n)[:-1]
    A = np.array([[c.d.get(1 + n + i, 0.0) for i in range(n)] for c in constraint]).reshape(-1, n)
    return A @ by_rates(q[k:], k), np.array([c.value for c in constraint])


def acceleration(s, q, xi, l):
    """xi' with the reaction A^T l, from Lagrange's equations of the quaternion"""
    n, k = s.n, s.n - 4
    Z = by_rates(q[k:], k)
    v = Z @ xi
    _, force = momentum_and_force(s, q, v)
    _, _, dd = s.jet(q, v)
    carried = np.array([sum(dd(1 + j, 1 + n + i) * v[j] for j in range(n)) for i in range(n)])
    A = s.rows(q)[0]
    G = np.concatenate([np.zeros(k), q[k:]])
    matrix = np.block([[s.mass(q), -G[:, None]], [G[None, :], np.zeros((1, 1))]])
    change = np.linalg.solve(matrix, np.concatenate([force - carried + A.T @ l, [-v[k:] @ v[k:]]]))[:n]
    return np.linalg.lstsq(Z, change - np.concatenate([np.zeros(k), -q[k:] * (v[k:] @ v[k:])]), rcond=None)[0]


def lie_newmark(beta, beta2, alpha, tau):
    def step(s, q0, xi0, h):
        n, m = len(xi0), len(rows(s, q0)[0])

        def end(x):
            xi1, l0, l1 = take(x, (n,), (m,), (m,))
            a0 = acceleration(s, q0, xi0, l0)

            def place(a1):
                d = h * xi0 + h * h / 2 * ((1 - 2 * beta) * a0 + 2 * beta * a1)
                return d, moved(q0, d, tau)

            a1 = a0
            for _ in range(60 if beta else 1):
                d, q1 = place(a1)
                a1 = acceleration(s, q1, xi1, l1)
            return d, q1, a0, a1

        def equations(x):
            xi1, _, _ = take(x, (n,), (m,), (m,))
            d, q1, a0, a1 = end(x)
            A, b = rows(s, moved(q0, d, tau, alpha))
            A1, b1 = rows(s, q1)
            change = h * ((.5 - beta + beta2) * a0 + (.5 + beta - beta2) * a1)
            return np.concatenate([xi1 - xi0 - change, A @ d / h + b, A1 @ xi1 + b1])

        x = solve(equations, np.concatenate([xi0, np.zeros(2 * m)]))
        return end(x)[1], x[:n]
    return step


def lie_newmark_pair(beta, beta2, tau):
    first, second = lie_newmark(beta, beta2, 0, tau), lie_newmark(beta2, beta, 1, tau)
    return lambda s, q, xi, h: second(s, *first(s, q, xi, h / 2), h / 2)


def dep_suslov(s, q0, xi0, h):
    k, n, m = s.n - 4, len(xi0), len(rows(s, q0)[0])

    def inertia(q):
        Z = by_rates(q[k:], k)
        return Z.T @ s.mass(q) @ Z

    def force(q):
        return -by_rates(q[k:], k).T @ s.slope(q)

    def D(e):
        whole, u = np.eye(n), e[k:]
        whole[k:, k:] += hat(u) / 2 + np.outer(u, u) / 4
        return whole

    I = inertia(q0)
    A0, _ = rows(s, q0)

    def equations(x):
        xi, l = take(x, (n,), (m,))
        A, b = rows(s, moved(q0, h * xi, cayley, .5))
        return np.concatenate([D(h * xi) @ I @ xi - I @ xi0 - h / 2 * (force(q0) + A0.T @ l), A @ xi + b])

    xi = solve(equations, np.concatenate([xi0, np.zeros(m)]))[:n]
    q1 = moved(q0, h * xi, cayley)
    A1, b1 = rows(s, q1)
    right = D(-h * xi) @ I @ xi + h / 2 * force(q1)
    matrix = np.block([[I, -A1.T], [A1, np.zeros((m, m))]])
    return q1, np.linalg.solve(matrix, np.concatenate([right, -b1]))[:n]
