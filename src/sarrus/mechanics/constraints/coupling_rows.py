"""Rows of relations between joint coordinates and of distances."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sarrus.errors import UnsupportedError
from sarrus.mechanics.bodies.relative_motion import Relative
from sarrus.mechanics.constraints.conditions import Condition
from sarrus.mechanics.constraints.rows import Block, Rows, merged
from sarrus.model.bodies import WORLD
from sarrus.model.constraints import Coupling, Distance
from sarrus.model.model import Model
from sarrus.model.tree import Kinematics, tree_of
from sarrus.spatial.arrays import Array, Scalar, vector
from sarrus.spatial.choice import choose
from sarrus.spatial.rotations import skew


class Relation(NamedTuple):
    """A coupling at a state: sum over joints of speed * v = rate, the derivative of the error."""

    speeds: dict[str, Scalar]  # by joint
    error: Scalar
    rate: Scalar
    curvature: Scalar  # of the polynomial, times the driver's velocity squared


def relation(coupling: Coupling, model: Model, q: Array, v: Array) -> Relation:
    """sum of ratios * q - polynomial(q of the driver), and its derivatives."""
    reference = dict(coupling.references)
    speeds: dict[str, Scalar] = {name: vector(ratio)[0] for name, ratio in coupling.ratios}
    position = sum((ratio * _position(model, coupling, name, q, reference) for name, ratio in coupling.ratios), 0.0)
    curvature: Scalar = 0.0
    offset: Scalar = coupling.polynomial[0]
    if coupling.driver is not None:
        x = _position(model, coupling, coupling.driver, q, reference)
        rate = v[model.layout.v_of(coupling.driver)][0]
        offset, slope, bend = _polynomial(coupling.polynomial, x)
        curvature = bend * rate * rate
        speeds[coupling.driver] = speeds.get(coupling.driver, 0.0) - slope
    velocity = sum((speed * v[model.layout.v_of(name)][0] for name, speed in speeds.items()), 0.0)
    return Relation(speeds, position - offset, velocity, curvature)


def coupling_rows(coupling: Coupling, model: Model, joints: list[Kinematics], q: Array, v: Array) -> Rows:
    """sum of ratios * q = polynomial(q of the driver), as a row on the bodies next to those joints.

    A joint's acceleration is what its node has beyond its parent, along the joint: S^+ (a - X a_parent). In the bias
    motion that is zero, so k has no more than the polynomial's curvature.
    """
    r = relation(coupling, model, q, v)
    blocks: dict[int, Array] = {}
    for name, speed in r.speeds.items():
        i = model.joint_index(name)
        X, S, _, _ = joints[i]
        row = speed * (S[:, 0] * (1.0 / (S[:, 0] @ S[:, 0])))
        blocks[i] = blocks[i] + row if i in blocks else row
        parent = tree_of(model).nodes[i].parent
        if parent != WORLD:
            carried = -X.apply_T(row)
            blocks[parent] = blocks[parent] + carried if parent in blocks else carried
    T = coupling.stabilization
    feedback = 0.0 if T is None else (2.0 / T) * r.rate + (1.0 / T**2) * r.error
    on_joints = tuple((model.joint_index(name), vector(speed)[None]) for name, speed in r.speeds.items())
    on_bodies = tuple(Block(i, row[None]) for i, row in blocks.items())
    return Rows(on_bodies, vector(r.curvature - feedback), relation=on_joints)


def _position(model: Model, coupling: Coupling, name: str, q: Array, reference: dict[str, float]):
    joint = model.bodies[model.joint_index(name)].joint
    if joint.type.nv != 1:
        raise UnsupportedError(
            f"constraint {coupling.name!r}: joint {name!r} is {joint.type.name}; only joints with one coordinate "
            f"can be coupled"
        )
    return q[model.layout.q_of(name)][0] - reference.get(name, 0.0)


def _polynomial(coefficients: tuple[float, ...], x):
    """Value, first and second derivative, by Horner."""
    value = slope = bend = 0.0
    for c in reversed(coefficients):
        bend = bend * x + 2.0 * slope
        slope = slope * x + value
        value = value * x + c
    return value, slope, bend


def distance_condition(constraint: Distance, x: Relative) -> Condition:
    """The origins keep a distance: along the line between them, with the centripetal acceleration in the bias."""
    E = np.eye(3)
    d = x.offset
    squared = d @ d
    length = np.sqrt(vector(squared))[0]
    # Two points that coincide have no direction between them: the row is then zero, not NaN.
    inverse = choose(1e-24, squared, 1.0 / choose(1e-24, squared, length, 1.0), 0.0)
    n = d * inverse
    rate = x.R @ x.b.point_velocity(x.b.p) - x.a.point_velocity(x.a.p)
    bias = x.R @ x.b.point_acceleration(x.b.p) - x.a.point_acceleration(x.a.p)
    along = n @ rate
    K_a = -(n @ np.concatenate([E, -skew(x.a.p)], axis=1))
    K_b = (n @ x.R) @ np.concatenate([E, -skew(x.b.p)], axis=1)
    centripetal = (rate @ rate - along * along) * inverse
    error = vector(length - constraint.length)
    found = Condition(K_a[None], K_b[None], error, vector(along), vector(n @ bias + centripetal))
    return found.at_rest if x.a.node == x.b.node else found


def distance_rows(constraint: Distance, x: Relative) -> Rows:
    """The row of a distance, with Baumgarte's feedback in k."""
    c = distance_condition(constraint, x)
    T = constraint.stabilization
    k = -c.bias if T is None else -c.bias - (2.0 / T) * c.rate - (1.0 / T**2) * c.error
    blocks = [Block(side.node, K) for side, K in ((x.a, c.K_a), (x.b, c.K_b)) if side.node != WORLD]
    return Rows(merged(blocks), k)
