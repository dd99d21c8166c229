#!/usr/bin/env python3
"""test_bodies.py NONHOLO: statements for bodies. What they stand for is what a person writes by hand, to the same bits; the
expansion that the program prints gives the same bits again; the forces of wheels are those of textbooks; planes may be
tilted and may move; and what holds by itself is left out."""

import csv
import math
import os
import sys
import tempfile

from harness import Program, check, run_all

nonholo = Program(sys.argv[1])

# Each machine: what both texts begin with, the statements for bodies, the same by hand, and what both texts end with.
BICYCLE = ("""parameter w = 1.02, c = 0.08, tilt = pi/10, g = 9.81, rR = 0.3, rF = 0.35, speed = 5
coordinate x, y
coordinate yaw, lean, pitch, steer, rear, front angle
let plane = turn((0, 0, 1), yaw)*turn((1, 0, 0), lean), B = plane*turn((0, 1, 0), pitch)
let H = B*turn((-sin(tilt), 0, cos(tilt)), steer)
let R = (x, y, 0) + rR*plane*(0, 0, 1), S = R + B*(w + c, 0, -rR)
let IB = ((9.2, 0, -2.4), (0, 11, 0), (-2.4, 0, 2.8)), IH = ((0.05892, 0, 0.00756), (0, 0.06, 0), (0.00756, 0, 0.00708))
let IR = ((0.0603, 0, 0), (0, 0.12, 0), (0, 0, 0.0603)), IF = ((0.1405, 0, 0), (0, 0.28, 0), (0, 0, 0.1405))
""", """gravity (0, 0, -g)
body rider mass 85 inertia IB at R + B*(0.3, 0, 0.9 - rR) attitude B
body fork mass 4 inertia IH at S + H*(0.9 - w - c, 0, 0.7) attitude H
wheel behind radius rR mass 2 inertia IR at R attitude B axis (0, 1, 0) spin rear
wheel ahead radius rF mass 3 inertia IF at S + H*(-c, 0, rF) attitude H axis (0, 1, 0) spin front on ground
""", """let axle = (0, 1, 0), up = (0, 0, 1)
let C = R + B*(0.3, 0, 0.9 - rR), D = S + H*(0.9 - w - c, 0, 0.7)
let wR = body(B) + rear'*axle, nR = B*axle, flatR = R[3]/rR
let slipR = (dot(R', cross(nR, up)/flatR) - rR*wR[2], dot(R', (nR - nR[3]*up)/flatR) + rR*dot(wR, cross(axle, transpose(B)*up)))
let F = S + H*(-c, 0, rF), wF = body(H) + front'*axle, nF = H*axle, flatF = sqrt(1 - nF[3]^2)
let slipF = (dot(F', cross(nF, up)/flatF) - rF*wF[2], dot(F', (nF - nF[3]*up)/flatF) + rF*dot(wF, cross(axle, transpose(H)*up)))
let moving(m, r) = m/2*dot(r', r') - m*g*r[3], turning(I, u) = dot(u, I*u)/2
lagrangian (moving(85, C) + turning(IB, body(B)) + moving(4, D) + turning(IH, body(H))
  + moving(2, R) + turning(IR, wR) + moving(3, F) + turning(IF, wF))
constraint roll_R: slipR = (0, 0)
constraint touch: F[3] = rF*flatF
constraint roll_F: slipF = (0, 0)
""", """start x' = speed, rear' = speed/rR, front' = speed/rF, lean' = 0.05
""")
SEGWAY = ("""parameter r = 0.2, b = 0.3, l = 0.5, g = 9.81, m = 10, mw = 1
coordinate x, y
coordinate yaw, left, right angle
coordinate pitch
let heading = turn((0, 0, 1), yaw), tilt = heading*turn((0, 1, 0), pitch)
let I = ((0.4, 0, 0), (0, 0.5, 0), (0, 0, 0.2)), J = ((0.01, 0, 0), (0, 0.02, 0), (0, 0, 0.01))
""", """gravity (0, 0, -g)
body rider mass m inertia I at (x, y, r) + tilt*(0, 0, l) attitude tilt
wheel one radius r mass mw inertia J at (x, y, r) + heading*(0, b, 0) attitude heading axis (0, 1, 0) spin left
wheel other radius r mass mw inertia J at (x, y, r) - heading*(0, b, 0) attitude heading axis (0, 1, 0) spin right
""", """let C = (x, y, r) + tilt*(0, 0, l), A = (x, y, r) + heading*(0, b, 0)
let wA = body(heading) + left'*(0, 1, 0), ahead = cross(heading*(0, 1, 0), (0, 0, 1))
let slip = (dot(A', ahead) - r*wA[2], dot(A', heading*(0, 1, 0)))
let B = (x, y, r) - heading*(0, b, 0), wB = body(heading) + right'*(0, 1, 0)
lagrangian (m/2*dot(C', C') + dot(body(tilt), I*body(tilt))/2 - m*g*C[3] + mw/2*dot(A', A') + dot(wA, J*wA)/2
  + mw/2*dot(B', B') + dot(wB, J*wB)/2)
constraint rolls: slip = (0, 0)
constraint rolls_too: dot(B', ahead) - r*wB[2] = 0
""", """force left = 3*pitch + pitch', right = 3*pitch + pitch' + 0.1*cos(t), pitch = -6*pitch - 2*pitch'
start pitch = 0.1, yaw' = 0.2, left' = -0.3, right' = 0.3
""")
TRAILERS = ("""parameter d = 1.2, b = 1.4, k = 0.4
coordinate x, y
coordinate a, delta, one, two, three angle
let along(u) = (cos(u), sin(u))
let first = (x, y) - d*along(one), second = first - d*along(two), third = second - d*along(three)
""", """body car mass 1000 inertia 900 at (x, y) + b/2*along(a) angle a
body wheels mass 10 inertia 1 at (x, y) + b*along(a) angle a + delta
body trailer mass 200 inertia 90 at first angle one
body cart mass 200 inertia 90 at second angle two
body barrow mass 200 inertia 90 at third angle three
blade rear at (x, y) along a
blade steering at (x, y) + b*along(a) along a + delta
blade axle at first along one
blade axle_too at second along two
blade axle_last at third along three
""", """let aside(u) = (-sin(u), cos(u)), middle = (x, y) + b/2*along(a), nose = (x, y) + b*along(a), back = (x, y)
let left = aside(a), steered = aside(a + delta), left_one = aside(one), left_two = aside(two), left_three = aside(three)
lagrangian (1000/2*dot(middle', middle') + 900/2*a'^2 + 10/2*dot(nose', nose') + 1/2*(a' + delta')^2
  + 200/2*dot(first', first') + 90/2*one'^2 + 200/2*dot(second', second') + 90/2*two'^2
  + 200/2*dot(third', third') + 90/2*three'^2)
constraint rear: dot(back', left) = 0
constraint steering: dot(nose', steered) = 0
constraint axle: dot(first', left_one) = 0
constraint axle_too: dot(second', left_two) = 0
constraint axle_last: dot(third', left_three) = 0
""", """force delta = k*cos(t)
start x' = 1, delta = 0.2, one = 0.1
start solve a', one', two', three'
""")
ROBOT = ("""parameter m = 1, r = 0.3, J = 0.05, mp = 2, l = 0.15, g = 9.81
coordinate x, y
coordinate swing angle
rotation R
let w = space(R)
""", """gravity (0, 0, -g)
body shell mass m inertia J at (x, y, r) attitude R
body bob mass mp at (x, y, r) + R*(turn((0, 1, 0), swing)*(0, 0, -l))
""", """let c = (x, y, r), bob = c + R*(turn((0, 1, 0), swing)*(0, 0, -l)), u = body(R)
lagrangian m/2*dot(c', c') + J*dot(u, u)/2 + mp/2*dot(bob', bob') - mp*g*bob[3]
""", """force swing = 0.8*sin(1.5*t)
constraint roll: (x', y') = r*(w[2], -w[1])
start R = turn((1, 0, 0), 0.1)
""")
ROUTH = ("""parameter m = 1, g = 1, r = 1, a = 0.3, I1 = 0.5, I3 = 0.4
coordinate x, y
rotation R
let w = space(R)
""", """gravity (0, 0, -g)
body ball mass m inertia (I1, I1, I3) at (x, y, r) - a*R*(0, 0, 1) attitude R
""", """let b = body(R), c = (x, y, r) - a*R*(0, 0, 1)
lagrangian m/2*dot(c', c') + (I1*b[1]^2 + I1*b[2]^2 + I3*b[3]^2)/2 - m*g*c[3]
""", """constraint roll: (x', y') = r*(w[2], -w[1])
start R = turn((1, 0, 0), 0.7)
start body(R) = (0.3, 0.2, 1.5)
start x' = r*w[2], y' = -r*w[1]
""")
SPRINGS = ("""parameter k = 3, c = 0.2, m = 0.4
coordinate x, y, z, s
""", """gravity (0, 0, -9.81)
body ball mass m at (x, y, z)
body slider mass 2 at (s, 0, 0)
spring ball.at, (0, 0, 2) stiffness k length 0.7 damping c
spring slider.at, ball.at stiffness 1
damper (1, 0, 0), slider.at damping 0.3
""", """let p = (x, y, z), q = (s, 0, 0), top = (0, 0, 2), to = q - p, l = norm(p - top), piston = norm((1, 0, 0) - q)
lagrangian m/2*dot(p', p') - m*(-9.81*z)*(-1) + 2/2*dot(q', q') - k/2*(l - 0.7)^2 - 1/2*dot(to, to)
dissipation c/2*l'^2
dissipation 0.3/2*piston'^2
""", """start x = 0.3, z = 1, y' = 0.4, s = 0.1
""")
CHAIN = ("""parameter N = 4, k = 5, c = 0.3
coordinate x[1..N]
let for i in 1..N: p[i] = (x[i], i^2/10)
""", """body bead for i in 1..N: mass 2*i at p[i]
spring for i in 1..N-1: p[i], p[i+1] stiffness k*i length 0.5 damping c
damper for i in 2..N: p[i], (0, 0) damping 0.1
""", """let for i in 1..N-1: l[i] = norm(p[i] - p[i+1])
let for i in 2..N: d[i] = norm(p[i] - (0, 0))
lagrangian sum(i in 1..N: 2*i/2*dot(p[i]', p[i]')) - sum(i in 1..N-1: k*i/2*(l[i] - 0.5)^2)
dissipation sum(i in 1..N-1: c/2*l[i]'^2)
dissipation sum(i in 2..N: 0.1/2*d[i]'^2)
""", """start x[1] = 0.1, x[2] = 0.4, x[3] = 0.8, x[4] = 1.5
""")
MACHINES = {"chain": CHAIN, "bicycle": BICYCLE, "segway": SEGWAY, "trailers": TRAILERS, "spherical-robot": ROBOT, "routh": ROUTH,
            "springs": SPRINGS}
