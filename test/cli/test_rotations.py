#!/usr/bin/env python3
"""test_rotations.py NONHOLO

Models with `rotation` through the command line: against the same system with its quaternion written out as
coordinates, against Euler's equations integrated here, and the contents of the output."""

import csv
import io
import math
import os
import sys

from harness import Program, cases_in_folders, check, run_all, same

POLAR = "discrete-gradient:frame=polar"

# A rolling ball with a bob of its own, the rotation between other coordinates.
BODY = """
parameter m = 1, r = 0.7, I1 = 0.4, I2 = 0.6, I3 = 0.8
let inertia = ((I1, 0.02, 0), (0.02, I2, -0.05), (0, -0.05, I3))
lagrangian m*(x'^2 + y'^2)/2 + dot(w, inertia*w)/2 - 0.3*up[1] - 0.2*up[3]
constraint x' - r*s[2] = 0
constraint y' + r*s[1] = 0
observe spin = s[3]
"""
ROTATION = "model ball\ncoordinate x\nrotation R\ncoordinate y\nlet w = body(R), s = space(R), up = transpose(R)*(0, 0, 1)\n"
QUATERNION = """model ball
coordinate x, p0, p1, p2, p3, y
let w = (2*(p0*p1' - p1*p0' - p2*p3' + p3*p2'), 2*(p0*p2' - p2*p0' - p3*p1' + p1*p3'),
         2*(p0*p3' - p3*p0' - p1*p2' + p2*p1'))
let s = (2*(p0*p1' - p1*p0' + p2*p3' - p3*p2'), 2*(p0*p2' - p2*p0' + p3*p1' - p1*p3'),
         2*(p0*p3' - p3*p0' + p1*p2' - p2*p1'))
let up = (2*(p1*p3 - p0*p2), 2*(p2*p3 + p0*p1), p0^2 - p1^2 - p2^2 + p3^2)
"""
SPHERE = "constraint (p0^2 + p1^2 + p2^2 + p3^2 - 1)/2 = 0\n"


def write(folder, name, text):
    path = os.path.join(folder, name)
    with open(path, "w") as file:
        file.write(text)
    return path


def times(p, q):
    """The product of two quaternions."""
    a, b, c, d = p
    e, f, g, h = q
    return [a*e - b*f - c*g - d*h, a*f + b*e + c*h - d*g, a*g - b*h + c*e + d*f, a*h + b*g - c*f + d*e]


def turn(axis, angle):
    length = math.sqrt(sum(x * x for x in axis))
    return [math.cos(angle / 2)] + [math.sin(angle / 2) * x / length for x in axis]


def rate(p, w):
    """p' of an angular velocity in body axes."""
    return [x / 2 for x in times(p, [0, *w])]


def body(p, v):
    conjugate = [p[0], -p[1], -p[2], -p[3]]
    return [2 * x for x in times(conjugate, v)[1:]]


def rolling(p, w):
    """x' and y' of a ball of radius 0.7 that rolls."""
    s = times(times(p, [0, *w]), [p[0], -p[1], -p[2], -p[3]])[1:]
    return [0.7 * s[1], -0.7 * s[0]]


def numbers(values):
    return ",".join(repr(float(x)) for x in values)


def apart(a, b):
    same(len(a), len(b), "numbers")
    return max(abs(x - y) for x, y in zip(a, b))


def test_like_four_coordinates(program, folder):
    """The bits need not be the same, because the radial masses differ; measured 3e-14."""
    p, w = times(turn((1, 2, -1), 0.9), turn((0, 0, 1), 0.4)), [0.5, -0.3, 1.1]
    across = rolling(p, w)
    steps = ["--method", POLAR, "--step", "0.05", "--steps", "200", "--q", numbers([0.1, *p, 0.2])]
    turned = program.json("run", write(folder, "r.nh", ROTATION + BODY), *steps, "--v", numbers([across[0], *w, across[1]]))
    written = QUATERNION + BODY.replace("0.2*up[3]", "0.2*up[3] + (p0*p0' + p1*p1' + p2*p2' + p3*p3')^2") + SPHERE
    plain = program.json("run", write(folder, "q.nh", written), *steps, "--v", numbers([across[0], *rate(p, w), across[1]]))
    check(apart(turned["q"], plain["q"]) < 1e-12, f"positions differ by {apart(turned['q'], plain['q'])}")
    v = plain["v"]
    seen = [v[0], *body(plain["q"][1:5], v[1:5]), v[5]]
    check(apart(turned["v"], seen) < 1e-12, f"velocities differ by {apart(turned['v'], seen)}")
    check(turned["energy_error_max"] < 1e-14, f"energy {turned['energy_error_max']}")
    check(turned["constraint_max"] < 1e-14, f"constraints {turned['constraint_max']}")
    check(abs(turned["energy"] - plain["energy"]) < 1e-14, "energies differ")


