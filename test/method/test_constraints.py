"""Constraints at every recorded point of every method that claims them: at most 1e-13 of the scale of the
row's terms, or the run has a remark.

    test_constraints.py TRAJECTORIES MODELS OWN [all]

TRAJECTORIES prints the points (trajectories.c); MODELS and OWN are the folders of the shipped models and of the test's
own. Constraints are evaluated by independent.py, which shares nothing with the library. The scale of a row is
sum_i |dk/dv_i| w + |k(v = 0)| with w the largest velocity: velocities pass through zero, but the forces and
reactions that determine them do not. A condition on positions counts twice, as g and as g'; the scale of g is defined
in the same way by the largest coordinate."""

import glob
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import independent  # noqa: E402

ALLOWED = 1e-13


def constraints(model, t, q, v):
    return model.constraint_rows(independent.Scope(model, t, q, v))


def scales(f, x, here, rest):
    """The scales of the rows f(x) = here, by differences: two digits are enough. `rest` is the value of f without the
    contribution of x."""
    w, small = max(map(abs, x), default=0.0), 1e-3
    total = [abs(k) for k in rest]
    for i in range(len(x)):
        beside = f([y + (small * w if j == i else 0.0) for j, y in enumerate(x)])
        total = [s + abs(b - a) / small for s, a, b in zip(total, here, beside)]
    return total


def worst(rows, sizes):
    return max((abs(x) / s if s > 0 else float(x != 0) for x, s in zip(rows, sizes)), default=0.0)


def worst_row(model, t, q, v):
    k, found = constraints(model, t, q, v), 0.0
    if any(k):
        of_velocity = lambda x: constraints(model, t, q, x)
        found = worst(k, scales(of_velocity, v, k, of_velocity([0.0] * len(v))))
    g = model.positions(t, q)
    if any(g):
        found = max(found, worst(g, scales(lambda x: model.positions(t, x), q, g, g)))
    return found


def main():
    program, shipped, own, mode = (sys.argv[1:] + ["some"])[:4]
    files = sorted(glob.glob(own + "/*.nh"))
    sizes = ["200", "1", ".0001,.001,.003,.01,.03,.1,.2,.3,.5,1,2"] if mode == "all" else ["30", "10", ".001,.01,.1,.3,1"]
    models, count, bad, largest, at = {}, {"silent": 0, "remark": 0, "failed": 0}, [], (0.0, ""), None
    with subprocess.Popen([program, *sizes, *files], stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout:
            kind, _, rest = line.rstrip("\n").partition(" ")
            if kind == "run":
                at, most, points = rest, 0.0, 0
                name = rest.split()[0]
                if name not in models:
                    path = name if "/" in name else f"{shipped}/{name}.nh"
                    with open(path, encoding="utf-8") as f:
                        models[name] = independent.Model(f.read())
                model = models[name]
            elif kind == "at":
                numbers = [float(x) for x in rest.split()]
                n = len(model.coordinates)
                t, q, shown = numbers[0], numbers[1:1 + n], numbers[1 + n:]
                most = max(most, worst_row(model, t, q, model.inner(q, shown)))
                points += 1
            else:
                count[kind] += 1
                if kind == "silent":
                    largest = max(largest, (most, at))
                    if not most <= ALLOWED:
                        bad.append(f"{at}: {most:.2g} of the scale, silently")
    print(*bad, sep="\n")
    print(f"{count['silent']} silent runs, {count['remark']} with remarks, {count['failed']} failed; "
          f"{largest[0]:.2g} of the scale at most (allowed {ALLOWED:g}): {largest[1]}")
    enough = count["silent"] > sum(count.values()) / 2  # otherwise the test would show nothing
    sys.exit(process.returncode != 0 or bool(bad) or not enough)


main()
