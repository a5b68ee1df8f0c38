"""The mass matrix in independent coordinates."""

from __future__ import annotations

from sarrus.algorithms.embedded.ce_aba import check_embedded
from sarrus.algorithms.tree.crba import composite_bodies
from sarrus.mechanics.mechanism import mechanism
from sarrus.model.model import Model
from sarrus.registry.table import algorithm
from sarrus.spatial.arrays import Array


@algorithm(
    inputs=("q",),
    outputs="M_y",
    cost="O(n d)",
    references=("chignoli2025", "walker1982"),
    supports=("embedded constraints",),
    family="embedded",
)
def ce_crba(model: Model, q: Array) -> Array:
    """M_y(q) = G^T M G (ny, ny): composite bodies on the cluster tree, unseen ones as three terms."""
    check_embedded(model, "ce_crba")
    return composite_bodies(mechanism(model, q).nodes)
