#!/usr/bin/env python3
"""test_formulas.py NONHOLO: the formulas of docs/methods.md, solved here with numpy and compared with the program.

Each method is written down as on its page, as equations for a step; Newton's method with differences solves them, and the
program makes the same step. Nothing of the library is used. It then checks the papers' statements about the formulas themselves."""

import json
import os
import subprocess
import sys
import tempfile

try:
    import numpy as np
except ImportError:
    print("skipped: this Python has no numpy")
    sys.exit(77)

NONHOLO = os.path.abspath(sys.argv[1])
H = 0.1
failed = passed = 0
folder = tempfile.TemporaryDirectory()


def check(name, value, bound):
    global failed, passed
    good = value <= bound
    passed, failed = passed + good, failed + (not good)
    if not good or "--show" in sys.argv:
        print(f"{'' if good else 'FAILED '}{name}: {value:.2g} (at most {bound:.2g})")


# ---- systems: as a model text, and again in numpy ----

POTENTIAL = "(cos(x) + x*y^2/2 + 0.3*z^2 + 0.1*z^4 + 0.4*sin(s)*y)"


def potential(q):
    x, y, z, s = q
    return np.cos(x) + x * y**2 / 2 + 0.3 * z**2 + 0.1 * z**4 + 0.4 * np.sin(s) * y


def complex_steps(f, q):
    """df/dq_i in the last index."""
    return np.stack([np.asarray(f(q + 1e-30j * unit)).imag / 1e-30 for unit in np.eye(len(q))], axis=-1)


class Constant:
    kinetic = "x'^2 + y'^2/2 + 0.3*x'*y' + 0.75*z'^2 + s'^2/2"
    b_text = ""
    potential = staticmethod(potential)

    def mass(self, q):
        return np.array([[2, 0.3, 0, 0], [0.3, 1, 0, 0], [0, 0, 1.5, 0], [0, 0, 0, 1]]) + 0 * q[0]

    def rows(self, q):
        return np.array([[1 + 0 * q[0], np.sin(q[3]), q[1] / 2, 0]])

    def rest(self, q):
        return np.zeros(1)

    def slope(self, q):
        return complex_steps(self.potential, q)

    def k(self, q, v):
        return self.rows(q) @ v + self.rest(q)

    def force(self, q, v):
        """dL/dq"""
        return complex_steps(lambda at: v @ self.mass(at) @ v / 2 - self.potential(at), q)

    def momentum(self, q, v):
        return self.mass(q) @ v

    def acceleration(self, q, v):
        """v', lambda of the continuous equations."""
        M, A = self.mass(q), self.rows(q)
        rate = self.force(q, v) - complex_steps(lambda at: self.mass(at) @ v, q) @ v
        drift = complex_steps(lambda at: self.k(at, v), q) @ v
        m = len(A)
        matrix = np.block([[M, -A.T], [A, np.zeros((m, m))]])
        found = np.linalg.solve(matrix, np.concatenate([rate, -drift]))
        return found[:4], found[4:]

    def energy(self, q, v):
        return v @ self.mass(q) @ v / 2 + self.potential(q)

    def frame(self, q):
        return np.array([[-np.sin(q[3]), -q[1] / 2, 0], [1 + 0 * q[0], 0, 0], [0, 1, 0], [0, 0, 1]])

    def text(self):
        return (f"model here\ncoordinate x, y, z, s\nlagrangian {self.kinetic} - {POTENTIAL}\n"
                f"constraint roll: x' + sin(s)*y' + y/2*z'{self.b_text} = 0\n"
                + ("" if self.b_text else "frame (-sin(s), 1, 0, 0), (-y/2, 0, 1, 0), (0, 0, 0, 1)\n"))


class Affine(Constant):
    b_text = " + 0.2*cos(y)"

    def rest(self, q):
        return np.array([0.2 * np.cos(q[1])])


class Varying(Constant):
    kinetic = "(1 + 0.3*sin(y)^2)*x'^2/2 + 0.2*cos(z)*x'*y' + (1 + 0.1*x^2)*y'^2/2 + z'^2/2 + (1.5 + 0.2*cos(x))*s'^2/2"

    def mass(self, q):
        x, y, z, s = q
        return np.array([[1 + 0.3 * np.sin(y) ** 2, 0.2 * np.cos(z), 0, 0], [0.2 * np.cos(z), 1 + 0.1 * x**2, 0, 0],
                         [0, 0, 1, 0], [0, 0, 0, 1.5 + 0.2 * np.cos(x)]])


class Coupled(Constant):
    """s drives x, y and z."""
    kinetic = "x'^2 + y'^2/2 + 0.3*x'*y' + 0.75*z'^2 + s'^2/2"

    def potential(self, q):
        x, y, z, s = q
        return np.cos(x) + x * y**2 / 2 + 0.3 * z**2 + 0.1 * z**4 + 0.4 * np.sin(s)

    def rows(self, q):
        return np.array([[1 + 0 * q[0], np.sin(q[3]), q[3] / 2, 0], [0, q[3] / 3, 1 + 0 * q[0], 0]])

    def rest(self, q):
        return np.zeros(2)

    def text(self):
        return (f"model here\ncoordinate x, y, z, s\nlagrangian {self.kinetic} - (cos(x) + x*y^2/2 + 0.3*z^2 + 0.1*z^4 + 0.4*sin(s))\n"
                "constraint one: x' + sin(s)*y' + s/2*z' = 0\nconstraint two: s/3*y' + z' = 0\n")


class Free(Constant):
    """Without a constraint."""

    def text(self):
        return f"model here\ncoordinate x, y, z, s\nlagrangian {self.kinetic} - {POTENTIAL}\n"


def start_of(system):
    q, v = np.array([0.3, -0.4, 0.5, 0.6]), np.array([0.0, 0.7, -0.3, 0.9])
    if isinstance(system, Coupled):
        v[[0, 2]] = 0
        v[[0, 2]] = -np.linalg.solve(system.rows(q)[:, [0, 2]], system.rows(q) @ v)
        return q, v
    v[0] = 0.5 if isinstance(system, Free) else -(system.rows(q) @ v + system.rest(q))[0]
    return q, v