METHODS = {"dop853": "--step=0.01", "gauss:stages=2": "--step=0.02", "dopri5": "--tolerance=1e-7"}


def written(folder, name, text):
    path = os.path.join(folder, name + ".nh")
    with open(path, "w") as file:
        file.write(text if "model " in text else "model m\n" + text)
    return path


def motion(path, method, *options, count=None):
    """Positions and velocities at all steps, as texts."""
    output = path + ".csv"
    done = nonholo("run", path, "--method", method, *options, "--every", "1", "--backend", "tape", "--quiet", "-o", output)
    check(done.returncode == 0, done.stderr)
    with open(output) as file:
        rows = list(csv.reader(file))
    end = rows[0].index("energy")
    return [row[:end] for row in rows]


def near(found, expected):
    return abs(found - expected) < 1e-12 * abs(expected)  # measured: 2e-16


def column(path, name, *options):
    output = path + ".csv"
    done = nonholo("run", path, *options, "--every", "1", "--backend", "tape", "--quiet", "-o", output)
    check(done.returncode == 0, done.stderr)
    with open(output) as file:
        return [float(row[name]) for row in csv.DictReader(file)]


def test_by_hand():
    with tempfile.TemporaryDirectory() as folder:
        for name, (head, bodies, hand, tail) in MACHINES.items():
            short = written(folder, name, head + bodies + tail)
            expanded = written(folder, name + "-expanded", nonholo("check", short, "--expand").stdout)
            long = written(folder, name + "-by-hand", head + hand + tail)
            for method, step in METHODS.items():
                found = motion(short, method, step, "--time", "0.5")
                check(len(found) > 5, name)
                check(found == motion(expanded, method, step, "--time", "0.5"), f"{name}, {method}: expanded")
                check(found == motion(long, method, step, "--time", "0.5"), f"{name}, {method}: by hand")


