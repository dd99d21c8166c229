"""Steps that preserve conditions on positions at nodes, by dense formulas that share nothing with the library.

spark() is gauss, lobatto-ab and lobatto-abd; gauss_lobatto(), newmark() and dla01() are the methods of these names. All
equations of a step are one function of all its unknowns, which Newton's method solves with differences. Models are
evaluated by independent.py."""

import numpy as np
from numpy.polynomial import Polynomial, legendre


# ---- coefficients ----

def gauss_nodes(s):
    c, b = legendre.leggauss(s)
    return (c + 1) / 2, b / 2


def lobatto_nodes(s):
    inner = legendre.Legendre.basis(s - 1).deriv().roots()
    c = np.concatenate([[-1.0], np.sort(inner), [1.0]])
    return (c + 1) / 2, 1 / (s * (s - 1) * legendre.Legendre.basis(s - 1)(c)**2)


def integrals(c, to):
    """a_ij = integral of the Lagrange polynomial of node j from 0 to to_i"""
    a = np.zeros((len(to), len(c)))
    for j in range(len(c)):
        others = np.delete(c, j)
        whole = (Polynomial.fromroots(others) / np.prod(c[j] - others)).integ() if len(others) else Polynomial([0, 1])
        a[:, j] = whole(to) - whole(0)
    return a


def partner(a, b):
    """The symplectic partner."""
    return b[None, :] * (1 - a.T / b[:, None])


def lobatto_c(c, b):
    s = len(c)
    power = np.array([c**k for k in range(s - 1)])
    wanted = np.array([c**(k + 1) / (k + 1) for k in range(s - 1)])
    rest = np.linalg.solve(power[:, 1:], wanted - np.outer(power[:, 0], np.full(s, b[0])))
    return np.column_stack([np.full(s, b[0]), rest.T])


def moments(c, b, degrees):
    return [b * legendre.Legendre.basis(d)(2 * c - 1) for d in degrees]


# ---- equations ----

def momentum_and_force(s, q, v):
    _, d, _ = s.jet(q, v)
    return (np.array([d.get(1 + s.n + i, 0.0) for i in range(s.n)]), np.array([d.get(1 + i, 0.0) for i in range(s.n)]))


def solve(equations, x):
    """To round-off, until corrections no longer shrink: Newton's method with the matrix at the start, then with a new one.
    Multipliers have more of it than velocities."""
    r, last = equations(x), np.inf
    for _ in range(4):
        J = np.empty((len(x), len(x)))
        for j in range(len(x)):
            dx = np.zeros(len(x))
            dx[j] = 1e-7
            J[:, j] = (equations(x + dx) - r) / 1e-7
        for _ in range(8):
            step = np.linalg.solve(J, r)
            size = np.max(np.abs(step)) / max(1, np.max(np.abs(x)))
            if size < 1e-11 and size >= last / 2:
                return x
            x, last = x - step, size
            r = equations(x)
    raise RuntimeError("no convergence")


def take(x, *shapes):
    parts = []
    for shape in shapes:
        count = int(np.prod(shape))
        parts.append(x[:count].reshape(shape))
        x = x[count:]
    return parts


def spark(name, stages, how="stages"):
    c, b = gauss_nodes(stages) if name == "gauss" else lobatto_nodes(stages)
    a = integrals(c, c)
    f = a if name == "gauss" else partner(a, b)
    C = lobatto_c(c, b) if name == "lobatto-abd" else None
    r = f if C is None else (C + partner(C, b)) / 2
    if name == "gauss":
        how = "moments"

    def step(s, q0, v0, h):
        A0, G0, _ = s.rows(q0)
        m = len(A0) + len(G0)
        p0 = momentum_and_force(s, q0, v0)[0]

        def equations(x):
            V, v1, Psi = take(x, (stages, s.n), (s.n,), (stages, m))
            Q, q1 = q0 + h * a @ V, q0 + h * b @ V
            P, F = map(np.array, zip(*(momentum_and_force(s, Q[i], V[i]) for i in range(stages))))
            AG = [s.rows(q) for q in Q]
            R = np.array([np.vstack(AG[i][:2]).T @ Psi[i] for i in range(stages)])
            p1 = momentum_and_force(s, q1, v1)[0]
            A1, G1, g1 = s.rows(q1)
            out = [*(P - p0 - h * f @ F - h * r @ R), p1 - p0 - h * b @ (F + R)]
            out += [sum(w[j] * AG[j][0] @ V[j] for j in range(stages)) for w in moments(c, b, range(stages - 1))]
            if how == "moments":
                out += [sum(w[j] * AG[j][1] @ V[j] for j in range(stages)) for w in moments(c, b, range(1, stages - 1))]
            else:
                out += [AG[j][2] / h for j in range(1, stages - 1)]
            return np.concatenate([*out, g1 / h, A1 @ v1, G1 @ v1])

        V, v1, _ = take(solve(equations, np.concatenate([np.tile(v0, stages + 1), np.zeros(stages * m)])),
                        (stages, s.n), (s.n,), (stages, m))
        return q0 + h * b @ V, v1
    return step


