"""Derivatives of a frame's velocity."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np

from sarrus.algorithms.tree.frame_jacobian import check_reference
from sarrus.algorithms.tree.frame_velocity import in_reference
from sarrus.mechanics.derivatives.frame_variation import FrameVariation, frame_variation, motion_cross
from sarrus.model.model import Model
from sarrus.registry.table import algorithm
from sarrus.spatial.arrays import Array
from sarrus.spatial.rotations import cross
from sarrus.spatial.stacked import by_column


class FrameVelocityDerivativesResult(NamedTuple):
    """Columns: along `integrate(q, e_j)`, and v."""

    velocity: Array  # (6,)
    dvelocity_dq: Array  # (6, nv)
    dvelocity_dv: Array  # (6, nv) the Jacobian of the frame


@algorithm(cost="O(n)", references=("carpentier2018", "featherstone2008"))
def frame_velocity_derivatives(
    model: Model, q: Array, v: Array, frame: str, reference: str = "local"
) -> FrameVelocityDerivativesResult:
    """The velocity of a frame, [linear; angular], and its derivatives with respect to q and v.

    frame      the name of a body or frame
    reference  as in `frame_velocity`: the point and the axes. The axes of the frame turn with it
    """
    check_reference(reference)
    at = frame_variation(model, q, v, None, frame)
    velocity, by_q, by_v = varied_in_reference(reference, at, at.V, at.V_q, at.J)
    return FrameVelocityDerivativesResult(velocity, by_q, by_v)


def varied_in_reference(reference: str, at: FrameVariation, x: Array, by_q: Array, *others: Array) -> tuple[Array, ...]:
    """A motion x of the frame and its derivatives, given in the frame, at another place and in other axes.

    Those with respect to q are of axes that ride along, by whose motion x varies, too, if they do not.
    """
    into = partial(in_reference, reference, at.R, at.p)
    if reference == "world":
        by_q = by_q + by_column(lambda j: motion_cross(j, x), at.J)
    elif reference == "local_world_aligned":
        by_q = by_q + by_column(lambda j: np.concatenate([cross(j[3:], x[:3]), cross(j[3:], x[3:])]), at.J)
    return into(x), *(by_column(into, columns) for columns in (by_q, *others))
