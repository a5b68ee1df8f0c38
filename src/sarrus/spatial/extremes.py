"""The smaller, the larger, the nearest in a range, a direction: choices that floats and symbols make alike."""

from __future__ import annotations

from sarrus.spatial.arrays import Array, Scalar, vector
from sarrus.spatial.choice import choose
from sarrus.spatial.norms import dot, root

_TINY = 1e-30  # squares below are those of no direction; a normal number in single precision, too


def smaller(a: Scalar, b: Scalar) -> Scalar:
    return choose(a, b, a, b)


def larger(a: Scalar, b: Scalar) -> Scalar:
    return choose(a, b, b, a)


def clamp(x: Scalar, bound: Scalar) -> Scalar:
    """The number nearest to x between -bound and bound."""
    return smaller(larger(x, -bound), bound)


def choose_vector(a: Scalar, b: Scalar, yes: Array, no: Array) -> Array:
    """`yes` where a < b, else `no`: one comparison for all elements."""
    return vector(*[choose(a, b, x, y) for x, y in zip(yes, no, strict=True)])


def sign(x: Scalar) -> Scalar:
    """1 or -1; 1 at zero."""
    return choose(x, 0.0, -1.0, 1.0)


def direction(x: Array, otherwise: Array) -> tuple[Array, Scalar]:
    """The unit vector along x and the length of x; the unit vector `otherwise` and 0 where x is zero."""
    squared = dot(x, x)
    length = root(choose(_TINY, squared, squared, 1.0))
    along = x * (1.0 / length)
    return choose_vector(_TINY, squared, along, otherwise), choose(_TINY, squared, length, 0.0)
