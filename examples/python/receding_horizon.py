"""Model predictive control: a sleigh is driven to a pose by plans that are made anew five times a second.

Each plan begins with the last one, moved forward by one piece. The real sleigh has a larger moment of inertia than the
model knows, and is struck on its way.
"""
import os
import time
import warnings

import numpy as np

import nonholo

MODEL = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "sleigh-to-pose.nh")
GOAL = "20*(x^2 + 20*(y - 1)^2 + theta^2) + 5*(x'^2 + y'^2 + theta'^2) + integral 0.02*(push^2 + torque^2)"
PERIOD, PIECES = 0.2, 15


def drive(seconds=16, blow=0.5, planning=True):
    """States after each period, and how many plans were made in a second of processor time. Without planning the first plan is kept,
    which ends after three seconds."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        plan = nonholo.optimise(MODEL, {"push:held": (-4, 4), "torque:held": (-2, 2)}, minimise=GOAL,
                                time=PIECES * PERIOD, pieces=PIECES, method="rk4", step=PERIOD)
    states, spent = [], 0.0
    with nonholo.Stepper(MODEL, "gauss", step=PERIOD / 4, set={"J": 0.6}) as sleigh:
        for k in range(round(seconds / PERIOD)):
            if k == 5:  # the blow: along the blade and about it
                theta = sleigh.q[2]
                sleigh.v = sleigh.v + blow * np.array([np.cos(theta), np.sin(theta), 1.0])
            began = time.process_time()
            if planning:
                plan.again(sleigh.q, sleigh.v, shift=1 if k else 0, iterations=4)
            spent += time.process_time() - began
            first = 0 if planning else k
            sleigh.push, sleigh.torque = plan.inputs["push"][first], plan.inputs["torque"][first]
            sleigh.step(4)
            states.append(np.concatenate([sleigh.q, sleigh.v]))
    return np.array(states), len(states) / spent


if __name__ == "__main__":
    states, rate = drive()
    x, y, theta = states[-1, :3]
    print(f"at x = {x:.4f}, y = {y:.4f}, heading {np.degrees(theta):.2f} degrees; {rate:.0f} plans a second")
