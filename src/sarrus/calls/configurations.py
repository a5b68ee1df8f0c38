"""Moving along a robot's configurations: `integrate` and `difference`, of numbers and of CasADi symbols."""

from __future__ import annotations

from typing import Any

from sarrus.calls.call import call
from sarrus.model import state
from sarrus.model.model import Model
from sarrus.registry.algorithm import Algorithm, Input
from sarrus.spatial.parameter import is_casadi


def integrate(model: Model, q: Any, v: Any) -> Any:
    """q moved along the tangent v for unit time; rotations use the exponential map instead of addition.

    q        (nq,) or (B, nq), or CasADi
    v        (nv,) or (B, nv), or CasADi; a velocity times a time
    returns  what q is: an array, or a CasADi vector
    errors   `StateError`: the wrong shape, or numbers that are not finite

    >>> sarrus.integrate(sarrus.zoo.chain(2), [0.0, 0.0], [0.1, 0.2])
    array([0.1, 0.2])
    """
    if is_casadi(q) or is_casadi(v):
        return call(_INTEGRATE, (model, q, v), {})
    return state.integrate(model, q, v)


def difference(model: Model, q0: Any, q1: Any) -> Any:
    """The shortest tangent v (nv,) or (B, nv) with integrate(q0, v) = q1; also of CasADi symbols.

    For symbols, quaternions are assumed to have unit length.

    q0, q1   (nq,) or (B, nq): rad, m, unit quaternions xyzw
    returns  (nv,) or (B, nv): rad, m
    errors   `StateError`: the wrong shape, or numbers that are not finite

    >>> sarrus.difference(sarrus.zoo.chain(2), [0.0, 0.0], [0.1, 0.2])
    array([0.1, 0.2])
    """
    if is_casadi(q0) or is_casadi(q1):
        nq = (model.nq,)
        inputs = (Input("q0", False, nq), Input("q1", False, nq))
        return call(Algorithm("difference", state.difference_of, inputs, "v"), (model, q0, q1), {})
    return state.difference(model, q0, q1)


_INTEGRATE = Algorithm("integrate", state.moved, (Input("q", False), Input("v", False)), "q")
