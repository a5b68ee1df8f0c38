"""From the independent coordinates of an embedded model to all of them."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from sarrus.algorithms.position.project import project
from sarrus.mechanics.clusters.embedded import embedded_at
from sarrus.model.independent import independent_positions, independent_velocities
from sarrus.model.model import Model
from sarrus.registry.features import Feature
from sarrus.registry.table import algorithm
from sarrus.spatial.arrays import Array


class ExpandResult(NamedTuple):
    """`status` is a `sarrus.Status`."""

    q: Array  # (nq,)
    v: Array  # (nv,)
    error: Array  # ()
    status: Array  # ()


@algorithm(
    cost="O(n d^2 + m^2 d + m d^2 + m^3) per iteration",
    references=("chignoli2025",),
    needs=Feature.EMBEDDED,
    ignores=Feature.ROWS,
)
def expand(
    model: Model, y: Array, yd: Array | None = None, near: Array | None = None, tolerance: float = 1e-12
) -> ExpandResult:
    """All coordinates and velocities from the independent ones: q with y held and nearest to `near`, and v = G yd.

    tolerance  the largest error to accept: m, rad
    """
    assert model.embedding is not None
    start = model.embedding.samples[0] if near is None else near
    q0 = np.array(start, dtype=np.result_type(start, y))
    q0[list(independent_positions(model))] = y
    names = model.embedding.constraints
    only = replace(model.spanning, constraints=tuple(c for c in model.constraints if c.name in names))
    held = np.zeros(model.nv)
    held[list(independent_velocities(model))] = 1.0
    found = project.text(only, q0, held=held, tolerance=tolerance)
    v = np.zeros(model.nv) if yd is None else embedded_at(model, found.q, None, yd).v
    return ExpandResult(found.q, v, found.error, found.status)