def program(system, method, steps=1, h=H, *more):
    path = os.path.join(folder.name, type(system).__name__ + ".nh")
    with open(path, "w") as file:
        file.write(system.text())
    q, v = start_of(system)
    listed = [",".join(map(repr, map(float, a))) for a in (q, v)]
    words = [NONHOLO, "run", path, "--method", method, "--step", repr(h), "--steps", str(steps), "--q=" + listed[0], "--v=" + listed[1],
             "--json", "--quiet", "--no-estimate", *more]
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{method}: {done.stderr}")
    found = json.loads(done.stdout)
    return np.array(found["q"]), np.array(found["v"])


def differences(gap, x):
    return np.linalg.inv(np.array([(gap(x + 1e-6 * unit) - gap(x - 1e-6 * unit)) / 2e-6 for unit in np.eye(len(x))]).T)


def newton(gap, x, inverse=None):
    """Differences are accurate enough for a matrix that is computed once; the iterations compensate for it until they stagnate."""
    inverse = differences(gap, x) if inverse is None else inverse
    newton.solved = inverse
    last = np.inf
    for _ in range(60):
        change = inverse @ gap(x)
        x = x - change
        size = abs(change).max()
        if size < 1e-12 and size >= last / 2:
            break
        last = size
    return x


def compare(name, system, method, step, steps=1, bound=1e-13, *more):
    """step(system, h, q, v, memory) -> q, v, memory"""
    (q, v), memory = start_of(system), None
    for _ in range(steps):
        q, v, memory = step(system, H, q, v, memory)
    found = program(system, method, steps, H, *more)
    check(name, max(abs(found[0] - q).max(), abs(found[1] - v).max()), bound)


# ---- discrete Lagrange-d'Alembert, leapfrog, Newmark ----


def dla(alpha):
    def step(s, h, q0, v0, memory):
        qa, M = q0 + (1 - alpha) * h * v0, s.mass(q0)

        def gap(x):
            v1, l = x[:4], x[4:]
            q1 = qa + alpha * h * v1
            return np.concatenate([M @ (v1 - v0) + h * (alpha * s.slope(q0) + (1 - alpha) * s.slope(q1)) - s.rows(qa).T @ l, s.k(q1, v1)])
        v1 = newton(gap, np.append(v0, 0))[:4]
        return qa + alpha * h * v1, v1, None
    return step


def dla01(s, h, q0, v0, memory):
    qm, M = q0 + h / 2 * v0, s.mass(q0)

    def gap(x):
        v1, l = x[:4], x[4:]
        return np.concatenate([M @ (v1 - v0) + h * s.slope(qm) - s.rows(qm).T @ l, s.k(qm + h / 2 * v1, v1)])
    v1 = newton(gap, np.append(v0, 0))[:4]
    return qm + h / 2 * v1, v1, None


def shifted(force, reaction):
    def step(s, h, q0, v0, memory):
        qm, M = q0 + h / 2 * v0, s.mass(q0)

        def gap(x):
            v1, l = x[:4], x[4:]
            q1 = qm + h / 2 * v1
            qf, qc = ((q0 + q1) / 2 - c * h * (v1 - v0) for c in (force, reaction))
            return np.concatenate([M @ (v1 - v0) + h * s.slope(qf) - s.rows(qc).T @ l, s.k(q1, v1)])
        v1 = newton(gap, np.append(v0, 0))[:4]
        return qm + h / 2 * v1, v1, None
    return step


def staggered(s, h, q0, v0, memory):
    W = np.linalg.inv(s.mass(q0))
    a = v0 - h / 4 * W @ s.slope(q0)
    qm = q0 + h / 2 * a
    free, B = a - h / 2 * W @ s.slope(qm), W @ s.rows(qm).T

    def end(l):
        b = free + B @ l
        q1 = qm + h / 2 * b
        return q1, b - h / 4 * W @ s.slope(q1)

    return *end(newton(lambda l: s.k(*end(l)), np.zeros(1))), None


def staggered_whole(s, h, q0, v0, memory):
    """Of a coupled system with the driver s, whose mass matrix and force do not mix it with the others."""
    W, driver = np.linalg.inv(s.mass(q0)), np.array([0, 0, 0, 1])
    a = v0 - driver * (h / 4 * W @ s.slope(q0))
    qm = q0 + h / 2 * a
    free = a - (1 - driver / 2) * (h * W @ s.slope(qm))
    q1 = qm + h / 2 * free  # of the driver
    B, A = W @ s.rows(qm).T, s.rows(q1)
    free = free - driver * (h / 4 * W @ s.slope(q1))
    v1 = free - B @ np.linalg.solve(A @ B, A @ free)
    return np.where(driver, q1, qm + h / 2 * v1), v1, None


def leapfrog(s, h, q0, v0, l0):
    """On the page the multiplier has the opposite sign of the continuous one."""
    if l0 is None:
        l0 = -s.acceleration(q0, v0)[1]
    W = np.linalg.inv(s.mass(q0))
    half = v0 - h / 2 * W @ (s.slope(q0) + s.rows(q0).T @ l0)
    q1 = q0 + h * half
    pushed, A = half - h / 2 * W @ s.slope(q1), s.rows(q1)
    l1 = np.linalg.solve(h / 2 * A @ W @ A.T, s.k(q1, pushed))
    return q1, pushed - h / 2 * W @ A.T @ l1, l1