def gauss_lobatto(stages):
    c, b = gauss_nodes(stages)
    ct, bt = lobatto_nodes(stages + 1)
    a, abar = integrals(c, c), integrals(c, ct)
    at = bt[None, :] * (1 - abar.T / b[:, None])

    def step(s, q0, v0, h):
        A0, G0, _ = s.rows(q0)
        p0 = momentum_and_force(s, q0, v0)[0]
        shapes = (stages, s.n), (s.n,), (stages, len(A0)), (stages + 1, len(G0))

        def equations(x):
            V, v1, Psi, mu = take(x, *shapes)
            Q, Qt = q0 + h * a @ V, q0 + h * abar @ V
            P, F = map(np.array, zip(*(momentum_and_force(s, Q[i], V[i]) for i in range(stages))))
            A = [s.rows(q)[0] for q in Q]
            on_nodes = [s.rows(q) for q in Qt]
            push = F + np.array([A[j].T @ Psi[j] for j in range(stages)])
            R = np.array([on_nodes[j][1].T @ mu[j] for j in range(stages + 1)])
            A1, G1, _ = on_nodes[-1]
            out = [*(P - p0 - h * a @ push - h * at @ R)]
            out += [momentum_and_force(s, Qt[-1], v1)[0] - p0 - h * b @ push - h * bt @ R]
            out += [sum(w[j] * A[j] @ V[j] for j in range(stages)) for w in moments(c, b, range(stages - 1))]
            return np.concatenate([*out, *(rows[2] / h for rows in on_nodes[1:]), A1 @ v1, G1 @ v1])

        x = np.concatenate([np.tile(v0, stages + 1), np.zeros(stages * len(A0) + (stages + 1) * len(G0))])
        V, v1, _, _ = take(solve(equations, x), *shapes)
        return q0 + h * b @ V, v1
    return step


def newmark(beta, beta2, alpha, average=False):
    def step(s, q0, v0, h):
        Minv, m = np.linalg.inv(s.mass(q0)), len(s.all_rows(q0))

        def equations(x):
            q1, v1, l0, l1 = take(x, (s.n,), (s.n,), (m,), (m,))
            a0 = Minv @ (-s.slope(q0) + s.all_rows(q0).T @ l0)
            a1 = Minv @ (-s.slope(q1) + s.all_rows(q1).T @ l1)
            A = (1 - alpha) * s.rows(q0)[0] + alpha * s.rows(q1)[0] if average else s.rows((1 - alpha) * q0 + alpha * q1)[0]
            return np.concatenate([
                (q1 - q0) / h - v0 - h / 2 * ((1 - 2 * beta) * a0 + 2 * beta * a1),
                (q0 - q1) / h + v1 - h / 2 * (2 * beta2 * a0 + (1 - 2 * beta2) * a1),
                A @ (q1 - q0) / h, s.rows(q1)[2] / h, s.all_rows(q1) @ v1])

        x = solve(equations, np.concatenate([q0 + h * v0, v0, np.zeros(2 * m)]))
        return x[:s.n], x[s.n:2 * s.n]
    return step


def newmark_pair(beta, beta2):
    first, second = newmark(beta, beta2, 0), newmark(beta2, beta, 1)
    return lambda s, q, v, h: second(s, *first(s, q, v, h / 2), h / 2)


def shifted(force, reaction):
    """With 1/4 and 1/4 dla01."""
    def step(s, q0, v0, h):
        Minv, (A0, G0, _) = np.linalg.inv(s.mass(q0)), s.rows(q0)
        shapes = (len(G0),), (len(A0),), (len(G0),), (len(q0),)

        def end(x):
            mu0, l, mu1, minus = take(x, *shapes)
            plus = v0 + Minv @ G0.T @ mu0
            qm = q0 + h / 2 * plus
            qf, qc = (qm + (1 / 4 - c) * h * (minus - plus) for c in (force, reaction))
            gap = minus - plus + Minv @ (h * s.slope(qf) - s.rows(qc)[0].T @ l)
            q1 = qm + h / 2 * minus
            return q1, minus + Minv @ s.rows(q1)[1].T @ mu1, gap

        def equations(x):
            q1, v1, gap = end(x)
            A1, G1, g1 = s.rows(q1)
            return np.concatenate([g1 / h, A1 @ v1, G1 @ v1, gap])

        return end(solve(equations, np.concatenate([np.zeros(2 * len(G0) + len(A0)), v0])))[:2]
    return step


def staggered(s, q0, v0, h):
    Minv, (A0, G0, _) = np.linalg.inv(s.mass(q0)), s.rows(q0)
    shapes = (len(G0),), (len(A0),), (len(G0),)

    def end(x):
        mu0, l, mu1 = take(x, *shapes)
        a = v0 + Minv @ (G0.T @ mu0 - h / 4 * s.slope(q0))
        qm = q0 + h / 2 * a
        b = a + Minv @ (-h / 2 * s.slope(qm) + s.rows(qm)[0].T @ l)
        q1 = qm + h / 2 * b
        return q1, b + Minv @ (s.rows(q1)[1].T @ mu1 - h / 4 * s.slope(q1))

    def equations(x):
        q1, v1 = end(x)
        A1, G1, g1 = s.rows(q1)
        return np.concatenate([g1 / h, A1 @ v1, G1 @ v1])

    return end(solve(equations, np.zeros(2 * len(G0) + len(A0))))


def dla01(s, q0, v0, h):
    Minv, (A0, G0, _) = np.linalg.inv(s.mass(q0)), s.rows(q0)
    shapes = (len(G0),), (len(A0),), (len(G0),)

    def end(x):
        mu0, l, mu1 = take(x, *shapes)
        plus = v0 + Minv @ G0.T @ mu0
        qm = q0 + h / 2 * plus
        minus = plus + Minv @ (-h * s.slope(qm) + s.rows(qm)[0].T @ l)
        q1 = qm + h / 2 * minus
        return q1, minus + Minv @ s.rows(q1)[1].T @ mu1

    def equations(x):
        q1, v1 = end(x)
        A1, G1, g1 = s.rows(q1)
        return np.concatenate([g1 / h, A1 @ v1, G1 @ v1])

    return end(solve(equations, np.zeros(2 * len(G0) + len(A0))))
