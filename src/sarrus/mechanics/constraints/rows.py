"""Constraint rows on nodes: `sum over nodes of K a = k`, a being a node's acceleration in excess of the bias motion."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from sarrus.spatial.arrays import Array
from sarrus.spatial.transforms import Transform


class Block(NamedTuple):
    """The part of a constraint's rows that acts on one node."""

    node: int
    K: Array  # (m, 6) in the node's frame
    gram: Array | None = None  # K^T K where that is known without multiplying (an isometry of a constant)


class Rows(NamedTuple):
    """The rows of one constraint, on one or more nodes.

    A contact's weld is kept in its node's own frame, where K is the identity; `frame` is then the declared frame in
    the node. Some rows of a loop closure are vectors in the axes of its first node; `axes` are then the declared axes
    there.
    Rows that were declared with any length are divided by it. Else rows are as declared.
    """

    blocks: tuple[Block, ...]
    k: Array  # (m,)
    R: Array | None = None  # (m,) softness, in the declared basis
    frame: Transform | None = None
    axes: Array | None = None  # (3, 3)
    vectors: tuple[int, ...] = ()  # where the rows that are in these axes begin, three each
    relation: tuple[tuple[int, Array], ...] = ()  # the same rows on the joints' own accelerations: (node, (m, n)), ...
    lengths: Array | None = None  # (m,) of the declared rows
    span: slice = slice(0)  # where they lie among the rows of all constraints
    against_world: bool = False  # rows on several nodes that measure from the world: their root is not among the nodes

    @property
    def node(self) -> int:
        """The node of a constraint that acts on one."""
        (block,) = self.blocks
        return block.node

    @property
    def K(self) -> Array:
        (block,) = self.blocks
        return block.K

    def residual(self, a: dict[int, Array] | Sequence[Array]) -> Array:
        """K a - k, in the basis of the rows."""
        return sum((block.K @ a[block.node] for block in self.blocks), -self.k)

    def declared(self) -> Rows:
        """A link's constraint with rows in the declared basis."""
        if self.lengths is not None:
            K = (self.K.T * self.lengths).T
            return Rows((Block(self.node, K),), self.lengths * self.k, self.R, span=self.span)
        if self.frame is None:
            return self
        K = motion_matrix(self.frame) @ self.K
        return Rows((Block(self.node, K),), self.frame.apply(self.k), self.R, span=self.span)

    def declared_force(self, f: Array) -> Array:
        if self.lengths is not None:
            return f / self.lengths
        if self.axes is not None:
            return turned(self.axes.T, self.vectors, f)
        return f if self.frame is None else self.frame.inverse().apply_T(f)

    def force_of_declared(self, f: Array) -> Array:
        """The inverse of `declared_force`."""
        if self.lengths is not None:
            return self.lengths * f
        if self.axes is not None:
            return turned(self.axes, self.vectors, f)
        return f if self.frame is None else self.frame.apply_T(f)

    def declared_residual(self, residual: Array) -> Array:
        if self.lengths is not None:
            return self.lengths * residual
        if self.axes is not None:
            return self.declared_force(residual)
        return residual if self.frame is None else self.frame.apply(residual)


def turned(R: Array, vectors: tuple[int, ...], x: Array) -> Array:
    """x (m,) or (m, n) with R applied to the three rows from each of `vectors` on."""
    out = x.astype(np.result_type(x, R))
    for i in vectors:
        out[i : i + 3] = R @ x[i : i + 3]
    return out


def merged(blocks: list[Block]) -> tuple[Block, ...]:
    """One block per node: where both ends of a constraint are on one node, its rows see their sum."""
    found: dict[int, Block] = {}
    for b in blocks:
        found[b.node] = Block(b.node, found[b.node].K + b.K) if b.node in found else b
    return tuple(found.values())


def motion_matrix(X: Transform) -> Array:
    """The 6x6 matrix of X.apply."""
    return np.stack([X.apply(e) for e in np.eye(6)], axis=1)
