"""Differences of fourth order, and states that stay on the constraints to first order."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import sarrus
from sarrus import Model

STEP = 2e-4


def slope(f: Callable[[float], np.ndarray], h: float = STEP) -> np.ndarray:
    """df/dt at zero: the error is h^4, and rounding over h."""
    return (8.0 * (f(h) - f(-h)) - (f(2 * h) - f(-2 * h))) / (12.0 * h)


def differences(
    f: Callable[..., np.ndarray], model: Model, q: np.ndarray, *others: np.ndarray, h: float = STEP
) -> list[np.ndarray]:
    """Of f(q, *others) along `integrate(q, e_j)` and with respect to the other arrays, one Jacobian each."""
    columns = [slope(lambda t, e=e: f(sarrus.integrate(model, q, t * e), *others), h) for e in np.eye(model.nv)]
    out = [np.stack(columns, axis=1)]
    for k, x in enumerate(others):
        moved = [
            slope(lambda t, e=e, k=k: f(q, *(y + t * e if j == k else y for j, y in enumerate(others))), h)
            for e in np.eye(len(x))
        ]
        out.append(np.stack(moved, axis=1))
    return out


def along_the_constraints(model: Model, q: np.ndarray, v: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """Pairs (dq, dv) along which the constraints stay met: J dq = 0, and J dv = -(dJ dq) v."""

    def jacobian(x: np.ndarray) -> np.ndarray:
        return sarrus.closure(model.spanning, x).jacobian

    J = jacobian(q)
    _, sizes, axes = np.linalg.svd(J)
    free = axes[(sizes > 1e-9 * sizes.max(initial=1.0)).sum() :]
    pairs = []
    for dq in free:
        dJ = slope(lambda t, dq=dq: jacobian(sarrus.integrate(model, q, t * dq)))
        pairs.append((dq, -np.linalg.lstsq(J, dJ @ v, rcond=1e-9)[0]))
    return pairs + [(np.zeros(model.nv), dv) for dv in free]
