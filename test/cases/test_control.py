#!/usr/bin/env python3
"""test_control.py NONHOLO: regulators and estimators of `nonholo control`, against Riccati's equation iterated here."""

import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "cli"))
sys.path.insert(0, HERE)
from harness import Program, cases_in_folders, check, run_all, same  # noqa: E402

CART = """model cart
parameter M = 2, m = 5, l = 0.5, g = 9.81
input torque = 0
coordinate x
coordinate a angle
lagrangian M/2*x'^2 + m/2*((x' + l*cos(a)*a')^2 + (l*sin(a)*a')^2) - m*g*l*cos(a)
force x = torque
observe tip = x + l*sin(a), speed = x'
"""


def write(folder, text):
    path = os.path.join(folder, "machine.nh")
    with open(path, "w") as file:
        file.write(text)
    return path


def times(a, b):
    return [[sum(x * y for x, y in zip(row, column)) for column in zip(*b)] for row in a]


def plus(a, b, factor=1):
    return [[x + factor * y for x, y in zip(one, other)] for one, other in zip(a, b)]


def turned(a):
    return [list(row) for row in zip(*a)]


def largest(a):
    return max(abs(x) for row in a for x in row)


def gain_of_one(A, B, P, r):
    """(r + B^T P B)^-1 B^T P A for a single input."""
    PB = times(P, B)
    scale = r + times(turned(B), PB)[0][0]
    return [[x / scale for x in times(turned(PB), A)[0]]]


def iterated(A, B, Q, r):
    """The fixed point of Riccati's equation for a single input of weight r; its gain."""
    P = Q
    for _ in range(20000):
        K = gain_of_one(A, B, P, r)
        new = plus(Q, times(turned(A), times(P, plus(A, times(B, K), -1))))
        new = [[x / 2 for x in row] for row in plus(new, turned(new))]
        done = largest(plus(new, P, -1)) < 1e-14 * largest(new)
        P = new
        if done:
            break
    return gain_of_one(A, B, P, r), P


def diagonal(*values):
    return [[value if i == j else 0 for j in range(len(values))] for i, value in enumerate(values)]


def near(a, b, tolerance, what):
    check(largest(plus(a, b, -1)) <= tolerance * largest(b), f"{what}: {a}, expected {b}")


def exponential(a):
    """By a power series and doubling."""
    n, doublings = len(a), 20
    scaled = [[x / 2**doublings for x in row] for row in a]
    out = term = diagonal(*[1] * n)
    for k in range(1, 8):
        term = [[x / k for x in row] for row in times(term, scaled)]
        out = plus(out, term)
    for _ in range(doublings):
        out = times(out, out)
    return out


def cart(program, folder):
    """Sampling, gain, estimator and closed loop of a cart that balances a rod."""
    model = write(folder, CART)
    period = 0.02
    found = program.json("control", model, "--period", period, "--keep-symmetries", "--weights", "a=10, torque=0.5,tip=2",
                         "--noise", "tip=0.01,torque=3")
    same((found["names"], found["inputs"]), (["x", "a", "x'", "a'"], ["torque"]))
    linear = program.json("linearise", model, "--keep-symmetries")
    whole = [row + [0] for row in linear["A"]] + [[0] * 5]
    for i, row in enumerate(linear["B"]):
        whole[i][4] = row[0]
    sampled = exponential([[period * x for x in row] for row in whole])
    A, B, C = found["A"], found["B"], found["C"]
    near(A, [row[:4] for row in sampled[:4]], 1e-9, "sampled A")
    near(B, [row[4:] for row in sampled[:4]], 1e-9, "sampled B")
    Q = diagonal(1, 10, 1, 1)
    for i, x in enumerate(C[0]):
        for j, y in enumerate(C[0]):
            Q[i][j] += 2 * x * y
    K, P = iterated(A, B, Q, 0.5)
    near(found["gain"], K, 1e-10, "gain")
    near(found["P"], P, 1e-10, "P")
    W = [[9 * x * y for y, in B] for x, in B]
    _, S = iterated(turned(A), turned(C[:1]), W, 1e-4)
    scale = 1e-4 + times(C[:1], times(S, turned(C[:1])))[0][0]
    near([row[:1] for row in found["filter"]], [[x / scale] for x, in times(S, turned(C[:1]))], 1e-9, "estimator")
    check(all(row[1] == 0 for row in found["filter"]), "what is not measured has no gain")
    check(all(abs(complex(*value)) < 1 for value in found["eigenvalues"] + found["filter_eigenvalues"]), "stable")
    law = "torque=" + found["law"]["torque"]
    end = program.json("run", model, "--start", "a=0.2", "--input", law, "--input-period", period, "--time", "60")
    state = dict(zip(("x", "a"), end["q"])) if "q" in end else end["state"]
    check(all(abs(state[name]) < 1e-6 for name in ("x", "a")), f"the closed loop returns: {state}")


