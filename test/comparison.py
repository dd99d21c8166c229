"""Compares the library's results for a model with those of independent.py: names, start state, and at several states
energy, constraint values, observables, accelerations and multipliers."""

import json
import os
import random
import subprocess

import independent

SCATTERED = 5  # states besides the start, each as it comes and moved to the constraints


def state_list(model, seed):
    """(t, q, v): the start, and scattered states around it at other times. If a model has no equations at such a
    state, because a function is undefined or a matrix is singular, a state nearer to the start is used."""
    q0, v0 = model.start()
    found = [(0.0, q0, v0)]
    chance = random.Random(seed)
    spread = 0.4
    while len(found) < 1 + 2 * SCATTERED:
        t = chance.uniform(0, 2)
        q, v = ([x + chance.uniform(-spread, spread) for x in values] for values in (q0, v0))
        for first in model.rotations.values():
            p = q[first:first + 4]
            q[first:first + 4] = [x / independent.norm(p) for x in p]
        v = model.inner(q, model.shown(q, v))
        try:
            pair = [(t, q, v), (t, q, model.projected(t, q, v))]
            for state in pair:
                model.equations(*state)
            found += pair
        except (ValueError, ZeroDivisionError, OverflowError):
            spread /= 2
            if spread < 1e-3:
                raise
    return found


def integrable(text, seed=1):
    """Whether the constraints come from conditions on positions; None where they are not affine in the velocities."""
    model, chance = independent.Model(text), random.Random(seed)
    q0, _ = model.start()
    if not model.constraints and not model.rotations:
        return False
    found = [model.defect(chance.uniform(0, 1), [x + chance.uniform(-0.2, 0.2) for x in q0], chance) for _ in range(3)]
    return None if None in found else max(found) < 1e-9


def library_says(program, name, states):
    lines = "".join(" ".join(map(repr, [t, *q, *v])) + "\n" for t, q, v in states)
    done = subprocess.run([program, name], input=lines, capture_output=True, text=True, timeout=60,
                          env=dict(os.environ, LC_ALL="C"))
    if done.returncode:
        raise AssertionError(f"{name}: {done.stderr}")
    return json.loads(done.stdout)


def difference(found, expected, scale=1.0):
    """The largest one, relative to the largest number, or to `scale` where all are smaller."""
    if len(found) != len(expected):
        raise AssertionError(f"{len(found)} numbers instead of {len(expected)}")
    size = max(map(abs, expected), default=0.0)
    worst = max((abs(a - b) for a, b in zip(found, expected)), default=0.0)
    return worst / max(size, scale)


def same_signs(model, told, q):
    """p and -p are the same attitude."""
    found = list(told)
    for first in model.rotations.values():
        if independent.dot(told[first:first + 4], q[first:first + 4]) < 0:
            found[first:first + 4] = [-x for x in told[first:first + 4]]
    return found


def at_state(model, state, told, names):
    energy, k, solution = model.equations(*state)
    observed = model.observed(*state)
    here = dict(zip(names, told["observed"], strict=True))
    n, stated = len(state[2]), len(k) - len(model.rotations)  # the length of a quaternion is internal
    return {
        "energy": difference([told["energy"]], [energy]),
        "residual": difference(told["residual"], k),
        "solution": difference(told["acceleration"] + told["multipliers"][:stated],
                               model.shown(state[1], solution[:n]) + solution[n:n + stated]),
        "observed": difference([here[name] for name in observed], list(observed.values())),
    }


def compare(program, name, text, seed=1):
    """The largest relative difference of each kind, over all states, between the library's results for the model
    `name` (or the file at this path) and the evaluator's for `text`. Names must be equal."""
    model = independent.Model(text)
    states = state_list(model, seed)
    told = library_says(program, name, [(t, q, model.shown(q, v)) for t, q, v in states])
    for key, names in (("coordinates", model.coordinates), ("velocities", model.shown_names())):
        if told[key] != names:
            raise AssertionError(f"{name}: {key} {told[key]} instead of {names}")
    _, q, v = states[0]
    worst = {"start": max(difference(same_signs(model, told["start"]["q"], q), q),
                          difference(told["start"]["v"], model.shown(q, v)))}
    for state, here in zip(states, told["states"], strict=True):
        for key, value in at_state(model, state, here, told["observables"]).items():
            worst[key] = max(worst.get(key, 0.0), value if value == value else float("inf"))
    return worst


def condition(text, seed=1):
    """By how much accelerations and multipliers change, relative to the largest, when every number of a state is rounded the
    other way: an accuracy that no computation in double precision can be expected to exceed."""
    model, chance, worst = independent.Model(text), random.Random(seed), 0.0
    for t, q, v in state_list(model, seed):
        _, _, solution = model.equations(t, q, v)
        for _ in range(8):
            moved = [[x * (1 + chance.choice((-1, 1)) * 2.0 ** -53) for x in values] for values in (q, v)]
            worst = max(worst, difference(model.equations(t, *moved)[2], solution))
    return worst