def test_expanded_has_no_short_forms():
    """...and is its own expansion."""
    with tempfile.TemporaryDirectory() as folder:
        for name, (head, bodies, _, tail) in MACHINES.items():
            short = written(folder, name, head + bodies + tail)
            text = nonholo("check", short, "--expand").stdout
            words = {line.split()[0] for line in text.splitlines() if line.strip() and line[0] not in "# "}
            check(not words & {"gravity", "body", "wheel", "blade", "spring", "damper"}, str(words))
            again = written(folder, "again", text)
            check(nonholo("check", again, "--expand").stdout == text, name)


COIN = """parameter r = 0.3, m = 2, g = 9.81
coordinate x, y
rotation R
gravity (0, 0, -g)
wheel coin radius r mass m inertia (m*r^2/4, m*r^2/2) at (x, y, %s) attitude R axis (0, 0, 1)
start R = turn((1, 0, 0), 1.2)
start body(R) = (0.1, 0.3, 2)
start solve x', y'%s
%s"""


def test_touching():
    """A coin whose height is written in terms of its lean, and one whose height is a coordinate."""
    with tempfile.TemporaryDirectory() as folder:
        held = written(folder, "held", COIN % ("r*norm((R[1, 3], R[2, 3]))", "", ""))
        free = written(folder, "free", COIN % ("z", ", z, z'", "coordinate z\nobserve load = coin.load"))
        check("coin.touch" not in nonholo("check", held).stdout, "touches by itself")
        check("coin.touch: a condition on positions" in nonholo("check", free).stdout, "has to be told")
        one, two = (column(path, "y", "--method", "dop853", "--step", "0.002", "--time", "1") for path in (held, free))
        check(max(abs(a - b) for a, b in zip(one, two)) < 1e-11, "the same motion")  # measured 4e-14
        loads = column(free, "load", "--method", "dop853", "--step", "0.002", "--time", "1")
        check(min(loads) > 5 and max(loads) < 100, f"{min(loads)} to {max(loads)}")