def newmark(beta, beta2, alpha, average=False):
    def step(s, h, q0, v0, memory):
        def G(q, v, l):
            M = s.mass(q)
            rate = s.force(q, v) - complex_steps(lambda at: s.mass(at) @ v, q) @ v
            return np.linalg.solve(M, rate + (s.rows(q).T @ l if len(l) else 0))

        def gap(x):
            q1, v1, l0, l1 = x[:4], x[4:8], x[8:9], x[9:]
            G0, G1, u = G(q0, v0, l0), G(q1, v1, l1), (q1 - q0) / h
            discrete = ((1 - alpha) * s.k(q0, u) + alpha * s.k(q1, u)) if average else s.k((1 - alpha) * q0 + alpha * q1, u)
            return np.concatenate([q1 - q0 - h * v0 - h**2 / 2 * ((1 - 2 * beta) * G0 + 2 * beta * G1),
                                   (q0 - q1 + h * v1 - h**2 / 2 * (2 * beta2 * G0 + (1 - 2 * beta2) * G1)) / h]
                                  + ([] if isinstance(s, Free) else [discrete, s.k(q1, v1)]))
        x = newton(gap, np.concatenate([q0 + h * v0, v0] + ([] if isinstance(s, Free) else [np.zeros(2)])))
        return x[:4], x[4:8], None
    return step


def newmark_pair(beta, beta2):
    first, second = newmark(beta, beta2, 0), newmark(beta2, beta, 1)
    return lambda s, h, q, v, memory: second(s, h / 2, *first(s, h / 2, q, v, None))


def jay_negrut(beta, gamma, alpha_m=0.0, alpha_f=0.0):
    def step(s, h, q0, v0, memory):
        a, l = s.acceleration(q0, v0)
        a0, l0 = memory or (a, l)

        def G(q, v, l):
            rate = s.force(q, v) - complex_steps(lambda at: s.mass(at) @ v, q) @ v
            return np.linalg.solve(s.mass(q), rate + s.rows(q).T @ l)

        def parts(x):
            q1, v1, l1 = x[:4], x[4:8], x[8:]
            return q1, v1, l1, ((1 - alpha_f) * G(q1, v1, l1) + alpha_f * G(q0, v0, l0) - alpha_m * a0) / (1 - alpha_m)

        def gap(x):
            q1, v1, l1, a1 = parts(x)
            return np.concatenate([q1 - q0 - h * v0 - h**2 / 2 * ((1 - 2 * beta) * a0 + 2 * beta * a1),
                                   v1 - v0 - h * ((1 - gamma) * a0 + gamma * a1), s.k(q1, v1)])
        q1, v1, l1, a1 = parts(newton(gap, np.concatenate([q0 + h * v0, v0, l0])))
        return q1, v1, (a1, l1)
    return step


constant, affine, varying, free = Constant(), Affine(), Varying(), Free()
compare("1: dla, alpha = 0.3", constant, "dla:alpha=0.3", dla(0.3), 2)
compare("2: dla01", constant, "dla01", dla01, 2)
compare("3: dla01, affine", affine, "dla01", dla01, 2)
compare("3: shifted", constant, "shifted", shifted(1 / 4, 1 / 8), 2)
compare("3: shifted, affine", affine, "shifted:force=5/24", shifted(5 / 24, 1 / 8), 2)
compare("3: shifted, other points", constant, "shifted:force=0.4,reaction=-0.2", shifted(0.4, -0.2), 2)
compare("3: staggered", constant, "staggered", staggered, 2)
compare("3: staggered, affine", affine, "staggered", staggered, 2)
compare("3: staggered, whole steps of passengers", Coupled(), "staggered:passengers=whole", staggered_whole, 2)
compare("4: leapfrog, three steps with its multiplier", constant, "leapfrog", leapfrog, 3)


def shake(s, h, steps):
    """Nonholonomic SHAKE in Euclidean space: q(k+1) of q(k) and q(k-1), with the constraint on q(k+1) - q(k-1). After the
    first step, which is a leapfrog step, it gives the same positions."""
    before, v = start_of(s)
    here = leapfrog(s, h, before, v, None)[0]
    W = np.linalg.inv(s.mass(here))
    for _ in range(steps - 1):
        A, free = s.rows(here), 2 * here - before - h**2 * W @ s.slope(here)
        l = np.linalg.solve(h**2 * A @ W @ A.T, A @ (free - before) + 2 * h * s.rest(here))
        before, here = here, free - h**2 * W @ A.T @ l
    return here


for name, system in ("constant", constant), ("affine", affine):
    check(f"4: leapfrog is nonholonomic SHAKE, {name}", abs(program(system, "leapfrog", 20)[0] - shake(system, H, 20)).max(), 1e-13)
compare("5: newmark", constant, "newmark:beta=0.1,beta2=0.15,alpha=0.3", newmark(0.1, 0.15, 0.3), 2)
compare("6: newmark, average", constant, "newmark:beta=0.1,beta2=0.15,alpha=0.3,constraint=average", newmark(0.1, 0.15, 0.3, True), 2)
compare("7: newmark, M(q)", varying, "newmark:beta=0.1", newmark(0.1, 0.1, 0.5), 2)
compare("8: newmark-pair", constant, "newmark-pair:beta=0.1,beta2=0.05", newmark_pair(0.1, 0.05))
compare("9: newmark without constraints, the trapezoidal rule", free, "newmark:beta=0.25", newmark(0.25, 0.25, 0.5), 2)
compare("10: jay-negrut", constant, "jay-negrut:beta=0.2,gamma=0.6", jay_negrut(0.2, 0.6), 2)
compare("11: jay-negrut with alphas, three steps", constant, "jay-negrut:beta=0.36,gamma=0.7,alpha_m=0.1,alpha_f=0.3", jay_negrut(0.36, 0.7, 0.1, 0.3), 3)
compare("12: jay-negrut with alphas, M(q)", varying, "jay-negrut:beta=0.36,gamma=0.7,alpha_m=0.1,alpha_f=0.3", jay_negrut(0.36, 0.7, 0.1, 0.3), 2)

# ---- energy methods ----

NODES, WEIGHTS = (lambda c, b: ((c + 1) / 2, b / 2))(*np.polynomial.legendre.leggauss(12))


def gonzalez(f, slope, z0, z1):
    d, middle = z1 - z0, slope((z0 + z1) / 2)
    return middle + (f(z1) - f(z0) - middle @ d) / (d @ d) * d if d @ d > 1e-20 else middle


