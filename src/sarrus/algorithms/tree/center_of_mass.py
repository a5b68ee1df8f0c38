"""The centre of mass of the whole robot."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sarrus.mechanics.bodies import center, joint_kinematics, spatial_velocities, world_poses
from sarrus.model.model import Model
from sarrus.model.tree import tree_of
from sarrus.registry.table import algorithm
from sarrus.spatial.arrays import Array
from sarrus.spatial.stages import stage


class CenterOfMassResult(NamedTuple):
    """In the world frame."""

    position: Array  # (3,)
    velocity: Array  # (3,)


@algorithm(cost="O(n)")
def center_of_mass(model: Model, q: Array, v: Array | None = None) -> CenterOfMassResult:
    """Position and velocity of the centre of mass of all moving bodies."""
    tree = tree_of(model)
    joints = joint_kinematics(tree, q, v)
    poses = world_poses(tree, joints)
    position = center(model, poses)
    momentum = np.zeros(3)
    with stage("momentum"):
        for node, velocity, (R, _) in zip(tree.nodes, spatial_velocities(tree, joints), poses, strict=True):
            momentum = momentum + R @ node.inertia.momentum(velocity)[:3]
    return CenterOfMassResult(position, momentum * (1.0 / model.mass))
