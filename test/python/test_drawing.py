#!/usr/bin/env python3
"""test_drawing.py

The drawn numbers of every shipped model. Wheels and balls roll without slipping in the picture: the point of the
drawn body that touches the ground has no velocity, computed by differences of the drawings shortly before and after, with the
attitude that the page computes from angles, rates, spins and attitudes. Every shipped model has a drawing of at most ten lines,
and the drawing has no influence on the motion."""

import base64
import gzip
import json
import os
import re
import sys
import tempfile

import numpy as np

import nonholo

DELTA = 1e-4  # time between what is drawn before, now and after
TOLERANCE = 4e-5  # of the slip, relative to the speed of the body; measured: at most 1.6e-5 (differences of second order)
Z = np.array([0.0, 0.0, 1.0])


def unit(a):
    return a / np.linalg.norm(a)


def lowest(axis):
    """The direction across an axis from which the page counts angles."""
    down = axis * axis[2] - Z
    return unit(down) if np.linalg.norm(down) > 1e-6 else unit(np.array([1.0, 0, 0]) - axis[0] * axis)


def turn(w):
    """The matrix of a rotation by |w| about w."""
    angle = np.linalg.norm(w)
    if angle == 0:
        return np.eye(3)
    a = w / angle
    k = np.array([[0, -a[2], a[1]], [a[2], 0, -a[0]], [-a[1], a[0], 0]])
    return np.eye(3) + np.sin(angle) * k + (1 - np.cos(angle)) * k @ k


