"""The centre of mass of the whole robot."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sarrus.algorithms.forward_kinematics import spatial_velocities, world_poses
from sarrus.algorithms.registry import algorithm
from sarrus.algorithms.sweeps import joint_kinematics
from sarrus.errors import UnsupportedError
from sarrus.model.model import Model
from sarrus.model.tree import Tree
from sarrus.spatial.arrays import Array
from sarrus.spatial.stages import stage


class CenterOfMassResult(NamedTuple):
    """In the world frame."""

    position: Array  # (3,)
    velocity: Array  # (3,)


@algorithm(inputs=("q", "v?"), outputs=None, cost="O(n)")
def center_of_mass(model: Model, q: Array, v: Array | None = None) -> CenterOfMassResult:
    """Position and velocity of the centre of mass of all moving bodies."""
    tree = model.tree
    joints = joint_kinematics(tree, q, v)
    poses = world_poses(tree, joints)
    position = center(model, poses)
    momentum = np.zeros(3)
    with stage("momentum"):
        for node, velocity, (R, _) in zip(tree.nodes, spatial_velocities(tree, joints), poses, strict=True):
            momentum = momentum + R @ node.inertia.momentum(velocity)[:3]
    return CenterOfMassResult(position, momentum * (1.0 / model.mass))


def center(model: Model, poses: list[tuple[Array, Array]]) -> Array:
    """The centre of mass in the world, from the poses of the nodes."""
    if model.is_numeric and model.mass == 0.0:
        raise UnsupportedError(f"model {model.name!r} has no mass, so it has no centre of mass")
    return total_first_moment(model.tree, poses) * (1.0 / model.mass)


def total_first_moment(tree: Tree, poses: list[tuple[Array, Array]]) -> Array:
    """Sum of m c over all bodies, in the world; with what the first joints share with the ground."""
    h = tree.ground.h
    with stage("first moment"):
        for node, (R, p) in zip(tree.nodes, poses, strict=True):
            h = h + R @ node.inertia.h + node.inertia.mass * p
    return h
