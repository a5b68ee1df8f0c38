"""Which geometries can meet at all, before anything is traced: balls around them, and how far joints let these go.

Distances from joint to joint are used first: no state is looked at. What is left is looked at within the limits of the
joints between them (`joint_ranges`). Both only prove that two cannot meet: what is left out is left out rightly.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from sarrus.mechanics.contact.joint_ranges import may_meet_within_limits
from sarrus.model.bodies import WORLD, Body
from sarrus.model.geometries import ContactShape, Geometry, HeightField, Plane
from sarrus.model.joints import Prismatic, Revolute, Spherical, Universal
from sarrus.model.meeting_pairs import MeetingPair, meeting_pairs
from sarrus.model.model import Model
from sarrus.model.per_model import per_model
from sarrus.model.robots import robots_of
from sarrus.model.visuals import Box, Capsule, Cylinder, Ellipsoid, Sphere
from sarrus.spatial.arrays import Array

_TURNING = (Revolute, Universal, Spherical)  # the body's origin stays where the joint is


def bounding_sphere(shape: ContactShape) -> tuple[Array, float] | None:
    """The centre, in the shape's frame, and the radius of a ball around it; None for a plane."""
    origin = np.zeros(3)
    if isinstance(shape, Plane):
        return None
    if isinstance(shape, Sphere):
        return origin, shape.radius
    if isinstance(shape, Capsule):
        return origin, shape.radius + 0.5 * shape.length
    if isinstance(shape, Cylinder):
        return origin, float(np.hypot(shape.radius, 0.5 * shape.length))
    if isinstance(shape, Box):
        return origin, 0.5 * float(np.linalg.norm(shape.size))
    if isinstance(shape, Ellipsoid):
        return origin, float(max(shape.radii))
    if isinstance(shape, HeightField):
        low, high = float(np.min(shape.heights)), float(np.max(shape.heights))
        return np.array([0.0, 0.0, 0.5 * (low + high)]), float(np.linalg.norm([*shape.size, 0.5 * (high - low)]))
    low, high = shape.vertices.min(axis=0), shape.vertices.max(axis=0)
    center = 0.5 * (low + high)
    return center, float(np.linalg.norm(shape.vertices - center, axis=1).max())


class _Reach(NamedTuple):
    """Where a point can be: at a distance from `low` to `high` of an anchor that is fixed in a body."""

    anchor: Array  # (3,) in the body
    low: float
    high: float

    def beyond(self, body: Body) -> _Reach:
        """The same in the parent of the body: the anchor is at the joint."""
        length, travel = float(np.linalg.norm(self.anchor)), _travel(body)
        low = max(0.0, length - self.high, self.low - length)
        return _Reach(body.placement.p, max(0.0, low - travel), self.high + length + travel)


def _travel(body: Body) -> float:
    """How far the body's origin can be from its joint."""
    if isinstance(body.joint.type, _TURNING):
        return 0.0
    if isinstance(body.joint.type, Prismatic):
        return float(max(abs(body.joint.lower[0]), abs(body.joint.upper[0])))
    return np.inf


def own_pairs(model: Model, limits: bool = True) -> tuple[MeetingPair, ...]:
    """Of the pairs that may meet, those of one robot that can, within the limits of its joints.

    limits  whether something holds joints within them; what nothing holds turns and slides as far as it likes
    """
    return _own_pairs(model if limits else _without_limits(model))


@per_model
def _own_pairs(model: Model) -> tuple[MeetingPair, ...]:
    robots, shapes = robots_of(model), model.geometries
    own = [pair for pair in meeting_pairs(model) if robots[shapes[pair.a].body] == robots[shapes[pair.b].body]]
    if not model.is_numeric:
        return tuple(own)
    near = [pair for pair in own if can_meet(model, shapes[pair.a], shapes[pair.b])]
    return tuple(pair for pair in near if may_meet_within_limits(model, shapes[pair.a], shapes[pair.b]))


@per_model
def _without_limits(model: Model) -> Model:
    """The same robot with joints that nothing stops."""
    infinite = np.full(model.nq, np.inf)
    joints = [replace(body.joint, lower=-infinite[: body.joint.type.nq], upper=infinite[: body.joint.type.nq])
              for body in model.bodies]  # fmt: skip
    return replace(
        model, bodies=tuple(replace(body, joint=joint) for body, joint in zip(model.bodies, joints, strict=True))
    )


def can_meet(model: Model, a: Geometry, b: Geometry) -> bool:
    """False only if no state within the limits of the sliding joints lets them come as near as their margins.

    The limits of turning joints and constraints are not looked at: they could only rule out more.
    """
    if a.body == b.body:
        return False
    if not model.is_numeric:
        return True
    if isinstance(a.shape, Plane) or isinstance(b.shape, Plane):
        plane, other = (a, b) if isinstance(a.shape, Plane) else (b, a)
        return not isinstance(other.shape, Plane) and _can_meet_plane(model, plane, other)
    common = next(body for body in _ancestors(model, a.body) if body in _ancestors(model, b.body))
    x, y = _reach_in(model, a, common), _reach_in(model, b, common)
    apart = float(np.linalg.norm(x.anchor - y.anchor))
    nearest = max(apart - x.high - y.high, x.low - apart - y.high, y.low - apart - x.high)
    return not nearest > _radius(a) + _radius(b) + a.margin + b.margin


def _can_meet_plane(model: Model, plane: Geometry, other: Geometry) -> bool:
    if plane.body not in _ancestors(model, other.body):
        return True
    reach = _reach_in(model, other, plane.body)
    height = float(plane.placement.R[:, 2] @ (reach.anchor - plane.placement.p))
    return not height - reach.high > _radius(other) + plane.margin + other.margin


def _ancestors(model: Model, body: int) -> list[int]:
    """The body, its parent, ..., the world."""
    found = [body]
    while found[-1] != WORLD:
        found.append(model.bodies[found[-1]].parent)
    return found


def _reach_in(model: Model, geometry: Geometry, body: int) -> _Reach:
    """Where the middle of a geometry can be, in a body that its own one hangs on."""
    ball = bounding_sphere(geometry.shape)
    assert ball is not None
    reach = _Reach(geometry.placement.p + geometry.placement.R @ ball[0], 0.0, 0.0)
    for k in _ancestors(model, geometry.body):
        if k == body:
            break
        reach = reach.beyond(model.bodies[k])
    return reach


def _radius(geometry: Geometry) -> float:
    ball = bounding_sphere(geometry.shape)
    return np.inf if ball is None else ball[1]
