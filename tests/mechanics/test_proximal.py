"""The iterations of proximal methods on operators that are known: when they stop, and what is wrong then."""

from __future__ import annotations

import numpy as np
import pytest

from sarrus.mechanics.solvers.proximal import Penalty, iterations
from sarrus.status import Status

STIFFNESS, TOLERANCE = 1e6, 1e-9


def error(w: np.ndarray, residual: np.ndarray) -> float:
    """Of accelerations, in tolerances, where iterations end that begin at this residual.

    w  (m,) eigenvalues of the Delassus matrix; 1 is typical
    """
    penalty = Penalty([np.full(len(w), STIFFNESS)], STIFFNESS, False)

    def step(r: np.ndarray) -> tuple[np.ndarray, tuple[np.ndarray, ...]]:
        return r / (1.0 + STIFFNESS * w), (np.zeros(1),)

    end = iterations(step, np.zeros(len(w)), residual, (np.zeros(1),), penalty, 1.0, TOLERANCE, 25, 1e-7)
    assert end.status == Status.OK
    return float(np.abs(end.residual / np.sqrt(w)).max() / (2.0 * TOLERANCE))


@pytest.mark.parametrize("share", 10.0 ** np.arange(-9.0, 1.0))
def test_weak_rows_are_met_where_they_hardly_show(share):
    """A row that moves a millionth as easily as others, or less, in a residual of which it is a tiny part."""
    for w in 10.0 ** np.arange(-12.0, 0.5, 0.5):
        assert error(np.array([1.0, w]), np.array([1.0, share])) < 20.0


def test_many_eigenvalues():
    rng = np.random.default_rng(0)
    for _ in range(500):
        size = rng.integers(2, 9)
        w, residual = 10.0 ** rng.uniform(-8.0, 0.0, size), 10.0 ** rng.uniform(-4.0, 0.0, size)
        assert error(np.append(1.0, w), np.append(1.0, residual)) < 3.0
