#!/usr/bin/env python3
"""test_hinges.py NONHOLO

Vector equations with one redundant component, which is not always the same one: hinges, pins, welds,
and rolling on curved walls. Every machine is compared with another description of the same machine, or with a formula, after
its axes have turned far beyond a right angle; and starts on the other branch are refused."""

import json
import math
import os
import sys
import tempfile

from harness import Program, check, run_all, same

nonholo = Program(sys.argv[1])

# A wheel on a body's axis, by a hinge; and by its angle about that axis.
AXLE = """model axle
rotation R, W
let w = body(R), u = body(W)
lagrangian (2*w[1]^2 + w[2]^2 + 3*w[3]^2)/2 + (0.2*u[1]^2 + 0.4*u[2]^2 + 0.2*u[3]^2)/2
constraint hinge: R*(0, 1, 0) = W*(0, 1, 0)
start body(R) = (0.3, 1, 0.7), body(W) = (0.3, -2, 0.7)
"""
AXLE_BY_ANGLE = """model axle
rotation R
coordinate s
let w = body(R)
lagrangian (2*w[1]^2 + w[2]^2 + 3*w[3]^2)/2 + (0.2*w[1]^2 + 0.4*(w[2] + s')^2 + 0.2*w[3]^2)/2
start body(R) = (0.3, 1, 0.7), s' = -3
"""
# The same with the wheel's attitude relative to the body.
RELATIVE = """model relative
rotation R, Q
let w = body(R), u = body(R*Q)
lagrangian (2*w[1]^2 + w[2]^2 + 3*w[3]^2)/2 + (0.2*u[1]^2 + 0.4*u[2]^2 + 0.2*u[3]^2)/2
constraint hinge: R*(0, 1, 0) = R*Q*(0, 1, 0)
start body(R) = (0.3, 1, 0.7), body(Q) = (0, -3, 0)
"""
# A body whose axis follows a coordinate; and the same in two equations, written by hand.
FOLLOWS = """model follows
coordinate psi
rotation R
let w = body(R), n = (-sin(psi), cos(psi), 0)
lagrangian psi'^2/2 + (w[1]^2 + 2*w[2]^2 + 3*w[3]^2)/2
%s
start R = turn((1, 0, 0), -pi/2), psi' = 1, space(R) = (0, 2, 1)
"""
FOLLOWS_VECTOR = FOLLOWS % "constraint hinge: R*(0, 0, 1) = n"
FOLLOWS_BY_HAND = FOLLOWS % "constraint one: dot(R*(1, 0, 0), n) = 0\nconstraint two: dot(R*(0, 1, 0), n) = 0"
# A body that is pinned to another at two points; and with its angle about the line through them.
PINS = """model pins
coordinate x, y, z
rotation R, W
let a = body(R), b = body(W)
lagrangian (x'^2 + y'^2 + z'^2)/2 - z + (a[1]^2 + 2*a[2]^2 + 3*a[3]^2)/2 + (b[1]^2 + b[2]^2 + b[3]^2)/4
constraint pin1: R*(0, 0, 1) = (x, y, z) + W*(0, 0, 0.5)
constraint pin2: R*(0, 1, 1) = (x, y, z) + W*(0, 1, 0.5)
start z = 0.5, body(R) = (0.3, 1, 0.7), body(W) = (0.3, 1.5, 0.7), x' = 0.25, y' = -0.15
"""
PINS_BY_ANGLE = """model pins
rotation R
coordinate s
let a = body(R), W = R*turn((0, 1, 0), s), b = body(W), p = R*(0, 0, 1) - W*(0, 0, 0.5), v = p'
lagrangian dot(v, v)/2 - p[3] + (a[1]^2 + 2*a[2]^2 + 3*a[3]^2)/2 + (b[1]^2 + b[2]^2 + b[3]^2)/4
start body(R) = (0.3, 1, 0.7), s' = 0.5
"""
# A bead on a rod of a body that turns about a point; and with its place on the rod.
BEAD = """model bead
coordinate x, y, z
rotation R
let w = body(R)
lagrangian (x'^2 + y'^2 + z'^2)/2 - z + (2*w[1]^2 + w[2]^2 + 3*w[3]^2)/2
constraint rod: cross(R*(0, 0, 1), (x, y, z)) = (0, 0, 0)
start z = 1, body(R) = (0.3, 1, 0.7), x' = 1, y' = -0.3
"""
BEAD_BY_PLACE = """model bead
coordinate s
rotation R
let w = body(R), p = R*(0, 0, s), v = p'
lagrangian dot(v, v)/2 - p[3] + (2*w[1]^2 + w[2]^2 + 3*w[3]^2)/2
start s = 1, body(R) = (0.3, 1, 0.7)
"""
# Two bodies welded together are one.
WELD = """model weld
rotation R, W
let a = body(R), b = body(W)
lagrangian (a[1]^2 + 2*a[2]^2 + 3*a[3]^2)/2 + (b[1]^2 + b[2]^2 + 2*b[3]^2)/4
constraint weld: R = W
start body(R) = (0.3, 1, 0.7), body(W) = (0.3, 1, 0.7)
"""
WELD_AS_ONE = """model weld
rotation R
let a = body(R)
lagrangian (1.5*a[1]^2 + 2.5*a[2]^2 + 4*a[3]^2)/2
start body(R) = (0.3, 1, 0.7)
"""
# A hoop inside a ring, all the way round; and a pendulum.
RING = """model ring
parameter r = 0.3
coordinate x, y
coordinate a angle
lagrangian (x'^2 + y'^2)/2 + r^2*a'^2/2 - 9.81*y
constraint ring: x^2 + y^2 = 1
constraint roll: (x', y') + a'*r*(-y, x) = (0, 0)
start x = 0, y = -1, x' = 7, a' = -7/0.3
observe along = -y
"""
RING_AS_PENDULUM = """model ring
coordinate c
lagrangian c'^2 + 9.81*cos(c)
start c = 0, c' = 7
observe along = cos(c)
"""
# A ball inside a vertical cylinder, and in a bowl that it leaves at no place.
WALL = """model wall
parameter r = 0.2, g = 9.81
coordinate x, y, z
rotation R
let w = space(R), n = (x, y, %s)
lagrangian (x'^2 + y'^2 + z'^2 + 2/5*r^2*dot(w, w))/2 - g*z
constraint wall: dot(n, n) = 1
constraint rolling: (x, y, z)' + cross(w, r*n) = (0, 0, 0)
start %s
"""
CYLINDER = WALL % ("0", "x = 1, y' = 2, body(R) = (1, 0, -10)")
BOWL = WALL % ("z", "z = -1, x' = 9, body(R) = (0, 45, 0)")
BOWL_AS_PENDULUM = """model bowl
coordinate c
lagrangian 7/5*c'^2/2 + 9.81*cos(c)
start c = 0, c' = 9
observe up = -cos(c)
"""


