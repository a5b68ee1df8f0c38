"""Inverse dynamics as a linear function of all inertial parameters."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sarrus.mechanics.bodies import Motion, joint_kinematics, outward_motion
from sarrus.mechanics.body_regressors import force_regressor, in_body_frame
from sarrus.model.joints import Kinematics
from sarrus.model.model import Model
from sarrus.model.tree import Tree, tree_of
from sarrus.registry.table import algorithm
from sarrus.spatial.arrays import Array
from sarrus.spatial.stacked import by_column
from sarrus.spatial.stages import stage


@algorithm(outputs="Y", cost="O(n d)", references=("gautier1990", "atkeson1986"))
def inverse_dynamics_regressor(model: Model, q: Array, v: Array, a: Array) -> Array:
    """Y (nv, 10 nb) with tau = Y pi + armature a: joint forces are linear in the inertial parameters pi of all bodies.

    Per body, in Pinocchio's order: m, m cx, m cy, m cz, Ixx, Ixy, Iyy, Ixz, Iyz, Izz, in the body's frame and about its
    origin (`sarrus.inertial_parameters`). Atkeson, An and Hollerbach (1986).
    """
    tree = tree_of(model)
    joints = joint_kinematics(tree, q, v)
    return inward_regressors(tree, joints, outward_motion(tree, joints, a))


def inward_regressors(tree: Tree, joints: Sequence[Kinematics], motions: Sequence[Motion]) -> Array:
    """Of every body ten columns, carried inward: tau_j = S_j^T F for every joint j that moves it."""
    nv = sum(joint.S.shape[1] for joint in joints)
    Y = np.zeros((nv, 10 * len(joints)), dtype=np.result_type(float, *(m.a for m in motions)))
    for i, (node, motion) in enumerate(zip(tree.nodes, motions, strict=True)):
        with stage("forces"):
            F = by_column(node.body.apply_T, force_regressor(in_body_frame(node, motion)))
        with stage("inward"):
            at = i
            while at >= 0:
                Y[tree.nodes[at].v, 10 * i : 10 * i + 10] = joints[at].S.T @ F
                F = by_column(joints[at].X.apply_T, F)
                at = tree.nodes[at].parent
    return Y
