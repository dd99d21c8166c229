#!/usr/bin/env python3
"""test_theory.py NONHOLO: the statements of docs/theory.md, in numbers. Runs of the program are read back and evaluated with
numpy; statements about the formulas themselves are checked here, without the program. Each bound is given together with the measured
value."""

import csv
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
failed = passed = 0


def check(name, value, bound):
    global failed, passed
    good = value <= bound
    passed, failed = passed + good, failed + (not good)
    if not good or "--show" in sys.argv:
        print(f"{'' if good else 'FAILED '}{name}: {value:.2g} (at most {bound:.2g})")


def run(model, method, step, steps, *more):
    """Columns by name."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "x.csv")
        words = [NONHOLO, "run", model, "--method", method, "--step", repr(step), "--steps", str(steps), "--every", "1", "--quiet",
                 "--no-estimate", "-o", path, *more]
        subprocess.run(words, check=True, capture_output=True)
        with open(path) as file:
            rows = list(csv.reader(file))
    table = np.array(rows[1:], dtype=float)
    return {name: table[:, i] for i, name in enumerate(rows[0])}


# ---- statements 1 to 3: leapfrog ----


def leapfrog(model, names, K, f, steps, *more):
    """The largest change of I relative to its terms, the relative gaps in corollary 2 and theorem 3, and the largest
    energy error with the square of the speed there. M = 1."""
    h = 0.1
    found = run(model, "leapfrog", h, steps, *more)
    x, v0 = (np.array([found[name + prime] for name in names]).T for prime in ("", "'"))
    v = np.diff(x, axis=0) / h
    kinetic, mixed, force = (v * v).sum(1) / 2, ((x[:-1] @ K) * x[1:]).sum(1) / 2, (x[:-1] + x[1:]) @ f / 2
    I, size = kinetic + mixed - force, (abs(kinetic) + abs(mixed) + abs(force)).max()
    mean = (x[:-1] + x[1:]) / 2
    definite = kinetic - h * h / 8 * ((v @ K) * v).sum(1) + ((mean @ K) * mean).sum(1) / 2 - mean @ f
    F, energy = f - x @ K, (v0 * v0).sum(1) / 2 + ((x @ K) * x).sum(1) / 2 - x @ f
    reaction = np.diff(v, axis=0) / h - F[1:-1]
    shown = energy[1:-1] + h * h / 8 * ((reaction * reaction).sum(1) - (F[1:-1] * F[1:-1]).sum(1))
    worst = abs(energy - energy[0]).argmax()
    return (abs(I - I[0]).max() / size, abs(definite - I).max() / size, abs(shown - I[1:]).max() / size,
            abs(energy - energy[0]).max(), (v0[worst] ** 2).sum())


change, same, shown, energy, square = leapfrog("knife-edge", ("x1", "x2"), np.zeros((2, 2)), np.array([1.0, 0]), 30000, "--set", "eps=0.1")
check("1: leapfrog's discrete energy on the knife edge", change, 1e-11)  # 6.8e-14
check("1: while its energy does not stay", 1 / energy, 1)  # it errs by 36
check("3: from force and reaction, on the knife edge", shown, 1e-11)  # 5.8e-14
check("3: the error is at most h^2/8 times the square of the reaction", energy / (0.01 / 8 * square / 0.81), 1.01)  # 1.000
change, same, shown, _, _ = leapfrog("pendulum-cvt", ("x", "y"), np.eye(2), np.zeros(2), 10000, "--set", "eps=0.1")
check("1: leapfrog's discrete energy on the CVT", change, 1e-12)  # 1.8e-14
check("2: as a definite form", same, 1e-14)  # 4.4e-16
check("3: from force and reaction, on the CVT", shown, 1e-12)  # 1.0e-15


# ---- theorem 4: avf-p, by formulas written here ----

CASES = 3
N, M = 4, 1
generator = np.random.default_rng(7)


class System:
    """A random smooth metric, potential and constraint."""

    def __init__(self):
        self.a, self.b, self.c = (generator.normal(size=(N, N)) for _ in range(3))
        self.d, self.e = generator.normal(size=(M, N)), generator.normal(size=(N, N))

    def mass(self, q):
        root = np.eye(N) + 0.2 * np.sin(self.a @ q)[:, None] * np.cos(self.b @ q)[None, :]
        return root @ root.T

    def mass_slopes(self, q):
        """d_k M_ij, by complex steps."""
        return np.array([self.mass(q + 1e-30j * unit).imag / 1e-30 for unit in np.eye(N)])

    def rows(self, q):
        return self.d + 0.3 * np.sin(self.e @ q)[None, :]

    def potential(self, q):
        return np.sum(np.cos(self.c @ q)) + 0.1 * np.sum(q**4)

    def slope(self, q):
        return -self.c.T @ np.sin(self.c @ q) + 0.4 * q**3


class Changed(System):
    """The same in coordinates z with q = S z."""

    def __init__(self, s, S):
        self.s, self.S = s, S

    def mass(self, z):
        return self.S.T @ self.s.mass(self.S @ z) @ self.S

    def rows(self, z):
        return self.s.rows(self.S @ z) @ self.S

    def slope(self, z):
        return self.S.T @ self.s.slope(self.S @ z)


def basis(rows, mass, turn=None):
    """M-orthonormal, of the kernel."""
    kernel = np.linalg.svd(rows)[2][len(rows):].T
    found = kernel @ np.linalg.inv(np.linalg.cholesky(kernel.T @ mass @ kernel)).T
    return found if turn is None else found @ turn


def polar(matrix):
    u, _, v = np.linalg.svd(matrix)
    return u @ v


def cay(matrix):
    one = np.eye(len(matrix))
    return np.linalg.solve(one - matrix / 2, one + matrix / 2)


NODES, WEIGHTS = np.polynomial.legendre.leggauss(12)


def step(s, q0, v0, h, turns=(None, None, None), with_K=True):
    q1 = q0 + h * v0
    for _ in range(200):
        qm, w = (q0 + q1) / 2, (q1 - q0) / 2
        mass = s.mass(qm)
        B, B0 = basis(s.rows(qm), mass, turns[0]), basis(s.rows(q0), s.mass(q0), turns[1])
        slopes = s.mass_slopes(qm)
        T = np.einsum("i,kij,ja,kb->ab", w, slopes, B, B)
        K = (T - T.T) / 2 if with_K else np.zeros_like(T)
        mean = sum(g / 2 * s.slope(q0 + (1 + c) / 2 * (q1 - q0)) for c, g in zip(NODES, WEIGHTS))
        rho0 = cay(-K) @ polar(B0.T @ mass @ B).T @ B0.T @ s.mass(q0) @ v0
        rho1 = rho0 - h * B.T @ mean
        new = q0 + h / 2 * B @ (rho0 + rho1)
        if abs(new - q1).max() < 1e-16:
            break
        q1 = new
    B1 = basis(s.rows(q1), s.mass(q1), turns[2])
    return q1, B1 @ polar(B1.T @ mass @ B) @ cay(-K) @ rho1


def energy_of(s, q, v):
    return v @ s.mass(q) @ v / 2 + s.potential(q)


def start(s):
    q = 0.3 * generator.normal(size=N)
    return q, basis(s.rows(q), s.mass(q)) @ generator.normal(size=N - M)


def orthogonal(size):
    return np.linalg.qr(generator.normal(size=(size, size)))[0]


def far(a, b):
    return max(abs(x - y).max() for x, y in zip(a, b))


def solve(s, q, v, h, steps, **how):
    for _ in range(steps):
        q, v = step(s, q, v, h, **how)
    return q, v


def order(s, with_K):
    """Of the error at t = 1/2, from steps 1/20 and 1/40; the truth is the method itself with a step of 1/320."""
    q, v = start(s)
    truth = solve(s, q, v, 0.5 / 160, 160)
    errors = [far(solve(s, q, v, 0.5 / n, n, with_K=with_K), truth) for n in (10, 20)]
    return np.log2(errors[0] / errors[1])


def connection(s, q):
    """Lemma 5, both sides, by differences; X is moved by projection, which is smooth."""
    v, d = start(s)[1], 1e-5
    reference = basis(s.rows(q), s.mass(q))

    def frame(at):
        mass, rows = s.mass(at), s.rows(at)
        inverse = np.linalg.inv(mass)
        P = np.eye(N) - inverse @ rows.T @ np.linalg.solve(rows @ inverse @ rows.T, rows)
        moved = P @ reference
        values, vectors = np.linalg.eigh(moved.T @ mass @ moved)
        return moved @ vectors @ np.diag(values**-0.5) @ vectors.T

    X, DX = frame(q), (frame(q + d * v) - frame(q - d * v)) / (2 * d)
    mass, slopes = s.mass(q), s.mass_slopes(q)
    along = np.einsum("kij,k->ij", slopes, v)
    lower = np.einsum("kij,i,ja,kb->ab", slopes, v, X, X)  # d_{X_b} M (v, X_a)
    christoffel = (X.T @ along @ X + lower - lower.T) / 2
    omega = (DX.T @ mass @ X - X.T @ mass @ DX) / 2
    return abs(X.T @ mass @ DX + christoffel - ((lower - lower.T) / 2 - omega)).max()


for _ in range(CASES):
    s = System()
    q, v = start(s)
    h = 0.05
    q1, v1 = step(s, q, v, h)
    check("4.1: energy", abs(energy_of(s, q1, v1) - energy_of(s, q, v)) / max(1, abs(energy_of(s, q, v))), 1e-14)  # 1.9e-16
    check("4.2: constraint", abs(s.rows(q1) @ v1).max(), 1e-13)  # 8.9e-16
    check("4.3: round trip", far(step(s, q1, v1, -h), (q, v)), 1e-13)  # 8.9e-16
    turned = step(s, q, v, h, [orthogonal(N - M) for _ in range(3)])
    check("4.4: other bases", far(turned, (q1, v1)), 1e-13)  # 1.1e-15
    S = np.eye(N) + 0.3 * generator.normal(size=(N, N))
    moved = step(Changed(s, S), np.linalg.solve(S, q), np.linalg.solve(S, v), h)
    check("4.4: other coordinates", far((S @ moved[0], S @ moved[1]), (q1, v1)), 1e-12)  # 5.6e-15
    check("4.5: order", abs(order(s, True) - 2), 0.1)  # 0.02 off
    check("4.5: without K the error does not fall", order(s, False), 0.5)  # 0.0
    check("lemma 5", connection(s, q), 1e-7)  # 1.1e-9

# ---- of the program ----

found = run("pendulum-cvt", "avf-p", 0.1, 1000, "--set", "eps=0.1")
for name in ("driver_energy", "passenger_energy"):
    check("4.6: " + name, abs(found[name] - found[name][0]).max(), 1e-12)  # 1.8e-15, 6.7e-16
with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "bead.nh")
    with open(path, "w") as file:  # not quadratic, so that the mean Jacobian matters
        file.write("model bead\ncoordinate x, y, z\nlagrangian (x'^2 + y'^2 + z'^2)/2 - z\nconstraint wire: z = x^4/4 + y^2 + x*y/3\n"
                   "start x = 1, y = 0.2, z = x^4/4 + y^2 + x*y/3\nstart x' = 0.1, y' = 0.3, z' = x^3*x' + 2*y*y' + (x'*y + x*y')/3\n")
    found = run(path, "avf-p", 0.1, 1000)
    x, y = found["x"], found["y"]
    check("4.7: condition on positions", abs(found["z"] - x**4 / 4 - y**2 - x * y / 3).max(), 1e-13)  # 3.2e-16
    path = os.path.join(folder, "oscillators.nh")
    with open(path, "w") as file:
        file.write("model oscillators\ncoordinate x, y\nlagrangian (x'^2 + y'^2)/2 - x^2 - y^2/2 - x*y/3\nstart x = 1, y' = 0.4\n")
    found = run(path, "newmark:beta=0.25", 0.3, 1000)
    check("Newmark's trapezoidal rule keeps quadratic energies", abs(found["energy"] - found["energy"][0]).max(), 1e-13)  # 2.2e-15


# ---- theorem 4.8: rotations ----


def json_of(*words):
    return json.loads(subprocess.run([NONHOLO, *words, "--json", "--quiet"], check=True, capture_output=True, text=True).stdout)


for model in "veselova", "chaplygin-ball":
    first = json_of("run", model, "--method", "avf-so3", "--step", "0.1", "--steps", "500", "--no-estimate")
    check(f"4.8: energy of {model}", first["energy_error_max"], 1e-13)  # 1.4e-15
    check(f"4.8: constraints of {model}", first["constraint_max"], 1e-14)  # 4.1e-16
    back = ["--q", ",".join(map(repr, first["q"])), "--v", ",".join(repr(-x) for x in first["v"])]
    again = json_of("run", model, "--method", "avf-so3", "--step", "0.1", "--steps", "500", "--no-estimate", *back)
    start = json_of("run", model, "--method", "avf-so3", "--step", "0.1", "--steps", "0", "--no-estimate")
    check(f"4.8: way back on {model}", far([np.array(again["q"]), -np.array(again["v"])], [np.array(start["q"]), np.array(start["v"])]), 1e-11)  # 1.1e-13
(measured,) = json_of("order", "chaplygin-ball", "--methods", "avf-so3", "--step", "0.1", "--halvings", "4")["methods"]
check("4.8: order", abs(measured["order"] - 2), 0.02)  # 7e-5

# ---- theorem 6: the passengers of avf-p are turned by Cayley's transform ----


def kernel(xi):
    """Of three-shaft-cvt."""
    k = np.array([-np.sin(xi), -(1 + np.cos(xi)) / 2, 1])
    return k / np.linalg.norm(k)


found = run("three-shaft-cvt", "avf-p", 0.1, 1000)
root = np.sqrt([1, 1.5, 0.8])
q, v = (np.array([found[name + prime] for name in ("x1", "x2", "x3")]).T for prime in ("", "'"))
u = np.array([np.append(root * a, kernel(xi) @ b) for a, b, xi in zip(q, v, found["xi"])])
worst = 0
for u0, u1, xi in zip(u, u[1:], (found["xi"][:-1] + found["xi"][1:]) / 2):
    S = np.zeros((4, 4))
    S[:3, 3], S[3, :3] = root * kernel(xi), -root * kernel(xi)
    worst = max(worst, abs(cay(0.1 * S) @ u0 - u1).max())
check("6: the passengers' step is a Cayley rotation", worst, 1e-13)  # 2.9e-15

# ---- theorems 7 and 8: the latitude ----

KEEP = [("avf-p", 2), ("collocation:anchor=middle", 4), ("leapfrog", 2)]
for model, more in ("three-shaft-cvt", []), ("pendulum-cvt", ["--set", "eps=0.5,sign=-1,shift=1"]):
    errors = {}
    for h in 0.1, 0.05:
        told = json_of("compare", model, *more, "--methods", ",".join(name for name, _ in KEEP), "--step", repr(h), "--time", "500")
        for one in told["methods"]:
            errors[one["method"], h] = one["errors"]["latitude"]
    for name, order_of in KEEP:
        coarse, fine = errors[name, 0.1], errors[name, 0.05]
        check(f"7, 8: {name} on {model}: the error falls with h^{order_of}", abs(np.log2(coarse["max"] / fine["max"]) - order_of), 0.15)  # 0.08
        check(f"7, 8: {name} on {model}: without drift", 500 * abs(fine["slope"]) / fine["max"], 1e-3)  # 1.6e-6

print(f"{passed} passed, {failed} failed")
sys.exit(failed > 0)
