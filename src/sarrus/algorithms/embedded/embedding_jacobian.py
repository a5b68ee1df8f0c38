"""How all joints move with the independent ones of an embedded model: G and g."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sarrus.mechanics.clusters.embedded import embedded_at
from sarrus.model.model import Model
from sarrus.registry.features import Feature
from sarrus.registry.table import algorithm
from sarrus.spatial.arrays import Array


class EmbeddingJacobianResult(NamedTuple):
    """v = G yd and qdd = G ydd + g."""

    G: Array  # (nv, ny)
    g: Array  # (nv,)


@algorithm(
    cost="O(n)",
    references=("chignoli2025", "jain2011"),
    needs=Feature.EMBEDDED,
    ignores=Feature.ROWS,
)
def embedding_jacobian(
    model: Model, q: Array, v: Array | None = None, yd: Array | None = None
) -> EmbeddingJacobianResult:
    """G and g of an embedded model: v = G yd, qdd = G ydd + g (constraint-embedding paper, eqs 2 to 6).

    The Jacobian of a frame with respect to independent velocities is J G (`ce_frame_jacobian`), and forces tau on all
    joints amount to G^T tau on the independent velocities.

    v or yd  velocities of all joints, or of the independent ones
    """
    embedded = embedded_at(model, q, v, yd)
    columns = [embedded.expand(unit) for unit in np.eye(model.ny)]
    G = np.stack(columns, axis=1) if columns else np.zeros((model.nv, 0))
    return EmbeddingJacobianResult(G, embedded.bias())
