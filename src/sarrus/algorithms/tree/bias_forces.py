"""The velocity and gravity terms of the equation of motion."""

from __future__ import annotations

from sarrus.algorithms.tree.rnea import inward_forces
from sarrus.mechanics.bodies import joint_kinematics, outward_motion, resultant_forces
from sarrus.model.model import Model
from sarrus.model.tree import tree_of
from sarrus.registry.table import algorithm
from sarrus.spatial.arrays import Array


@algorithm(outputs="c", cost="O(n)", references=("featherstone2008",))
def bias_forces(model: Model, q: Array, v: Array, external_forces: Array | None = None) -> Array:
    """The bias forces c(q, v): Coriolis, centrifugal and gravity forces, minus J^T f_ext."""
    joints = joint_kinematics(tree_of(model), q, v)
    motions = outward_motion(tree_of(model), joints)
    return inward_forces(tree_of(model), joints, resultant_forces(tree_of(model), motions, external_forces))