def solve(text, *arguments, method="dop853", time=10, ask=0):
    """The end state as numbers by name, and the remarks."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.nh")
        with open(path, "w") as file:
            file.write(text)
        how = ["--tolerance", "1e-12"] if method == "dop853" else ["--step", "0.005"]
        done = nonholo("run", path, "--method", method, *how, "--time", str(time), "--json", *arguments)
    if ask:
        return same(done.returncode, ask, done.stderr), done.stderr
    check(done.returncode == 0, done.stderr)
    found = json.loads(done.stdout)
    check(found["constraint_max"] < 1e-12, f"residual {found['constraint_max']}")  # measured: at most 6e-14
    names = dict(zip(found["coordinates"] + found["velocities"], found["q"] + found["v"]))
    return {**names, **found["observables"]}, done.stderr


def agree(text, other, names, left_out, time=10, closeness=1e-9):
    """Checks that numbers with common or paired names are the same; approximately for other methods."""
    exact, _ = solve(other, time=time)
    for method, near in (("dop853", closeness), ("gauss:stages=3", 1e-7), ("avf-p", 2e-2), ("gauss-lobatto", 1e-5)):
        found, said = solve(text, method=method, time=time)
        same(said.partition("\n")[0], f"nonholo: left out, because they follow from the other constraints: {left_out}" if left_out else "")
        for name in names:
            here, there = name if isinstance(name, tuple) else (name, name)
            off = abs(found[here] - exact[there])
            check(off < near * (1 + abs(exact[there])), f"{method}: {here} is {found[here]}, off by {off}")


BODY = ["R.w1", "R.w2", "R.w3"]
TURNED = ["R.0", "R.1", "R.2", "R.3"]


def combination(name, last=3):
    return f"a combination of {name}[1] to {name}[{last}]"


def test_axle():
    agree(AXLE, AXLE_BY_ANGLE, BODY + TURNED, combination("hinge"))


def test_repeated():
    """The same hinge again, with another length: all of its equations are left out."""
    again = AXLE.replace("start", "constraint again: R*(0, 2, 0) = W*(0, 2, 0)\nstart")
    agree(again, AXLE_BY_ANGLE, BODY + TURNED, combination("hinge") + ", again[1], again[2], again[3]")


def test_relative():
    agree(RELATIVE, AXLE_BY_ANGLE, BODY + TURNED, combination("hinge"))


def test_follows():
    agree(FOLLOWS_VECTOR, FOLLOWS_BY_HAND, BODY + TURNED + ["psi", "psi'"], combination("hinge"))


def test_pins():
    agree(PINS, PINS_BY_ANGLE, BODY + TURNED, combination("pin2"))


def test_bead():
    agree(BEAD, BEAD_BY_PLACE, BODY + TURNED, combination("rod"))


def test_weld():
    agree(WELD, WELD_AS_ONE, BODY + TURNED + [("W.0", "R.0"), ("W.w3", "R.w3")], "")


def test_ring():
    agree(RING, RING_AS_PENDULUM, ["along"], combination("roll", 2), time=4, closeness=1e-8)


def test_cylinder():
    """The ball does not fall: z goes up and down sqrt(2/7) times while it goes round once."""
    period = 2 * math.pi / (2 * math.sqrt(2 / 7))
    found, _ = solve(CYLINDER, time=period)
    for name, value in (("z", 0), ("z'", 0), ("x", math.cos(2 * period)), ("y", math.sin(2 * period))):
        check(abs(found[name] - value) < 1e-9, f"{name} is {found[name]} instead of {value}")
    half, _ = solve(CYLINDER, time=period / 2)
    check(abs(half["z"]) > 1 and abs(half["z'"]) < 1e-9, str(half))


def test_bowl():
    agree(BOWL, BOWL_AS_PENDULUM, [("z", "up")], combination("rolling"), time=3, closeness=1e-8)


def test_other_branch():
    """Axes against each other, half a turn, a crank on the other side: what was left out is violated."""
    for text, start, name, residual in (
            (AXLE, "R=turn((1,0,0),pi),body(R)=(0.3,1,-0.7)", "hinge[2]", "-2"),
            (FOLLOWS_VECTOR, "R=turn((1,0,0),pi/2),space(R)=(0,2,1)", "hinge[2]", "-2"),
            (WELD, "R=turn((1,0,0),pi),body(R)=(0.3,-1,-0.7)", "weld", "-4"),
            ("model cranks\ncoordinate x, y, a\nlagrangian (x'^2 + y'^2 + a'^2)/2 - y\nconstraint rod: x^2 + y^2 = 1\n"
             "constraint along: x = sin(a)\nconstraint across: y = -cos(a)\nstart x = 0, y = -1\n", "y=1", "across", "2")):
        _, said = solve(text, "--start", start, ask=2)
        check(f"off the constraints: {name} has residual {residual}, although near there it follows from the others" in said, said)


def test_reactions():
    """Components that became combinations have no reactions; the wall's reaction is the force that keeps the ball on its circle."""
    _, said = solve(CYLINDER + "observe f = reaction(rolling[2])\n", ask=2)
    check("reaction(rolling[2]) is not determined: 'a combination of rolling[1] to rolling[3]' follows" in said, said)
    found, _ = solve(CYLINDER + "observe f = 2*reaction(wall)\n", time=3)
    check(abs(abs(found["f"]) - 4) < 1e-8, str(found["f"]))


if __name__ == "__main__":
    sys.exit(run_all([(name, test) for name, test in globals().items() if name.startswith("test_")]))