def mean(slope, z0, z1):
    return sum(b * slope(z0 + c * (z1 - z0)) for c, b in zip(NODES, WEIGHTS))


def itoh_abe(f, slope, z0, z1):
    """Quotients as means along the edges: a plain quotient cancels."""
    out = np.zeros(len(z0))
    for i in range(len(z0)):
        a = np.concatenate([z1[:i], z0[i:]])
        out[i] = sum(b * slope(np.concatenate([a[:i], [z0[i] + c * (z1[i] - z0[i])], a[i + 1:]]))[i] for c, b in zip(NODES, WEIGHTS))
    return out


def dd(s, h, q0, v0, memory):
    M = s.mass(q0)

    def gap(x):
        v1, l = x[:4], x[4:]
        q1 = q0 + h / 2 * (v0 + v1)
        A = s.rows((q0 + q1) / 2)
        return np.concatenate([M @ (v1 - v0) + h * gonzalez(s.potential, s.slope, q0, q1) - A.T @ l, A @ (v0 + v1)])
    v1 = newton(gap, np.append(v0 + 1e-3, 0))[:4]
    return q0 + h / 2 * (v0 + v1), v1, None


def gonzalez_f(s, h, q0, v0, memory):
    energy = lambda z: z[4:] @ np.linalg.solve(s.mass(z[:4]), z[4:]) / 2 + s.potential(z[:4])
    slope = lambda z: complex_steps(energy, z)
    z0 = np.concatenate([q0, s.momentum(q0, v0)])

    def gap(x):
        z1, l = x[:8], x[8:]
        g = gonzalez(energy, slope, z0, z1)
        A = s.rows((z0[:4] + z1[:4]) / 2)
        return np.concatenate([z1[:4] - z0[:4] - h * g[4:], z1[4:] - z0[4:] + h * g[:4] - A.T @ l, A @ g[4:]])
    z1 = newton(gap, np.concatenate([q0 + h * v0, z0[4:] + 1e-3, [0]]))[:8]
    return z1[:4], np.linalg.solve(s.mass(z1[:4]), z1[4:]), None


class Reduced:
    """z = (q, rho) in the frame of the model."""

    def __init__(self, s):
        self.s = s

    def inertia(self, q):
        X = self.s.frame(q)
        return X.T @ self.s.mass(q) @ X

    def energy(self, z):
        return z[4:] @ np.linalg.solve(self.inertia(z[:4]), z[4:]) / 2 + self.s.potential(z[:4])

    def slope(self, z):
        return complex_steps(self.energy, z)

    def structure(self, z):
        q, X = z[:4], self.s.frame(z[:4])
        p, dX = self.s.mass(q) @ X @ np.linalg.solve(self.inertia(q), z[4:]), complex_steps(self.s.frame, q)
        along = np.einsum("iak,kb->iab", dX, X)  # X_a' X_b
        C = np.einsum("iab,i->ab", along, p) - np.einsum("iba,i->ab", along, p)
        return np.block([[np.zeros((4, 4)), X], [-X.T, C]])

    def start(self, q, v):
        return np.concatenate([q, self.s.frame(q).T @ self.s.mass(q) @ v])

    def end(self, z):
        return z[:4], self.s.frame(z[:4]) @ np.linalg.solve(self.inertia(z[:4]), z[4:]), None


def discrete_gradient(kind):
    def step(s, h, q0, v0, memory):
        r = Reduced(s)
        z0 = r.start(q0, v0)
        gradient = {"avf": lambda z: mean(r.slope, z0, z), "gonzalez": lambda z: gonzalez(r.energy, r.slope, z0, z),
                    "itoh-abe": lambda z: itoh_abe(r.energy, r.slope, z0, z)}[kind]
        z1 = newton(lambda z: z - z0 - h * r.structure((z0 + z) / 2) @ gradient(z), z0 + 1e-2)
        return r.end(z1)
    return step


def collocation(stages):
    c, b, a = gauss_table(stages)

    def lagrange(i, t):
        return np.prod([(t - c[j]) / (c[i] - c[j]) for j in range(stages) if j != i])

    def step(s, h, q0, v0, memory):
        r = Reduced(s)
        z0 = r.start(q0, v0)
        # of the basis l_i: its integral from 0 to t
        integral = lambda i, t: t * sum(w * lagrange(i, t * node) for node, w in zip(NODES, WEIGHTS))

        def gap(x):
            K = x.reshape(stages, 7)
            Z = lambda t: z0 + h * sum(integral(i, t) * K[i] for i in range(stages))
            slopes = [r.slope(Z(node)) for node in NODES]
            return np.concatenate([K[i] - r.structure(Z(c[i])) @ sum(w * lagrange(i, node) / b[i] * g for node, w, g in zip(NODES, WEIGHTS, slopes))
                                   for i in range(stages)])
        K = newton(gap, np.tile(r.structure(z0) @ r.slope(z0), stages)).reshape(stages, 7)
        return r.end(z0 + h * b @ K)
    return step


def polar(a):
    left, _, right = np.linalg.svd(a)
    return left @ right


def avf_p(s, h, q0, v0, memory):
    def basis(q):
        kernel = np.linalg.svd(s.rows(q))[2][1:].T
        return kernel @ np.linalg.inv(np.linalg.cholesky(kernel.T @ s.mass(q) @ kernel)).T
    cayley = lambda S: np.linalg.solve(np.eye(3) - S / 2, np.eye(3) + S / 2)

    def parts(q1):
        qm, w = (q0 + q1) / 2, (q1 - q0) / 2
        B, dM = basis(qm), complex_steps(s.mass, qm)
        T = np.einsum("i,ijk->kj", w, dM)  # T_kj = w^i d_k M_ij
        K = (B.T @ T.T @ B - B.T @ T @ B) / 2  # K_ab = sum (T_kj - T_jk) B_a^j B_b^k / 2
        B0, Mm = basis(q0), s.mass(qm)
        rho0 = cayley(-K) @ polar(B0.T @ Mm @ B).T @ B0.T @ s.mass(q0) @ v0
        return qm, B, K, rho0, rho0 - h * B.T @ mean(s.slope, q0, q1)

    def gap(q1):
        _, B, _, rho0, rho1 = parts(q1)
        return q1 - q0 - h / 2 * B @ (rho0 + rho1)
    q1 = newton(gap, q0 + h * v0)
    qm, B, K, _, rho1 = parts(q1)
    B1 = basis(q1)
    return q1, B1 @ polar(B1.T @ s.mass(qm) @ B) @ cayley(-K) @ rho1, None


