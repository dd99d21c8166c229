"""Compositions of different methods: dla and gauss, whose passengers drift at opposite rates, in one step.

compose="METHOD:FRACTION, ..." takes the place of the method. A list of symmetric methods that reads the same backwards is
symmetric, too. docs/results.md has the theory: one after the other, the passengers' drifts cancel, and the driver, which neither
method moves, now drifts at the rate 7.01e-3 h^4. A palindrome cancels them if its fractions do: 2 a^3 = (1 - 2 a)^3.
"""
import numpy as np

import nonholo

A = 1 / (2 + 2 ** (1 / 3))
COMPOSITIONS = {"dla": "dla:1", "gauss": "gauss:stages=1:1", "in turn": "dla:1/2, gauss:stages=1:1/2",
                "palindrome": "dla:1/4, gauss:stages=1:1/2, dla:1/4",
                "balanced": f"dla:{A!r}, gauss:stages=1:{1 - 2 * A!r}, dla:{A!r}"}
CVT = nonholo.load("pendulum-cvt").system({"eps": 0.5, "sign": -1, "shift": 1})
START = {"q": [1, 1, 0], "v": [0, 0, 2.82842712]}


def rates(compose, step, time=3000):
    """By how much the energies of driver and passengers change on average: means of the first and the last third of the motion."""
    run = nonholo.simulate(CVT, compose=compose, step=step, time=time, every=1, estimate=False, **START)
    third = len(run) // 3
    return [(e[-third:].mean() - e[:third].mean()) / (2 * third * step)
            for e in (run.observables["driver_energy"], run.observables["passenger_energy"])]


def asymmetry(compose, step=0.1):
    """What a step forth and one back leave; a step back is one forth with the velocities reversed."""
    start = q, v = np.array([1, 1, 0.4]), np.array([0.3, -np.sin(0.4) * 0.3, 2.5])
    for _ in range(2):
        run = nonholo.simulate(CVT, compose=compose, step=step, steps=1, q=q, v=v, estimate=False, project=True)
        q, v = run.q[-1], -run.v[-1]
    return max(abs(q - start[0]).max(), abs(v - start[1]).max())


if __name__ == "__main__":
    for name, compose in COMPOSITIONS.items():
        for h in (0.2, 0.1):
            whole = 2 * h if name == "in turn" else h  # each method makes steps of h
            driver, passengers = rates(compose, whole)
            print(f"{name:10} h = {h}: driver {driver:10.3e}, passengers {passengers:10.3e}, forth and back {asymmetry(compose, whole):.1e}")
