"""SciPy minimises what nonholo computes: gradients come from runs backwards.

The gait of a snakeboard: two metres forward in six seconds with the least effort. `nonholo optimise` finds the same
(docs/optimise.md); here the search is SciPy's.
"""
import os

import numpy as np

import nonholo

MODEL = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "snakeboard-gait.nh")
GAIT = {"twist": (1.0, (0, 3)), "steer": (0.7, (0, 1.2)), "rate": (3.5, (1, 5)), "lead": (-1.5, (-3, 3))}


def value_and_gradient(gait, of, at="end"):
    value, by = nonholo.gradient(MODEL, of, list(GAIT), "rk4", step=0.05, time=6, at=at, set=dict(zip(GAIT, gait)))
    return value, np.array([by[name] for name in GAIT])


def main():
    from scipy.optimize import minimize

    distance = {"type": "eq", "fun": lambda gait: value_and_gradient(gait, "x")[0] - 2,
                "jac": lambda gait: value_and_gradient(gait, "x")[1]}
    return minimize(lambda gait: value_and_gradient(gait, "effort", "integral"), [first for first, _ in GAIT.values()], jac=True,
                    bounds=[bounds for _, bounds in GAIT.values()], constraints=distance, method="SLSQP", options={"ftol": 1e-12})


if __name__ == "__main__":
    best = main()
    print(f"effort {best.fun:.6f} with", ", ".join(f"{name} {value:.4f}" for name, value in zip(GAIT, best.x)))
