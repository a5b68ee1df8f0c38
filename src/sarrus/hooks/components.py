"""Between the components of a configuration and its tangent space.

Kernels differentiate along `integrate(q, u)`, where u has nv numbers. JAX, PyTorch and CasADi know nothing of that: to
them q is nq components. With dq = N(q) u (`rate_map`, joint by joint), what varies with u by J varies with dq by J T,
T = N^+: a quaternion is taken as the rotation that it stands for, however long it is, so that derivatives along its own
direction are zero. A configuration that is a result varies by N times its tangent.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np

from sarrus.codegen.runtime.compile import compile
from sarrus.codegen.runtime.kernel import Kernel
from sarrus.model.joints import AbstractJointType
from sarrus.model.model import Model
from sarrus.registry.algorithm import Algorithm, Input
from sarrus.spatial.arrays import Array

CONFIGURATIONS = ("q", "near")  # names of arrays of nq components


class ComponentMaps(NamedTuple):
    """At a configuration."""

    rates: Array  # N (nq, nv): dq = N u
    tangents: Array  # T (nv, nq): u = T dq


def component_maps(model: Model, q: Array) -> ComponentMaps:
    """How components and tangents vary with each other, for floats and symbols alike."""
    kind = np.result_type(q, float)
    N, T = np.zeros((model.nq, model.nv), dtype=kind), np.zeros((model.nv, model.nq), dtype=kind)
    for body, at_q, at_v in zip(model.bodies, model.layout.q, model.layout.v, strict=True):
        joint, N_joint = body.joint.type, body.joint.type.rate_map(q[at_q])
        T_joint = N_joint.T
        if (at := joint.quaternion_at) is not None:  # N^T N is 1/4 of a quaternion's squared length, else 1
            quaternion = q[at_q][at:]
            T_joint = np.concatenate([T_joint[:, :at], (4.0 / (quaternion @ quaternion)) * T_joint[:, at:]], axis=1)
        N[at_q, at_v], T[at_v, at_q] = N_joint, T_joint
    return ComponentMaps(N, T)


def components_are_tangents(model: Model) -> bool:
    """Whether q has no rotations, and no motion in axes that turn."""
    return all(
        type(body.joint.type).rate_map is AbstractJointType.rate_map for body in model.bodies
    )


@cache
def maps_kernel(model: Model, dtype: Any) -> Kernel:
    """`component_maps`, compiled."""
    takes = (Input("q", False),)
    return compile(model, Algorithm("component_maps", component_maps, takes, None), dtype=dtype)
