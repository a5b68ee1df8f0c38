"""Small square systems: as NumPy solves them; zero and a regularity of zero where they cannot be solved."""

from __future__ import annotations

import numpy as np
import pytest

from sarrus.spatial.square import solve_square
from tests.mechanisms import relative_error


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 6])
@pytest.mark.parametrize("seed", range(3))
def test_regular_systems(n, seed):
    rng = np.random.default_rng(seed)
    A, B = rng.normal(size=(n, n)), rng.normal(size=(n, 3))
    x, regularity = solve_square(A, B)
    assert relative_error(x, np.linalg.solve(A, B)) < 1e-11
    assert 0.0 < regularity <= 1.0


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 6])
def test_regularity_is_one_for_perpendicular_rows_of_any_length(n):
    Q = np.linalg.qr(np.random.default_rng(n).normal(size=(n, n)))[0]
    for A in (Q, 1e-6 * Q, 1e6 * Q):
        assert solve_square(A, np.eye(n))[1] == pytest.approx(1.0)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 6])
@pytest.mark.parametrize("kind", ["zero", "dependent rows", "zero row", "zero column"])
def test_singular_systems_give_zero_and_say_so(n, kind):
    A = np.random.default_rng(1).normal(size=(n, n))
    if kind == "zero":
        A[:] = 0.0
    elif kind == "zero row":
        A[n // 2] = 0.0
    elif kind == "zero column":
        A[:, n // 2] = 0.0
    elif n > 1:
        A[-1] = 2.0 * A[0]
    else:
        A[0, 0] = 0.0
    with np.errstate(all="raise"):
        x, regularity = solve_square(A, np.ones((n, 2)))
    assert np.isfinite(x).all()
    assert regularity < 1e-24
    if n <= 3:  # beyond that, what can be solved is
        assert not x.any()


@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_regularity_falls_with_the_angle_between_rows(n):
    A = np.eye(n)
    found = []
    for angle in (1e-1, 1e-3, 1e-5):
        A[-1] = np.cos(angle) * A[0] + np.sin(angle) * np.eye(n)[-1]
        found.append(solve_square(A, np.eye(n))[1])
    assert all(0.3 < x / y < 1.1 for x, y in zip(found, [1e-2, 1e-6, 1e-10], strict=True))
