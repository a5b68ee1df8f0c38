"""What a robot looks like if nobody drew it: capsules along its kinematics, boxes of its inertia, and its joints."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sarrus.model.bodies import Body, Placement
from sarrus.model.model import Model
from sarrus.model.visuals import Box, Capsule, Cylinder, Shape, Sphere, Visual, rotation_to
from sarrus.spatial.arrays import Array

_DENSITY = 1000.0  # kg / m^3: of water, as most robots roughly have
_THIN, _THICK = 0.02, 0.12  # radius of a capsule, at least and at most, relative to the body's size
_SLIM = 0.6  # thinner than it weighs: joints stay visible
_SMALLEST = 1e-3  # metres: what is shorter is a point
_JOINT_COLOR = (0.28, 0.30, 0.34, 1.0)


def skeleton(model: Model) -> tuple[Visual, ...]:
    """Capsules from each body's joint to where it holds on to others, and to its tip."""
    size = typical_length(model)
    return tuple(visual for i in range(model.nb) for visual in _body(model, i, size))


def joint_markers(model: Model) -> tuple[Visual, ...]:
    """A small cylinder about every hinge, a box along every slide, a ball for what turns in several ways."""
    size = 0.07 * typical_length(model)
    found = []
    for i, body in enumerate(model.bodies):
        shape, axis = _joint_shape(body, size)
        if shape is not None:
            found.append(Visual(i, Placement(rotation_to(axis), np.zeros(3)), shape, _JOINT_COLOR))
    return tuple(found)


def typical_length(model: Model) -> float:
    """Of a body, in metres: the median of what there is."""
    points = ([*_ends(model, i), 2.0 * _center(body)] for i, body in enumerate(model.bodies))
    lengths = [x for x in (np.linalg.norm(ends, axis=-1).max() for ends in points) if x > _SMALLEST]
    return float(np.median(lengths)) if lengths else 0.1


def _body(model: Model, i: int, size: float) -> Iterator[Visual]:
    body = model.bodies[i]
    ends, center = _ends(model, i), _center(body)
    edges = np.sqrt(12.0 * _principal(body)[0])  # of the box that has the body's inertia
    total = sum(float(np.linalg.norm(end)) for end in ends)
    if not ends and np.linalg.norm(center) > max(0.2 * edges.max(), _SMALLEST):
        ends = [_tip(body, center)]
        total = float(np.linalg.norm(ends[0]))
    elif edges.max() > _SMALLEST and np.linalg.norm(center) < 0.3 * edges.max():
        a, b, c = (float(x) for x in np.maximum(edges, 0.05 * edges.max()))
        yield Visual(i, Placement(_principal(body)[1], center), Box((a, b, c)))
    radius = _radius(float(body.inertia.mass), total, size)
    if ends and np.linalg.norm(center) > _SMALLEST and _distance(center, ends) > 2.0 * radius:
        yield _capsule(i, center, 0.6 * radius)
    for end in ends:
        yield _capsule(i, end, radius)


def _ends(model: Model, i: int) -> list[Array]:
    """Where a body carries others or is held by constraints, other than at its own joint, and without doubles."""
    frames = [model.frame(name) for constraint in model.constraints for name in constraint.frames]
    points = [body.placement.p for body in model.bodies if body.parent == i]
    points += [frame.placement.p for frame in frames if frame.body == i]
    kept: list[Array] = []
    for point in points:
        if all(np.linalg.norm(point - other) > _SMALLEST for other in [np.zeros(3), *kept]):
            kept.append(point)
    return kept


def _center(body: Body) -> Array:
    mass = float(body.inertia.mass)
    return body.inertia.h / mass if mass > 0.0 else np.zeros(3)


def _principal(body: Body) -> tuple[Array, Array]:
    """Second moments of mass per kilogram about the centre of mass, along the axes that are the columns."""
    mass, center = float(body.inertia.mass), _center(body)
    if mass <= 0.0:
        return np.zeros(3), np.eye(3)
    d, V = np.linalg.eigh(body.inertia.Sigma / mass - np.outer(center, center))
    return np.maximum(d, 0.0), V * np.sign(np.linalg.det(V))


def _tip(body: Body, center: Array) -> Array:
    """As far beyond the centre of mass as a rod of that inertia reaches."""
    direction = center / np.linalg.norm(center)
    d, V = _principal(body)
    reach = np.sqrt(3.0 * float(direction @ (V * d) @ V.T @ direction))
    return center + min(reach, float(np.linalg.norm(center))) * direction


def _radius(mass: float, length: float, size: float) -> float:
    """Of a capsule of water."""
    wanted = _SLIM * np.sqrt(mass / (np.pi * _DENSITY * max(length, _SMALLEST)))
    return float(np.clip(wanted, _THIN * size, min(_THICK * max(length, _SMALLEST), 0.5 * size)))


def _distance(point: Array, ends: list[Array]) -> float:
    """From a point to the nearest of the segments from the origin to the ends."""
    nearest = [end * np.clip(point @ end / (end @ end), 0.0, 1.0) for end in ends]
    return min(float(np.linalg.norm(point - x)) for x in nearest)


def _capsule(i: int, end: Array, radius: float) -> Visual:
    """From the body's joint to a point."""
    length = float(np.linalg.norm(end))
    return Visual(i, Placement(rotation_to(end), 0.5 * end), Capsule(min(radius, 0.3 * length), length))


def _joint_shape(body: Body, size: float) -> tuple[Shape | None, Array]:
    kind, axes = body.joint.type.name, body.joint.axes
    axis = axes[0] if axes else np.array([0.0, 0.0, 1.0])
    if kind in ("revolute", "continuous", "helical"):
        return Cylinder(size, 2.6 * size), axis
    if kind in ("prismatic", "cylindrical"):
        return Box((1.4 * size, 1.4 * size, 3.0 * size)), axis
    return (Sphere(1.2 * size) if kind in ("spherical", "universal") else None), axis
