"""Compositions of different methods: dla and gauss, whose passengers drift at opposite rates, in turn.

nonholo run --compose repeats one method. Here a step of h is a list of parts, (method, fraction of h), each a step of
System.map(). A list of symmetric methods that reads the same backwards is symmetric, too. docs/results.md has the theory: the
passengers' drifts cancel, and the driver, which neither method moves, now drifts at the rate 7.01e-3 h^4.
"""
import numpy as np

import nonholo

CVT = nonholo.load("pendulum-cvt").system({"eps": 0.5, "sign": -1, "shift": 1})
START = np.array([1, 1, 0, 0, 0, 2.82842712])
DLA, GAUSS = "dla", "gauss:stages=1"
COMPOSITIONS = {"dla": [(DLA, 1)], "gauss": [(GAUSS, 1)], "in turn": [(DLA, 1 / 2), (GAUSS, 1 / 2)],
                "palindrome": [(DLA, 1 / 4), (GAUSS, 1 / 2), (DLA, 1 / 4)]}


def composed(parts, step):
    """The map of a step from z = (q, v)."""
    maps = [CVT.map(fraction * step, method) for method, fraction in parts]

    def advance(z):
        for one in maps:
            z = one(z)[0]
        return z
    return advance


def energies(z):
    """Of driver and passengers."""
    x, y, xi, vx, vy, vxi = z.T
    return vxi**2 / 2 + 1 - np.cos(xi) - np.sin(2 * xi) / 4, (x**2 + y**2 + vx**2 + vy**2) / 2


def rates(parts, step, time=3000):
    """By how much the energies change on average, from the means of the first and the last third of the motion."""
    advance, z = composed(parts, step), START
    states = np.array([z := advance(z) for _ in range(round(time / step))])
    third = len(states) // 3
    return [(e[-third:].mean() - e[:third].mean()) / (2 * third * step) for e in energies(states)]


def asymmetry(parts, step=0.1):
    """What a step forth and one back leave; a step back is one forth with the velocities reversed."""
    advance, turned = composed(parts, step), np.repeat([1, -1], 3)
    z = START + [0, 0, 0.4, 0, 0, 0]
    z[4] = -np.sin(z[2]) * z[3]
    return abs(turned * advance(turned * advance(z)) - z).max()


if __name__ == "__main__":
    for name, parts in COMPOSITIONS.items():
        for h in (0.2, 0.1):
            whole = len(parts) * h if name == "in turn" else h  # each method makes steps of h
            driver, passengers = rates(parts, whole)
            print(f"{name:10} h = {h}: driver {driver:10.3e}, passengers {passengers:10.3e}, forth and back {asymmetry(parts, whole):.1e}")
