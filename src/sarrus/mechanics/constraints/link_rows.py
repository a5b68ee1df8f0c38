"""Constraints of links against the world, as rows on nodes (`rows.py`).

Rows act on accelerations in excess of the bias motion (`sweeps.py`), so k already holds the velocity-product terms,
gravity's field and Baumgarte's feedback.
"""

from __future__ import annotations

import numpy as np

from sarrus.errors import UnsupportedError
from sarrus.mechanics.bodies.frames import frame_in_node, spatial_velocities, world_poses
from sarrus.mechanics.bodies.motion import Motion
from sarrus.mechanics.constraints.rows import Block, Rows, motion_matrix
from sarrus.model.bodies import WORLD
from sarrus.model.constraints import Contact, LinkConstraint, LinkRows
from sarrus.model.model import Model
from sarrus.model.tree import Kinematics, Tree, tree_of
from sarrus.spatial.arrays import Array, is_numeric
from sarrus.spatial.rotations import cross
from sarrus.spatial.stages import stage
from sarrus.spatial.transforms import Transform


def link_constraints(model: Model, method: str) -> list[LinkConstraint]:
    """The active constraints, all of which must be of links against the world; else an error in words."""
    found = model.active_constraints
    for constraint in found:
        if not isinstance(constraint, LinkConstraint):
            raise UnsupportedError(
                f"{method} takes constraints of links against the world (contact, link_rows); constraint "
                f"{constraint.name!r} "
                f"is a {type(constraint).__name__}. Drop it with `model.without_constraints()`"
            )
        if model.frame(constraint.frame).body == WORLD:
            raise UnsupportedError(
                f"constraint {constraint.name!r}: frame {constraint.frame!r} is on the world, which does not move"
            )
    return list(found)  # type: ignore[arg-type]


def row_matrices(model: Model, method: str) -> list[tuple[int, Array]]:
    """(node, K) of every constraint: all that the Delassus matrix needs."""
    return [_matrix(model, c) for c in link_constraints(model, method)]


def _matrix(model: Model, constraint: LinkConstraint) -> tuple[int, Array]:
    frame = model.frame(constraint.frame)
    A = motion_matrix(frame_in_node(tree_of(model), frame))
    return frame.body, constraint.K @ A if isinstance(constraint, LinkRows) else A[: constraint.size]


def constraint_rows(
    model: Model,
    joints: list[Kinematics],
    motions: list[Motion],
    k: Array | None,
    method: str,
    constraints: list[LinkConstraint] | None = None,
) -> list[Rows]:
    """Rows of constraints of links; default: all active ones. `k` holds accelerations of those declared with
    k="input".
    """
    constraints = link_constraints(model, method) if constraints is None else constraints
    if not constraints:
        return []
    tree = tree_of(model)
    with stage("constraint rows"):
        velocities = spatial_velocities(tree, joints)
        gravity = _gravity_in_nodes(tree, joints)
        poses = world_poses(tree, joints)
        rows, used = [], 0
        for constraint in constraints:
            desired = np.zeros(constraint.size) if constraint.desired is None else constraint.desired
            if isinstance(constraint.desired, str):
                if k is None:
                    raise UnsupportedError(
                        f'constraint {constraint.name!r} was declared with k="input": {method} needs k'
                    )
                desired = k[used : used + constraint.size]
                used += constraint.size
            X = frame_in_node(tree, model.frame(constraint.frame))
            i = model.frame(constraint.frame).body
            rows.append(_rows(constraint, i, X, desired, motions[i], velocities[i], gravity[i], poses[i]))
    return rows


def _rows(
    constraint: LinkConstraint, i: int, X: Transform, desired: Array, motion: Motion, velocity: Array, gravity: Array,
    pose: tuple[Array, Array],
) -> Rows:  # fmt: skip
    # The bias motion's acceleration, without gravity's field: of the frame's origin as a point, and the node's
    # spatial one.
    point = motion.a + motion.Gamma @ X.p + gravity
    spatial = np.concatenate([motion.a + gravity - cross(velocity[3:], velocity[:3]), motion.alpha])
    T = constraint.stabilization
    error = np.zeros(constraint.size) if T is None else (1.0 / T**2) * position_error(constraint, X, pose)
    rate = 0.0 if T is None else 2.0 / T
    if isinstance(constraint, Contact) and constraint.dim == 6:
        k = X.inverse().apply(desired - error) - spatial - rate * velocity
        return Rows((Block(i, np.eye(6)),), k, constraint.R, X)
    A = motion_matrix(X)
    if isinstance(constraint, Contact):
        k = desired - X.rotate_T(point) - rate * (A[:3] @ velocity) - error
        return Rows((Block(i, A[:3]),), k, constraint.R)
    assert isinstance(constraint, LinkRows)
    K = constraint.K @ A
    k = desired - K @ (spatial + rate * velocity) - error
    lengths = row_lengths(constraint)
    return Rows((Block(i, (K.T / lengths).T),), k / lengths, constraint.R, lengths=lengths)


def row_lengths(constraint: LinkRows) -> Array:
    """What rows are divided by, so that methods see rows of length one: a residual means the same in all of them."""
    if not is_numeric(constraint.K):
        return np.ones(len(constraint.K))
    scale = np.abs(constraint.K).max(axis=1)
    scale = np.where(scale > 0.0, scale, 1.0)
    length = scale * np.linalg.norm(constraint.K / scale[:, None], axis=1)
    return np.where(length > 0.0, length, 1.0)


def position_error(constraint: LinkConstraint, X: Transform, pose: tuple[Array, Array]) -> Array:
    """Where the frame is, less where it should be, in its axes; zero where that was not said."""
    if not isinstance(constraint, Contact) or constraint.at is None:
        return np.zeros(constraint.size)
    position, rotation = constraint.at if constraint.dim == 6 else (constraint.at, None)
    R, p = pose
    frame_R = R @ X.R
    offset = frame_R.T @ (p + R @ X.p - np.asarray(position, float))
    if rotation is None:
        return offset
    E = np.asarray(rotation, float).T @ frame_R  # sine of the angle about each axis
    return np.concatenate([offset, 0.5 * np.stack([E[2, 1] - E[1, 2], E[0, 2] - E[2, 0], E[1, 0] - E[0, 1]])])


def _gravity_in_nodes(tree: Tree, joints: list[Kinematics]) -> list[Array]:
    gravity: list[Array] = []
    for node, (X, _, _, _) in zip(tree.nodes, joints, strict=True):
        gravity.append(X.rotate_T(tree.gravity if node.parent < 0 else gravity[node.parent]))
    return gravity
