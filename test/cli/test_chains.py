#!/usr/bin/env python3
"""test_chains.py NONHOLO [FIRST COUNT]

Random closed chains: bars given by angles, rods between points in the plane and in space, bodies that turn and are
joined, a body on rods. Their coordinates count from the start, so that they are zero or nearly so there, and their
lengths are of any size. Every method that applies computes them to the end without a remark, and accurate methods
agree. Without FIRST and COUNT a few chains are tested; 'test_chains.py build/nonholo 0 500' takes half an hour."""

import json
import math
import os
import random
import sys
import tempfile

from harness import Program, check, run_all

nonholo = Program(sys.argv[1])
METHODS = ("gauss", "gauss-lobatto", "lobatto-ab", "lobatto-abd", "lobatto-ab-midpoint", "lobatto-ad", "lobatto-d",
           "newmark", "newmark-pair", "discrete-gradient", "dopri5", "verner98", "reference", "dla01", "leapfrog")
NEAR = (0, 0, 1e-9, 1e-3, 1.5)  # coordinates at the start, relative to their lengths
SIZES = (1, 1, 1, 1e-6, 1e-3, 1e3)  # lengths
SPEEDS = (0, 1e-4, 0.2, 0.2)


def number(x):
    return f"({float(x)!r})"


def vector(x):
    return "(" + ", ".join(map(number, x)) + ")"


def places(r, count, size):
    return [size * r.uniform(-1, 1) for _ in range(count)]


def bars(r, size, near):
    """Bars in the plane whose directions, given by angles, add up to a fixed vector; the last one hangs by itself."""
    length = [size * r.uniform(0.5, 2) for _ in range(r.randint(3, 6))]
    direction = [0, 0]
    while min(abs(math.sin(a - b)) for i, a in enumerate(direction) for b in direction[:i]) < 0.15:
        direction = [r.uniform(-math.pi, math.pi) for _ in length]
    start, last = places(r, len(length), near), len(length) - 1
    lines, energy = [f"coordinate a[0..{last}] angle"], []
    for i, (l, c, a) in enumerate(zip(length, direction, start)):
        base = " + ".join(f"w{k}" for k in range(i)) if 0 < i < last else "(0, 0)"
        lines += [f"let w{i} = {number(l)}*(cos({number(c - a)} + a[{i}]), sin({number(c - a)} + a[{i}]))",
                  f"let c{i} = {base} + w{i}/2"]
        energy.append(f"{number(r.uniform(0.3, 3))}*(dot((c{i})', (c{i})')/2 + {number(l * l / 24)}*a[{i}]'^2"
                      f" - dot(c{i}, {vector((0, size))}))")
    total = [sum(l * f(c) for l, c in zip(length, direction)) for f in (math.cos, math.sin)]
    lines += ["lagrangian " + " + ".join(energy),
              f"constraint close: {' + '.join(f'w{i}' for i in range(len(length)))} = {vector(total)}"]
    return lines + [f"start a[{i}] = {number(a)}" for i, a in enumerate(start)], [f"a[{i}]'" for i in range(last + 1)], 1


def points(r, size, near, axes):
    """Masses in a ring, joined by rods, on springs; the coordinates are displacements."""
    count, names = r.randint(3, 6), "xyz"[:axes]
    start = [places(r, axes, near * size) for _ in range(count)]
    rest = []
    for i in range(count):
        turn = 2 * math.pi * i / count
        ring = [2 * size * math.cos(turn), 2 * size * math.sin(turn), 0][:axes]
        rest.append([a + b - c for a, b, c in zip(ring, places(r, axes, size), start[i])])
    stiff, energy = r.choice((0, 1)), []
    lines = ["coordinate " + ", ".join(f"{x}[0..{count - 1}]" for x in names)]
    for i in range(count):
        lines.append(f"let u{i} = (" + ", ".join(f"{x}[{i}]" for x in names) + ")")
        energy.append(f"{number(r.uniform(0.3, 3))}*(dot((u{i})', (u{i})')/2 - {number(size)}*{names[-1]}[{i}])"
                      f" - {stiff}*dot(u{i}, u{i})")
    lines.append("lagrangian " + " + ".join(energy))
    for i in range(count):
        k = (i + 1) % count
        apart = [rest[k][a] - rest[i][a] for a in range(axes)]
        now = [apart[a] + start[k][a] - start[i][a] for a in range(axes)]
        lines += [f"let d{i} = u{k} - u{i} + {vector(apart)}",
                  f"constraint rod{i}: dot(d{i}, d{i}) = {number(sum(x * x for x in now))}"]
        lines += [f"start {x}[{i}] = {number(start[i][a])}" for a, x in enumerate(names)]
    return lines, [f"{x}[{i}]'" for i in range(count) for x in names], size


