"""Kinetic energy as a linear function of all inertial parameters."""

from __future__ import annotations

import numpy as np

from sarrus.mechanics.bodies import joint_kinematics, spatial_velocities
from sarrus.mechanics.body_regressors import inertia_times
from sarrus.model.model import Model
from sarrus.model.tree import tree_of
from sarrus.registry.table import algorithm
from sarrus.spatial.arrays import Array, vector
from sarrus.spatial.rotations import cross


@algorithm(outputs="Y", cost="O(n)", references=("gautier1990",))
def kinetic_energy_regressor(model: Model, q: Array, v: Array) -> Array:
    """Y (10 nb,) with kinetic energy Y pi + v^T armature v / 2; pi as in `inverse_dynamics_regressor`.

    A body whose frame moves at u and turns at w contributes m u u / 2 + h (u x w) + w I w / 2.
    """
    tree = tree_of(model)
    joints = joint_kinematics(tree, q, v)
    parts = [np.zeros(0)]
    for node, velocity in zip(tree.nodes, spatial_velocities(tree, joints), strict=True):
        w = node.body.rotate_T(velocity[3:])
        u = node.body.rotate_T(velocity[:3] + cross(velocity[3:], node.body.p))
        parts += [vector(0.5 * (u @ u)), cross(u, w), 0.5 * (w @ inertia_times(w))]
    return np.concatenate(parts)
