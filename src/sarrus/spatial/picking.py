"""An element of a table by a number that is computed, for floats and symbols alike."""

from __future__ import annotations

from collections.abc import Sequence

from sarrus.spatial.choice import AbstractScalar, Scalar, choose


def pick(values: Sequence[float], index: Scalar) -> Scalar:
    """values[int(index)]; the first or the last one beyond the ends."""
    if not isinstance(index, AbstractScalar):
        return values[min(max(int(index), 0), len(values) - 1)]
    found: Scalar = values[0]
    for k in range(1, len(values)):
        if values[k] != values[k - 1]:
            found = choose(index, float(k), found, values[k])
    return found
