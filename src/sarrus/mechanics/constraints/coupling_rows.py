"""The row and the position error of a relation between joint coordinates."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sarrus.errors import UnsupportedError
from sarrus.mechanics.constraints.rows import EQUATIONS, Block, Equations, KinematicState, Rows, feedback
from sarrus.model.bodies import WORLD
from sarrus.model.constraints import Coupling
from sarrus.model.tree import tree_of
from sarrus.spatial.arrays import Array, Scalar, add_to, vector


class Relation(NamedTuple):
    """A coupling at a state: sum over joints of speed * v = rate, the derivative of the error."""

    speeds: dict[int, Scalar]  # by joint
    error: Scalar
    rate: Scalar
    curvature: Scalar  # of the polynomial, times the driver's velocity squared


def coupling_rows(coupling: Coupling, at: KinematicState, desired: Array) -> Rows:
    """sum of ratios * q = polynomial(q of the driver), as a row on the bodies next to those joints.

    A joint's acceleration is what its node has beyond its parent, along the joint: S^+ (a - X a_parent). In the bias
    motion that is zero, so k has no more than the polynomial's curvature.
    """
    r = _relation(coupling, at)
    blocks: dict[int, Array] = {}
    for i, speed in r.speeds.items():
        X, S, _, _ = at.joints[i]
        row = speed * (S[:, 0] * (1.0 / (S[:, 0] @ S[:, 0])))
        add_to(blocks, i, row)
        if (parent := tree_of(at.model).nodes[i].parent) != WORLD:
            add_to(blocks, parent, -X.apply_T(row))
    k = desired + vector(r.curvature - feedback(coupling, r.rate, r.error))
    on_bodies = tuple(Block(i, row[None]) for i, row in blocks.items())
    return Rows(on_bodies, k, relation=tuple((i, vector(speed)[None]) for i, speed in r.speeds.items()))


def coupling_error(coupling: Coupling, at: KinematicState, of_dynamics: bool) -> tuple[Array, Array]:
    """Position error and Jacobian."""
    r = _relation(coupling, at)
    J = np.zeros((1, at.model.nv), dtype=at.q.dtype)
    for i, speed in r.speeds.items():
        J[0, at.model.layout.v[i]] = speed
    return vector(r.error), J


def _relation(coupling: Coupling, at: KinematicState) -> Relation:
    """sum of ratios * q - polynomial(q of the driver), and its derivatives."""
    model = at.model
    speeds: dict[int, Scalar] = {model.layout.index[name]: vector(ratio)[0] for name, ratio in coupling.ratios}
    position = sum((ratio * _position(coupling, at, name) for name, ratio in coupling.ratios), 0.0)
    curvature: Scalar = 0.0
    offset: Scalar = coupling.polynomial[0]
    if coupling.driver is not None:
        driver = model.layout.index[coupling.driver]
        rate = at.v[model.layout.v[driver]][0]
        offset, slope, bend = _polynomial(coupling.polynomial, _position(coupling, at, coupling.driver))
        curvature = bend * rate * rate
        speeds[driver] = speeds.get(driver, 0.0) - slope
    velocity = sum((speed * at.v[model.layout.v[i]][0] for i, speed in speeds.items()), 0.0)
    return Relation(speeds, position - offset, velocity, curvature)


def _position(coupling: Coupling, at: KinematicState, name: str) -> Scalar:
    """A joint's coordinate, from where it is measured."""
    number = at.model.layout.index[name]
    joint = at.model.bodies[number].joint
    if joint.type.nv != 1:
        raise UnsupportedError(
            f"constraint {coupling.name!r}: joint {name!r} is {joint.type.name}; only joints with one coordinate "
            f"can be coupled"
        )
    return at.q[at.model.layout.q[number]][0] - dict(coupling.references).get(name, 0.0)


def _polynomial(coefficients: tuple[float, ...], x: Scalar) -> tuple[Scalar, Scalar, Scalar]:
    """Value, first and second derivative, by Horner."""
    value = slope = bend = 0.0
    for c in reversed(coefficients):
        bend = bend * x + 2.0 * slope
        slope = slope * x + value
        value = value * x + c
    return value, slope, bend


EQUATIONS[Coupling] = Equations(coupling_rows, coupling_error)