def bicycle(program, folder):
    """At 2 m/s it falls; steering cannot change the speed, which is left out."""
    text = program("models", "benchmark-bicycle").stdout
    text = text.replace("coordinate x, y ", "input push = 0\ncoordinate x, y ").replace("start x'", "force steer = push\nstart x'")
    model = write(folder, text)
    done = program("control", model, "--set", "speed=2", "--period", "0.01")
    check("x'" in done.stderr and "left out" in done.stderr, done.stderr)
    found = program.json("control", model, "--set", "speed=2", "--period", "0.01")
    kept = [i for i, name in enumerate(found["names"]) if name != "x'"]
    part = lambda a: [[row[i] for i in kept] for row in a]
    K, _ = iterated([part(found["A"])[i] for i in kept], [found["B"][i] for i in kept], diagonal(1, 1, 1, 1), 1)
    near(part(found["gain"]), K, 1e-10, "gain")
    same(found["gain"][0][found["names"].index("x'")], 0)
    inside = sorted(abs(complex(*value)) for value in found["eigenvalues"])
    check(inside[-2] < 1 and abs(inside[-1] - 1) < 1e-12, f"{inside}")


def feedback_on_an_angle(program, folder):
    """300*a counts revolutions, so the coordinate may not be an angle any more; sin(a) may stay one."""
    model = write(folder, CART)
    whole = program.json("run", model, "--input", "torque=300*a + 40*a'", "--start", "a=0.2", "--time", "1")
    plain = program.json("run", write(folder, CART.replace("a angle", "a")), "--input", "torque=300*a + 40*a'", "--start", "a=0.2",
                         "--time", "1")
    same(whole["q"] if "q" in whole else whole["state"], plain["q"] if "q" in plain else plain["state"])
    constant = write(folder, CART.replace("force x = torque", "force x = torque + a"))
    done = program("run", constant, "--time", "1")
    same((done.returncode, "declared an angle" in done.stderr), (2, True), done.stderr)


def rotations(program, folder):
    """A body is brought to rest by torques about its axes; each is a scalar system. About a spin the axes move: no expression."""
    text = """model rotor
rotation R
input a = 0, b = 0, c = 0
let w = body(R)
lagrangian (w[1]^2 + 2*w[2]^2 + 3*w[3]^2)/2
force body(R) = (a, b, c)
"""
    rotor, P = write(folder, text), 0.05
    found = program.json("control", rotor, "--period", P)
    for i, inertia in enumerate((1, 2, 3)):
        K, _ = iterated([[1]], [[P / inertia]], [[1]], 1)
        near([found["gain"][i]], [[K[0][0] if i == k else 0 for k in range(3)]], 1e-12, "gain")
    laws = [word for name, law in found["law"].items() for word in ("--input", f"{name}={law}")]
    end = program.json("run", rotor, *laws, "--input-period", P, "--start", "body(R)=(0.3,0.2,-0.1)", "--time", "30")
    check(max(map(abs, end["v"])) < 1e-5, f"at rest: {end['v']}")
    spin = program("control", rotor, "--period", P, "--start", "body(R)=(0,0,2)")
    check(spin.returncode == 0 and "law " not in spin.stdout and "not written as an expression" in spin.stderr, f"{spin}")


def refused(program, folder):
    def said(code, *arguments, text=CART):
        done = program("control", write(folder, text), *arguments)
        same(done.returncode, code, done.stderr)
        return done.stderr

    check("--period" in said(2), "period")
    check("'torqe' is unknown; did you mean 'torque'?" in said(2, "--period", "1", "--weights", "torqe=1"), "name")
    check("NAME=VALUE" in said(2, "--period", "1", "--weights", "a=-1"), "negative")
    check("positive definite" in said(2, "--period", "1", "--weights", "torque=0"), "no weight of an input")
    check("not a steady motion" in said(1, "--period", "1", "--start", "a=0.1", "--about", "start"), "start")
    check("too long" in said(2, "--period", "1e5"), "period")
    check("no input" in said(2, "--period", "1", text=CART.replace("input torque = 0", "parameter torque = 0")), "no input")
    alone = CART.replace("force x = torque", "force x = torque\ncoordinate z\nlagrangian z'^2/2 + z^2/2")
    alone = alone.replace("model cart", "model cart\ncoordinate z").replace("\ncoordinate z\nlagrangian z'^2/2 + z^2/2", "")
    alone = alone.replace("- m*g*l*cos(a)", "- m*g*l*cos(a) + z'^2/2 + z^2/2")
    message = said(1, "--period", "0.01", text=alone)
    check("cannot stabilise" in message and "z" in message, message)


def main():
    program = Program(sys.argv[1])
    if "no LAPACK" in program("--version").stdout:
        print("skipped: this build has no LAPACK")
        return 77
    return run_all(cases_in_folders(globals(), program))


if __name__ == "__main__":
    sys.exit(main())
