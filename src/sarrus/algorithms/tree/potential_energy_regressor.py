"""Potential energy as a linear function of all inertial parameters."""

from __future__ import annotations

import numpy as np

from sarrus.mechanics.bodies import joint_kinematics, world_poses
from sarrus.model.model import Model
from sarrus.model.tree import tree_of
from sarrus.registry.table import algorithm
from sarrus.spatial.arrays import Array, vector


@algorithm(outputs="Y", cost="O(n)", references=("gautier1990",))
def potential_energy_regressor(model: Model, q: Array) -> Array:
    """Y (10 nb,) with the potential energy of gravity Y pi; pi as in `inverse_dynamics_regressor`.

    A body at p with axes R contributes -g (m p + R h).
    """
    tree = tree_of(model)
    g = tree.gravity
    parts = [np.zeros(0)]
    for node, (R, p) in zip(tree.nodes, world_poses(tree, joint_kinematics(tree, q)), strict=True):
        down = R.T @ g  # in the node's axes
        parts += [vector(-(g @ p + down @ node.body.p)), -node.body.rotate_T(down), np.zeros(6)]
    return np.concatenate(parts)