def euler(w, moments, time, steps):
    """The body rate of a free body, by the Runge-Kutta method."""
    a, b, c = moments

    def slope(w):
        return [(b - c) / a * w[1] * w[2], (c - a) / b * w[2] * w[0], (a - b) / c * w[0] * w[1]]

    h = time / steps
    for _ in range(steps):
        k1 = slope(w)
        k2 = slope([x + h / 2 * k for x, k in zip(w, k1)])
        k3 = slope([x + h / 2 * k for x, k in zip(w, k2)])
        k4 = slope([x + h * k for x, k in zip(w, k3)])
        w = [x + h / 6 * (p + 2 * q + 2 * r + s) for x, p, q, r, s in zip(w, k1, k2, k3, k4)]
    return w


FREE = """model free
parameter I1 = 1, I2 = 1.6, I3 = 2.3
rotation R
let w = body(R)
lagrangian (I1*w[1]^2 + I2*w[2]^2 + I3*w[3]^2)/2
start R = turn((1, 1, 0), 2), body(R) = (0.3, 1.2, 0.1)
observe momentum = R*(I1*w[1], I2*w[2], I3*w[3])
"""


def test_eulers_equations(program, folder):
    """Through many revolutions; the error of yoshida6 at this step is 1e-9."""
    path = write(folder, "free.nh", FREE)
    found = program.json("run", path, "--method", POLAR, "--compose", "yoshida6", "--step", "0.02", "--time", "20")
    expected = euler([0.3, 1.2, 0.1], (1, 1.6, 2.3), 20, 4000)
    check(apart(found["v"], expected) < 1e-8, f"{found['v']} for {expected}")
    check(abs(sum(x * x for x in found["q"]) - 1) < 1e-14, "not of length 1")


def test_columns(program, folder):
    """Names, and the quaternion continued without jumps through several revolutions."""
    path = write(folder, "free.nh", FREE)
    done = program("run", path, "--method", POLAR, "--step", "0.02", "--time", "20", "--every", "5", "-o", "-", "--quiet")
    rows = list(csv.reader(io.StringIO(done.stdout)))
    same(
        rows[0],
        ["t", "R.0", "R.1", "R.2", "R.3", "R.w1", "R.w2", "R.w3", "energy", "momentum[1]", "momentum[2]", "momentum[3]"],
        "columns",
    )
    table = [[float(x) for x in row] for row in rows[1:]]
    jumps = max(apart(a[1:5], b[1:5]) for a, b in zip(table, table[1:]))
    check(jumps < 0.1, f"a jump of {jumps}")
    drift = max(apart(row[9:12], table[0][9:12]) for row in table)
    check(drift < 1e-3, f"the momentum in space changed by {drift}")  # 8e-5: of second order in the step
    json = program.json("run", path, "--method", POLAR, "--step", "0.02", "--steps", "1")
    same(json["velocities"], ["R.w1", "R.w2", "R.w3"], "velocities")


def test_starts(program, folder):
    """turn, body and space in the model and on the command line, beside quaternions made here."""
    path = write(folder, "free.nh", FREE)

    def start(*options):
        return program.json("check", path, *options)["start"]

    found = start()
    same(len(found["v"]), 3, "velocities")
    check(apart(found["q"], turn((1, 1, 0), 2)) < 1e-15, f"turn: {found['q']}")
    check(apart(found["v"], [0.3, 1.2, 0.1]) < 1e-15, f"body: {found['v']}")
    p = times(turn((0, 0, 1), 0.5), turn((1, 0, 0), -1))
    text = "R = turn((0, 0, 2), 0.5)*turn((1, 0, 0), -1), space(R) = (1, 2, 3)"
    found = start("--start", text)
    check(apart(found["q"], p) < 1e-15, f"product of turns: {found['q']}")
    w = times(times([p[0], -p[1], -p[2], -p[3]], [0, 1, 2, 3]), p)[1:]
    check(apart(found["v"], w) < 2e-15, f"space: {found['v']} for {w}")
    found = start("--q", numbers(p))
    check(apart(found["v"], [0.3, 1.2, 0.1]) < 1e-15, "another attitude keeps the body rate")
    done = program("check", path, "--start", "body(R) = (1, 2)")
    same(done.returncode, 2, "exit code")
    check("expected an angular velocity, which is a vector of length 3" in done.stderr, done.stderr)
    done = program("run", path, "--method", POLAR, "--step", "0.1", "--steps", "1", "--v", "1,2,3,4")
    same(done.returncode, 2, "four velocities")