# ---- SPARK ----


def gauss_table(s):
    c, b = (lambda c, b: ((c + 1) / 2, b / 2))(*np.polynomial.legendre.leggauss(s))
    return c, b, table_by_degrees(c, b, s)


def table_by_degrees(c, b, s):
    """sum_j a_ij c_j^(k-1) = c_i^k / k"""
    powers = np.array([[cj ** (k - 1) for cj in c] for k in range(1, s + 1)])
    return np.linalg.solve(powers, np.array([[ci**k / k for ci in c] for k in range(1, s + 1)])).T


def lobatto_tables(s):
    inner = np.polynomial.legendre.Legendre.basis(s - 1).deriv().roots()
    c = (np.sort(np.concatenate([[-1], inner, [1]])) + 1) / 2
    powers = np.array([[cj ** (k - 1) if k > 1 else 1 for cj in c] for k in range(1, s + 1)])
    b = np.linalg.solve(powers, [1 / k for k in range(1, s + 1)])
    A = table_by_degrees(c, b, s)
    B = b[None, :] * (1 - A.T / b[:, None])  # symplectic partner
    star = np.zeros((s, s))  # IIIC*: first and last column 0 but for order s - 1
    square = np.array([[cj ** (k - 1) if k > 1 else 1 for cj in c[:-1]] for k in range(1, s)])
    star[:, :-1] = np.linalg.solve(square, np.array([[ci**k / k for ci in c] for k in range(1, s)])).T
    C = b[None, :] * (1 - star.T / b[:, None])
    return c, b, {"A": A, "B": B, "D": (C + star) / 2}


def spark(c, b, a, f, r, conditions=None):
    """conditions(K, k1): the expressions that vanish; by default Jay's."""
    stages = len(c)

    def step(s, h, q0, v0, memory, tell=None):
        def parts(x):
            V, v1, Psi = x[:4 * stages].reshape(stages, 4), x[4 * stages:4 * stages + 4], x[4 * stages + 4:].reshape(stages, 1)
            Q = q0 + h * a @ V
            F = np.array([s.force(Q[i], V[i]) for i in range(stages)])
            R = np.array([s.rows(Q[i]).T @ Psi[i] for i in range(stages)])
            return V, v1, Psi, Q, F, R, q0 + h * b @ V

        def gap(x, v0=v0):
            V, v1, Psi, Q, F, R, q1 = parts(x)
            p0 = s.momentum(q0, v0)
            P = np.array([s.momentum(Q[i], V[i]) for i in range(stages)])
            k = np.array([s.k(Q[i], V[i]) for i in range(stages)])
            asked = conditions(k, s.k(q1, v1)) if conditions else [b * c**i @ k if i else b @ k for i in range(stages - 1)] + [s.k(q1, v1)]
            return np.concatenate([(P - p0 - h * f @ F - h * r @ R).ravel(), s.momentum(q1, v1) - p0 - h * b @ (F + R), np.concatenate(asked)])
        guess = np.concatenate([np.tile(v0, stages), v0, np.tile(s.acceleration(q0, v0)[1], stages)])
        x = newton(gap, guess)
        V, v1, Psi, Q, F, R, q1 = parts(x)
        if tell is not None:
            tell.update(V=V, R=R, x=x, between=lambda z: np.concatenate([gap(z[4:], z[:4]), parts(z[4:])[-1]]))
        return q1, v1, None
    return step


def midpoint(s, h, q0, v0, memory):
    """lobatto-ab-midpoint: half a step of euler-1, then half a step of euler-2."""
    return euler_2(s, h / 2, *euler_1(s, h / 2, q0, v0, None))


one = np.ones((1, 1))
euler_1 = spark(np.array([0.0]), np.array([1.0]), 0 * one, one, one)
euler_2 = spark(np.array([1.0]), np.array([1.0]), one, 0 * one, 0 * one)


def rk4(s, h, q, v, memory):
    y, f = np.concatenate([q, v]), lambda y: np.concatenate([y[4:], s.acceleration(y[:4], y[4:])[0]])
    k1 = f(y)
    k2 = f(y + h / 2 * k1)
    k3 = f(y + h / 2 * k2)
    y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + f(y + h * k3))
    return y[:4], y[4:], None


def composed(step, parts):
    def whole(s, h, q, v, memory):
        for part in parts:
            q, v, _ = step(s, part * h, q, v, None)
        return q, v, None
    return whole


compare("13: dd", constant, "dd", dd, 2)
compare("14: gonzalez-f, M(q)", varying, "gonzalez-f", gonzalez_f)
compare("15: discrete-gradient, avf, model's frame, M(q)", varying, "discrete-gradient:gradient=avf,frame=model", discrete_gradient("avf"))
compare("16: discrete-gradient, gonzalez", varying, "discrete-gradient:gradient=gonzalez,frame=model", discrete_gradient("gonzalez"))
compare("17: discrete-gradient, itoh-abe", varying, "discrete-gradient:gradient=itoh-abe,frame=model", discrete_gradient("itoh-abe"))
compare("18: collocation, 2 stages, M(q)", varying, "collocation:stages=2,frame=model", collocation(2))
compare("19: avf-p", constant, "avf-p", avf_p, 2)
compare("20: avf-p, M(q)", varying, "avf-p", avf_p, 2)
for number, stages in ((21, 1), (22, 2), (23, 3)):
    c, b, a = gauss_table(stages)
    compare(f"{number}: gauss, {stages} stages, M(q)", varying, f"gauss:stages={stages}", spark(c, b, a, a, a))
