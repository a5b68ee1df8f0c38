"""How far a robot is from meeting its constraints, and which way meets them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sarrus.mechanics.bodies import joint_kinematics
from sarrus.mechanics.constraints.rows import position_errors
from sarrus.model.model import Model
from sarrus.model.tree import tree_of
from sarrus.registry.features import Feature
from sarrus.registry.table import algorithm
from sarrus.spatial.arrays import Array


class ClosureResult(NamedTuple):
    """One entry per row of the active constraints, embedded ones too, in the order of declaration and in the axes of
    their forces.

    position  of a loop: where frame b is, seen from frame a, in the directions that are held (metres), and by which
              angle it is turned (radians: axes that are opposite are off by pi, not aligned); zero where a constraint
              says nothing about positions (`link_rows`; a contact or centre of mass without `at`)
    velocity  jacobian @ v: the derivative of `position` where that is zero
    jacobian  that of the dynamics: M qdd + c = tau + jacobian^T forces, also where loops are open. Where two points
              should coincide and do not, its rows are the difference of their velocities (a motion of both links as one
              body turns the way from one to the other)
    """

    position: Array  # (m,)
    velocity: Array  # (m,)
    jacobian: Array  # (m, nv)


@algorithm(
    cost="O(m d)",
    references=("featherstone2008",),
    supports=Feature.ON_ALL | Feature.REDUNDANT,
    ignores=Feature.MASSLESS,
)
def closure(model: Model, q: Array, v: Array | None = None) -> ClosureResult:
    """Position error, velocity and Jacobian of every constraint: loops, couplings, distances, links, centre of mass."""
    joints = joint_kinematics(tree_of(model), q, v)
    position, J = position_errors(model, joints, q, v, of_dynamics=True)
    return ClosureResult(position, np.zeros(len(J)) if v is None else J @ v, J)
