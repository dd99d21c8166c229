"""An environment for reinforcement learning in the manner of Gymnasium, without depending on it: many balancing robots
side by side, each with its own reward, that begin anew when they fall.

    observations, _ = environment.reset()
    observations, rewards, fallen, _, _ = environment.step(actions)
"""
import os

import numpy as np

import nonholo

MODEL = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "balancing-robot.nh")


class Balance:
    """`count` robots; an action is the torque of both motors of each robot, within +-0.3."""

    torque, limit = 0.3, 0.5

    def __init__(self, count=1024, step=0.005, seed=0):
        self.robots = nonholo.Stepper(MODEL, "rk4", step=step, members=count)
        self.random = np.random.default_rng(seed)
        self.count = count

    def _starts(self, count):
        q = np.zeros((count, len(self.robots.system.coordinates)))
        q[:, self.robots.system.coordinates.index("theta")] = self.random.uniform(-0.1, 0.1, count)
        return q, np.zeros((count, len(self.robots.system.velocities)))

    def _observe(self):
        """Pitch, its rate, and the speed of the wheels."""
        return np.stack([self.robots.q[:, 3], self.robots.v[:, 3], self.robots.v[:, 4]], axis=1)

    def reset(self):
        q, v = self._starts(self.count)
        self.robots.reset(q=q, v=v)
        return self._observe(), {}

    def step(self, actions):
        torque = np.clip(actions, -self.torque, self.torque)
        self.robots.left = self.robots.right = torque
        self.robots.step()
        observations = self._observe()
        fallen = np.abs(observations[:, 0]) > self.limit
        rewards = np.where(fallen, 0.0, 1.0) - 0.1 * torque**2
        again = np.flatnonzero(fallen)
        if len(again):
            q, v = self._starts(len(again))
            self.robots.reset(again, q=q, v=v)
            observations = self._observe()
        return observations, rewards, fallen, np.zeros_like(fallen), {}


if __name__ == "__main__":
    environment = Balance(count=256)
    for name, law in (("no torque", lambda o: 0 * o[:, 0]),
                      ("feedback", lambda o: 1.3 * o[:, 0] + 0.18 * o[:, 1] + 0.021 * o[:, 2])):
        observations, _ = environment.reset()
        falls = 0
        for _ in range(400):
            observations, rewards, fallen, _, _ = environment.step(law(observations))
            falls += int(fallen.sum())
        print(f"{name}: {falls} falls of {environment.count} robots in 2 s")
