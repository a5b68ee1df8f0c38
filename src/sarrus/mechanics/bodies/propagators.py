"""What the Delassus algorithms share: force and motion propagators, and which constraints a node supports.

Everything is in node frames. A row of K is a force on its node: `inward` takes it to the parent through a joint that
is free to move; `outward` is its transpose and takes an acceleration of the parent to the node.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from sarrus.mechanics.bodies.passage import Passage, eliminate_inertia
from sarrus.model.topology import AbstractNode, AbstractTree
from sarrus.spatial.arrays import Array, Scalar
from sarrus.spatial.linear_algebra import Ldl, ldl_congruence, ldl_solve
from sarrus.spatial.stages import stage


class Propagator(NamedTuple):
    """A node with its joint free to move: P = 1 - U D^-1 S^T and Omega = S D^-1 S^T (eqs. 8 and 10)."""

    node: AbstractNode
    passage: Passage
    B: Array  # (n, n) S^T H S + armature
    D: Ldl  # the same, factored
    UD: Array  # (6, n) U D^-1, felt
    kept: Scalar | None  # `Passage.kept`

    @property
    def S(self) -> Array:
        return self.passage.S

    def inward(self, K: Array) -> Array:
        """Rows of K P^T X: forces on this node as the parent feels them."""
        left = self.passage.beyond(K, (K @ self.S) @ self.UD.T, None, self.kept)
        return self.passage.apply_T(left)

    def outward(self, a: Array) -> Array:
        """P^T X a: an acceleration of the parent as this node feels it."""
        felt = self.passage.felt(a)
        return self.passage.acceleration(a, felt, -(self.UD.T @ felt))

    def response(self, K: Array) -> Array:
        """K Omega K^T: the acceleration along the rows for forces along them, the parent at rest."""
        return ldl_congruence(self.D, (K @ self.S).T)

    def acceleration(self, K: Array) -> Array:
        """Rows of K Omega: the node's accelerations for forces along the rows, the parent at rest."""
        return (self.S @ ldl_solve(self.D, (K @ self.S).T)).T


def propagators(tree: AbstractTree, passages: list[Passage], inertias: list[Array]) -> list[Propagator]:
    """Articulated inertias from the leaves to the roots, and the propagators that they give."""
    H = list(inertias)
    parts: list[Propagator | None] = [None] * len(H)
    with stage("articulated inertia"):
        for i in range(len(H) - 1, -1, -1):
            node, p = tree.nodes[i], passages[i]
            done, Ha = eliminate_inertia(p, H[i])
            parts[i] = Propagator(node, p, done.B, done.D, done.UD, done.kept)
            if node.parent >= 0:
                H[node.parent] = H[node.parent] + p.congruence(Ha)
    return [part for part in parts if part is not None]


class Support:
    """Which constraints (end-effectors) each node supports. Constraint e is a row block on node `at[e]`."""

    def __init__(self, tree: AbstractTree, rows: list[tuple[int, Array]]) -> None:
        self.parents = tree.parents
        self.at = [node for node, _ in rows]
        ends = np.cumsum([0, *(len(K) for _, K in rows)])
        self.spans = [slice(int(a), int(b)) for a, b in pairwise(ends)]
        self.m = int(ends[-1])
        self.paths = [self._path(node) for node in self.at]  # per constraint: its node first, its root last
        self.ES: list[list[int]] = [[] for _ in tree.nodes]
        for e, path in enumerate(self.paths):
            for i in path:
                self.ES[i].append(e)

    def _path(self, i: int) -> list[int]:
        path = []
        while i >= 0:
            path.append(i)
            i = self.parents[i]
        return path

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