c, b, a = gauss_table(2)
compare("24: gauss-standard", varying, "gauss-standard:stages=2", spark(c, b, a, a, a, lambda k, k1: list(k)))
for number, stages, method, tables in ((25, 2, "lobatto-ab", "ABB"), (26, 3, "lobatto-ab", "ABB"), (27, 3, "lobatto-abd", "ABD"),
                                       (28, 3, "lobatto-ad", "ADD"), (29, 3, "lobatto-d", "DDD")):
    c, b, known = lobatto_tables(stages)
    compare(f"{number}: {method}, {stages} stages, M(q)", varying, f"{method}:stages={stages}", spark(c, b, *(known[t] for t in tables)))
compare("30: euler-1, M(q)", varying, "euler-1", euler_1, 2)
compare("31: euler-2, M(q)", varying, "euler-2", euler_2, 2)
compare("32: lobatto-ab-midpoint, M(q)", varying, "lobatto-ab-midpoint", midpoint)
compare("33: rk4", varying, "rk4", rk4, 3)
gamma = 1 / (2 - 2 ** (1 / 3))
compare("34: triple jump", constant, "dla01", composed(dla01, (gamma, 1 - 2 * gamma, gamma)), 1, 1e-13, "--compose", "triple-jump")
c, b, a = gauss_table(2)
compare("35: gauss, affine", affine, "gauss:stages=2", spark(c, b, a, a, a))

# ---- theorem 6.1 of Jay (2009): dL_d/dq_0 = -p_0 - f_d^-, dL_d/dq_1 = p_1 - f_d^+ ----


def discrete_action(s, h, a, b, q0, V):
    Q = q0 + h * a @ V
    return h * sum(b[i] * (V[i] @ s.mass(Q[i]) @ V[i] / 2 - s.potential(Q[i])) for i in range(len(b)))


def discrete_work(h, b, r, R, end, dV):
    """f_d^+ . dq1, or f_d^- . dq0: reactions (b~_j - a~_ij) R_j, or -a~_ij R_j."""
    shares = (b[None, :] - r if end else -r) @ R
    return h * h * np.sum(b[:, None] * shares * dV)


def discrete_principle(c, b, a, f, r):
    """The defect of the theorem at a step from q0 to q1. L_d = h sum b_i L(Q_i, V_i) depends on q0 and the V_i; these depend
    on q0 and q1 in some way; the theorem only uses q1 = q0 + h sum b_i V_i. So it must hold for all changes of the
    V_i with q1 fixed, and with q0 fixed. Reactions are +K^T Psi here, -K^T Psi in the paper."""
    s, h = varying, 0.2
    q0, v0 = start_of(s)
    told = {}
    q1, v1, _ = spark(c, b, a, f, r)(s, h, q0, v0, None, told)
    V, R = told["V"], told["R"]
    generator, off = np.random.default_rng(3), 0.0
    for end in (0, 1) * 4:
        dV = generator.normal(size=V.shape)
        dq = h * b @ dV  # of q1, or the opposite of q0
        e, dq0 = 1e-5, -dq if end == 0 else 0 * dq
        change = (discrete_action(s, h, a, b, q0 + e * dq0, V + e * dV) - discrete_action(s, h, a, b, q0 - e * dq0, V - e * dV)) / (2 * e)
        force = discrete_work(h, b, r, R, end, dV)
        off = max(off, abs(change - (s.momentum(q1, v1) @ dq - force if end else -s.momentum(q0, v0) @ dq0 - force)))
    return off


for name, tables in (("IIIA-B", "ABB"), ("IIIA-B-D", "ABD"), ("IIID", "DDD"), ("IIIA-D", "ADD")):
    c, b, known = lobatto_tables(3)
    off = discrete_principle(c, b, *(known[t] for t in tables))
    if name == "IIIA-D":
        check("36: theorem 6.1 needs (6.2b), which Lobatto IIIA-D lacks", 1e-6 / off, 1)
    else:
        check(f"36: theorem 6.1, Lobatto {name}", off, 1e-9)
c, b, a = gauss_table(2)
check("36: theorem 6.1, Gauss", discrete_principle(c, b, a, a, a), 1e-9)


def antisymmetry(c, b, a, f, r):
    """The defects of L_d(q1, q0) = -L_d(q0, q1) and f_d^+(q1, q0) = -f_d^-(q0, q1)."""
    s, h, step = varying, 0.2, spark(c, b, a, f, r)
    q0, v0 = start_of(s)
    there, back = {}, {}
    q1, v1, _ = step(s, h, q0, v0, None, there)
    step(s, -h, q1, v1, None, back)
    dV = np.random.default_rng(4).normal(size=there["V"].shape)
    return (abs(discrete_action(s, h, a, b, q0, there["V"]) + discrete_action(s, -h, a, b, q1, back["V"])),
            abs(discrete_work(h, b, r, there["R"], 0, dV) + discrete_work(-h, b, r, back["R"], 1, dV[::-1])))


c, b, a = gauss_table(2)
of_three = lobatto_tables(3)
symmetric = [("Gauss", (c, b, a, a, a))] + [(f"Lobatto {name}", (*of_three[:2], *(of_three[2][t] for t in name))) for name in ("ABB", "ABD", "DDD", "ADD")]
for name, tables in symmetric:
    check(f"43: L_d and f_d change their signs with the direction, {name}", max(antisymmetry(*tables)), 1e-13)
for off in antisymmetry(np.array([0.0]), np.array([1.0]), 0 * one, one, one):
    check("43: and not without the symmetry conditions (6.3)", 1e-4 / off, 1)


class WithAction(Varying):
    """A coordinate more, on which the Lagrangian acts as a force: its velocity grows by L_d in every step."""

    def text(self):
        L = f"({self.kinetic} - {POTENTIAL})"
        return super().text().split("frame")[0].replace("y, z, s", "y, z, s, S").replace("lagrangian ", "lagrangian S'^2/2 + ") + f"force S = {L}\n"


