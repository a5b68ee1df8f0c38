"""The Jacobian of a frame in independent velocities."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sarrus.algorithms.tree.frame_jacobian import frame_jacobian
from sarrus.algorithms.tree.frame_jacobian_bias import frame_jacobian_bias
from sarrus.mechanics.clusters.embedded import embedded_at
from sarrus.model.model import Model
from sarrus.registry.features import Feature
from sarrus.registry.table import algorithm
from sarrus.spatial.arrays import Array


class ReducedJacobianResult(NamedTuple):
    """J_y yd is the frame's velocity, J_y ydd + bias its acceleration."""

    J_y: Array  # (6, ny)
    bias: Array  # (6,)


@algorithm(
    cost="O(n)",
    references=("chignoli2025", "featherstone2008"),
    needs=Feature.EMBEDDED,
    ignores=Feature.ROWS,
)
def ce_frame_jacobian(
    model: Model,
    q: Array,
    v: Array | None = None,
    yd: Array | None = None,
    *,
    frame: str,
    reference: str = "local",
) -> ReducedJacobianResult:
    """The Jacobian J_y = J G of a frame of an embedded model, and the bias J g + dJ/dt v of its acceleration.

    v or yd    velocities of all joints, or of the independent ones
    reference  "local", "local_world_aligned" or "world", as in `frame_jacobian`
    """
    embedded = embedded_at(model, q, v, yd)
    J = frame_jacobian.text(model, q, frame, reference)
    J_y = np.stack([embedded.reduce_force(row) for row in J])  # a row times G, as forces are
    return ReducedJacobianResult(
        J_y, J @ embedded.bias() + frame_jacobian_bias.text(model, q, embedded.v, frame, reference)
    )
