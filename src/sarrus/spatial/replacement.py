"""Values that are computed only for the states that need them, for floats and symbols alike.

Which states these are is not known while tracing, so Python's `if` cannot be used in an algorithm. `replace_where`
decides on floats; a symbol records the computation apart, so that a batch skips it unless one of its states asks.
"""

from __future__ import annotations

from collections.abc import Callable

from sarrus.spatial.arrays import Array, Scalar
from sarrus.spatial.choice import AbstractScalar

Values = tuple[Array, ...]


def replace_where(condition: Scalar, otherwise: Values, make: Callable[[], Values]) -> Values:
    """`make()` where the condition is greater than 0, else `otherwise` (arrays of the same shapes).

    What `make` computes leaves it only through what it returns.
    """
    if isinstance(condition, AbstractScalar):
        return condition.replace(otherwise, make)
    return make() if condition > 0.0 else otherwise
