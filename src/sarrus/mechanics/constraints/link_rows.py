"""Constraints of links against the world, as rows on nodes (`rows.py`), and their position errors.

Rows act on accelerations in excess of the bias motion (`mechanics/bodies.py`), so k already holds the velocity-product
terms, gravity's field and Baumgarte's feedback.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sarrus.errors import UnsupportedError
from sarrus.mechanics.constraints.rotation_errors import rotation_vector
from sarrus.mechanics.constraints.rows import (
    EQUATIONS,
    Block,
    Equations,
    KinematicState,
    Rows,
    motion_matrix,
    rotation_sines,
)
from sarrus.model.bodies import WORLD
from sarrus.model.constraints import Contact, LinkConstraint, LinkRows, of_type
from sarrus.model.model import Model
from sarrus.model.tree import PlacedFrame, frames_of
from sarrus.spatial.arrays import Array, is_numeric
from sarrus.spatial.transforms import Transform


def link_constraints(model: Model) -> list[LinkConstraint]:
    """The active constraints; an error unless all are of links against the world."""
    found = of_type(model.active_constraints, LinkConstraint)
    for constraint in model.active_constraints:
        if constraint not in found:
            raise UnsupportedError(
                f"constraint {constraint.name!r} is a {type(constraint).__name__}, which does not act on a single link"
            )
    return found


def row_matrices(model: Model) -> list[tuple[int, Array]]:
    """(node, K) of every constraint: all that the Delassus matrix needs."""
    placed = [(c, _moving(c, model)) for c in link_constraints(model)]
    return [(frame.node, c.rows_on(motion_matrix(frame.X))) for c, frame in placed]


def contact_rows(contact: Contact, at: KinematicState, desired: Array) -> Rows:
    """Of all motion, in the node's own frame (dim 6), or of a frame's origin as a point, in its axes (dim 3)."""
    i, X = _moving(contact, at.model)
    velocity, T = at.velocities[i], contact.stabilization
    error = np.zeros(contact.size) if T is None else (1.0 / T**2) * _error(contact, X, at.poses[i], rotation_sines)
    rate = 0.0 if T is None else 2.0 / T
    if contact.dim == 6:
        k = X.inverse().apply(desired - error) - at.bias(i) - rate * velocity
        return Rows((Block(i, np.eye(6)),), k, contact.R, X)
    K = motion_matrix(X)[: contact.dim]
    bias = at.motions[i].a + at.motions[i].Gamma @ X.p + at.gravity[i]
    k = desired - X.rotate_T(bias) - rate * (K @ velocity) - error
    return Rows((Block(i, K),), k, contact.R)


def link_rows(constraint: LinkRows, at: KinematicState, desired: Array) -> Rows:
    """Of a frame's spatial acceleration.

    They are divided by their lengths, so that methods see rows of length one: a residual means the same in all of them.
    """
    i, X = _moving(constraint, at.model)
    K = constraint.rows_on(motion_matrix(X))
    rate = 0.0 if constraint.stabilization is None else 2.0 / constraint.stabilization
    k = desired - K @ (at.bias(i) + rate * at.velocities[i])
    lengths = _lengths(constraint.K)
    return Rows((Block(i, (K.T / lengths).T),), k / lengths, constraint.R, lengths=lengths)


def link_error(constraint: LinkConstraint, at: KinematicState, of_dynamics: bool) -> tuple[Array, Array]:
    """Position error and Jacobian; on the world, zeros."""
    i, X = frames_of(at.model)[constraint.frame]
    K = constraint.rows_on(motion_matrix(X))
    if i == WORLD:
        return np.zeros(len(K)), np.zeros((len(K), at.model.nv))
    return _error(constraint, X, at.poses[i], rotation_vector), at.jacobian([(i, K)])


def _moving(constraint: LinkConstraint, model: Model) -> PlacedFrame:
    """The node of the frame, and the frame in the node."""
    placed = frames_of(model)[constraint.frame]
    if placed.node == WORLD:
        raise UnsupportedError(
            f"constraint {constraint.name!r}: frame {constraint.frame!r} is on the world, which does not move"
        )
    return placed


def _error(
    constraint: LinkConstraint, X: Transform, pose: tuple[Array, Array], measure: Callable[[Array], Array]
) -> Array:
    """Where the frame is, less where it should be, in its axes; zero where that was not said."""
    if constraint.at is None:
        return np.zeros(constraint.size)
    position, rotation = constraint.at if constraint.size == 6 else (constraint.at, None)
    R, p = pose
    axes = R @ X.R
    offset = axes.T @ (p + R @ X.p - np.asarray(position, float))
    return offset if rotation is None else np.concatenate([offset, measure(np.asarray(rotation, float).T @ axes)])


def _lengths(K: Array) -> Array:
    """Of rows, one where they are zero or symbols; without overflow."""
    if not is_numeric(K):
        return np.ones(len(K))
    scale = np.abs(K).max(axis=1)
    scale = np.where(scale > 0.0, scale, 1.0)
    length = scale * np.linalg.norm(K / scale[:, None], axis=1)
    return np.where(length > 0.0, length, 1.0)


EQUATIONS[Contact] = Equations(contact_rows, link_error)
EQUATIONS[LinkRows] = Equations(link_rows, link_error)
