"""Transforms between nodes of several bodies against the matrices that they stand for."""

from __future__ import annotations

import numpy as np
import pytest

from sarrus.spatial.stacked import StackedTransform, by_column, columns_T, rows_T
from sarrus.spatial.transforms import Transform, pose
from tests.mechanisms import relative_error


def transforms(n: int, seed: int = 0) -> tuple[Transform, ...]:
    rng = np.random.default_rng(seed)
    turned = [np.linalg.qr(rng.normal(size=(3, 3)))[0] for _ in range(n)]
    return tuple(pose(R * np.linalg.det(R), rng.normal(size=3)) for R in turned)


def as_matrix(X: StackedTransform) -> np.ndarray:
    """(6 n, 6 of): eq. (35) of the embedding paper."""
    blocks = [np.stack([T.apply(e) for e in np.eye(6)], axis=1) for T in X.transforms]
    zero = np.zeros((6, 6))
    return np.block([[block if k == X.at else zero for k in range(X.of)] for block in blocks])


@pytest.mark.parametrize(("n", "at", "of"), [(1, 0, 2), (2, 0, 1), (2, 1, 2), (3, 2, 3)])
def test_it_is_its_matrix(n, at, of):
    X = StackedTransform(transforms(n), at, of)
    A = as_matrix(X)
    rng = np.random.default_rng(1)
    a, f = rng.normal(size=6 * of), rng.normal(size=6 * n)
    assert relative_error(X.apply(a), A @ a) < 1e-14
    assert relative_error(X.apply_T(f), A.T @ f) < 1e-14
    assert (X.apply(a) @ f) == pytest.approx(a @ X.apply_T(f))  # power is the same on both sides
    H = rng.normal(size=(6 * n, 6 * n))
    H = H @ H.T
    assert relative_error(X.congruence(H), A.T @ H @ A) < 1e-13
    K, U = rng.normal(size=(4, 6 * n)), rng.normal(size=(6 * n, 3))
    assert relative_error(rows_T(X, K), K @ A) < 1e-14
    assert relative_error(rows_T(X, K[0]), K[0] @ A) < 1e-14
    assert relative_error(columns_T(X, U), A.T @ U) < 1e-14


def test_bodies_that_are_not_coupled():
    X = StackedTransform(transforms(2), 0, 1)
    H = np.zeros((12, 12))
    H[:6, :6], H[6:, 6:] = np.diag(np.arange(1.0, 7.0)), np.eye(6)
    A = as_matrix(X)
    assert relative_error(X.congruence(H), A.T @ H @ A) < 1e-14


def test_a_cluster_that_cannot_move_has_no_columns():
    (X,) = transforms(1)
    assert by_column(X.apply_T, np.zeros((6, 0))).shape == (6, 0)
    assert columns_T(X, np.zeros((6, 0))).shape == (6, 0)