def test_solved_start():
    """A start may be solved for a height that only the condition of a wheel determines."""
    with tempfile.TemporaryDirectory() as folder:
        path = written(folder, "unicycle", """coordinate x, y, z
coordinate yaw, lean, s angle
gravity (0, 0, -9.81)
wheel w radius 0.3 mass 2 inertia (0.1, 0.18) at (x, y, z) attitude turn((0, 0, 1), yaw)*turn((1, 0, 0), lean) axis (0, 1, 0) spin s
start lean = 0.4, s' = 3
start solve z, x', y', z'
""")
        found = nonholo.json("run", path, "--method", "gauss", "--step", "1", "--steps", "0")
        check(abs(found["q"][2] - 0.3 * math.cos(0.4)) < 1e-14 and abs(found["v"][0] - 0.9) < 1e-14, str(found))


def test_members():
    """Members of families and components under their own names."""
    with tempfile.TemporaryDirectory() as folder:
        path = written(folder, "chain", CHAIN[0] + CHAIN[1] + CHAIN[3] + "observe bead.velocity[2], p[3], spring1.length[ 1 ]\n")
        found = nonholo.json("run", path, "--time", "0.1")["observables"]
        check(set(found) == {"bead.velocity[2][1]", "bead.velocity[2][2]", "p[3][1]", "p[3][2]", "spring1.length[1]"}, str(found))


