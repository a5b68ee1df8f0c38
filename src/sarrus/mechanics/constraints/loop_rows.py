"""Rows and position errors of constraints between two frames: any joint type as the cut joint, and distances."""

from __future__ import annotations

from collections.abc import Callable
from itertools import accumulate
from typing import Any

import numpy as np

from sarrus.mechanics.bodies.relative_motion import Relative
from sarrus.mechanics.constraints import conditions, rotation_errors
from sarrus.mechanics.constraints.conditions import Condition, joined, perpendicular
from sarrus.mechanics.constraints.kinematic_state import KinematicState
from sarrus.mechanics.constraints.rows import Block, Rows, feedback, merged, turned
from sarrus.model.bodies import WORLD
from sarrus.model.constraints.loops import Held, LoopConstraint
from sarrus.spatial.arrays import Array

_Conditions = dict[Held, Callable[[Relative, Any], Condition]]  # x: frame b seen from frame a; c: the constraint

_BY_SINE: _Conditions = {
    Held.POINT: lambda x, c: conditions.coincide(x),
    Held.LINE: lambda x, c: joined([conditions.coordinate(x, t) for t in c.basis[1:]]),
    Held.PLANE: lambda x, c: conditions.coordinate(x, c.basis[0]),
    Held.ROTATION: lambda x, c: conditions.no_rotation(x),
    Held.DIRECTION: lambda x, c: joined([perpendicular(x, t, c.basis[0]) for t in c.basis[1:]]),
    Held.RIGHT_ANGLE: lambda x, c: perpendicular(x, c.basis[0], c.basis[1] if c.second_axis is None else c.second_axis),
    Held.SCREW: lambda x, c: conditions.screw(x, c.basis[0], c.basis[1], c.pitch),
    Held.DISTANCE: lambda x, c: conditions.distance(x, c.length),
}
_BY_ANGLE = _BY_SINE | {
    Held.ROTATION: lambda x, c: rotation_errors.rotation_error(x),
    Held.DIRECTION: lambda x, c: rotation_errors.alignment_error(x, *c.basis),
}


def loop_rows(constraint: LoopConstraint, at: KinematicState, desired: Array) -> Rows:
    """The rows, with Baumgarte's feedback in k."""
    x = at.between(constraint)
    c = _condition(constraint, x, _BY_SINE)
    sides = [(side, K) for side, K in ((x.a, c.K_a), (x.b, c.K_b)) if side.node != WORLD]
    blocks = merged([Block(side.node, K, _gram(constraint, x, side.p)) for side, K in sides])
    k = desired - c.bias - feedback(constraint, c.rate, c.error)
    coincident = constraint.holds[0] is Held.POINT
    return Rows(blocks, k, axes=x.a.axes, vectors=_vectors(constraint), coincident=coincident)


def loop_error(constraint: LoopConstraint, at: KinematicState, of_dynamics: bool) -> tuple[Array, Array]:
    """Position error and Jacobian, in the axes of frame a."""
    x, vectors = at.between(constraint), _vectors(constraint)
    c = _condition(constraint, x, _BY_ANGLE)
    rows = _condition(constraint, x, _BY_SINE) if of_dynamics else c
    # Where two points should coincide and do not, a motion of both links as one body turns the error.
    as_one = of_dynamics and constraint.holds[0] is Held.POINT
    J = at.jacobian([(x.a.node, rows.K_a), (x.b.node, rows.K_b)], as_one)
    return turned(x.a.axes.T, vectors, c.error), turned(x.a.axes.T, vectors, J)


def _condition(constraint: LoopConstraint, x: Relative, table: _Conditions) -> Condition:
    """All that the constraint holds, in the order of its rows."""
    found = joined([table[held](x, constraint) for held in constraint.holds])
    return found.at_rest if x.a.node == x.b.node else found


def _vectors(constraint: LoopConstraint) -> tuple[int, ...]:
    """Where the rows begin that are vectors in the axes of node a: coincidences, and rotations about all axes."""
    ends = accumulate(held.rows for held in constraint.holds)
    return tuple(end - 3 for end, held in zip(ends, constraint.holds, strict=True) if held.rows == 3)


def _gram(constraint: LoopConstraint, x: Relative, p: Array) -> Array | None:
    """K^T K of the side whose point is p: constant where all rows are vectors, since a rotation turns those."""
    if x.a.node == x.b.node or any(held not in (Held.POINT, Held.ROTATION) for held in constraint.holds):
        return None
    C = conditions.point_rows(p)
    spin = np.diag([0.0, 0.0, 0.0, 1.0, 1.0, 1.0])
    return C.T @ C + (spin if Held.ROTATION in constraint.holds else 0.0)
