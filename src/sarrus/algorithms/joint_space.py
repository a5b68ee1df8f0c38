"""Sparse linear algebra in joint space: the mass matrix and the constraint Jacobian share the tree's sparsity.

Joint velocity k depends on `ancestors[k]`, the velocities of the joints between it and its root. M has nonzeros only
there, and so has its factor in M = L^T diag(d) L when velocities are eliminated from the leaves (Featherstone 2005).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sarrus.algorithms.rows import Rows
from sarrus.model.constraints import Constraint, Distance, LoopClosure
from sarrus.model.model import WORLD, Model
from sarrus.model.tree import Kinematics, Tree
from sarrus.spatial.arrays import Array
from sarrus.spatial.stages import stage

COINCIDENT = ("weld", "connect", "spherical", "revolute", "universal")  # closures that begin with `coincide`


class Ltdl(NamedTuple):
    """M = L^T diag(1 / d_inv) L with L unit lower triangular and the tree's sparsity."""

    L: Array  # (nv, nv)
    d_inv: Array  # (nv,)
    ancestors: list[list[int]]  # per velocity: those before it on its path, nearest last


def velocity_ancestors(tree: Tree) -> list[list[int]]:
    ancestors: list[list[int]] = []
    for node in tree.nodes:
        path = [] if node.parent < 0 else list(_path_of(tree, node.parent, ancestors))
        for k in range(node.v.start, node.v.stop):
            ancestors.append([*path, *range(node.v.start, k)])
    return ancestors


def _path_of(tree: Tree, i: int, ancestors: list[list[int]]) -> list[int]:
    """All velocities that move node i."""
    last = tree.nodes[i].v.stop - 1
    return [*ancestors[last], last]


def ltdl(tree: Tree, M: Array) -> Ltdl:
    """Factor the mass matrix, from the leaves, with no fill-in."""
    ancestors = velocity_ancestors(tree)
    M = M.copy()
    n = len(M)
    L = np.eye(n).astype(M.dtype)
    d_inv = np.empty(n, dtype=M.dtype)
    with stage("factorization"):
        for k in range(n - 1, -1, -1):
            d_inv[k] = 1.0 / M[k, k]
            path = ancestors[k]
            for x, i in enumerate(path):
                L[k, i] = M[k, i] * d_inv[k]
                for j in path[: x + 1]:
                    M[i, j] = M[i, j] - L[k, i] * M[k, j]
    return Ltdl(L, d_inv, ancestors)


def solve_transposed(factor: Ltdl, b: Array, support: list[int] | None = None) -> Array:
    """L^-T b for a vector; elements outside `support` (and its ancestors) are zero. Y = J L^-1, row by row."""
    x = b.copy()
    for k in range(len(x) - 1, -1, -1) if support is None else sorted(support, reverse=True):
        for i in factor.ancestors[k]:
            x[i] = x[i] - factor.L[k, i] * x[k]
    return x


def solve_mass(factor: Ltdl, b: Array) -> Array:
    """M^-1 b."""
    x = solve_transposed(factor, b) * factor.d_inv
    return solve_forward(factor, x)


def solve_forward(factor: Ltdl, b: Array) -> Array:
    """L^-1 b."""
    x = b.copy()
    for k in range(len(x)):
        for i in factor.ancestors[k]:
            x[k] = x[k] - factor.L[k, i] * x[i]
    return x


def constraint_jacobian(
    tree: Tree, joints: list[Kinematics], rows: list[tuple[int, Array]], nv: int, dtype: np.dtype
) -> tuple[Array, list[list[int]]]:
    """J (m, nv), and per row the velocities that it depends on. `rows` has (node, K) per constraint."""
    J = np.zeros((sum(len(K) for _, K in rows), nv), dtype=dtype)
    supports: list[list[int]] = []
    start = 0
    with stage("jacobian"):
        for node, K in rows:
            span = slice(start, start + len(K))
            start += len(K)
            i, carried = node, K
            support: list[int] = []
            while i >= 0:
                v = tree.nodes[i].v
                J[span, v] = carried @ joints[i].S
                support += range(v.start, v.stop)
                if tree.nodes[i].parent >= 0:
                    carried = np.stack([joints[i].X.apply_T(row) for row in carried])
                i = tree.nodes[i].parent
            supports += [sorted(support)] * len(K)
    return J, supports


