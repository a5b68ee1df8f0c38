"""How constraint rows, and the joint forces of their multipliers, vary with positions and velocities.

At a solution the rows J qdd - k and the forces J^T f are functions of q and v alone, qdd and f being held. Each type of
constraint says what its rows are (`mechanics/constraints`); their derivatives follow from that same text, on dual
numbers. A row varies only with the joints that move it, so that costs little.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from sarrus.mechanics.bodies import joint_kinematics, outward_motion
from sarrus.mechanics.constraints.rows import Rows, constraint_rows
from sarrus.mechanics.mechanism import numbered
from sarrus.model.joints import Kinematics
from sarrus.model.model import Model
from sarrus.model.tree import Tree, tree_of
from sarrus.spatial.arrays import Array
from sarrus.spatial.dual import derivatives_of, variables, with_derivatives
from sarrus.spatial.stages import stage


class ConstraintVariation(NamedTuple):
    """Derivatives along `integrate(q, e_j)` and with respect to v and k; rows in the basis of `Rows`."""

    rows_q: Array  # (m, nv) of J qdd - k
    rows_v: Array  # (m, nv)
    rows_k: Array  # (m, inputs)
    forces_q: Array  # (nv, nv) of J^T f
    rows_along: Array  # (m, nv) of J z with respect to q; nothing without z


def constraint_variation(
    model: Model,
    q: Array,
    v: Array,
    k: Array | None,
    qdd: Array,
    forces: Array,
    soft: Sequence[bool],
    z: Array | None = None,
) -> ConstraintVariation:
    """Of all active constraints.

    forces  f (m,) on the robot, in the basis of the rows
    soft    per constraint: whether that is the declared one, in which softness is given
    z       (nv,) accelerations that are held, too
    """
    tree, nv, count = tree_of(model), model.nv, 0 if k is None else len(k)
    with stage("variation of rows"):
        q, v, k = along_tangents(tree, q), variables(v, first=nv), None if k is None else variables(k, first=2 * nv)
        joints, rows = _rows(model, q, v, k)
        rows = [r.declared() if x else r for r, x in zip(rows, soft, strict=True)]
        residual = _residual(tree, joints, rows, qdd)
        on_joints = _on_joints(tree, joints, rows, forces)
        at_rest = [r._replace(k=np.zeros(len(r.k))) for r in rows]
        along = np.zeros(0) if z is None else _residual(tree, joints, at_rest, z)
    by = derivatives_of(residual, 2 * nv + count)
    return ConstraintVariation(
        by[:, :nv], by[:, nv : 2 * nv], by[:, 2 * nv :], derivatives_of(on_joints, nv), derivatives_of(along, nv)
    )


def constraint_equations(
    model: Model, q: Array, v: Array, k: Array | None, qdd: Array, forces: Array
) -> tuple[Array, Array]:
    """J qdd - k (m,) and J^T f (nv,) of all active constraints, all in the declared basis."""
    joints, rows = _rows(model, q, v, k)
    rows = numbered(rows)
    f = np.concatenate([np.zeros(0), *(r.force_of_declared(forces[r.span]) for r in rows)])
    residual = _residual(tree_of(model), joints, rows, qdd)
    on_joints = _on_joints(tree_of(model), joints, rows, f)
    return np.concatenate([np.zeros(0), *(r.declared_residual(residual[r.span]) for r in rows)]), on_joints


def sharing_equations(model: Model, q: Array, k: Array | None, forces: Array, z: Array, w: Array) -> Array:
    """J z - w f (m,) of all active constraints, in the basis of the rows; forces: f in the declared basis."""
    joints, rows = _rows(model, q, np.zeros(model.nv), k)
    rows = numbered(rows)
    f = np.concatenate([np.zeros(0), *(r.force_of_declared(forces[r.span]) for r in rows)])
    at_rest = [r._replace(k=np.zeros(len(r.k))) for r in rows]
    return _residual(tree_of(model), joints, at_rest, z) - w * f


def _rows(model: Model, q: Array, v: Array, k: Array | None) -> tuple[list[Kinematics], list[Rows]]:
    tree = tree_of(model)
    joints = joint_kinematics(tree, q, v)
    return joints, constraint_rows(model, joints, outward_motion(tree, joints), q, v, k, "the derivative")


def _residual(tree: Tree, joints: list[Kinematics], rows: list[Rows], qdd: Array) -> Array:
    """J qdd - k, in the basis of the rows."""
    a: list[Array] = []
    for node, (X, S, _, _) in zip(tree.nodes, joints, strict=True):
        own = S @ qdd[node.v]
        a.append(own if node.parent < 0 else X.apply(a[node.parent]) + own)
    return np.concatenate([np.zeros(0), *(r.residual(a) for r in rows)])


def along_tangents(tree: Tree, q: Array) -> Array:
    """q with its derivatives along `integrate(q, e_j)`: variable j."""
    return with_derivatives(q, rate_map(tree, q))


def rate_map(tree: Tree, q: Array) -> Array:
    """N (nq, nv): dq/dt = N v."""
    N = np.zeros((len(q), tree.nv), dtype=q.dtype)
    for node in tree.nodes:
        N[node.q, node.v] = node.joint.rate_map(q[node.q])
    return N


def _on_joints(tree: Tree, joints: list[Kinematics], rows: list[Rows], forces: Array) -> Array:
    """J^T f, f in the basis of the rows."""
    f: list[Array] = [np.zeros(6)] * len(tree.nodes)
    start = 0
    for r in rows:
        mine = forces[start : start + len(r.k)]
        start += len(r.k)
        for block in r.blocks:
            f[block.node] = f[block.node] + block.K.T @ mine
    out = np.zeros(tree.nv, dtype=object)
    for i, node in reversed(list(enumerate(tree.nodes))):
        out[node.v] = joints[i].S.T @ f[i]
        if node.parent >= 0:
            f[node.parent] = f[node.parent] + joints[i].X.apply_T(f[i])
    return out
