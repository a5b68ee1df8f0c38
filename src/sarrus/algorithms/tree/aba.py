"""Forward dynamics of a tree: the articulated-body algorithm."""

from __future__ import annotations

from sarrus.mechanics.bodies.passage import passages_of
from sarrus.mechanics.bodies.sweeps import (
    inward_articulated,
    joint_kinematics,
    link_inertias,
    outward_acceleration,
    outward_motion,
    resultant_forces,
)
from sarrus.model.model import Model
from sarrus.registry.features import Feature
from sarrus.registry.table import algorithm
from sarrus.spatial.arrays import Array


@algorithm(
    outputs="qdd",
    cost="O(n)",
    references=("featherstone2008",),
    ignores=Feature.ROWS,
)
def aba(model: Model, q: Array, v: Array, tau: Array, external_forces: Array | None = None) -> Array:
    """Joint accelerations qdd with M qdd + c = tau + J^T f_ext.

    Featherstone, Rigid Body Dynamics Algorithms (2008), Table 7.1, about the bias motion. Inward, for every node:

        U = H S    D = S^T U + armature    u = tau + S^T f    Ha = H - U D^-1 U^T    fa = f - U D^-1 u

    external_forces: (nb, 6), on each body in its own frame, [force; moment about the body's origin].
    Friction, damping and springs are not included: add them to tau.
    """
    tree = model.tree
    joints = joint_kinematics(tree, q, v)
    motions = outward_motion(tree, joints)
    forces = resultant_forces(tree, motions, external_forces)
    passages = passages_of(tree, joints)
    parts = inward_articulated(tree, passages, [x.matrix() for x in link_inertias(tree)], forces, tau)
    qdd, _ = outward_acceleration(tree, passages, parts)
    return qdd
