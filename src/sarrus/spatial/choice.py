"""Choosing between two scalars by comparing two others, for floats and symbols alike.

Python's `if` would ask a symbol for a truth value that it does not have. `choose` records the choice instead.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np

Scalar = Any  # float, np.float64, a traced symbol or a `Parameter`
NUMBERS = (float, int, np.floating, np.integer)  # (to ask for these is quicker than to ask for an abstract class)


class AbstractScalar(ABC):
    """A scalar that is not a number (yet)."""

    __slots__ = ()

    @abstractmethod
    def choose_if_less(self, bound: Scalar, yes: Scalar, no: Scalar) -> Scalar:
        """`yes` where self < bound, else `no`."""

    @abstractmethod
    def choose_if_greater(self, bound: Scalar, yes: Scalar, no: Scalar) -> Scalar:
        """`yes` where bound < self, else `no`."""

    @abstractmethod
    def lifted(self, x: Scalar) -> Scalar:
        """x as a scalar of this kind, to be compared where the choice is between such."""

    @abstractmethod
    def iterate(self, step: Any, state: tuple, limit: int, entry: Scalar) -> tuple[tuple, Scalar]:
        """See `iteration.iterate`."""

    @abstractmethod
    def replace(self, otherwise: tuple, make: Any) -> tuple:
        """See `replacement.replace_where`."""

    @abstractmethod
    def pick(self, values: Sequence[Scalar] | np.ndarray, index: Scalar) -> Scalar:
        """See `picking.pick`; one of the values or the index is self."""

    @abstractmethod
    def sweep(self, text: Any, state: np.ndarray, sets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """See `repetition.sweep`; one of the scalars is self."""

    @abstractmethod
    def recursion(self, text: Any, sets: np.ndarray, sources: Sequence[Sequence[int]], start: np.ndarray) -> np.ndarray:
        """See `repetition.recursion`; one of the scalars is self."""


def choose(a: Scalar, b: Scalar, yes: Scalar, no: Scalar) -> Scalar:
    """`yes` where a < b, else `no`. Both are evaluated, so neither may be an error."""
    if isinstance(a, AbstractScalar):
        return a.choose_if_less(b, yes, no)
    if isinstance(b, AbstractScalar):
        return b.choose_if_greater(a, yes, no)
    return yes if a < b else no
