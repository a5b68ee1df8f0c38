"""The joint forces that hold a robot still against gravity."""

from __future__ import annotations

from sarrus.algorithms.tree.rnea import inward_forces
from sarrus.mechanics.bodies.sweeps import joint_kinematics, outward_motion, resultant_forces
from sarrus.model.model import Model
from sarrus.registry.table import algorithm
from sarrus.spatial.arrays import Array


@algorithm(outputs="tau", cost="O(n)", references=("featherstone2008",))
def gravity_forces(model: Model, q: Array) -> Array:
    """g(q): inverse dynamics at rest."""
    joints = joint_kinematics(model.tree, q)
    motions = outward_motion(model.tree, joints)
    return inward_forces(model.tree, joints, resultant_forces(model.tree, motions, None))
