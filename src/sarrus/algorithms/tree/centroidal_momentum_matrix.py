"""The matrix that takes joint velocities to centroidal momentum."""

from __future__ import annotations

import numpy as np

from sarrus.mechanics.bodies import center, joint_kinematics, world_poses
from sarrus.model.model import Model
from sarrus.model.tree import tree_of
from sarrus.registry.table import algorithm
from sarrus.spatial.arrays import Array
from sarrus.spatial.rotations import cross
from sarrus.spatial.stages import stage


@algorithm(outputs="A", cost="O(n)", references=("orin2013",))
def centroidal_momentum_matrix(model: Model, q: Array) -> Array:
    """The matrix A (6, nv) with A v = `centroidal_momentum`: one column per joint velocity."""
    nodes = tree_of(model).nodes
    joints = joint_kinematics(tree_of(model), q)
    poses = world_poses(tree_of(model), joints)
    composite = [node.inertia for node in nodes]
    columns: list[list[Array]] = [[] for _ in nodes]
    with stage("momentum"):
        com = center(model, poses)
        for i in range(len(nodes) - 1, -1, -1):
            X, S = joints[i].X, joints[i].S
            if nodes[i].parent >= 0:
                composite[nodes[i].parent] = composite[nodes[i].parent] + composite[i].transformed(X)
            R, p = poses[i]
            for s in S.T:
                own = composite[i].momentum(s)
                linear = R @ own[:3]
                columns[i].append(np.concatenate([linear, R @ own[3:] + cross(p - com, linear)]))
    flat = [column for node_columns in columns for column in node_columns]
    return np.stack(flat, axis=1) if flat else np.zeros((6, 0))
