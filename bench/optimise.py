#!/usr/bin/env python3
"""optimise.py: what `nonholo.optimise` takes against a SciPy user's script with the same discretisation.

The script derives the equations by hand, integrates them by rk4 in as many steps, and leaves derivatives of the conditions to the
differences of scipy.optimize.minimize (SLSQP). It is measured as most people write it, with arrays of numpy, and with numbers of
Python, which are faster for four unknowns. Both begin at the same inputs. Counted are motions from the start to the end; times are
processor time of this machine, compared within one run. Needs SciPy and IPOPT; PYTHONPATH=build/python.
"""
import math
import time
import warnings

import numpy as np
from scipy.optimize import minimize

import nonholo

TRAILER = """model trailer
coordinate x, y
coordinate th, f angle
input s = 0, w = 0
lagrangian (x'^2 + y'^2 + th'^2 + f'^2)/2
constraint x'*cos(th) + y'*sin(th) = s
constraint y'*cos(th) - x'*sin(th) = 0
constraint th' = w
constraint f' = s*sin(th - f)
"""
PENDULUM = "model pendulum\ncoordinate a\ninput u = 0\nlagrangian a'^2/2 + cos(a)\nforce a = u\n"


def trailer(z, u):
    return np.array([u[0] * np.cos(z[2]), u[0] * np.sin(z[2]), u[1], u[0] * np.sin(z[2] - z[3])])


def trailer_by_numbers(z, u):
    x, y, th, f = z
    s, w = u
    return s * math.cos(th), s * math.sin(th), w, s * math.sin(th - f)


def pendulum(z, u):
    return np.array([z[1], u[0] - np.sin(z[0])])


def pendulum_by_numbers(z, u):
    return z[1], u[0] - math.sin(z[0])


def step(rate, z, u, h):
    a = rate(z, u)
    b = rate(z + h / 2 * a, u)
    c = rate(z + h / 2 * b, u)
    d = rate(z + h * c, u)
    return z + h / 6 * (a + 2 * (b + c) + d)


def step_by_numbers(rate, z, u, h):
    a = rate(z, u)
    b = rate([p + h / 2 * q for p, q in zip(z, a)], u)
    c = rate([p + h / 2 * q for p, q in zip(z, b)], u)
    d = rate([p + h * q for p, q in zip(z, c)], u)
    return [p + h / 6 * (e + 2 * (f + g) + i) for p, e, f, g, i in zip(z, a, b, c, d)]


class Problem:
    def __init__(self, name, model, rates, end, controls, duration, pieces, steps):
        self.name, self.model, self.rates, self.end, self.controls = name, model, rates, end, controls
        self.duration, self.pieces, self.steps = duration, pieces, steps
        self.motions = 0

    def guess(self, number):
        """Waves of different lengths in each input."""
        k = (np.arange(self.pieces) + 0.5) / self.pieces
        return np.array([np.cos((1 + number + i) * np.pi * k + 0.3 * i) for i in range(len(self.controls))])

    def motion(self, u, arrays):
        self.motions += 1
        h, start = self.duration / self.pieces / self.steps, np.zeros(len(self.end))
        z = start if arrays else start.tolist()
        inputs = u.reshape(len(self.controls), self.pieces).T
        for now in inputs if arrays else inputs.tolist():
            for _ in range(self.steps):
                z = step(self.rates[0], z, now, h) if arrays else step_by_numbers(self.rates[1], z, now, h)
        return np.array(z) - list(self.end.values())

    def by_scipy(self, guess, arrays):
        self.motions, began = 0, time.process_time()
        width = self.duration / self.pieces
        found = minimize(lambda u: width * u @ u, guess.ravel(), jac=lambda u: 2 * width * u, method="SLSQP",
                         constraints={"type": "eq", "fun": self.motion, "args": (arrays,)}, options={"maxiter": 1000, "ftol": 1e-10})
        spent, motions = time.process_time() - began, self.motions
        return found.fun if abs(self.motion(found.x, arrays)).max() < 1e-6 else math.nan, motions, spent

    def by_nonholo(self, guess):
        times = np.arange(self.pieces) * self.duration / self.pieces
        tables = {name + ":held": (times, row) for name, row in zip(self.controls, guess)}
        began = time.process_time()
        found = nonholo.optimise(nonholo.load(self.model), [name + ":held" for name in self.controls], self.end, time=self.duration,
                                 pieces=self.pieces, tries=1, input=tables, method="rk4", step=self.duration / self.pieces / self.steps)
        return found.cost, found.motions, time.process_time() - began


PROBLEMS = [
    Problem("parking", TRAILER, (trailer, trailer_by_numbers), {"x": 0.0, "y": 1.0, "th": 0.0, "f": 0.0}, ["s", "w"], 4.0, 20, 5),
    Problem("swing-up", PENDULUM, (pendulum, pendulum_by_numbers), {"a": math.pi, "a'": 0.0}, ["u"], 6.0, 30, 10),
]


def main():
    warnings.simplefilter("ignore")
    for problem in PROBLEMS:
        print(f"{problem.name}: cost, motions, seconds")
        every = {"SciPy, arrays": np.zeros(2), "SciPy, numbers": np.zeros(2), "nonholo": np.zeros(2)}
        for number in range(4):
            guess = problem.guess(number)
            found = [problem.by_scipy(guess, True), problem.by_scipy(guess, False), problem.by_nonholo(guess)]
            for (name, total), (cost, *spent) in zip(every.items(), found):
                total += spent
                print(f"  guess {number}  {name:15} {cost:12.8g} {spent[0]:8d} {spent[1]:9.4f}", flush=True)
        for name, total in every.items():
            ratio = total / every["nonholo"]
            print(f"  all      {name:15} {'':12} {total[0]:8.0f} {total[1]:9.4f}   {ratio[0]:5.0f} times the motions, {ratio[1]:5.0f} times the time")


if __name__ == "__main__":
    main()