def test_undefined_start():
    """The direction of a spring whose ends coincide."""
    with tempfile.TemporaryDirectory() as folder:
        path = written(folder, "ends", "coordinate x, y\nbody b mass 1 at (x, y)\nspring b.at, (0, 0) stiffness 3 length 0.1\n")
        for how in (), ("--method", "gauss", "--step", "0.1"):
            done = nonholo("run", path, "--time", "1", *how)
            check(done.returncode == 1 and "t = 0: the accelerations give no number at the start, as 1/x does at x = 0" in done.stderr,
                  done.stderr)


def test_forces():
    """A wheel that rolls straight carries its weight; a sleigh on a circle needs m v^2/r; a driven wheel is pushed."""
    with tempfile.TemporaryDirectory() as folder:
        straight = written(folder, "straight", """coordinate x, y, z
coordinate s angle
gravity (0, 0, -9.81)
wheel w radius 0.5 mass 3 inertia (0.1, 0.2) at (x, y, z) attitude turn((0, 0, 1), 0.3) axis (0, 1, 0) spin s
force s = 2
start z = 0.5
observe load = w.load, along = w.along, side = w.side, contact = w.contact
""")
        options = ("--method", "dop853", "--step", "0.01", "--time", "1")
        check(all(near(value, 3 * 9.81) for value in column(straight, "load", *options)), "load")
        push = 2 * 0.5 * 3 / (0.2 + 3 * 0.25)  # of the ground: m a, where (I + m r^2) s'' = 2
        check(all(near(value, push) for value in column(straight, "along", *options)), "along")
        check(max(abs(value) for value in column(straight, "side", *options)) < 1e-12, "side")
        check(max(abs(value) for value in column(straight, "contact[3]", *options)) < 1e-12, "contact")
        circle = written(folder, "circle", """coordinate x, y
coordinate a angle
body sleigh mass 3 inertia 2 at (x, y) angle a
blade skate at (x, y) along a
start x' = 2, a' = 0.5
observe side = skate.side, v = sleigh.velocity, rate = sleigh.rate
""")
        check(all(near(value, 3 * 2 * 0.5) for value in column(circle, "side", *options)), "m v a'")
        rolling = written(folder, "rolling", """coordinate x, y
coordinate a, s angle
wheel w radius 0.5 mass 3 inertia (0.1, 0.2) at (x, y) along (cos(a), sin(a)) spin s
force s = 2
observe along = w.along
""")
        check(all(near(value, push) for value in column(rolling, "along", *options)), "along, in the plane")


def test_planes():
    """A wheel on a tilted plane moves like one on the ground whose gravity is tilted; on a belt, like one on the ground
    that is seen from a moving frame."""
    head = """coordinate x, y
coordinate yaw, lean, s angle
let A = %sturn((0, 0, 1), yaw)*turn((1, 0, 0), lean), r = 0.4
gravity (%s)
wheel w radius r mass 1 inertia (0.03, 0.06) at %s((x, y, 0) + r*turn((0, 0, 1), yaw)*turn((1, 0, 0), lean)*(0, 0, 1))%s attitude A axis (0, 1, 0) spin s %s
start x' = %s, s' = 2/r, lean = 0.1
"""
    tilt = "turn((0, 1, 0), 0.2)"
    with tempfile.TemporaryDirectory() as folder:
        ground = written(folder, "ground", head % ("", "9.81*sin(0.2), 0, -9.81*cos(0.2)", "", "", "", "2"))
        plane = written(folder, "plane", head % (f"{tilt}*", "0, 0, -9.81", f"{tilt}*", " + (1, 2, 3)",
                                                 f"on plane (1, 2, 3) normal {tilt}*(0, 0, 2)", "2"))
        level = written(folder, "level", head % ("", "0, 0, -9.81", "", "", "on ground", "2"))
        belt = written(folder, "belt", head % ("", "0, 0, -9.81", "", "", "on plane (0.7*t, 0, 0) normal (0, 0, 1)", "2.7"))
        options = ("--method", "dop853", "--step", "0.01", "--time", "1")
        for one, two, drift in ((ground, plane, 0), (level, belt, 0.7)):
            x, shifted = column(one, "x", *options), column(two, "x", *options)
            check(len(x) > 100 and max(abs(a + drift * 0.01 * i - b) for i, (a, b) in enumerate(zip(x, shifted))) < 1e-11, two)
        check(nonholo("check", plane).stdout.count("w.touch") == 0, "touches by itself")