def loop_jacobian(
    model: Model, joints: list[Kinematics], rows: list[Rows], dtype: np.dtype
) -> tuple[Array, list[list[int]]]:
    """J (m, nv) of constraints of every type, and per row the velocities that Y = J L^-1 depends on: all that move its nodes.

    Once all blocks of a constraint between links have met, at their nearest common ancestor, what is left is the rows' response to a
    rigid motion of the whole loop. That is zero for everything measured from one of the links (coordinates, angles, distances), and for
    the coincidence of two points `w x offset`, which vanishes where they coincide: no linear part, ever.
    """
    tree = model.tree
    J = np.zeros((sum(len(r.k) for r in rows), model.nv), dtype=dtype)
    supports: list[list[int]] = []
    with stage("jacobian"):
        for constraint, r in zip(model.active_constraints, rows, strict=True):
            span = slice(len(supports), len(supports) + len(r.k))
            moving = {v for b in r.blocks for i in _ancestors(tree, b.node) for v in _velocities(tree, i)}
            supports += [sorted(moving)] * len(r.k)
            for i, E in r.relation:
                J[span, tree.nodes[i].v] = J[span, tree.nodes[i].v] + E
            pending: dict[int, Array] = {}
            for block in () if r.relation else r.blocks:
                pending[block.node] = pending.get(block.node, 0.0) + block.K
            while pending:
                i = max(pending)
                K = pending.pop(i)
                if not pending and _between_links(model, constraint):
                    K = _of_rigid_motion(constraint, K)
                    if not len(K):
                        break
                    span = slice(span.start, span.start + len(K))
                J[span, tree.nodes[i].v] = K @ joints[i].S
                parent = tree.nodes[i].parent
                if parent >= 0:
                    pending[parent] = pending.get(parent, 0.0) + np.stack([joints[i].X.apply_T(row) for row in K])
    return J, supports


def _between_links(model: Model, constraint: Constraint) -> bool:
    """Whether it is a closure or a distance of which neither side is the world."""
    if not isinstance(constraint, (LoopClosure, Distance)):
        return False
    return all(model.frame(name).body != WORLD for name in (constraint.frame_a, constraint.frame_b))


def _of_rigid_motion(constraint: Constraint, K: Array) -> Array:
    """The rows, all blocks added up, that respond to a motion of both links as one body: coincidences come first."""
    coincide = isinstance(constraint, LoopClosure) and constraint.joint in COINCIDENT
    return np.concatenate([np.zeros((3, 3)), K[:3, 3:]], axis=1) if coincide else K[:0]


def _ancestors(tree: Tree, i: int) -> list[int]:
    path = []
    while i >= 0:
        path.append(i)
        i = tree.nodes[i].parent
    return path


def _velocities(tree: Tree, i: int) -> range:
    return range(tree.nodes[i].v.start, tree.nodes[i].v.stop)


def delassus_of(factor: Ltdl, J: Array, supports: list[list[int]]) -> tuple[Array, Array]:
    """J M^-1 J^T = Y diag(d_inv) Y^T with Y = J L^-1, and Y."""
    with stage("delassus"):
        Y = np.stack([solve_transposed(factor, row, support) for row, support in zip(J, supports, strict=True)])
        YD = Y * factor.d_inv
        m = len(J)
        A = np.zeros((m, m), dtype=Y.dtype)
        for i in range(m):
            for j in range(i, m):
                common = [k for k in supports[i] if k in set(supports[j])]
                A[i, j] = A[j, i] = sum((YD[i, k] * Y[j, k] for k in common), 0.0)
    return A, Y


def matrices_of(rows: list[Rows]) -> list[tuple[int, Array]]:
    return [(r.node, r.K) for r in rows]
