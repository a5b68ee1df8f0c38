"""From all coordinates of an embedded model to the independent ones."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sarrus.model.independent import independent_positions, independent_velocities
from sarrus.model.model import Model
from sarrus.registry.features import Feature
from sarrus.registry.table import algorithm
from sarrus.spatial.arrays import Array


class ReduceResult(NamedTuple):
    """The independent coordinates, in the order of the cluster tree."""

    y: Array
    yd: Array  # (ny,)


@algorithm(
    cost="O(n)",
    references=("chignoli2025",),
    needs=Feature.EMBEDDED,
    ignores=Feature.ROWS,
)
def reduce(model: Model, q: Array, v: Array | None = None) -> ReduceResult:
    """The independent coordinates and velocities of an embedded model."""
    free = list(independent_velocities(model))
    return ReduceResult(q[list(independent_positions(model))], np.zeros(len(free)) if v is None else v[free])