def test_family(program, folder):
    """Two free bodies move as one does."""
    text = FREE.replace("rotation R", "parameter N = 2\nrotation R[1..N]").replace("let w = body(R)", "let w[i] = body(R[i])")
    text = text.replace("(I1*w[1]^2 + I2*w[2]^2 + I3*w[3]^2)/2", "sum(i in 1..N: I1*w[i][1]^2 + I2*w[i][2]^2 + I3*w[i][3]^2)/2")
    text = text[: text.index("observe")] + "start body(R[2]) = (0.1, 0.2, 1)\n"
    how = ["--method", POLAR, "--step", "0.05", "--steps", "40"]
    both = program.json("run", write(folder, "two.nh", text), *how)
    one = program.json("run", write(folder, "free.nh", FREE), *how)
    same(both["coordinates"][4], "R[2].0", "name")
    same(both["velocities"][3:], ["R[2].w1", "R[2].w2", "R[2].w3"], "names")
    check(apart(both["v"][:3], one["v"]) < 1e-13 and apart(both["q"][:4], one["q"]) < 1e-13, "the first body")
    check(apart(both["v"][3:], euler([0.1, 0.2, 1], (1, 1.6, 2.3), 2, 400)) < 1e-3, "the second body")


def test_relative_rotation(program, folder):
    """body() of a product: a wheel that turns in a body has the sum of the angular velocities."""
    text = """model wheel
coordinate a
rotation R
let wheel = R*turn((0, 1, 0), a), plain = body(R)
lagrangian a'^2/2 + dot(body(wheel), body(wheel))/2 + dot(plain, plain)/2
observe d = body(wheel) - transpose(turn((0, 1, 0), a))*(plain + (0, a', 0)), e = (R*(1, 2, 3))' - cross(space(R), R*(1, 2, 3))
start R = turn((1, 2, 3), 1), body(R) = (1, 2, -1), a = 0.3, a' = 2
"""
    found = program.json("run", write(folder, "wheel.nh", text), "--method", POLAR, "--step", "0.01", "--steps", "10")
    check(max(map(abs, found["observables"].values())) < 1e-14, str(found["observables"]))


def test_rotation_beside_free_velocity(program, folder):
    """As many coordinates as velocities, but they do not belong to each other: recorded rows, and degrees of freedom."""
    text = FREE[: FREE.index("observe")].replace("lagrangian ", "coordinate x\nvelocity u\nlagrangian (u^2 + x'^2)/2 + ")
    path = write(folder, "mixed.nh", text + "start u = 2, x' = 0.5\n")
    how = ["--method", "gauss", "--step", "0.1", "--steps", "5"]
    end, alone = program.json("run", path, *how), program.json("run", write(folder, "free.nh", FREE), *how)
    check(apart(end["q"][:4] + end["v"][:3], alone["q"] + alone["v"]) < 1e-14, "the body moves as it does alone")
    check(apart(end["q"][4:] + end["v"][3:], [0.25, 0.5, 2]) < 1e-15, f"the others: {end['q']} {end['v']}")
    rows = list(csv.reader(io.StringIO(program("run", path, *how, "--every", "1", "-o", "-", "--quiet").stdout)))
    same([float(x) for x in rows[-1][1:11]], end["q"] + end["v"], "the last row")
    same(program.json("check", path)["freedom"], {"positions": 4, "velocities": 5})


def main():
    program = Program(sys.argv[1])
    return run_all(cases_in_folders(globals(), program))


if __name__ == "__main__":
    sys.exit(main())
