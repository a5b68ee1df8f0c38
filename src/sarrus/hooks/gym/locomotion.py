"""Tasks of robots that walk: standing still, and going forward."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sarrus.errors import UnsupportedError
from sarrus.hooks.gym.task import Situation, Task
from sarrus.model.model import Model
from sarrus.model.state import home_or_neutral
from sarrus.spatial.arrays import Array


@dataclass(frozen=True)
class _Locomotion:
    """Functions of a robot whose first joint is free. Velocities are those of the base, in its own axes."""

    home: Array
    at_q: Array  # joints that actions drive, in q and in v
    at_v: Array
    speed: float  # metres per second, forward
    frequency: float  # of the clock that a policy sees, per second

    def observation(self, s: Situation) -> Array:
        phase = 2.0 * np.pi * self.frequency * s.time[:, None]
        clock = [np.sin(phase), np.cos(phase)] if self.frequency else []
        joints, rates = s.q[:, self.at_q] - self.home[self.at_q], 0.1 * s.v[:, self.at_v]
        parts = [up(s.q), s.q[:, 2:3], s.v[:, :3], 0.25 * s.v[:, 3:6], joints, rates, s.action, *clock]
        return np.concatenate(parts, axis=1)

    def reward(self, s: Situation) -> Array:
        ahead, turning = s.v[:, 0] - self.speed, s.v[:, 5]
        aside = s.v[:, 1] ** 2 + 0.5 * s.v[:, 2] ** 2 + 0.02 * np.sum(s.v[:, 3:5] ** 2, axis=1)
        tilt, sunk = 1.0 - up(s.q)[:, 2], s.q[:, 2] - self.home[2]
        effort = 2e-4 * np.sum(s.tau[:, self.at_v] ** 2, axis=1)
        jerk = 0.02 * np.sum((s.action - s.previous_action) ** 2, axis=1)
        pose = 0.02 * np.sum((s.q[:, self.at_q] - self.home[self.at_q]) ** 2, axis=1)
        good = np.exp(-(ahead**2) / 0.1) + 0.3 * np.exp(-(turning**2) / 0.25) + 0.2
        return good - 0.3 * aside - 2.0 * tilt - 5.0 * sunk**2 - effort - jerk - pose

    def fallen(self, s: Situation) -> Array:
        return (s.q[:, 2] < 0.6 * self.home[2]) | (up(s.q)[:, 2] < 0.5)


def up(q: Array) -> Array:
    """(B, 3): the vertical in the axes of the base."""
    x, y, z, w = q[:, 3:7].T
    return np.stack([2.0 * (x * z - w * y), 2.0 * (y * z + w * x), 1.0 - 2.0 * (x * x + y * y)], axis=1)


def locomotion(model: Model, speed: float = 0.0, frequency: float = 0.0, **settings: Any) -> Task:
    """Stand (speed 0), or go forward at so many metres per second, with a clock to step by.

    settings  other fields of the `Task`
    """
    if not model.bodies or model.bodies[0].joint.type.name != "free":
        raise UnsupportedError(f"locomotion is of robots whose first joint is free, and that of {model.name!r} is not")
    empty = Task(None, None, None, joints=settings.get("joints"))
    driven = empty.driven(model)
    at_q = np.array([model.layout.q_of(name).start for name in driven], int)
    at_v = np.array([model.layout.v_of(name).start for name in driven], int)
    of = _Locomotion(home_or_neutral(model), at_q, at_v, speed, frequency)
    name = "walk" if speed else "stand"
    return Task(of.observation, of.reward, of.fallen, name=name, **settings)