def quaternion_matrix(p):
    w, x, y, z = p / np.linalg.norm(p)
    return np.array([[1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
                     [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
                     [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)]])


class Drawn:
    """A shape in a drawn state; `since` is the time from the state at which integrated turns begin, `then` what was
    drawn there."""

    def __init__(self, shape, numbers, then=None, since=0.0):
        self.shape, self.numbers, self.then, self.since = shape, numbers, then, since

    def number(self, value, numbers=None):
        numbers = self.numbers if numbers is None else numbers
        return numbers[value[0]] if isinstance(value, list) else value

    def get(self, key, numbers=None):
        value = self.shape[key]
        if isinstance(value, list) and key not in ("radius", "angle", "rate"):
            return np.array([self.number(x, numbers) for x in value])
        return self.number(value, numbers)

    def mean(self, key):
        return (self.get(key) + (self.get(key) if self.then is None else self.get(key, self.then))) / 2

    def attitude(self):
        """The matrix from the body to space."""
        if "attitude" in self.shape:
            m = self.get("attitude")
            return quaternion_matrix(m) if len(m) == 4 else m.reshape(3, 3)
        if "spin" in self.shape:
            return turn(self.mean("spin") * self.since)
        axis = unit(self.get("axis"))
        angle = self.mean("rate") * self.since if "rate" in self.shape else self.get("angle")
        first = lowest(axis)
        return turn(axis * angle) @ np.array([first, np.cross(axis, first), axis]).T


def wheel_contact(drawn):
    return drawn.get("at") + drawn.get("radius") * lowest(unit(drawn.get("axis")))


def hub_contact(drawn):
    """The same of a wheel whose axle is given in the body."""
    axis = drawn.attitude() @ (drawn.get("axis") if "axis" in drawn.shape else Z)
    return drawn.get("at") + drawn.get("radius") * lowest(unit(axis))


def ball_contact(drawn):
    return drawn.get("at") - drawn.get("radius") * Z


def ellipsoid_contact(drawn):
    """The lowest point: where the normal is -z."""
    half, a = drawn.get("size") / 2, drawn.attitude()
    n = a.T @ -Z
    return drawn.get("at") + a @ (half**2 * n / np.linalg.norm(half * n))


def bowl_contact(drawn):
    return drawn.get("at") + drawn.get("radius") * unit(drawn.get("at"))


def cone_contact(drawn, alpha=np.pi / 5):
    x, y, _ = drawn.get("at")
    d = np.hypot(x, y)
    return drawn.get("at") + drawn.get("radius") * np.array([np.cos(alpha) * x / d, np.cos(alpha) * y / d, -np.sin(alpha)])


def slope_contact(drawn, beta=0.3):
    return drawn.get("at") - drawn.get("radius") * np.array([np.sin(beta), 0, np.cos(beta)])


ROLLING = {  # model: shape, where it touches what it rolls on
    "rolling-coin": ("wheel", wheel_contact), "rolling-disk": ("wheel", wheel_contact), "mobile-robot": ("wheel", wheel_contact),
    "mobile-robot-wheel": ("wheel", wheel_contact), "disk-chain": ("wheel", wheel_contact), "bicycle": ("wheel", wheel_contact),
    "two-wheeled-robot": ("wheel", slope_contact), "chaplygin-ball": ("ball", ball_contact),
    "chaplygin-sphere": ("ball", ball_contact), "ball-in-bowl": ("ball", bowl_contact), "ball-in-cone": ("ball", cone_contact),
    "turntable-ball": ("ball", ball_contact), "rattleback": ("ellipsoid", ellipsoid_contact),
    "benchmark-bicycle": ("wheel", hub_contact), "rolling-coin-rotation": ("wheel", hub_contact),
    "routh-sphere": ("ball", ball_contact), "spherical-robot": ("circle", ball_contact), "rattleback-rotation": ("ellipsoid", ellipsoid_contact),
}


# Drawn with a wheel, a disk or a ball that does not roll on anything: shafts on axles, masses, a top on its point, people
# on the ground seen from above.
TURNING = {"asymmetric-gearbox", "pendulum-cvt", "harmonic-cvt", "quartic-cvt", "three-shaft-cvt", "one-spring-cvt", "reduced-cvt", "reduced-disk", "heavy-top", "appell-hamel", "free-particle",
           "nonholonomic-particle", "chaotic-particle", "chaotic-particle-holonomic", "roller-racer"}


class Hoops(Drawn):
    """A ball that is drawn as three hoops, whose axes are those of the body."""

    def __init__(self, hoops, numbers, then=None, since=0.0):
        super().__init__(hoops[0], numbers, then, since)
        self.hoops = hoops

    def attitude(self):
        return np.array([Drawn(hoop, self.numbers).get("axis") for hoop in self.hoops]).T


def of_ground(model, t, point):
    """The velocity of the surface on which it rolls."""
    return (1 + 0.3 * t) * np.cross(Z, point) if model == "turntable-ball" else np.zeros(3)


def slip(model, shape, contact, times, numbers):
    """The velocity of the touching point of a drawn body, relative to that of its centre or of its turning."""
    kind = Hoops if isinstance(shape, list) else Drawn
    states = [kind(shape, n, numbers[1], t - times[1]) for t, n in zip(times, numbers)]
    now, touching = states[1], contact(states[1])
    in_body = now.attitude().T @ (touching - now.get("at"))
    before, after = (s.get("at") + s.attitude() @ in_body for s in (states[0], states[2]))
    speed = np.linalg.norm(states[2].get("at") - states[0].get("at")) / (2 * DELTA)
    velocity = (after - before) / (2 * DELTA) - of_ground(model, times[1], touching)
    turning = np.linalg.norm(states[2].attitude() - states[0].attitude()) / (2 * DELTA) * np.linalg.norm(in_body)
    return np.linalg.norm(velocity) / max(speed, turning), touching


def check_rolling(model, kind, contact):
    system = nonholo.load(model).system()
    steps = 2000
    run = nonholo.run(system, "gauss", stages=3, step=DELTA, steps=steps, every=1)
    q, v, t = np.asarray(run.q), np.asarray(run.v), np.asarray(run.t)
    worst = 0.0
    for row in range(1, steps, 137):
        rows = [row - 1, row, row + 1]
        numbers = [system.drawn(q[r], v[r], t[r]) for r in rows]
        bodies = [shape for shape in system.scene["shapes"] if shape["shape"] == kind]
        assert bodies, f"{model} has no {kind}"
        for shape in [bodies] if kind == "circle" else bodies:
            value, touching = slip(model, shape, contact, [t[r] for r in rows], numbers)
            worst = max(worst, value)
            if contact in (wheel_contact, hub_contact, ball_contact, ellipsoid_contact):
                assert abs(touching[2]) < 1e-9, f"{model}: the drawn body touches the ground at height {touching[2]}"
    assert worst < TOLERANCE, f"{model}: the drawn contact slips by {worst}"
    return worst


def check_drawings():
    for name in nonholo.models():
        text = nonholo.load(name).text
        lines = text.rstrip("\n").splitlines()
        first = next(i for i, line in enumerate(lines) if line.startswith("draw "))
        while first > 0 and lines[first - 1].startswith("let "):
            first -= 1
        assert len(lines) - first <= 10, f"{name}: the drawing has {len(lines) - first} lines"
        system = nonholo.load(name).system()
        q, v = system.start()
        assert np.all(np.isfinite(system.drawn(q, v))), name
        round_ones = {shape["shape"] for shape in system.scene["shapes"]} & {"wheel", "disk", "ball", "ellipsoid"}
        rolls = name in ROLLING or name in TURNING or system.grips  # what has a grip may slip
        assert not round_ones or rolls, f"{name}: does what it draws as {round_ones} roll?"
        written = nonholo.load(name).expanded.splitlines()  # bodies draw themselves
        plain = "\n".join(line for line in written if not line.startswith("draw ")) + "\n"
        bare = nonholo.load(plain).system()
        assert bare.scene is None or len(bare.scene["shapes"]) > 0  # made from its coordinates
        ends = [nonholo.run(s, step=0.001, steps=40) for s in (system, bare)]
        assert np.array_equal(ends[0].q[-1], ends[1].q[-1]) and np.array_equal(ends[0].v[-1], ends[1].v[-1]), name


def unpack(packed):
    """As scene.js reads it: numbers of seven bits a byte, differences from the straight continuation, 0 a gap."""
    data, values, last, change, code, weight = base64.b64decode(packed["data"]), [], 0, 0, 0, 1
    for byte in data:
        code += (byte & 127) * weight
        weight *= 128
        if byte > 127:
            continue
        if code:
            change += -(code // 2) if code % 2 == 0 else code // 2
            last += change
        values.append(packed["from"] + last * packed["step"] if code else np.nan)
        code, weight = 0, 1
    assert len(values) == packed["count"]
    return np.array(values)


def check_frames(model, **arguments):
    """Between the frames of a page, linear interpolation is as close to the recorded data as promised, and the page of ten
    thousand points is small."""
    system = nonholo.load(model).system()
    run = nonholo.run(system, "gauss", steps=10000, every=1, **arguments)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "page.html")
        run.plot(path)
        with open(path, encoding="utf-8") as file:
            text = file.read()
    compressed = len(gzip.compress(text.encode()))  # as it is sent; half of it is the renderer
    assert compressed < 450e3, f"{model}: a page of {compressed} bytes, compressed"
    data = json.loads(re.search(r'id="data">(.*?)</script>', text, re.S).group(1))
    times, channels = unpack(data["frames"]["t"]), [unpack(c) for c in data["frames"]["channels"]]
    rows = range(0, len(run.t), 7)
    drawn = np.array([system.drawn(run.q[i], run.v[i], run.t[i]) for i in rows])
    for c, (values, packed) in enumerate(zip(channels, data["frames"]["channels"])):
        error = np.abs(np.interp(np.asarray(run.t)[rows], times, values) - drawn[:, c]).max()
        assert error < 4.7 * packed["step"], f"{model}: channel {c} is off by {error / packed['step']} steps of its rounding"
    return len(times), len(text.encode())


FORCES = """model edge
parameter m = 2, J = 1
coordinate x, y
coordinate theta angle
lagrangian m/2*(x'^2 + y'^2) + J/2*theta'^2 - m*0.3*y
constraint no_slip: x'*sin(theta) - y'*cos(theta) = 0
force at (x, y) = (-0.1*x', -0.1*y')
start theta = 0.3, theta' = 0.7, x' = cos(0.3), y' = sin(0.3)
draw reaction no_slip
draw reaction no_slip at (x, y) along (sin(theta), -cos(theta))
draw force
draw velocity (x, y)
"""


def check_forces():
    """Mass times acceleration, by differences of the velocities, is the sum of the arrows and the weight."""
    run = nonholo.run(nonholo.load(FORCES), time=4)
    shapes, worst = run.system.scene["shapes"], 0.0
    assert [s["shape"] for s in shapes] == ["reaction", "reaction", "force", "velocity"] and shapes[0]["name"] == "no_slip", shapes
    for t in (0.5, 1.7, 3.1):
        (q, v), change = run(t), (run(t + DELTA)[1] - run(t - DELTA)[1]) / (2 * DELTA)
        numbers = run.system.drawn(q, v, t)
        vector = lambda k: np.array([numbers[c[0]] for c in shapes[k]["vector"]])
        worst = max(worst, np.abs(2 * change[:2] - vector(0) - vector(2) - [0, -0.6]).max(), np.abs(vector(0) - vector(1)).max())
        assert np.allclose(vector(3), v[:2], rtol=0, atol=1e-15) and np.allclose(vector(2), -0.1 * v[:2], rtol=0, atol=1e-15)
    assert worst < 1e-7, worst  # measured: 2e-9
    print(f"forces: {worst:.1e}")


def check_axes():
    """The arrows of a body that moves and turns and has no drawing are the columns of its matrix."""
    system = nonholo.load("model a\nrotation R\ncoordinate x, y\nlagrangian (x'^2 + y'^2 + dot(body(R), body(R)))/2\nstart x' = 1\n").system()
    place = lambda name: system.coordinates.index(name)
    q, p = np.array([0.0] * len(system.coordinates)), np.array([0.1, -0.7, 0.5, 0.5])
    q[[place(f"R.{i}") for i in range(4)]], q[[place("x"), place("y")]] = p, (2, 3)
    numbers = system.drawn(q, np.zeros(len(system.velocities)), 0)
    value = lambda key: np.array([numbers[c[0]] if isinstance(c, list) else c for c in key])
    arrows = [s for s in system.scene["shapes"] if s["shape"] == "velocity"]
    assert np.allclose(np.column_stack([value(s["vector"]) for s in arrows]), quaternion_matrix(p), rtol=0, atol=1e-15) and all(np.allclose(value(s["at"]), (2, 3, 0)) for s in arrows)


def main():
    check_drawings()
    check_forces()
    check_axes()
    for model, step in ("closed-chain", 0.01), ("rolling-coin", 0.005), ("snakeboard", 0.01):
        print("%s: %d frames, %d bytes" % (model, *check_frames(model, step=step)))
    for model, (kind, contact) in ROLLING.items():
        print(f"{model}: slip {check_rolling(model, kind, contact):.1e} of its speed")
    return 0


sys.exit(main())
