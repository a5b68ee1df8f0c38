"""Linear-quadratic problems on trees, as data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sarrus.errors import ModelError
from sarrus.spatial.arrays import Array

START = -1  # the parent of a stage that follows the initial state


@dataclass(frozen=True, eq=False)
class LqrStage:
    """A state x that follows from that of its parent, x = A x_parent + B u + c, at the cost
    1/2 x^T Q x + q^T x + 1/2 u^T R u + r^T u.

    parent  the number of a stage before it; -1: x_parent is the initial state
    A       (n, n of the parent)
    B       (n, m); m may be 0: no control
    c       (n,)
    q, r    (n,) and (m,)
    Q, R    symmetric, positive semidefinite; R + B^T (cost to go) B must be positive definite

    c, Q, q, R and r are zero if they are left out (None).

    >>> sarrus.LqrStage(parent=-1, A=[[1.0]], B=[[0.1]], R=[[1.0]]).parent
    -1
    """

    parent: int
    A: Any
    B: Any
    c: Any = None
    Q: Any = None
    q: Any = None
    R: Any = None
    r: Any = None


@dataclass(frozen=True, eq=False)
class LqrConstraint:
    """Rows between states: the sum over stages of matrix @ x = value. With one stage, a terminal or path constraint;
    with two, a periodic problem (`{0: I, last: -I}`) or agents that meet.

    >>> periodic = sarrus.LqrConstraint({0: np.eye(2), 9: -np.eye(2)}, np.zeros(2))
    >>> sorted(periodic.matrices)
    [0, 9]
    """

    matrices: Mapping[int, Any]  # by number of the stage, (rows, n)
    value: Any  # (rows,)


@dataclass(frozen=True, eq=False)
class Stage:
    """An `LqrStage` with all its arrays."""

    parent: int
    A: Array
    B: Array
    c: Array
    Q: Array
    q: Array
    R: Array
    r: Array

    @property
    def n(self) -> int:
        return len(self.B)


def checked_stages(stages: Sequence[LqrStage], size: int | None) -> list[Stage]:
    """Arrays of the right shapes, parents first. size: of the initial state; None: the first stage's state is free."""
    out: list[Stage] = []
    for i, s in enumerate(stages):
        what = f"stage {i}"
        B = _array(f"B of {what}", s.B, None)
        n, m = B.shape
        if not (s.parent == START or 0 <= s.parent < i):
            raise ModelError(f"{what}: the parent is {s.parent!r}: expected -1 or the number of an earlier stage")
        if s.parent == START and size is None:
            if i > 0:
                raise ModelError(
                    f"{what} has no parent, and no initial state x0 is given: then only stage 0 may have no "
                    "parent, and its state is free"
                )
            A = np.zeros((n, 0))
        else:
            A = _array(f"A of {what}", s.A, (n, (size or 0) if s.parent == START else out[s.parent].n))
        Q, R = (_symmetric(f"{key} of {what}", getattr(s, key), k) for key, k in (("Q", n), ("R", m)))
        c, q, r = (_array(f"{key} of {what}", getattr(s, key), (k,)) for key, k in (("c", n), ("q", n), ("r", m)))
        out.append(Stage(s.parent, A, B, c, Q, q, R, r))
    if not out:
        raise ModelError("lqr: there are no stages")
    return out


def checked_constraints(
    constraints: Sequence[LqrConstraint], stages: list[Stage]
) -> list[tuple[dict[int, Array], Array]]:
    """(matrices by stage, value) of each."""
    out = []
    for j, constraint in enumerate(constraints):
        what = f"constraint {j}"
        value = np.atleast_1d(_array(f"value of {what}", constraint.value, None))
        for i in constraint.matrices:
            if not (isinstance(i, (int, np.integer)) and 0 <= i < len(stages)):
                raise ModelError(f"{what} names stage {i!r}: expected a number from 0 to {len(stages) - 1}")
        shapes = {i: (len(value), stages[i].n) for i in constraint.matrices}
        found = {int(i): _array(f"{what}, stage {i}", C, shapes[i]) for i, C in constraint.matrices.items()}
        if not found:
            raise ModelError(f"{what} names no stage")
        out.append((found, value))
    return out


def _array(what: str, value: Any, shape: tuple[int, ...] | None) -> Array:
    if value is None and shape is not None:
        return np.zeros(shape)
    try:
        array = np.array(value, dtype=float)
    except (TypeError, ValueError):
        raise ModelError(f"{what} is {value!r}: expected numbers") from None
    wrong = array.shape != shape if shape is not None else array.ndim not in (1, 2)
    if wrong or not np.isfinite(array).all():
        expected = f"of shape {shape}" if shape is not None else "with two dimensions"
        raise ModelError(f"{what}: expected finite numbers {expected}, got shape {array.shape}")
    return array


def _symmetric(what: str, value: Any, n: int) -> Array:
    array = _array(what, value, (n, n))
    if np.abs(array - array.T).max(initial=0.0) > 1e-12 * np.abs(array).max(initial=0.0):
        raise ModelError(f"{what} is not symmetric")
    return array