def told_action(system, method, steps):
    path = os.path.join(folder.name, "action.nh")
    with open(path, "w") as file:
        file.write(system.text())
    q, v = start_of(system)
    words = [NONHOLO, "run", path, "--method", method, "--step", repr(H), "--steps", str(steps), "--q=" + ",".join(map(repr, [*map(float, q), 0.0])),
             "--v=" + ",".join(map(repr, [*map(float, v), 0.0])), "--json", "--quiet", "--no-estimate"]
    return json.loads(subprocess.run(words, capture_output=True, text=True, check=True).stdout)["v"][4]


action = WithAction()
for name, method, tables in (("Gauss", "gauss:stages=2", (c, b, a, a, a)), ("Lobatto IIIA-B", "lobatto-ab:stages=3", symmetric[1][1]),
                             ("Lobatto IIIA-B-D", "lobatto-abd:stages=3", symmetric[2][1]), ("Lobatto IIID", "lobatto-d:stages=3", symmetric[3][1])):
    (q, v), sum_of_all = start_of(varying), 0.0
    for steps in (1, 2, 3):
        told = {}
        q1, v1, _ = spark(*tables)(varying, H, q, v, None, told)
        one = discrete_action(varying, H, tables[2], tables[1], q, told["V"])
        sum_of_all += one
        q, v = q1, v1
        check(f"44: L_d as the growth of a velocity, {name}, {steps} steps", abs(told_action(action, method, steps) - sum_of_all), 1e-13)
whole = told_action(action, "gauss:stages=6", 3)
check("44: the sum of the L_d approximates the action, Gauss", abs(told_action(action, "gauss:stages=2", 3) - whole), 1e-6)


# ---- section 5 of Jay (2009): the exact discrete forces ----


def motion(s, q, v, time, steps):
    """Positions, velocities, and the reactions A^T lambda, which are -K^T Psi in the paper, at equal times."""
    points, h = [], time / steps
    for i in range(steps + 1):
        points.append((q, v, s.rows(q).T @ s.acceleration(q, v)[1]))
        q, v, _ = rk4(s, h, q, v, None)
    return [np.array(part) for part in zip(*points)]


