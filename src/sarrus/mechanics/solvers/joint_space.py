"""Sparse linear algebra in joint space: the mass matrix and the constraint Jacobian share the tree's sparsity.

Joint velocity k depends on `ancestors[k]`, the velocities of the joints between it and its root. M has nonzeros only
there, and so has its factor in M = L^T diag(d) L when velocities are eliminated from the leaves (Featherstone 2005).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from sarrus.mechanics.constraints.rows import Rows
from sarrus.mechanics.mechanism import Node
from sarrus.model.topology import AbstractNode
from sarrus.spatial.arrays import Array
from sarrus.spatial.stacked import rows_T
from sarrus.spatial.stages import stage


class Ltdl(NamedTuple):
    """M = L^T diag(1 / d_inv) L with L unit lower triangular and the tree's sparsity."""

    L: Array  # (nv, nv)
    d_inv: Array  # (nv,)
    ancestors: list[list[int]]  # per velocity: those before it on its path, nearest last

    def pivots(self, nodes: Sequence[Node]) -> list[Array]:
        """The inverse pivots of every joint: those of the articulated D."""
        return [self.d_inv[node.v] for node in nodes]


def velocity_ancestors(nodes: Sequence[Node | AbstractNode]) -> list[list[int]]:
    """Per velocity: those before it on its path, nearest last."""
    ancestors: list[list[int]] = []
    moving: list[list[int]] = []  # per node, which may have no velocity of its own: all that move it
    for node in nodes:
        path = [] if node.parent < 0 else moving[node.parent]
        mine = range(node.v.start, node.v.stop)
        ancestors += [[*path, *mine[:x]] for x in range(len(mine))]
        moving.append([*path, *mine])
    return ancestors


def ltdl(nodes: Sequence[Node | AbstractNode], M: Array) -> Ltdl:
    """Factor the mass matrix, from the leaves, with no fill-in."""
    ancestors = velocity_ancestors(nodes)
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


def solve_forward(factor: Ltdl, b: Array) -> Array:
    """L^-1 b."""
    x = b.copy()
    for k in range(len(x)):
        for i in factor.ancestors[k]:
            x[k] = x[k] - factor.L[k, i] * x[i]
    return x


def constraint_jacobian(nodes: list[Node], rows: list[Rows]) -> tuple[Array, list[list[int]]]:
    """J (m, nv) of rows on single nodes, and per row the velocities that it depends on."""
    nv = sum(node.S.shape[1] for node in nodes)
    J = np.zeros((sum(len(r.k) for r in rows), nv), dtype=np.result_type(float, *(n.H for n in nodes)))
    supports: list[list[int]] = []
    with stage("jacobian"):
        for r in rows:
            i, carried = r.node, r.K
            support: list[int] = []
            while i >= 0:
                parent, v, X, S, *_ = nodes[i]
                J[r.span, v] = carried @ S
                support += range(v.start, v.stop)
                if parent >= 0:
                    carried = rows_T(X, carried)
                i = parent
            supports += [sorted(support)] * len(r.k)
    return J, supports


def delassus_of(factor: Ltdl, J: Array, supports: list[list[int]]) -> tuple[Array, Array]:
    """J M^-1 J^T = Y diag(d_inv) Y^T with Y = J L^-1, and Y."""
    with stage("delassus"):
        solved = [solve_transposed(factor, row, support) for row, support in zip(J, supports, strict=True)]
        Y = np.stack(solved) if solved else J
        YD = Y * factor.d_inv
        m = len(J)
        reach = [set(support) for support in supports]
        A = np.zeros((m, m), dtype=Y.dtype)
        for i in range(m):
            for j in range(i, m):
                common = [k for k in supports[i] if k in reach[j]]
                A[i, j] = A[j, i] = sum((YD[i, k] * Y[j, k] for k in common), 0.0)
    return A, Y
