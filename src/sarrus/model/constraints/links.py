"""Constraints of one frame against the world."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sarrus.errors import ModelError
from sarrus.model.answer import answer
from sarrus.model.constraints.arguments import checked_desired, checked_softness, checked_time, finite_numbers
from sarrus.model.constraints.constraint import FRAME, Constraint, Kind
from sarrus.spatial.arrays import Array

_ORTHONORMAL = 1e-6  # by which columns of a rotation matrix may fail to be: what is printed with few digits passes


@dataclass(frozen=True, eq=False)
class LinkConstraint(Constraint):
    """A constraint of one frame against the world: rows on the frame's spatial acceleration, in the frame's axes.

    R  softness, one number or one per row: a soft row's force is (k - K a) / R; None where only hard methods are used
    """

    frame: str = field(metadata=FRAME)
    desired: Any = field(default=None, kw_only=True)
    R: Any = field(default=None, kw_only=True)
    kind = Kind.LINK

    @abstractmethod
    def rows_on(self, A: Array) -> Array:
        """K A (m, n), A (6, n) being what the frame's spatial acceleration depends on."""


@dataclass(frozen=True, eq=False)
class Contact(LinkConstraint):
    """A frame that stays where it is: its origin (dim 3) or its whole pose (dim 6).

    Rows of dim 3 are the acceleration of the origin as a point. `at` is a position (dim 3) or (position, rotation
    matrix).
    """

    dim: int = 3
    at: Any = field(default=None, kw_only=True)

    @answer
    def size(self) -> int:
        return self.dim

    def rows_on(self, A: Array) -> Array:
        return A[: self.dim]

    def in_words(self) -> tuple[str, str]:
        return f"contact {self.dim}D", f"{self.frame} - world"


@dataclass(frozen=True, eq=False)
class LinkRows(LinkConstraint):
    """Arbitrary rows: K a = desired with a the frame's spatial acceleration [linear; angular] in its own axes."""

    K: Any = None  # (m, 6)

    @answer
    def size(self) -> int:
        return len(self.K)

    def rows_on(self, A: Array) -> Array:
        return self.K @ A

    def in_words(self) -> tuple[str, str]:
        return f"{self.size} link rows", f"{self.frame} - world"


def contact(frame: str, dim: int = 3, *, name: str | None = None, at: Any = None, k: Any = None,
            stabilization: float | None = None, R: Any = None) -> Contact:  # fmt: skip
    """A frame held in the world: dim 3 holds its origin, dim 6 welds it.

    k              desired acceleration of the rows: None (zero), numbers, or "input" (an input of the algorithm)
    at             where it is held, for Baumgarte position feedback: a position, or (position, rotation) for dim 6
    stabilization  time constant of Baumgarte stabilization in seconds (None: off)
    R              softness of the rows, for the soft methods
    frame          the name of a body or frame
    dim            3 or 6
    name           unique in the model; default: generated
    returns        a `Contact`, for `model.with_constraints`
    errors         `ModelError`: another dim, or arrays of the wrong size

    >>> standing = sarrus.zoo.chain(7).with_constraints(sarrus.contact("tip", 6))
    >>> standing.n_rows
    6
    """
    if dim not in (3, 6):
        raise ModelError(f"contact of frame {frame!r}: dim is {dim!r}. Valid: 3 (point), 6 (weld)")
    held = None if at is None else _checked_place(frame, dim, at)
    return Contact(name or f"contact_{frame}", frame, dim, at=held, **_checked(frame, dim, k, stabilization, R))


def link_rows(frame: str, K: Any, k: Any = None, *, name: str | None = None, stabilization: float | None = None,
              R: Any = None) -> LinkRows:  # fmt: skip
    """Rows `K a = k` on a frame's spatial acceleration [linear; angular], in the frame's own axes. K is (m, 6).

    frame          the name of a body or frame
    K              (m, 6)
    k              (m,) the right-hand side of the rows: None (zero), numbers, or "input" (an input of the algorithm)
    name           unique in the model; default: generated
    stabilization  time constant of Baumgarte stabilization in seconds (None: off)
    R              softness of the rows, for the soft methods
    returns        a `LinkRows`, for `model.with_constraints`
    errors         `ModelError`: K of another shape, or numbers that do not fit it

    >>> sarrus.link_rows("tip", np.eye(6)[:2]).size
    2
    """
    rows = np.array(K, dtype=float)
    if rows.ndim != 2 or rows.shape[1] != 6 or not np.isfinite(rows).all():
        raise ModelError(f"link_rows of frame {frame!r}: K must be finite, of shape (m, 6), got shape {rows.shape}")
    return LinkRows(name or f"rows_{frame}", frame, rows, **_checked(frame, len(rows), k, stabilization, R))


def _checked_place(frame: str, dim: int, at: Any) -> Any:
    """A position (dim 3), or a position and a rotation matrix (dim 6)."""
    what = f"contact of frame {frame!r}: `at`"
    if dim == 3:
        return finite_numbers(at, 3, what, ", a position in the world")
    try:
        position, rotation = at
        R = np.array(rotation, dtype=float)
    except (TypeError, ValueError):
        raise ModelError(f"{what} must be a position and a rotation matrix, got {at!r}") from None
    p = finite_numbers(position, 3, f"{what}: the position")
    if R.shape != (3, 3) or not np.abs(R.T @ R - np.eye(3)).max() < _ORTHONORMAL or not np.linalg.det(R) > 0.0:
        raise ModelError(f"{what}: the rotation must be a rotation matrix (3, 3), got {rotation!r}")
    return p, R


def _checked(frame: str, size: int, k: Any, stabilization: float | None, R: Any) -> dict[str, Any]:
    what = f"frame {frame!r}"
    return {
        "desired": checked_desired(k, size, what),
        "stabilization": checked_time(stabilization, what),
        "R": checked_softness(R, size, what),
    }
