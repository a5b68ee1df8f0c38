"""The tangent space of what goes into and out of a tape.

A configuration varies along `integrate(q, e_j)`: dq = N(q) u with u of size nv, joint by joint (`rate_map`). Everything
else varies element by element.
"""

from __future__ import annotations

import re

import numpy as np

from sarrus.codegen.tape.tape import Port
from sarrus.model.model import Model
from sarrus.spatial.arrays import Array

_CONFIGURATION = re.compile(r"q\d*|near")  # what arrays (nq,) that are configurations are called


def is_configuration(model: Model, port: Port) -> bool:
    return _CONFIGURATION.fullmatch(port.name) is not None and port.shape == (model.nq,)


def tangent_shape(model: Model, port: Port) -> tuple[int, ...]:
    """The shape of what a port's derivatives are."""
    return (model.nv,) if is_configuration(model, port) else port.shape


def rates(model: Model, q: Array) -> Array:
    """N (nq, nv) with dq = N u."""
    N = np.zeros((model.nq, model.nv), dtype=object)
    for body, at_q, at_v in zip(model.bodies, model.layout.q, model.layout.v, strict=True):
        N[at_q, at_v] = body.joint.type.rate_map(q[at_q])
    return N


def tangents(model: Model, q: Array) -> Array:
    """(nv, nq): the tangent u of a change dq = N u. The columns of N are orthonormal, but those of a quaternion, which
    are half as long.
    """
    out = rates(model, q).T
    for _, start in model.layout.quaternions:
        out[:, start : start + 4] = 4.0 * out[:, start : start + 4]
    return out
