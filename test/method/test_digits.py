"""Orders of the explicit methods, measured with 60 digits.

In double precision an order of 9 hardly shows: the leading error of verner98 is so small that the
next one hides it until both are round-off. Here the coefficients are read from the methods' sources
with all their digits, and a particle with the constraint z' = y x' is followed with fixed steps:
without projection, projected onto the constraint after every step, and also scaled to its energy.

usage: test_digits.py ROOT
"""

import os
import re
import sys
from decimal import Decimal, getcontext

getcontext().prec = 60
METHODS = {"dopri5": (6, 5), "dop853": (12, 8), "verner98": (16, 9)}  # stages, order
NUMBER = re.compile(r"\{(\d+), (\d+), D\((-?[0-9.]+(?:e[+-]?\d+)?)\)(?: / (\d+))?\}")


def coefficients(root, name, stages):
    """Rows of a, the last one b, from the list `point` in the method's file."""
    with open(os.path.join(root, "src", "method", name + ".c")) as file:
        text = file.read()
    listed = text[text.index("point[] = {"):]
    rows = [[Decimal(0)] * stages for _ in range(stages + 1)]
    for row, column, value, divisor in NUMBER.findall(listed[: listed.index("};")]):
        if int(row) <= stages:
            rows[int(row)][int(column)] = Decimal(value) / Decimal(divisor or 1)
    return rows


def slope(y):
    """V = (x^2 + y^2)/2 + x^4/4, unit mass; the multiplier enforces z' - y x' = 0."""
    q, v = y[:3], y[3:]
    gradient = (q[0] + q[0] ** 3, q[1])
    push = (v[0] * v[1] - q[1] * gradient[0]) / (1 + q[1] ** 2)
    return [*v, -gradient[0] - q[1] * push, -gradient[1], push]


def energy(y):
    return sum(v * v for v in y[3:]) / 2 + potential(y)


def potential(y):
    return (y[0] ** 2 + y[1] ** 2) / 2 + y[0] ** 4 / 4


def settled(y, begin, projects, scales):
    v = y[3:]
    if projects:
        off = (v[2] - y[1] * v[0]) / (1 + y[1] ** 2)
        v = [v[0] + y[1] * off, v[1], v[2] - off]
    if scales:
        factor = ((begin - potential(y)) / (sum(u * u for u in v) / 2)).sqrt()
        v = [factor * u for u in v]
    return y[:3] + v


def follow(rows, steps, projects, scales):
    y = [Decimal(x) for x in ("0.3", "0.5", "0", "0.7", "-0.4", "0.35")]  # z' = y x'
    begin, h = energy(y), Decimal(1) / steps
    for _ in range(steps):
        slopes = []
        for row in rows:
            at = [y[c] + h * sum(w * k[c] for w, k in zip(row, slopes) if w) for c in range(6)]
            if len(slopes) < len(rows) - 1:
                slopes.append(slope(at))
        y = settled(at, begin, projects, scales)
    return y


def main(root):
    exact = follow(coefficients(root, "verner98", 16), 2000, False, False)  # to some 1e-38
    failed = 0
    for name, (stages, order) in METHODS.items():
        rows = coefficients(root, name, stages)
        for projects, scales in ((False, False), (True, False), (True, True)):
            errors = []
            for steps in (128, 256):
                end = follow(rows, steps, projects, scales)
                errors.append(max(abs(a - b) for a, b in zip(end, exact)))
            measured = float((errors[0] / errors[1]).ln() / Decimal(2).ln())
            good = abs(measured - order) <= 0.2
            failed += not good
            print(f"{'' if good else 'failed: '}{name}{', projected' * projects}{', scaled' * scales}: order {measured:.3f}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
