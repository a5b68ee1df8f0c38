"""From the independent coordinates of an embedded model to all of them."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from sarrus.algorithms.position.project import project
from sarrus.algorithms.tree.crba import composite_bodies
from sarrus.mechanics.clusters.embedded import embedded_at
from sarrus.mechanics.mechanism import mechanism
from sarrus.mechanics.solvers.constraint_metric import linearized
from sarrus.model.independent import independent_positions, independent_velocities
from sarrus.model.model import Model
from sarrus.model.state import moved
from sarrus.registry.features import Feature
from sarrus.registry.table import algorithm
from sarrus.spatial.arrays import Array


class ExpandResult(NamedTuple):
    """`status` is a `sarrus.Status`."""

    q: Array  # (nq,)
    v: Array  # (nv,)
    error: Array  # ()
    status: Array  # ()


def expanded_at(
    model: Model, found: Array, y: Array, yd: Array | None = None, near: Array | None = None
) -> tuple[Array, Array]:
    """q and v from where `expand` has ended: a step of Newton's method, and v = G yd there."""
    only, held = _with_held(model)
    q = np.array(found, dtype=np.result_type(found, y))
    q[list(independent_positions(model))] = y
    at = mechanism(only, q, spanning=True)
    rows = linearized(at, composite_bodies(at.nodes), held)
    q = moved(only, q, rows.step(-rows.error, 0.0))
    return q, np.zeros(model.nv) if yd is None else embedded_at(model, q, None, yd).v


@algorithm(
    cost="O(n d^2 + m^2 d + m d^2 + m^3) per iteration",
    references=("chignoli2025",),
    needs=Feature.EMBEDDED,
    ignores=Feature.ROWS,
    at_solution=expanded_at,
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
    only, held = _with_held(model)
    found = project.text(only, q0, held=held, tolerance=tolerance)
    v = np.zeros(model.nv) if yd is None else embedded_at(model, found.q, None, yd).v
    return ExpandResult(found.q, v, found.error, found.status)


def _with_held(model: Model) -> tuple[Model, Array]:
    """The model with the constraints that are embedded as rows, and 1 for its independent velocities, else 0."""
    assert model.embedding is not None
    names = model.embedding.constraints
    held = np.zeros(model.nv)
    held[list(independent_velocities(model))] = 1.0
    return replace(model.spanning, constraints=tuple(c for c in model.constraints if c.name in names)), held
