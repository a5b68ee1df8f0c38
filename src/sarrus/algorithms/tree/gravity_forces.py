"""The joint forces that hold a robot still against gravity."""

from __future__ import annotations

from sarrus.algorithms.tree.rnea import inward_forces
from sarrus.mechanics.bodies import joint_kinematics, outward_motion, resultant_forces
from sarrus.model.model import Model
from sarrus.model.tree import tree_of
from sarrus.registry.table import algorithm
from sarrus.spatial.arrays import Array


@algorithm(outputs="tau", cost="O(n)", references=("featherstone2008",))
def gravity_forces(model: Model, q: Array) -> Array:
    """The joint forces g(q) (nv,) that hold the robot at rest against gravity."""
    joints = joint_kinematics(tree_of(model), q)
    motions = outward_motion(tree_of(model), joints)
    return inward_forces(tree_of(model), joints, resultant_forces(tree_of(model), motions, None))
