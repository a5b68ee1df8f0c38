"""Kinetic and potential energy."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sarrus.algorithms.tree.rnea import armature_of
from sarrus.mechanics.bodies import joint_kinematics, spatial_velocities, total_first_moment, world_poses
from sarrus.model.model import Model
from sarrus.model.tree import tree_of
from sarrus.registry.table import algorithm
from sarrus.spatial.arrays import Array


class EnergyResult(NamedTuple):
    """In joules. Potential energy is that of gravity, zero with the centre of mass at the world's origin."""

    kinetic: Array
    potential: Array


@algorithm(cost="O(n)", references=("featherstone2008",))
def energy(model: Model, q: Array, v: Array) -> EnergyResult:
    """The kinetic energy, including armature, and the potential energy of gravity."""
    tree = tree_of(model)
    joints = joint_kinematics(tree, q, v)
    velocities = spatial_velocities(tree, joints)
    twice = sum((w @ node.inertia.momentum(w) for node, w in zip(tree.nodes, velocities, strict=True)), 0.0)
    kinetic = 0.5 * (twice + (armature_of(tree) * v) @ v)
    h = total_first_moment(tree, world_poses(tree, joints))
    return EnergyResult(np.asarray(kinetic), np.asarray(-(tree.gravity @ h)))
