"""Geometries and pairs of them from what users say: every number checked."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from sarrus.errors import ModelError
from sarrus.model.bodies import WORLD, Placement
from sarrus.model.fields import LARGEST, field
from sarrus.model.geometries import ConvexMesh, Friction, Geometry, GeometryPair, HeightField, Plane
from sarrus.model.visuals import Box, Capsule, Cylinder, Ellipsoid, Sphere

_SHAPES = (Plane, Sphere, Capsule, Cylinder, Box, Ellipsoid, ConvexMesh, HeightField)
_LENGTHS = {
    Sphere: ("radius",), Capsule: ("radius", "length"), Cylinder: ("radius", "length"), Box: ("size",),
    Ellipsoid: ("radii",), HeightField: ("size",),
}  # fmt: skip
_DIMENSIONS = (1, 3, 4, 6)
_MOST_BITS = 32


def make_geometry(
    name: str,
    link: str,
    shape: Any,
    pose: Placement,
    *,
    friction: Any = 1.0,
    dimensions: int = 3,
    category: int = 1,
    collides_with: int = 1,
    margin: float = 0.0,
    priority: int = 0,
) -> Geometry:
    """A geometry on the world, which `moved` puts on a body: see `ModelBuilder.add_geometry`."""
    what = f"geometry {name!r}"
    _check_shape(shape, what)
    return Geometry(
        name,
        WORLD,
        pose,
        shape,
        _friction(friction, what),
        _dimensions(dimensions, what),
        _bits("category", category, what),
        _bits("collides_with", collides_with, what),
        _margin(margin, what),
        _whole("priority", priority, what),
        link,
    )


def make_pair(a: str, b: str, friction: Any = None, dimensions: Any = None, margin: Any = None) -> GeometryPair:
    """A pair of geometries, by name; None: as the geometries say."""
    what = f"the pair of geometries {a!r} and {b!r}"
    if a == b:
        raise ModelError(f"{what}: a geometry cannot touch itself")
    return GeometryPair(
        a,
        b,
        None if friction is None else _friction(friction, what),
        None if dimensions is None else _dimensions(dimensions, what),
        None if margin is None else _margin(margin, what),
    )


def _check_shape(shape: Any, what: str) -> None:
    if not isinstance(shape, _SHAPES):
        valid = ", ".join(kind.__name__ for kind in _SHAPES)
        raise ModelError(f"the shape of {what} is {shape!r}. Valid: {valid}")
    for key in _LENGTHS.get(type(shape), ()):
        value = getattr(shape, key)
        numbers = _numbers(value)
        if numbers is None or not len(numbers) or not ((numbers > 0.0) & (numbers < LARGEST)).all():
            raise ModelError(f"{key} of {what} is {value!r}: expected positive numbers of metres")
    if isinstance(shape, ConvexMesh):
        vertices = field(shape.vertices, (len(shape.vertices), 3), f"vertices of {what}")
        if len(vertices) < 4:
            raise ModelError(f"{what} has {len(vertices)} vertices: a convex mesh needs at least four")
    if isinstance(shape, HeightField):
        if shape.heights.ndim != 2 or min(shape.heights.shape) < 2:
            raise ModelError(
                f"heights of {what} have shape {shape.heights.shape}: expected two rows and columns or more"
            )
        field(shape.heights, shape.heights.shape, f"heights of {what}")


def _friction(value: Any, what: str) -> Friction:
    given = (value.sliding, value.torsional, value.rolling) if isinstance(value, Friction) else value
    numbers = _numbers(given)
    if numbers is None or not 1 <= len(numbers) <= 3 or not ((numbers >= 0.0) & (numbers < LARGEST)).all():
        raise ModelError(
            f"friction of {what} is {value!r}: expected up to three coefficients, zero or positive "
            f"(sliding, torsional, rolling), or a Friction"
        )
    return Friction(*numbers.tolist())


def _dimensions(value: Any, what: str) -> int:
    if value not in _DIMENSIONS:
        raise ModelError(
            f"dimensions of {what} is {value!r}. Valid: 1 (no friction), 3 (sliding), 4 (twisting too), 6 (rolling too)"
        )
    return int(value)


def _margin(value: Any, what: str) -> float:
    numbers = _numbers(value)
    if numbers is None or len(numbers) != 1 or not 0.0 <= numbers[0] < LARGEST:
        raise ModelError(f"margin of {what} is {value!r}: expected metres, not negative")
    return float(numbers[0])


def _bits(key: str, value: Any, what: str) -> int:
    bits = _whole(key, value, what)
    if not 0 <= bits < 2**_MOST_BITS:
        raise ModelError(
            f"{key} of {what} is {value!r}: expected {_MOST_BITS} bits, a number from 0 to 2^{_MOST_BITS} - 1"
        )
    return bits


def _whole(key: str, value: Any, what: str) -> int:
    try:
        return operator.index(value)
    except TypeError:
        raise ModelError(f"{key} of {what} is {value!r}: expected a whole number") from None


def _numbers(value: Any) -> Any:
    """An array (n,) of floats; None: the value is something else."""
    try:
        return np.asarray(value, dtype=float).reshape(-1)
    except (TypeError, ValueError, OverflowError):
        return None
