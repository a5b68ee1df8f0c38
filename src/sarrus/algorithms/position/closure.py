"""How far a robot is from meeting its constraints, and which way meets them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sarrus.mechanics.bodies.motion import joint_kinematics
from sarrus.mechanics.bodies.relative_motion import Relative
from sarrus.mechanics.constraints.closure_rows import closure_condition
from sarrus.mechanics.constraints.conditions import Condition
from sarrus.mechanics.constraints.gap import Measure, gap_condition, link_gap
from sarrus.mechanics.constraints.position_rows import position_rows
from sarrus.model.constraints import LoopClosure
from sarrus.model.model import Model
from sarrus.model.tree import tree_of
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
              body turns the gap)
    """

    position: Array  # (m,)
    velocity: Array  # (m,)
    jacobian: Array  # (m, nv)


@algorithm(
    inputs=("q", "v?"),
    outputs=None,
    cost="O(m d)",
    references=("featherstone2008",),
    supports=("link constraints", "internal loops", "couplings", "center of mass", "multi-dof joints"),
)
def closure(model: Model, q: Array, v: Array | None = None) -> ClosureResult:
    """Position error, velocity and Jacobian of every constraint: loops, couplings, distances, links, centre of mass."""
    joints = joint_kinematics(tree_of(model), q, v)
    position, J = position_rows(model, joints, q, v, Measure(_with_angles, link_gap, as_one=True))
    return ClosureResult(position, np.zeros(len(J)) if v is None else J @ v, J)


def _with_angles(closure: LoopClosure, x: Relative) -> Condition:
    """The rows of the dynamics, which measure rotations by their sine, and errors by angles."""
    return closure_condition(closure, x)._replace(error=gap_condition(closure, x).error)