def arms(r, size, near):
    """Bodies whose arms add up to a fixed vector."""
    names = ["R", "S", "Q"][:r.randint(2, 3)]
    arm = [places(r, 3, size) for _ in names]
    energy = []
    for name in names:
        inertia = ", ".join(number(r.uniform(0.5, 2) * size ** 2) + f"*body({name})[{k}]" for k in (1, 2, 3))
        energy.append(f"dot(body({name}), ({inertia}))/2 - dot({name}*{vector(places(r, 3, size))}, {vector((0, 0, size))})")
    return ["rotation " + ", ".join(names), "lagrangian " + " + ".join(energy), "constraint close: " +
            " + ".join(f"{name}*{vector(a)}" for name, a in zip(names, arm)) + f" = {vector(map(sum, zip(*arm)))}"], names, 1


def body(r, size, near):
    """A body on two to four rods; its place is a displacement."""
    start, rest, rods = places(r, 3, near * size), places(r, 3, size), r.randint(2, 4)
    inertia = ", ".join(number(r.uniform(0.5, 2) * size ** 2) + f"*body(R)[{k}]" for k in (1, 2, 3))
    lines = ["rotation R", "coordinate x, y, z", f"let p = (x, y, z) + {vector(a - b for a, b in zip(rest, start))}",
             f"lagrangian {number(r.uniform(0.3, 2))}*dot((p)', (p)') + dot(body(R), ({inertia}))/2 - {number(size)}*z"]
    for i in range(rods):
        arm, ground = places(r, 3, size), places(r, 3, 3 * size)
        lines += [f"let d{i} = p + R*{vector(arm)} - {vector(ground)}", f"constraint rod{i}: dot(d{i}, d{i}) = "
                  + number(sum((a + b - c) ** 2 for a, b, c in zip(rest, arm, ground)))]
    return lines + [f"start {x} = {number(a)}" for x, a in zip("xyz", start)], ["R", "x'", "y'", "z'"], size


KINDS = {"bars": bars, "plane": lambda r, size, near: points(r, size, near, 2),
         "space": lambda r, size, near: points(r, size, near, 3), "arms": arms, "body": body}


def chain(seed):
    """The text of a model, whose velocities still have to be projected onto the constraints, and the size of what moves."""
    r = random.Random(seed)
    kind = list(KINDS)[seed % len(KINDS)]
    near, size, speed = r.choice(NEAR), r.choice(SIZES), r.choice(SPEEDS)
    lines, velocities, unit = KINDS[kind](r, size, near)
    for name in velocities if speed else []:
        turns = name in "RSQ"
        value = places(r, 3 if turns else 1, speed * (1 if turns else unit))
        lines.append(f"start body({name}) = {vector(value)}" if turns else f"start {name} = {number(value[0])}")
    return "\n".join([f"# {kind}: near {near}, size {size}, speed {speed}", "model chain", *lines, ""]), unit


def run(path, method, *arguments):
    """The end state; None if the method does not apply."""
    done = nonholo("run", path, "--project", "--time", "1", "--backend", "tape", "--json", "--method", method, *arguments)
    if done.returncode == 2:
        found = nonholo("check", path, "--project", "--json")
        check(method.split(":")[0] not in json.loads(found.stdout)["methods"], f"{method}: {done.stderr}")
        return None
    check(done.returncode == 0 and not done.stderr, f"{method}: {done.stderr}")
    return json.loads(done.stdout)


def test_chain(seed):
    text, unit = chain(seed)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "chain.nh")
        with open(path, "w") as file:
            file.write(text)
        try:
            ends = [run(path, f"{method}:tolerance=1e-10,absolute={1e-10 * unit}") for method in ("dop853", "verner98", "dopri5")]
            ends.append(run(path, "gauss:stages=4", "--step", "0.005"))
            for method in METHODS:
                run(path, method, "--step", "0.005")
        except AssertionError as wrong:
            raise AssertionError(f"chain {seed}: {wrong}\n{text}")
        q = [end["q"] for end in ends]
        size = max(map(abs, q[0])) + 1e-9
        far = max(abs(a - b) for other in q[1:] for a, b in zip(q[0], other)) / size
        check(far < 1e-6, f"chain {seed}: end states differ by {far}\n{text}")  # measured: at most 1e-8


def main():
    first, count = (int(sys.argv[2]), int(sys.argv[3])) if len(sys.argv) > 3 else (0, 10)
    return run_all([(f"chain {seed}", lambda s=seed: test_chain(s)) for seed in range(first, first + count)])


if __name__ == "__main__":
    sys.exit(main())
