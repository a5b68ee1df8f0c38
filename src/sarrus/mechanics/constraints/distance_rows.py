"""The row and the position error of a distance."""

from __future__ import annotations

import numpy as np

from sarrus.mechanics.bodies.relative_motion import Relative
from sarrus.mechanics.constraints.conditions import Condition, coincide, point_rows, rows_between
from sarrus.mechanics.constraints.kinematic_state import KinematicState
from sarrus.mechanics.constraints.rows import Rows
from sarrus.model.constraints import Distance
from sarrus.spatial.arrays import Array, vector
from sarrus.spatial.choice import choose
from sarrus.spatial.stages import stage


def distance_rows(constraint: Distance, at: KinematicState, desired: Array) -> Rows:
    """The row of a distance, with Baumgarte's feedback in k."""
    x = at.between(constraint)
    return rows_between(constraint, x, _condition(constraint, x), desired)


def distance_error(constraint: Distance, at: KinematicState, of_dynamics: bool) -> tuple[Array, Array]:
    """Position error and Jacobian."""
    x = at.between(constraint)
    with stage("constraint rows"):
        c = _condition(constraint, x)
    return c.error, at.jacobian([(x.a.node, c.K_a), (x.b.node, c.K_b)])


def _condition(constraint: Distance, x: Relative) -> Condition:
    """The origins keep a distance: along the line between them, with the centripetal acceleration in the bias."""
    d = x.offset
    squared = d @ d
    length = np.sqrt(vector(squared))[0]
    # Two points that coincide have no direction between them: the row is then zero, not NaN.
    inverse = choose(1e-24, squared, 1.0 / choose(1e-24, squared, length, 1.0), 0.0)
    n = d * inverse
    points = coincide(x)
    along = n @ points.rate
    centripetal = (points.rate @ points.rate - along * along) * inverse
    K_a, K_b = n @ points.K_a, (n @ x.R) @ point_rows(x.b.p)
    error, bias = vector(length - constraint.length), vector(n @ points.bias + centripetal)
    found = Condition(K_a[None], K_b[None], error, vector(along), bias)
    return found.at_rest if x.a.node == x.b.node else found