def test_left_out():
    """Of two wheels on an axle one slides sideways if the other does; of three blades in line, none is left out unless it
    follows from the others."""
    with tempfile.TemporaryDirectory() as folder:
        cart = written(folder, "cart", """coordinate x, y
coordinate a, l, r angle
body cart mass 1 inertia 0.2 at (x, y) + 0.1*(cos(a), sin(a)) angle a
wheel left radius 0.1 at (x, y) + 0.2*(-sin(a), cos(a)) along a spin l
wheel right radius 0.1 mass 0.1 inertia (0.001, 0.002) at (x, y) - 0.2*(-sin(a), cos(a)) along a spin r
wheel castor radius 0.05 at (x, y) + 0.3*(cos(a), sin(a)) along a free
start a' = 0.3, l' = -0.6, r' = 0.6
force l = 0
""".replace("along a spin l", "along a spin l inertia 0.002"))
        names = [line.split(":")[0].split()[-1] for line in nonholo("check", cart).stdout.splitlines()
                 if "linear in the velocities" in line]
        check(names == ["left.side", "left.roll", "right.roll"], str(names))


def test_properties():
    """Energies and forces under their own names; the text may be in any order."""
    with tempfile.TemporaryDirectory() as folder:
        path = written(folder, "properties", """coordinate x, y, z
rotation R
body b mass 2 inertia (1, 2, 3) at (x, y, z) attitude R
gravity (0, 0, -9.81)
let both = 2*b.mass
spring b.at, (0, 0, 5) stiffness 3
start z = 1, y' = 0.5, body(R) = (0.1, 0.2, 0.3)
observe b.at, b.rate, spring1.potential, b.kinetic, twice = both
""")
        found = nonholo.json("run", path, "--time", "0.5")["observables"]
        check({"b.at[3]", "b.rate[1]", "spring1.potential", "b.kinetic", "twice"} <= set(found), str(found))
        first = nonholo.json("run", path, "--method", "gauss", "--step", "1", "--steps", "0")["observables"]
        near(first["b.kinetic"], 2 / 2 * 0.25 + (0.01 + 2 * 0.04 + 3 * 0.09) / 2)
        check(first["spring1.potential"] == 24 and first["twice"] == 4, str(first))


def test_grip():
    """A spinning wheel that is put on the ground slips until it rolls; a skidding car stops skidding."""
    with tempfile.TemporaryDirectory() as folder:
        wheel = written(folder, "wheel", """coordinate x, y, z
coordinate s angle
gravity (0, 0, -9.81)
wheel w radius 0.5 mass 3 inertia (0.1, 0.2) at (x, y, z) attitude turn((0, 0, 1), 0.3) axis (0, 1, 0) spin s grip 0.4
start z = 0.5, s' = 10
""")
        found = nonholo.json("run", wheel, "--time", "2")
        rate = 0.2 * 10 / (0.2 + 3 * 0.5**2)  # the angular momentum about the contact stays
        check(abs(found["v"][3] - rate) < 1e-9, str(found["v"]))
        check("contact w.touch: w.height" in nonholo("check", wheel, "--expand").stdout, "a contact")
        car = written(folder, "car", """coordinate x, y
coordinate a angle
body car mass 10 inertia 2 at (x, y) + 0.3*(cos(a), sin(a)) angle a
blade for_ever at (x, y) along a grip 1e9
start x' = 3, a' = 2
observe side = for_ever.side
""")
        held = column(car, "side", "--method", "dop853", "--step", "0.01", "--time", "1")
        plain = written(folder, "plain", open(car).read().replace(" grip 1e9", ""))
        check(max(abs(a - b) for a, b in zip(held, column(plain, "side", "--method", "dop853", "--step", "0.01", "--time", "1")))
              < 1e-9, "a grip that is never too weak")


