"""A rider keeps a bicycle upright at 2 m/s, where it would fall: struck from the side, and seeing lean and steering angle only with
errors.

The rider is what nonholo.control() finds: a regulator for the torque at the handlebars, and an estimator (a Kalman filter) of the
state, on the bicycle linearised at this speed. What is ridden is the bicycle itself.
"""
import os
import warnings

import numpy as np

import nonholo

PERIOD, SPEED = 0.01, 2.0
NOISE = {"leans": 0.003, "steers": 0.003, "torque": 1.0}  # standard deviations: two angles, and what disturbs the torque
BLOWS = {100: 12.0, 400: -20.0, 700: 16.0}  # N m s about the line on which it rolls, at the beginning of a period


def bicycle(*inputs):
    """The shipped bicycle with these of the inputs `torque`, at the handlebars, and `blow`, about the line on which it rolls."""
    force = {"torque": "steer = torque", "blow": "lean = blow"}
    text = nonholo.load("benchmark-bicycle").text.replace(", lean' = 0.05", "")
    start = text.index("start x'")
    return nonholo.load(text[:start].replace("\ngravity", f"\ninput {', '.join(name + ' = 0' for name in inputs)}\ngravity")
                        + f"force {', '.join(force[name] for name in inputs)}\nobserve leans = lean, steers = steer\n" + text[start:])


def rider():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that steering does not change the speed
        return nonholo.control(bicycle("torque"), period=PERIOD, set={"speed": SPEED}, weights={"torque": 0.01}, noise=NOISE)


def ride(rider, seconds=10.0, noise=1.0, blows=BLOWS, seed=1, feedback=True):
    """Time, lean, steering angle and torque after each period."""
    errors = np.random.default_rng(seed)
    measured = [rider.outputs.index("leans"), rider.outputs.index("steers")]
    guess, rows = np.zeros(len(rider.names)), []
    with nonholo.Stepper(bicycle("torque", "blow"), "gauss", step=PERIOD, set={"speed": SPEED}) as plant:
        lean, steer = plant.system.coordinates.index("lean"), plant.system.coordinates.index("steer")
        for k in range(round(seconds / PERIOD)):
            seen = np.zeros(len(rider.outputs))
            seen[measured] = plant.q[[lean, steer]] + noise * errors.normal(0, [NOISE["leans"], NOISE["steers"]])
            off = seen - rider.C @ guess
            guess = guess + rider.filter[:, measured] @ off[measured]
            torque = (-rider.gain @ guess).item() if feedback else 0.0
            plant.torque, plant.blow = torque, blows.get(k, 0.0) / PERIOD
            guess = rider.A @ guess + rider.B @ [torque]
            plant.step()
            rows.append((plant.t, plant.q[lean], plant.q[steer], torque))
    return np.array(rows)


if __name__ == "__main__":
    t, lean, steer, torque = ride(rider()).T
    print(f"leans at most {np.degrees(abs(lean).max()):.1f} degrees, at the end {np.degrees(abs(lean[-100:]).max()):.2f}; "
          f"torque at most {abs(torque).max():.1f} N m")
