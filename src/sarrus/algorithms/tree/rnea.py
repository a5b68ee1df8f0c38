"""Inverse dynamics of a tree: the recursive Newton-Euler algorithm."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sarrus.mechanics.bodies import joint_kinematics, outward_motion, resultant_forces
from sarrus.mechanics.mechanism import Node
from sarrus.model.joints import Kinematics
from sarrus.model.model import Model
from sarrus.model.topology import AbstractTree
from sarrus.model.tree import Tree, tree_of
from sarrus.registry.table import algorithm
from sarrus.spatial.arrays import Array
from sarrus.spatial.stages import stage


@algorithm(
    outputs="tau",
    cost="O(n)",
    references=("luh1980", "featherstone2008"),
    derivatives="rnea_derivatives",
)
def rnea(model: Model, q: Array, v: Array, a: Array, external_forces: Array | None = None) -> Array:
    """The joint forces of a motion: tau = M a + c - J^T f_ext.

    Luh, Walker and Paul (1980), in point accelerations; Featherstone (2008), Table 5.1.
    """
    tree = tree_of(model)
    joints = joint_kinematics(tree, q, v)
    motions = outward_motion(tree, joints, a)
    forces = resultant_forces(tree, motions, external_forces)
    return inward_forces(tree, joints, forces) + armature_of(tree) * a


def inward_forces(tree: AbstractTree, joints: Sequence[Kinematics | Node], forces: Sequence[Array]) -> Array:
    """tau = -S^T f, where f is the resultant on a node and everything beyond it."""
    f = list(forces)
    tau: list[Array] = [np.zeros(0)] * len(f)
    with stage("inward"):
        for i, joint in reversed(list(enumerate(joints))):
            tau[i] = -(joint.S.T @ f[i])
            parent = tree.nodes[i].parent
            if parent >= 0:
                f[parent] = f[parent] + joint.X.apply_T(f[i])
    return np.concatenate([np.zeros(0), *tau])


def armature_of(tree: Tree) -> Array:
    """Of every velocity."""
    return np.concatenate([np.zeros(0), *(node.armature for node in tree.nodes)])