def test_families():
    one = """parameter K = 3
coordinate x, y
coordinate a[0..K] angle
let place[i] = (x, y) - sum(j in 1..i: (cos(a[j]), sin(a[j])))
"""
    family = one + """body cart for i in 0..K: mass 1 + i inertia 0.1 at place[i] angle a[i]
blade axle for i in 0..K: at place[i] along a[i]
start x' = 1, a[1] = 0.2
start solve a'
observe side = axle.side[2], last = cart.at[K]
"""
    single = one + "".join(f"""body cart{i} mass 1 + {i} inertia 0.1 at place[{i}] angle a[{i}]
blade axle{i} at place[{i}] along a[{i}]
""" for i in range(4)) + "start x' = 1, a[1] = 0.2\nstart solve a'\nobserve side = axle2.side, last = cart3.at\n"
    with tempfile.TemporaryDirectory() as folder:
        paths = written(folder, "family", family), written(folder, "single", single)
        options = ("--method", "dop853", "--step", "0.01", "--time", "1")
        for name in ("x", "a[3]", "side", "last[2]"):
            values = [column(path, name, *options) for path in paths]
            check(max(abs(a - b) for a, b in zip(*values)) < 1e-13, name)
        check(nonholo("check", paths[0], "--set", "K=5").stdout.count("axle[") == 6, "K = 5")


def test_drawing():
    """Bodies are drawn as their inertia suggests, unless draw says otherwise."""
    text = "coordinate x, y, z\nrotation R\ngravity (0, 0, -1)\nbody b mass 2 inertia (1, 2, 2.5) at (x, y, z) attitude R\n"
    with tempfile.TemporaryDirectory() as folder:
        def drawn(more):
            expanded = nonholo("check", written(folder, "b", text + more), "--expand").stdout
            return [line for line in expanded.splitlines() if line.startswith("draw")]
        check(drawn("")[0].startswith("draw box at b.at attitude b.attitude size (sqrt("), drawn("")[0])
        check(drawn("draw b none\n") == [], "none")
        check(drawn("draw b ball radius 0.1 color red\n") == ["draw ball at b.at attitude b.attitude radius 0.1 color red"], "ball")
        check(drawn("draw b trace width 3\n") == ["draw trace b.at width 3"], "trace")
        wheel = "coordinate s\nwheel w radius 1 mass 1 inertia (1, 2) at (0, x, 1) attitude turn((0, 0, 1), 0) axis (0, 1, 0) spin s\n"
        check(drawn("draw b none\n" + wheel) == [
            "draw ground", "draw wheel at w.at radius w.radius axis w.axis attitude w.attitude*turn(w.axis, w.spin)"], "wheel")
        page = os.path.join(folder, "page.html")
        done = nonholo("run", written(folder, "page", text + wheel + "start x = 0.2, z = 1\n"), "--time", "0.1", "--plot", page, "--quiet")
        check(done.returncode == 0 and os.path.getsize(page) > 1000, done.stderr)


def test_shipped():
    """--expand of a shipped model and of a file."""
    text = nonholo("models", "benchmark-bicycle").stdout
    expanded = nonholo("models", "benchmark-bicycle", "--expand").stdout
    check(expanded == nonholo("check", "benchmark-bicycle", "--expand").stdout, "the same text")
    check("\nlagrangian (" in expanded, "a Lagrangian")
    plain = nonholo("models", "skate", "--expand")
    check(plain.returncode == 2, "no such model")
    check(nonholo("models", "knife-edge", "--expand").stdout == nonholo("models", "knife-edge").stdout, "nothing to expand")
    with tempfile.TemporaryDirectory() as folder:
        paths = written(folder, "short", text), written(folder, "long", expanded)
        ends = [motion(path, "dop853", "--step=0.01", "--time", "0.2") for path in paths]
        check(ends[0] == ends[1], "the same bits")


run_all([(name, test) for name, test in list(globals().items()) if name.startswith("test_")])
