"""Rank of the rows of a matrix, which of them depend on others, and on which. Plain dense NumPy."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sarrus.spatial.arrays import Array

_RANK = 1e-7  # of the largest singular value; rows have unit length
_LINKED = 1e-6  # of an element of a projector: what is smaller is rounding


def unit_rows(A: Array) -> Array:
    """A with rows of length one; rows that are rounding are zero."""
    length = np.linalg.norm(A, axis=1, keepdims=True)
    return np.divide(A, length, out=np.zeros_like(A), where=length > 1e-12 * max(largest(length), 1e-300))


def singular_values(A: Array) -> Array:
    return np.linalg.svd(A, compute_uv=False)


def rank_of(sigma: Array) -> int:
    """The rank of what has these singular values."""
    return int(np.sum(sigma > _RANK * sigma[0])) if len(sigma) and sigma[0] > 0.0 else 0


def gap(sigma: Array, rank: int) -> float:
    """The smallest singular value that counts over the largest that does not, which is rounding, at least."""
    return float(sigma[rank - 1] / max(sigma[rank], 1e-16)) if 0 < rank < len(sigma) else np.inf


def independent_rows(unit: Array, rank: int) -> Array:
    """Which rows to keep: the first ones that span all (greedy; the last declared are dropped first)."""
    kept = np.zeros(len(unit), dtype=bool)
    basis = np.zeros((0, unit.shape[1]))
    for i, row in enumerate(unit):
        if kept.sum() == rank:
            break
        for _ in range(2):  # twice is enough
            row = row - basis.T @ (basis @ row)
        left = float(np.linalg.norm(row))
        if left > _RANK:
            kept[i] = True
            basis = np.vstack([basis, row / left])
    return kept


def groups(unit: Array, rank: int, spans: Sequence[slice]) -> list[list[int]]:
    """Which of the spans of rows depend on each other.

    They are blocks of the projector onto the combinations of rows that vanish.
    """
    null = np.linalg.svd(unit)[0][:, rank:] if len(unit) else np.zeros((0, 0))
    projector = null @ null.T
    found: list[set[int]] = []
    for s in spans:
        members = {j for j, t in enumerate(spans) if largest(projector[s, t]) > _LINKED}
        if members:
            touching = [g for g in found if g & members]
            found = [g for g in found if g not in touching] + [members.union(*touching)]
    return [sorted(g) for g in sorted(found, key=min)]


def largest(x: Array) -> float:
    return float(np.max(np.abs(x))) if np.size(x) else 0.0
