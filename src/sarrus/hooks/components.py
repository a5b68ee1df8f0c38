"""Between the components of a configuration and its tangent space.

Kernels differentiate along `integrate(q, u)`, where u has nv numbers. JAX, PyTorch and CasADi know nothing of that: to
them q is nq components. With dq = N(q) u (`rate_map`, joint by joint), what varies with u by J varies with dq by J T,
T = N^+: a quaternion is taken as the rotation that it stands for, so that the derivative along its own direction, which
would make it longer, is zero. A configuration that is a result varies by N times its tangent.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sarrus.codegen.runtime.compile import compile
from sarrus.codegen.runtime.kernel import Kernel
from sarrus.codegen.tape import tangent_space
from sarrus.model.joints import AbstractJointType
from sarrus.model.model import Model
from sarrus.registry.algorithm import Algorithm, Input
from sarrus.spatial.arrays import Array


class ComponentMaps(NamedTuple):
    """At a configuration."""

    rates: Array  # N (nq, nv): dq = N u
    tangents: Array  # T (nv, nq): u = T dq


def component_maps(model: Model, q: Array) -> ComponentMaps:
    """How components and tangents vary with each other."""
    return ComponentMaps(tangent_space.rates(model, q), tangent_space.tangents(model, q))


def components_are_tangents(model: Model) -> bool:
    """Whether q has no rotations, and no motion in axes that turn."""
    return all(type(body.joint.type).rate_map is AbstractJointType.rate_map for body in model.bodies)


def maps_kernel(model: Model, dtype: np.dtype) -> Kernel:
    """`component_maps`, compiled."""
    return compile(model, Algorithm("component_maps", component_maps, (Input("q", False),), None), dtype=dtype)
