"""The mass matrix: the composite-rigid-body algorithm."""

from __future__ import annotations

from sarrus.mechanics.bodies.mass_matrix import mass_matrix
from sarrus.mechanics.bodies.passage import passages_of
from sarrus.mechanics.bodies.sweeps import joint_kinematics, link_inertias
from sarrus.model.model import Model
from sarrus.registry.table import algorithm
from sarrus.spatial.arrays import Array


@algorithm(outputs="M", cost="O(n d)", references=("walker1982", "featherstone2008"))
def crba(model: Model, q: Array) -> Array:
    """M(q) (nv, nv), symmetric, armature included.

    Walker and Orin (1982), method 3; Featherstone (2008), Table 6.2. A composite body is ten numbers, not a 6x6 matrix.
    """
    joints = joint_kinematics(model.tree, q)
    return mass_matrix(model.tree, passages_of(model.tree, joints), link_inertias(model.tree), q.dtype)
