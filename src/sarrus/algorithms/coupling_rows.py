"""Rows of relations between joint coordinates and of distances."""

from __future__ import annotations

import numpy as np

from sarrus.algorithms.relative_motion import Relative
from sarrus.algorithms.rows import Block, Rows
from sarrus.errors import UnsupportedError
from sarrus.model.constraints import Coupling, Distance
from sarrus.model.model import WORLD, Model
from sarrus.model.tree import Kinematics
from sarrus.spatial.arrays import Array, vector
from sarrus.spatial.choice import choose
from sarrus.spatial.rotations import skew


def coupling_rows(coupling: Coupling, model: Model, joints: list[Kinematics], q: Array, v: Array) -> Rows:
    """sum of ratios * q = polynomial(q of the driver), as a row on the bodies next to those joints.

    A joint's acceleration is what its node has beyond its parent, along the joint: S^+ (a - X a_parent). In the bias
    motion that is zero, so k has no more than the polynomial's curvature.
    """
    reference = dict(coupling.references)
    speeds = {name: vector(ratio)[0] for name, ratio in coupling.ratios}
    position = sum((ratio * _position(model, coupling, name, q, reference) for name, ratio in coupling.ratios), 0.0)
    curvature = 0.0
    offset = coupling.polynomial[0]
    if coupling.driver is not None:
        x = _position(model, coupling, coupling.driver, q, reference)
        rate = v[model.layout.v_of(coupling.driver)][0]
        offset, slope, bend = _polynomial(coupling.polynomial, x)
        curvature = bend * rate * rate
        speeds[coupling.driver] = speeds.get(coupling.driver, 0.0) - slope
    blocks: dict[int, Array] = {}
    velocity = 0.0
    for name, speed in speeds.items():
        i = model.joint_index(name)
        velocity = velocity + speed * v[model.layout.v[i]][0]
        X, S, _, _ = joints[i]
        row = speed * (S[:, 0] * (1.0 / (S[:, 0] @ S[:, 0])))
        blocks[i] = blocks[i] + row if i in blocks else row
        parent = model.tree.nodes[i].parent
        if parent != WORLD:
            carried = -X.apply_T(row)
            blocks[parent] = blocks[parent] + carried if parent in blocks else carried
    T = coupling.stabilization
    feedback = 0.0 if T is None else (2.0 / T) * velocity + (1.0 / T**2) * (position - offset)
    return Rows(tuple(Block(i, row[None]) for i, row in blocks.items()), vector(curvature - feedback))


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


def distance_rows(constraint: Distance, x: Relative) -> Rows:
    """The origins keep a distance: along the line between them, with the centripetal acceleration in k."""
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
    k = -(n @ bias) - (rate @ rate - along * along) * inverse
    T = constraint.stabilization
    if T is not None:
        k = k - (2.0 / T) * along - (1.0 / T**2) * (length - constraint.length)
    K_a = -(n @ np.concatenate([E, -skew(x.a.p)], axis=1))
    K_b = (n @ x.R) @ np.concatenate([E, -skew(x.b.p)], axis=1)
    blocks = [Block(side.node, K[None]) for side, K in ((x.a, K_a), (x.b, K_b)) if side.node != WORLD]
    return Rows(tuple(blocks), vector(k))
