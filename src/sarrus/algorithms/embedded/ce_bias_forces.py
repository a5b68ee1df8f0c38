"""Forces that keep the independent velocities from accelerating."""

from __future__ import annotations

import numpy as np

from sarrus.algorithms.embedded.ce_rnea import ce_rnea
from sarrus.model.model import Model
from sarrus.registry.features import Feature
from sarrus.registry.table import algorithm
from sarrus.spatial.arrays import Array


@algorithm(
    outputs="c_y",
    cost="O(n)",
    references=("chignoli2025",),
    needs=Feature.EMBEDDED,
    ignores=Feature.ROWS,
)
def ce_bias_forces(
    model: Model, q: Array, v: Array | None = None, yd: Array | None = None, external_forces: Array | None = None
) -> Array:
    """The bias forces c_y of M_y ydd + c_y = tau_y, on the independent velocities."""
    still = np.zeros(model.ny)
    return ce_rnea.text(model, q, v, yd=yd, ydd=still, external_forces=external_forces).tau_y
