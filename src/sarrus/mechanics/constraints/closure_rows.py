"""Rows and position errors of loop closures: any joint type as the cut joint (`Held` says what each holds)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import accumulate
from typing import NamedTuple

import numpy as np

from sarrus.mechanics.bodies.relative_motion import Relative
from sarrus.mechanics.constraints.conditions import (
    Condition,
    across,
    coincide,
    coordinate,
    joined,
    no_rotation,
    perpendicular,
    point_rows,
    rows_between,
    screw,
)
from sarrus.mechanics.constraints.kinematic_state import KinematicState
from sarrus.mechanics.constraints.rotation_errors import alignment_error, rotation_error
from sarrus.mechanics.constraints.rows import Rows, turned
from sarrus.model.constraints import Held, LoopClosure
from sarrus.spatial.arrays import Array
from sarrus.spatial.stages import stage


class _Joint(NamedTuple):
    """The cut joint's directions: u its axis, t1 and t2 across it; in frame a and, when closed, in frame b."""

    u: Array
    t1: Array
    t2: Array
    second: Array  # of a universal joint, in frame b
    pitch: float


_Conditions = dict[Held, Callable[[Relative, _Joint], Condition]]

_BY_SINE: _Conditions = {
    Held.POINT: lambda x, j: coincide(x),
    Held.LINE: lambda x, j: joined([coordinate(x, j.t1), coordinate(x, j.t2)]),
    Held.PLANE: lambda x, j: coordinate(x, j.u),
    Held.ROTATION: lambda x, j: no_rotation(x),
    Held.DIRECTION: lambda x, j: joined([perpendicular(x, j.t1, j.u), perpendicular(x, j.t2, j.u)]),
    Held.RIGHT_ANGLE: lambda x, j: perpendicular(x, j.u, j.second),
    Held.SCREW: lambda x, j: screw(x, j.u, j.t1, j.pitch),
}
_BY_ANGLE = _BY_SINE | {
    Held.ROTATION: lambda x, j: rotation_error(x),
    Held.DIRECTION: lambda x, j: alignment_error(x, j.u, j.t1, j.t2),
}


def closure_rows(closure: LoopClosure, at: KinematicState, desired: Array) -> Rows:
    """Rows of a closure, with Baumgarte's feedback in k."""
    x = at.between(closure)
    turns = x.a.node != x.b.node and all(held in (Held.POINT, Held.ROTATION) for held in closure.holds)
    gram = partial(_gram, closure) if turns else None
    rows = rows_between(closure, x, _condition(closure, x, _BY_SINE), desired, gram)
    return rows._replace(axes=x.a.axes, vectors=_vectors(closure), coincident=closure.holds[0] is Held.POINT)


def closure_error(closure: LoopClosure, at: KinematicState, of_dynamics: bool) -> tuple[Array, Array]:
    """Position error and Jacobian, in the axes of frame a."""
    x = at.between(closure)
    with stage("constraint rows"):
        c = _condition(closure, x, _BY_ANGLE)
        rows = _condition(closure, x, _BY_SINE) if of_dynamics else c
    as_one = of_dynamics and closure.holds[0] is Held.POINT  # a motion of both links as one body turns the error
    J = at.jacobian([(x.a.node, rows.K_a), (x.b.node, rows.K_b)], as_one)
    vectors = _vectors(closure)
    return turned(x.a.axes.T, vectors, c.error), turned(x.a.axes.T, vectors, J)


def _condition(closure: LoopClosure, x: Relative, conditions: _Conditions) -> Condition:
    """All that the closure holds, in the order of its rows."""
    u = np.array(closure.axis if closure.axis is not None else (0.0, 0.0, 1.0), dtype=float)
    u = u / np.linalg.norm(u)
    t1, t2 = across(u)
    second = t1 if closure.second_axis is None else np.array(closure.second_axis, float)
    found = joined([conditions[held](x, _Joint(u, t1, t2, second, closure.pitch)) for held in closure.holds])
    return found.at_rest if x.a.node == x.b.node else found


def _vectors(closure: LoopClosure) -> tuple[int, ...]:
    """Where the rows begin that are vectors in the axes of node a: coincidences, and rotations about all axes."""
    starts = accumulate((held.rows for held in closure.holds), initial=0)
    return tuple(start for start, held in zip(starts, closure.holds, strict=False) if held.rows == 3)


def _gram(closure: LoopClosure, p: Array) -> Array:
    """K^T K of the side whose point p is held: constant, since all rows are vectors that a rotation turns."""
    C = point_rows(p)
    spin = np.diag([0.0, 0.0, 0.0, 1.0, 1.0, 1.0])
    return C.T @ C + (spin if Held.ROTATION in closure.holds else 0.0)
