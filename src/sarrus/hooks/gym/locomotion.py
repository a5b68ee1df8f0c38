"""Tasks of robots that walk: standing still, and going forward."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sarrus.errors import StateError, UnsupportedError
from sarrus.hooks.gym.starts import standing
from sarrus.hooks.gym.task import Situation, Task, Traced
from sarrus.mechanics.bodies import joint_kinematics, world_poses
from sarrus.model.bodies import WORLD
from sarrus.model.geometries import Plane
from sarrus.model.model import Model
from sarrus.model.tree import frames_of, tree_of
from sarrus.spatial.arrays import Array, Scalar, each, vector
from sarrus.spatial.choice import choose


@dataclass(frozen=True)
class _Locomotion:
    """Functions of one robot whose first joint is free. Velocities are those of the base, in its own axes."""

    home: Array
    at_q: Array  # joints that actions drive, in q and in v
    at_v: Array
    speed: float  # metres per second, forward
    frequency: float  # of steps, per second
    gait: dict[str, float]  # frames of feet, and when in a step each is lifted: parts of its period
    clearance: float  # metres by which feet are lifted

    def observation(self, model: Model, s: Situation) -> Array:
        home = self.home[self.at_q]
        joints, rates = s.q[self.at_q] - home, 0.1 * s.v[self.at_v]
        seen = [up(s.q), heading(s.q), vector(height(model, s.q)), s.v[:3], 0.25 * s.v[3:6], joints, rates, s.action]
        if self.frequency:
            phase = vector(self._phase(s))
            seen += [each(np.sin, phase), each(np.cos, phase)]
        return np.concatenate(seen)

    def reward(self, model: Model, s: Situation) -> Scalar:
        """Of an action. What is good is between 0 and 1 each; what costs is small where a robot goes well."""
        ahead, aside, turning = s.v[0] - self.speed, s.v[1], s.v[5]
        good = 0.2 + _near_zero(ahead**2 + aside**2, 0.15) + 0.5 * _near_zero(turning**2, 0.25)
        if self.gait:
            good = good + self._stepping(model, s)
        shaking = 0.5 * s.v[2] ** 2 + 0.05 * (s.v[3] ** 2 + s.v[4] ** 2)
        tilt, wrong = 1.0 - up(s.q)[2], heading(s.q)[0]
        sunk = height(model, s.q) - height(model, self.home)
        weight = -float(model.gravity[2]) * float(model.mass) * height(model, self.home)  # as a torque
        effort, jerk = 0.3 * _square(s.tau[self.at_v] * (1.0 / weight)), 0.01 * _square(s.action - s.previous_action)
        pose = 0.05 * _square(s.q[self.at_q] - self.home[self.at_q])
        return good - shaking - 2.0 * tilt - 10.0 * sunk**2 - 0.5 * wrong**2 - effort - jerk - pose

    def _stepping(self, model: Model, s: Situation) -> Scalar:
        """How well feet are lifted in turn and put down again: 1 where their heights are those of the gait."""
        now, home = heights(model, s.q, self.gait), heights(model, self.home, self.gait)
        off: Scalar = 0.0
        for height, rest, at in zip(now, home, self.gait.values(), strict=True):
            swing = each(np.sin, vector(self._phase(s) - 2.0 * np.pi * at))[0]
            off = off + (height - rest - self.clearance * choose(0.0, swing, swing, 0.0)) ** 2
        return _near_zero(off, 0.4 * len(self.gait) * self.clearance**2)

    def _phase(self, s: Situation) -> Scalar:
        return 2.0 * np.pi * self.frequency * s.time.item()

    def fallen(self, model: Model, s: Situation) -> Scalar:
        low = 0.6 * height(model, self.home)
        return choose(height(model, s.q), low, 1.0, choose(up(s.q)[2], 0.5, 1.0, 0.0))


def _near_zero(x: Scalar, width: float) -> Scalar:
    """1 where x is 0, and the less the larger it is."""
    return each(np.exp, vector(x * (-1.0 / width)))[0]


def _square(x: Array) -> Scalar:
    return x @ x


def up(q: Array) -> Array:
    """(3,): the vertical in the axes of the base."""
    x, y, z, w = q[3:7]
    return vector(2.0 * (x * z - w * y), 2.0 * (y * z + w * x), 1.0 - 2.0 * (x * x + y * y))


def heading(q: Array) -> Array:
    """(1,): how far aside the base looks; the y component of its x axis in the world."""
    x, y, z, w = q[3:7]
    return vector(2.0 * (x * y + w * z))


def height(model: Model, q: Array) -> Scalar:
    """Of the base above the ground."""
    return heights(model, q, (model.bodies[0].name,))[0] - ground_level(model)


def ground_level(model: Model) -> float:
    """Where the floor is: the highest plane of the world."""
    planes = [x.placement.p[2] for x in model.geometries if x.body == WORLD and isinstance(x.shape, Plane)]
    return max(planes, default=0.0)


def heights(model: Model, q: Array, frames: Any) -> list[Scalar]:
    """Of frames, by name, in the world."""
    tree, placed = tree_of(model), frames_of(model)
    poses = world_poses(tree, joint_kinematics(tree, q))
    return [poses[placed[name].node][1][2] + poses[placed[name].node][0][2] @ placed[name].X.p for name in frames]


def locomotion(
    model: Model,
    speed: float = 0.0,
    frequency: float = 0.0,
    gait: dict[str, float] | None = None,
    clearance: float = 0.06,
    **settings: Any,
) -> Task:
    """Stand (speed 0), or go forward at so many metres per second, with a clock to step by.

    frequency  steps per second; a policy sees sine and cosine of the clock
    gait       frames of feet, each with the part of a period after which it is lifted: rewarded, where given. A trot:
               {"front_left_foot": 0.0, "hind_right_foot": 0.0, "front_right_foot": 0.5, "hind_left_foot": 0.5}
    clearance  metres by which feet are lifted
    settings   other fields of the `Task`
    """
    if not model.bodies or model.bodies[0].joint.type.name != "free":
        raise UnsupportedError(f"locomotion needs a robot whose first joint is free, and that of {model.name!r} is not")
    if not np.allclose(model.bodies[0].placement.R, np.eye(3)) or model.gravity[2] >= 0.0:
        raise UnsupportedError(
            f"locomotion needs {model.name!r} to be upright where q is neutral, and gravity along -z"
        )
    home = standing(model)
    if height(model, home) <= 0.0:
        raise UnsupportedError(f"locomotion: where {model.name!r} stands at home, its base is not above the ground")
    if gait and not frequency:
        raise StateError("gait: give its frequency, in steps per second")
    for foot in gait or {}:
        if model.frame(foot).body == WORLD:
            raise StateError(f"gait: {foot!r} is a frame of the world: expected a frame on a foot")
    empty = Task(None, None, None, joints=settings.get("joints"))
    driven = empty.driven(model)
    at_q = np.array([model.layout.q_of(name).start for name in driven], int)
    at_v = np.array([model.layout.v_of(name).start for name in driven], int)
    of = _Locomotion(home, at_q, at_v, speed, frequency, gait or {}, clearance)
    name = "walk" if speed else "stand"
    return Task(Traced(of.observation), Traced(of.reward), Traced(of.fallen), name=name, **settings)
