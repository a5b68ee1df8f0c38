"""Jacobians of any text by dual numbers: exact to rounding, and nothing that the closed forms know."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sarrus import Model
from sarrus.spatial.dual import derivatives_of, variables, with_derivatives


def along_tangents(model: Model, q: np.ndarray) -> np.ndarray:
    """q with its derivatives along `integrate(q, e_j)`."""
    N = np.zeros((model.nq, model.nv))
    for body, at_q, at_v in zip(model.bodies, model.layout.q, model.layout.v, strict=True):
        N[at_q, at_v] = body.joint.type.rate_map(q[at_q])
    return with_derivatives(q, N)


def jacobians(text: Callable[..., np.ndarray], model: Model, q: np.ndarray, *others: np.ndarray) -> list[np.ndarray]:
    """Of text(q, *others), a vector, with respect to the tangent of q and to the other arrays, one after the other."""
    out = [derivatives_of(text(along_tangents(model, q), *others), model.nv)]
    for k, x in enumerate(others):
        given = [variables(y) if j == k else y for j, y in enumerate(others)]
        out.append(derivatives_of(text(q, *given), len(x)))
    return out
