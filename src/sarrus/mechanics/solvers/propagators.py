"""What the Delassus algorithms share: force and motion propagators, and which constraints a node supports.

Everything is in node frames. A row of K is a force on its node: `inward` takes it to the parent through a joint that
is free to move; `outward` is its transpose and takes an acceleration of the parent to the node.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sarrus.mechanics.constraints.rows import Rows
from sarrus.mechanics.mechanism import Node, eliminate
from sarrus.spatial.arrays import Array
from sarrus.spatial.linear_algebra import Ldl, ldl_congruence, ldl_solve, subtract_product
from sarrus.spatial.stacked import rows_T
from sarrus.spatial.stages import stage


class Propagator(NamedTuple):
    """A node with its joint free to move: P = 1 - U D^-1 S^T and Omega = S D^-1 S^T (eqs. 8 and 10)."""

    node: Node
    H: Array  # (s, s) articulated
    D: Ldl
    UD: Array  # (s, n) U D^-1

    @property
    def S(self) -> Array:
        return self.node.S

    def inward(self, K: Array) -> Array:
        """Rows of K P^T X: forces on this node as the parent feels them."""
        return rows_T(self.node.X, K - (K @ self.S) @ self.UD.T)

    def outward(self, a: Array) -> Array:
        """P^T X a: an acceleration of the parent as this node feels it."""
        carried = self.node.X.apply(a)
        return carried - self.S @ (self.UD.T @ carried)

    def response(self, K: Array) -> Array:
        """K Omega K^T: the acceleration along the rows for forces along them, the parent at rest."""
        return ldl_congruence(self.D, (K @ self.S).T)

    def acceleration(self, K: Array) -> Array:
        """Rows of K Omega: the node's accelerations for forces along the rows, the parent at rest."""
        return (self.S @ ldl_solve(self.D, (K @ self.S).T)).T


def propagators(nodes: list[Node]) -> list[Propagator]:
    """Articulated inertias from the leaves to the roots, and the propagators that they give."""
    H = [node.H for node in nodes]
    parts: list[Propagator] = []
    with stage("articulated inertia"):
        for i, node in reversed(list(enumerate(nodes))):
            D, U, UD = eliminate(node, H[i])
            parts.append(Propagator(node, H[i], D, UD))
            if node.parent >= 0:
                H[node.parent] = H[node.parent] + node.X.congruence(subtract_product(H[i], UD, U))
    return parts[::-1]


class Support:
    """Which constraints (end-effectors) each node supports. Constraint e is a row block on node `at[e]`."""

    def __init__(self, nodes: list[Node], rows: list[Rows]) -> None:
        self.at = [r.node for r in rows]
        self.spans = [r.span for r in rows]
        self.m = sum(len(r.k) for r in rows)
        self.paths: list[list[int]] = []  # per constraint: its node first, its root last
        self.ES: list[list[int]] = [[] for _ in nodes]
        for e, i in enumerate(self.at):
            self.paths.append([])
            while i >= 0:
                self.paths[e].append(i)
                self.ES[i].append(e)
                i = nodes[i].parent

    def cca(self, i: int, j: int) -> int:
        """The closest common ancestor of two constraints' nodes; -1 (the world) if they have different roots."""
        return max(set(self.paths[i]) & set(self.paths[j]), default=-1)

    def between(self, e: int, ancestor: int) -> list[int]:
        """The nodes from below an ancestor outward to the constraint's node."""
        path = self.paths[e]
        return path[: path.index(ancestor)][::-1]


def put_block(A: Array, rows: slice | list[int], columns: slice | list[int], block: Array) -> None:
    """A symmetric matrix gets a block and its transpose."""
    numbers = np.arange(len(A))
    A[np.ix_(numbers[rows], numbers[columns])] = block
    A[np.ix_(numbers[columns], numbers[rows])] = block.T


def symmetric_part(A: Array, B: Array) -> Array:
    """A B^T where the result is known to be symmetric: each element computed once."""
    m = len(A)
    out = np.zeros((m, m), dtype=np.result_type(A, B))
    for x in range(m):
        for y in range(x, m):
            out[x, y] = out[y, x] = A[x] @ B[y]
    return out
