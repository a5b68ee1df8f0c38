"""Momentum about the centre of mass."""

from __future__ import annotations

import numpy as np

from sarrus.mechanics.bodies import center, joint_kinematics, spatial_velocities, world_poses
from sarrus.model.model import Model
from sarrus.model.tree import tree_of
from sarrus.registry.table import algorithm
from sarrus.spatial.arrays import Array
from sarrus.spatial.rotations import cross
from sarrus.spatial.stages import stage


@algorithm(outputs="h", cost="O(n)", references=("orin2013",))
def centroidal_momentum(model: Model, q: Array, v: Array) -> Array:
    """Momentum (6,), [linear; angular], about the centre of mass and in the axes of the world, without armature."""
    tree = tree_of(model)
    joints = joint_kinematics(tree, q, v)
    poses = world_poses(tree, joints)
    linear, angular = np.zeros(3), np.zeros(3)
    with stage("momentum"):
        for node, velocity, (R, p) in zip(tree.nodes, spatial_velocities(tree, joints), poses, strict=True):
            own = node.inertia.momentum(velocity)
            push = R @ own[:3]
            linear = linear + push
            angular = angular + R @ own[3:] + cross(p, push)
        com = center(model, poses)
        return np.concatenate([linear, angular - cross(com, linear)])
