"""Block triangular form: every row and column once, nothing needs what comes later, blocks as small as can be."""

from __future__ import annotations

import numpy as np
import pytest

from sarrus.errors import ModelError
from sarrus.planning.coordinates import block_order


def hidden_blocks(rng: np.random.Generator) -> tuple[np.ndarray, list[int]]:
    """A block lower triangular matrix with full diagonal blocks, its rows and columns shuffled."""
    sizes = [int(n) for n in rng.integers(1, 4, size=rng.integers(1, 5))]
    n = sum(sizes)
    A, start = np.zeros((n, n)), 0
    for size in sizes:
        block = slice(start, start + size)
        A[block, block] = rng.normal(size=(size, size))
        A[block, :start] = rng.normal(size=(size, start)) * (rng.random((size, start)) < 0.3)
        start += size
    return A[rng.permutation(n)][:, rng.permutation(n)], sorted(sizes)


@pytest.mark.parametrize("seed", range(40))
def test_random_matrices(seed):
    rng = np.random.default_rng(seed)
    A, sizes = hidden_blocks(rng)
    blocks = block_order(A, A != 0.0)
    assert sorted(r for rows, _ in blocks for r in rows) == list(range(len(A)))
    assert sorted(c for _, columns in blocks for c in columns) == list(range(len(A)))
    assert sorted(len(rows) for rows, _ in blocks) == sizes
    known: set[int] = set()
    for rows, columns in blocks:
        assert len(rows) == len(columns)
        known |= set(columns)
        assert set(np.flatnonzero(A[rows].any(axis=0)).tolist()) <= known
        assert np.linalg.matrix_rank(A[np.ix_(rows, columns)]) == len(rows)


def test_a_diagonal_matrix_falls_apart():
    assert block_order(np.eye(3), np.eye(3) != 0.0) == [([0], [0]), ([1], [1]), ([2], [2])]


def test_rows_that_do_not_determine_the_unknowns():
    A = np.array([[1.0, 0.0], [2.0, 0.0]])
    with pytest.raises(ModelError, match="do not determine"):
        block_order(A, A != 0.0)
