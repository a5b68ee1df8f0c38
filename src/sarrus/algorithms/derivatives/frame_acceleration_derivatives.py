"""Derivatives of a frame's acceleration."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sarrus.algorithms.derivatives.frame_velocity_derivatives import varied_in_reference
from sarrus.algorithms.tree.frame_jacobian import check_reference
from sarrus.mechanics.derivatives.frame_variation import FrameVariation, frame_variation
from sarrus.model.model import Model
from sarrus.registry.table import algorithm
from sarrus.spatial.arrays import Array
from sarrus.spatial.rotations import cross
from sarrus.spatial.stacked import by_column


class FrameAccelerationDerivativesResult(NamedTuple):
    """Columns: along `integrate(q, e_j)`, v and a."""

    acceleration: Array  # (6,)
    dacceleration_dq: Array  # (6, nv)
    dacceleration_dv: Array  # (6, nv)
    dacceleration_da: Array  # (6, nv) the Jacobian of the frame


@algorithm(cost="O(n)", references=("carpentier2018", "featherstone2008"))
def frame_acceleration_derivatives(
    model: Model, q: Array, v: Array, a: Array, frame: str, reference: str = "local"
) -> FrameAccelerationDerivativesResult:
    """The acceleration of a frame, [linear; angular], without gravity, and its derivatives with respect to q, v and a.

    frame      the name of a body or frame
    reference  as in `frame_acceleration`: "local" and "world" are spatial accelerations, "local_world_aligned" is that
               of the frame's origin as a point
    """
    check_reference(reference)
    at = frame_variation(model, q, v, a, frame)
    A, A_q, A_v = _of_point(at) if reference == "local_world_aligned" else (at.A, at.A_q, at.A_v)
    return FrameAccelerationDerivativesResult(*varied_in_reference(reference, at, A, A_q, A_v, at.J))


def _of_point(at: FrameVariation) -> tuple[Array, Array, Array]:
    """The acceleration of the origin as a point, A + w x V, and its derivatives, in the frame's axes."""
    V, A_q, A_v = at.V, at.A_q.copy(), at.A_v.copy()
    for by, of_V in ((A_q, at.V_q), (A_v, at.J)):
        by[:3] = by[:3] + by_column(lambda dV: cross(dV[3:], V[:3]) + cross(V[3:], dV[:3]), of_V, 3)
    return np.concatenate([at.A[:3] + cross(V[3:], V[:3]), at.A[3:]]), A_q, A_v
