"""The time derivative of a frame's Jacobian."""

from __future__ import annotations

import numpy as np

from sarrus.algorithms.tree.frame_jacobian import check_reference
from sarrus.algorithms.tree.frame_velocity import in_reference
from sarrus.mechanics.derivatives.frame_variation import frame_variation, motion_cross
from sarrus.model.model import Model
from sarrus.registry.table import algorithm
from sarrus.spatial.arrays import Array
from sarrus.spatial.rotations import cross
from sarrus.spatial.stacked import by_column


@algorithm(outputs="J_t", cost="O(n)", references=("featherstone2008",))
def frame_jacobian_derivative(model: Model, q: Array, v: Array, frame: str, reference: str = "local") -> Array:
    """dJ/dt (6, nv) at joint velocities v, for the J of `frame_jacobian` in the same reference.

    Its product with v is `frame_jacobian_bias`.
    """
    check_reference(reference)
    at = frame_variation(model, q, v, None, frame)
    V, J_t = at.V, at.J_t
    if reference == "world":  # whose axes do not turn with the frame
        J_t = J_t + by_column(lambda j: motion_cross(V, j), at.J)
    elif reference == "local_world_aligned":
        J_t = J_t + by_column(lambda j: np.concatenate([cross(V[3:], j[:3]), cross(V[3:], j[3:])]), at.J)
    return by_column(lambda j: in_reference(reference, at.R, at.p, j), J_t)
