"""The precision for which an algorithm is traced: tolerances of single precision are not those of double."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import numpy as np

_EPSILON: ContextVar[float] = ContextVar("epsilon", default=float(np.finfo(np.float64).eps))


def epsilon() -> float:
    """The rounding of a product or a sum."""
    return _EPSILON.get()


def within(tolerance: float, roundings: float) -> float:
    """A tolerance, but not less than so many roundings."""
    return max(tolerance, roundings * epsilon())


def largest() -> float:
    """A number beyond which nothing that is computed with is trusted to stay finite."""
    return 1e-8 * float(np.finfo(np.float64 if epsilon() < 1e-9 else np.float32).max)


@contextmanager
def precision(dtype: np.dtype) -> Iterator[None]:
    """Inside, algorithms run (or are traced) for numbers of this type."""
    token = _EPSILON.set(float(np.finfo(dtype).eps))
    try:
        yield
    finally:
        _EPSILON.reset(token)
