"""Scalars that carry their derivatives: text that runs on them gives its Jacobian, too, on floats and symbols alike.

A dual has derivatives with respect to a few variables only, those that reach it: what is zero by structure costs
nothing. Comparisons look at the value. Loops whose length depends on values are refused: differentiate what they solve.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from sarrus.errors import UnsupportedError
from sarrus.spatial.arrays import Array, Scalar
from sarrus.spatial.choice import AbstractScalar, choose
from sarrus.spatial.repetition import recursion_written_out, written_out

Derivatives = dict[int, Scalar]  # by variable


class Dual(AbstractScalar):
    """A value and its derivatives."""

    __slots__ = ("derivatives", "value")

    def __init__(self, value: Scalar, derivatives: Derivatives) -> None:
        self.value = value
        self.derivatives = derivatives

    def __repr__(self) -> str:
        return f"<dual {self.value} {self.derivatives}>"

    def _chain(self, value: Scalar, slope: Scalar) -> Dual:
        return Dual(value, {k: slope * d for k, d in self.derivatives.items()})

    def __neg__(self) -> Dual:
        return Dual(-self.value, {k: -d for k, d in self.derivatives.items()})

    def __add__(self, other: Scalar) -> Dual:
        if isinstance(other, np.ndarray):  # element by element, which NumPy does
            return NotImplemented
        if not isinstance(other, Dual):
            return Dual(self.value + other, self.derivatives)
        return Dual(self.value + other.value, _combined(self.derivatives, other.derivatives))

    __radd__ = __add__

    def __sub__(self, other: Scalar) -> Dual:
        return self + -other

    def __rsub__(self, other: Scalar) -> Dual:
        return -self + other

    def __mul__(self, other: Scalar) -> Scalar:
        if isinstance(other, np.ndarray):
            return NotImplemented
        if not isinstance(other, Dual):
            return 0.0 if _is_zero(other) else self._chain(self.value * other, other)
        mine = {k: d * other.value for k, d in self.derivatives.items()}
        return Dual(
            self.value * other.value, _combined(mine, {k: self.value * d for k, d in other.derivatives.items()})
        )

    __rmul__ = __mul__

    def __truediv__(self, other: Scalar) -> Scalar:
        if isinstance(other, np.ndarray):
            return NotImplemented
        if not isinstance(other, Dual):
            return self._chain(self.value / other, 1.0 / other)
        return self * (1.0 / other)

    def __rtruediv__(self, other: Scalar) -> Dual:
        inverse = 1.0 / self.value
        return self._chain(other * inverse, -(other * inverse) * inverse)

    def sin(self) -> Dual:
        return self._chain(_apply(np.sin, self.value), _apply(np.cos, self.value))

    def cos(self) -> Dual:
        return self._chain(_apply(np.cos, self.value), -_apply(np.sin, self.value))

    def sqrt(self) -> Dual:
        value = _apply(np.sqrt, self.value)
        return self._chain(value, 0.5 / value)

    def arctan2(self, other: Scalar) -> Dual:
        """Of self (a sine) and other (a cosine)."""
        x, dx = _parts(other)
        squared = self.value * self.value + x * x
        mine = {k: x / squared * d for k, d in self.derivatives.items()}
        return Dual(_arctan2(self.value, x), _combined(mine, {k: -(self.value / squared) * d for k, d in dx.items()}))

    def __abs__(self) -> Dual:
        return choose(self.value, 0.0, -self, self)

    def __lt__(self, other: Scalar) -> bool:
        return self.value < _parts(other)[0]

    def __gt__(self, other: Scalar) -> bool:
        return self.value > _parts(other)[0]

    def choose_if_less(self, bound: Scalar, yes: Scalar, no: Scalar) -> Scalar:
        return _chosen(self.value, _parts(bound)[0], yes, no)

    def choose_if_greater(self, bound: Scalar, yes: Scalar, no: Scalar) -> Scalar:
        return _chosen(_parts(bound)[0], self.value, yes, no)

    def lifted(self, x: Scalar) -> Dual:
        return Dual(x, {})

    def iterate(self, step: Any, state: tuple, limit: int, entry: Scalar) -> tuple[tuple, Scalar]:
        raise UnsupportedError(
            "a loop that ends by its values has no derivative of its own: differentiate its solution"
        )

    def replace(self, otherwise: tuple, make: Any) -> tuple:
        raise UnsupportedError("values that are replaced where a condition holds: differentiate what they solve")

    def pick(self, values: Sequence[Scalar] | np.ndarray, index: Scalar) -> Scalar:
        raise UnsupportedError("values that are picked by a number have no derivative")

    def sweep(self, text: Any, state: np.ndarray, sets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return written_out(text, state, sets)

    def recursion(self, text: Any, sets: np.ndarray, sources: Sequence[Sequence[int]], start: np.ndarray) -> np.ndarray:
        return recursion_written_out(text, sets, sources, start)


def variables(values: Array, first: int = 0) -> Array:
    """Values as variables number first, first + 1, ...: each has derivative one with respect to itself."""
    return with_derivatives(values, np.eye(len(values)), first)


def with_derivatives(values: Array, derivatives: Array, first: int = 0) -> Array:
    """Values (n,) with their derivatives (n, k) with respect to variables number first, first + 1, ..."""
    out = np.empty(len(values), dtype=object)
    for i, (x, row) in enumerate(zip(values, derivatives, strict=True)):
        out[i] = Dual(x, {first + j: d for j, d in enumerate(row) if not _is_zero(d)})
    return out


def values_of(array: Array) -> Array:
    """The values of duals, and of what else is there."""
    return _map(lambda x: x.value if isinstance(x, Dual) else x, array)


def derivatives_of(array: Array, count: int) -> Array:
    """(n, count): derivatives of the elements (n,) with respect to variables number 0 to count - 1."""
    out = np.zeros((len(array), count), dtype=object)
    out[:] = 0.0
    for i, x in enumerate(array):
        for k, d in x.derivatives.items() if isinstance(x, Dual) else ():
            out[i, k] = d
    return _map(lambda x: x, out)


def _map(function: Callable[[Scalar], Scalar], array: Array) -> Array:
    out = np.empty(array.shape, dtype=object)
    for at in np.ndindex(array.shape):
        out[at] = function(array[at])
    return out if any(isinstance(x, AbstractScalar) for x in out.flat) else out.astype(float)


def _combined(a: Derivatives, b: Derivatives) -> Derivatives:
    out = dict(a)
    for k, d in b.items():
        out[k] = out[k] + d if k in out else d
    return out


def _parts(x: Scalar) -> tuple[Scalar, Derivatives]:
    return (x.value, x.derivatives) if isinstance(x, Dual) else (x, {})


def _chosen(a: Scalar, b: Scalar, yes: Scalar, no: Scalar) -> Scalar:
    (y, dy), (n, dn) = _parts(yes), _parts(no)
    if not dy and not dn:
        return choose(a, b, y, n)
    return Dual(choose(a, b, y, n), {k: choose(a, b, dy.get(k, 0.0), dn.get(k, 0.0)) for k in {**dy, **dn}})


def _apply(function: Callable[[Any], Any], x: Scalar) -> Scalar:
    return getattr(x, function.__name__)() if isinstance(x, AbstractScalar) else function(x)


def _arctan2(y: Scalar, x: Scalar) -> Scalar:
    return (
        np.arctan2(np.array([y], dtype=object), np.array([x], dtype=object))[0]
        if isinstance(y, AbstractScalar)
        else np.arctan2(y, x)
    )


def _is_zero(x: Scalar) -> bool:
    return not isinstance(x, AbstractScalar) and x == 0.0