def simpson(values, time):
    weights = np.array([1, *([4, 2] * (len(values) // 2))][:-1] + [1]) * time / (3 * (len(values) - 1))
    return np.tensordot(weights, values, 1)


def exact_forces(s, time, steps=200):
    """How far f_d^E+ of (5.2) and of (5.4), and dL_d^E/dq1 of (5.3), are from each other along a change of v0."""
    q0, v0 = start_of(s)
    row, e = s.rows(q0)[0], 1e-4
    change = np.array([0.3, -1.0, 0.4, 0.7])
    change = change - row * (row @ change) / (row @ row)
    lower, upper = (motion(s, q0, v0 + side * e * change, time, steps) for side in (-1, 1))
    q, v, reaction = motion(s, q0, v0, time, steps)
    action = [simpson(np.array([b @ s.mass(a) @ b / 2 - s.potential(a) for a, b in zip(*one[:2])]), time) for one in (lower, upper)]
    dq, dv = ((upper[i] - lower[i]) / (2 * e) for i in (0, 1))
    impulse = np.array([simpson(reaction[i:], time * (1 - i / steps)) for i in range(0, steps - 1, 2)] + [0 * q0])  # from here to the end
    force = simpson(np.sum(reaction * dq, axis=1), time)
    by_parts = simpson(np.sum(impulse * dv[::2], axis=1), time)
    slope = (action[1] - action[0]) / (2 * e)
    return abs(slope - (s.momentum(q[-1], v[-1]) @ dq[-1] - force)), abs(force - by_parts), abs(force)


off, parts, size = exact_forces(varying, 0.5)
check("45: (5.3), the exact discrete Lagrangian and force", off, 1e-8)
check("45: (5.4), the exact force by parts", parts, 1e-8)
check("45: a force of some size", 1e-3 / size, 1)


def determined(c, b, a, f, r):
    """The smallest singular values, beside the largest, of the step as a problem between q0 and q1, where v0 is unknown, too."""
    told, (q0, v0) = {}, start_of(varying)
    spark(c, b, a, f, r)(varying, 0.2, q0, v0, None, told)
    z = np.concatenate([v0, told["x"]])
    jacobian = np.array([(told["between"](z + e) - told["between"](z - e)) / 2e-5 for e in 1e-5 * np.eye(len(z))])
    values = np.linalg.svd(jacobian, compute_uv=False)
    return values[-2:] / values[0]


for name, tables in (("IIIA-B", "ABB"), ("IIIA-B-D", "ABD"), ("IIID", "DDD")):
    c, b, known = lobatto_tables(3)
    least = determined(c, b, *(known[t] for t in tables))
    if name == "IIIA-B":
        check("42: one direction, a change of v0 and Psi_1, is not determined by q0 and q1", least[1], 1e-13)
        check("42: and only one", 1e-5 / least[0], 1)
    else:
        check(f"42: q0 and q1 determine the step of {name}", 1e-8 / least[1], 1)
c, b, a = gauss_table(2)
check("42: q0 and q1 determine the step of Gauss", 1e-8 / determined(c, b, a, a, a)[1], 1)

# ---- Celledoni et al. (2019), remark 3.4, sections 4.2 and 5 ----

for name, step, unknowns in (("(15) has 3n - m unknowns", gonzalez_f, 3 * 4 - 3), ("(14) on (9) has n + m", discrete_gradient("gonzalez"), 4 + 3)):
    step(varying, H, *start_of(varying), None)
    check(f"41: remark 3.4, m the rank of D: {name}", abs(len(newton.solved) - unknowns), 0)
    check("41: none of them superfluous", np.linalg.cond(newton.solved), 1e3)


def growth(step, h, rho2=-0.6, C=1 / 9):
    """The factor of rho1 near the equilibrium (0, rho2) of (22)."""
    return step(np.array([1e-9, rho2]), h, C)[0] / 1e-9


def explicit_euler(rho, h, C):
    return rho + h * C * np.array([-rho[0] * rho[1], rho[0] ** 2])


def implicit_midpoint(rho, h, C):
    return newton(lambda x: x - rho - h * C / 4 * np.array([-(rho[0] + x[0]) * (rho[1] + x[1]), (rho[0] + x[0]) ** 2]), rho)


C, rho2 = 1 / 9, 0.6
for sign in (1, -1):
    for part in (0.1, 0.5, 0.99):
        h = part * 2 / (C * rho2)  # proposition 4.1: h < 2/|C rho2|
        factor = growth(implicit_midpoint, h, sign * rho2)
        check("37: proposition 4.1, the eigenvalue", abs(factor - (2 - sign * h * C * rho2) / (2 + sign * h * C * rho2)) / factor, 1e-6)
        h /= 2  # remark 4.2: h < 1/|C rho2|
        factor = growth(explicit_euler, h, sign * rho2)
        check("38: remark 4.2, Euler's eigenvalue is positive, below 1 where stable, above where not",
              max(-factor, (factor - 1) * sign), 0)
check("38: remark 4.2, beyond the bound Euler's rho1 changes its sign", growth(explicit_euler, 1.01 / (C * rho2), rho2), 0)
check("38: and beyond twice the bound it is unstable where the motion is not", 1 / abs(growth(explicit_euler, 2.01 / (C * rho2), rho2)), 1)
path = os.path.join(folder.name, "sleigh.json")
done = subprocess.run([NONHOLO, "run", "chaplygin-sleigh", "--set", "rho1=1e-6", "--method", "discrete-gradient:gradient=avf,frame=model",
                       "--step", "0.5", "--steps", "1", "--json", "--quiet", "--no-estimate"], capture_output=True, text=True, check=True)
factor = json.loads(done.stdout)["v"][2] * 3 / 1e-6  # theta' = rho1/sqrt(J + m a^2)
check("37: and in the program", abs(factor - 18.3 / 17.7), 1e-9)


def spectral_radius(r, wh):
    """Of a step of the generalised alpha method on x'' = -w^2 x, with the parameters that damp fast oscillations by r."""
    m, f = (2 * r - 1) / (r + 1), r / (r + 1)
    gamma, beta = 0.5 + f - m, (1 + f - m) ** 2 / 4

    def step(y):  # x, h v, h^2 a
        x0, v0, a0 = y
        # (1 - m) a1 + m a0 = -(wh)^2 ((1 - f) x1 + f x0), x1 = x0 + v0 + (1/2 - beta) a0 + beta a1
        known = x0 + v0 + (0.5 - beta) * a0
        a1 = (-m * a0 - wh**2 * ((1 - f) * known + f * x0)) / (1 - m + wh**2 * (1 - f) * beta)
        return np.array([known + beta * a1, v0 + (1 - gamma) * a0 + gamma * a1, a1])
    return abs(np.linalg.eigvals(np.array([step(unit) for unit in np.eye(3)]).T)).max()


for r in (0.0, 0.5, 0.9, 1.0):
    # a multiple eigenvalue: its error is a root of round-off
    check(f"39: generalised alpha damps by {r}", abs(spectral_radius(r, 1e7) - r), 1e-4)
    check("39: and not what is slow", abs(spectral_radius(r, 1e-3) - 1), 1e-6)

# ---- Kane, Marsden, Ortiz and West (2000), in the remarks on Newmark's method without constraints ----

CENTRAL = """model central
coordinate x, y
lagrangian (x'^2 + y'^2)/2 - (x^2 + y^2)/2 - (x^2 + y^2)^2/4
start x = 1, y = 0.3, x' = -0.2, y' = 0.9
"""


def newmark_map(beta, h=0.3):
    """A step of the program and its derivative."""
    path = os.path.join(folder.name, "central.nh")
    with open(path, "w") as file:
        file.write(CENTRAL)
    done = subprocess.run([NONHOLO, "run", path, "--method", f"newmark:beta={beta!r}", "--step", repr(h), "--steps", "1", "--json", "--quiet",
                           "--no-estimate", "--sensitivity", "start x, start y, start x', start y'"], capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    columns = [column["q"] + column["v"] for column in found["sensitivity"].values()]
    return np.array(found["q"] + found["v"]), np.array(columns).T


def kept_variables(beta, h=0.3):
    """The change of variables (x, v) -> (x + beta h^2 grad V(x), v), and its derivative."""
    def change(z):
        x = z[:2]
        return np.concatenate([x + beta * h**2 * (1 + x @ x) * x, z[2:]])

    def derivative(z):
        x, d = z[:2], np.eye(4)
        d[:2, :2] += beta * h**2 * ((1 + x @ x) * np.eye(2) + 2 * np.outer(x, x))
        return d
    return change, derivative


J = np.block([[np.zeros((2, 2)), np.eye(2)], [-np.eye(2), np.zeros((2, 2))]])
z0 = np.array([1, 0.3, -0.2, 0.9])
for beta in (0.0, 0.1, 0.25):
    change, derivative = kept_variables(beta)
    z1, step = newmark_map(beta)
    form = [derivative(z).T @ J @ derivative(z) for z in (z0, z1)]
    check(f"40: Newmark, beta = {beta}, keeps dX ^ dv of X = x + beta h^2 grad V", abs(step.T @ form[1] @ step - form[0]).max(), 1e-12)
    momentum = [X[0] * X[3] - X[1] * X[2] for X in map(change, (z0, z1))]
    check("40: and the momentum X x v", abs(momentum[1] - momentum[0]), 1e-13)
    lost = abs(step.T @ J @ step - J).max()
    check("40: and dx ^ dv if beta is 0 only", lost if beta == 0 else 1e-3 / lost, 1e-12 if beta == 0 else 1)

print(f"{passed} passed, {failed} failed")
sys.exit(1 if failed else 0)
