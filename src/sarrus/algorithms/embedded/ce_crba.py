"""The mass matrix in independent coordinates."""

from __future__ import annotations

from sarrus.mechanics.bodies.mass_matrix import mass_matrix
from sarrus.mechanics.linkage import linkage
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
    """M_y(q) = G^T M G (ny, ny): composite bodies on the cluster tree, unseen ones as three terms."""
    link = linkage(model, q)
    return mass_matrix(link.tree, link.passages, link.inertias, q.dtype)
