"""Transforms between nodes of several bodies: accelerations and forces are stacked, six numbers per body."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sarrus.spatial.arrays import Array
from sarrus.spatial.transforms import Transform


@dataclass(frozen=True, eq=False)
class StackedTransform:
    """From one body of a parent node to every body of a node."""

    transforms: tuple[Transform, ...]  # per body of the node: its pose in the parent's body
    at: int  # which of the parent's bodies
    of: int  # how many the parent has

    def apply(self, m: Array) -> Array:
        """A motion of the parent as every body feels it."""
        mine = m[6 * self.at : 6 * self.at + 6]
        return np.concatenate([X.apply(mine) for X in self.transforms])

    def apply_T(self, f: Array) -> Array:
        """Forces on the bodies, as one force on the parent's body."""
        parts = [X.apply_T(f[6 * i : 6 * i + 6]) for i, X in enumerate(self.transforms)]
        return self._placed(sum(parts[1:], parts[0]))

    def congruence(self, H: Array) -> Array:
        """X^T H X; bodies that are not coupled in H cost nothing."""
        n = len(self.transforms)
        total = np.zeros((6, 6))
        for i in range(n):
            for j in range(i, n):
                block = H[6 * i : 6 * i + 6, 6 * j : 6 * j + 6]
                if i == j:
                    total = total + self.transforms[i].congruence(block)
                elif _has_entries(block):
                    half = np.stack([self.transforms[i].apply_T(column) for column in block.T], axis=1)
                    half = np.stack([self.transforms[j].apply_T(row) for row in half])
                    total = total + (half + half.T)
        if self.of == 1:
            return total
        out = np.zeros((6 * self.of, 6 * self.of), dtype=total.dtype)
        span = slice(6 * self.at, 6 * self.at + 6)
        out[span, span] = total
        return out

    def _placed(self, f: Array) -> Array:
        if self.of == 1:
            return f
        zeros = np.zeros(6)
        return np.concatenate([f if i == self.at else zeros for i in range(self.of)])


def _has_entries(block: Array) -> bool:
    return any(x is not None and not (isinstance(x, (int, float)) and x == 0.0) for x in block.flat)


def transforms_of(X: Transform | StackedTransform) -> tuple[tuple[Transform, ...], int]:
    """Per body of a node its pose in the parent's body, and which of the parent's bodies that is."""
    return (X.transforms, X.at) if isinstance(X, StackedTransform) else ((X,), 0)


def rows_T(X: Transform | StackedTransform, K: Array) -> Array:
    """X^T of a force, or of every row."""
    return X.apply_T(K) if K.ndim == 1 else np.stack([X.apply_T(row) for row in K])


def columns_T(X: Transform | StackedTransform, U: Array) -> Array:
    """X^T of every column."""
    return by_column(X.apply_T, U, 6 * X.of if isinstance(X, StackedTransform) else 6)


def by_column(function: Callable[[Array], Array], U: Array, size: int = 6) -> Array:
    """A function of every column, which gives `size` numbers; of a cluster that cannot move there are none."""
    return np.stack([function(column) for column in U.T], axis=1) if U.shape[1] else np.zeros((size, 0))
