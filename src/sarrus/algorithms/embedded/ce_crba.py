"""The mass matrix in independent coordinates."""

from __future__ import annotations

from sarrus.algorithms.tree.crba import composite_bodies
from sarrus.mechanics.mechanism import mechanism
from sarrus.model.model import Model
from sarrus.registry.features import Feature
from sarrus.registry.table import algorithm
from sarrus.spatial.arrays import Array


@algorithm(
    outputs="M_y",
    cost="O(n d)",
    references=("chignoli2025", "walker1982"),
    needs=Feature.EMBEDDED,
    ignores=Feature.ROWS,
)
def ce_crba(model: Model, q: Array) -> Array:
    """The mass matrix M_y(q) = G^T M G (ny, ny) of the independent velocities: composite bodies on the cluster tree."""
    return composite_bodies(mechanism(model, q).nodes)
