"""Where bodies and frames are, and how they move."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from sarrus.mechanics.bodies import (
    Motion,
    joint_kinematics,
    outward_motion,
    spatial_velocities,
    world_poses,
)
from sarrus.model.bodies import WORLD
from sarrus.model.model import Model
from sarrus.model.tree import PlacedFrame, frames_of, tree_of
from sarrus.registry.table import algorithm
from sarrus.spatial.arrays import Array
from sarrus.spatial.rotations import cross


class ForwardKinematicsResult(NamedTuple):
    """Arrays with one entry per frame, in the order asked for.

    Velocities and accelerations are spatial, [linear; angular], in the frame's own axes and at its origin.
    The linear part of a spatial acceleration is not that of the point: the point's is `linear + angular velocity x
    linear velocity`. Gravity is not in it.
    """

    rotation: Array  # (k, 3, 3) the frame's axes in the world, as columns
    position: Array  # (k, 3)
    velocity: Array  # (k, 6)
    acceleration: Array  # (k, 6)


@algorithm(cost="O(n)", references=("featherstone2008",))
def forward_kinematics(
    model: Model, q: Array, v: Array | None = None, a: Array | None = None, frames: Sequence[str] | None = None
) -> ForwardKinematicsResult:
    """Poses, velocities and accelerations of frames.

    frames: names of bodies or frames; default: every body, in order. Without v (or a), the robot is at rest (not
    accelerating).
    """
    chosen = [model.frame(name) for name in (model.body_names if frames is None else frames)]
    tree = tree_of(model)
    joints = joint_kinematics(tree, q, v)
    poses = world_poses(tree, joints)
    velocities = spatial_velocities(tree, joints)
    motions = outward_motion(tree, joints, a, gravity=False)
    rows = [_frame_row(frames_of(model)[frame.name], poses, velocities, motions) for frame in chosen]
    if not rows:
        return ForwardKinematicsResult(np.zeros((0, 3, 3)), np.zeros((0, 3)), np.zeros((0, 6)), np.zeros((0, 6)))
    return ForwardKinematicsResult(*(np.stack(column) for column in zip(*rows, strict=True)))


def _frame_row(
    frame: PlacedFrame, poses: list[tuple[Array, Array]], velocities: list[Array], motions: list[Motion]
) -> tuple[Array, Array, Array, Array]:
    i, T = frame
    if i == WORLD:
        return T.R, T.p, np.zeros(6), np.zeros(6)
    R, p = poses[i]
    velocity = velocities[i]
    motion = motions[i]
    # From the point's acceleration to the spatial one: less w x v.
    acceleration = np.concatenate([motion.a - cross(velocity[3:], velocity[:3]), motion.alpha])
    return R @ T.R, p + R @ T.p, T.apply(velocity), T.apply(acceleration)
