"""Taking one of several scalars by its number, for floats and symbols alike.

Which one is not known while tracing, and differs between the states of a batch, so Python's `values[index]` cannot be
used in an algorithm. `pick` indexes on floats; a symbol records it.
"""

from __future__ import annotations

from collections.abc import Sequence

from sarrus.spatial.arrays import Array, Scalar, matrix, vector
from sarrus.spatial.choice import AbstractScalar
from sarrus.spatial.parameter import Parameter


def pick(values: Sequence[Scalar] | Array, index: Scalar) -> Scalar:
    """values[index], where the index is a whole number as a float. All values are evaluated, so none may be an error.

    An index that is not whole counts as its whole part; one outside means the nearest entry, not a number the first.
    """
    if not len(values):
        raise ValueError("there is nothing to pick from: the list is empty")
    if not isinstance(index, AbstractScalar):
        return values[position(index, len(values))]
    recorder = index
    if isinstance(index, Parameter):  # it knows other parameters, but not what records them
        recorder = next((x for x in values if isinstance(x, AbstractScalar) and not isinstance(x, Parameter)), index)
    return recorder.pick(values, index)


def pick_rows(rows: Sequence[Sequence[Scalar]] | Array, index: Scalar) -> Array:
    """rows[index] as a vector, column by column: see `pick`."""
    table = rows if isinstance(rows, Array) else matrix([list(row) for row in rows])
    return vector(*(pick(column, index) for column in table.T))


def position(index: float, count: int) -> int:
    """The number of the entry, of `count`, that an index means."""
    return int(min(index, count - 1)) if index > 0 else 0
