"""What a robot looks like, as data: shapes on bodies. Nothing here takes part in the dynamics or in `Model.digest`."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sarrus.errors import ModelError, StateError
from sarrus.model.arguments import as_numbers
from sarrus.model.bodies import Placement
from sarrus.spatial.arrays import Array

Color = tuple[float, float, float, float]  # red, green, blue, opacity, each from 0 to 1
Three = tuple[float, float, float]


def check_sizes(shape: object, **counts: int) -> None:
    """Keep what a shape is made of as plain numbers: one, or a tuple of so many; an error names what is not.

    How large they may be is up to what the shape is for: a file may draw a ball of no size, and nothing can touch it.
    """
    for name, count in counts.items():
        value = getattr(shape, name)
        try:
            numbers = as_numbers("", value).astype(float)
        except StateError:
            numbers = None
        if numbers is None or isinstance(value, bool) or numbers.shape != (() if count == 1 else (count,)):
            words = "a number" if count == 1 else f"{count} numbers"
            raise ModelError(f"{type(shape).__name__}: {name} is {value!r}: expected {words}")
        object.__setattr__(shape, name, float(numbers) if count == 1 else tuple(numbers.tolist()))


@dataclass(frozen=True)
class Box:
    """A box with its middle at the origin; `size`: the lengths of its edges."""

    size: Three

    def __post_init__(self) -> None:
        check_sizes(self, size=3)


@dataclass(frozen=True)
class Sphere:
    """A ball about the origin."""

    radius: float

    def __post_init__(self) -> None:
        check_sizes(self, radius=1)


@dataclass(frozen=True)
class Ellipsoid:
    """An ellipsoid about the origin; `radii`: half its lengths along x, y and z."""

    radii: Three

    def __post_init__(self) -> None:
        check_sizes(self, radii=3)


@dataclass(frozen=True)
class Cylinder:
    """A cylinder along z with its middle at the origin."""

    radius: float
    length: float

    def __post_init__(self) -> None:
        check_sizes(self, radius=1, length=1)


@dataclass(frozen=True)
class Capsule:
    """A cylinder along z with half a ball at each end; `length` is that of the cylinder alone."""

    radius: float
    length: float

    def __post_init__(self) -> None:
        check_sizes(self, radius=1, length=1)


@dataclass(frozen=True)
class Mesh:
    """A file of triangles (STL, OBJ, DAE, ...), which is read when it is drawn, if it is there."""

    path: str
    scale: Three = (1.0, 1.0, 1.0)

    def __post_init__(self) -> None:
        check_sizes(self, scale=3)


@dataclass(frozen=True, eq=False)
class Triangles:
    """A surface given by its vertices."""

    vertices: Array  # (n, 3)
    faces: Array  # (m, 3) numbers of vertices


Shape = Box | Sphere | Ellipsoid | Cylinder | Capsule | Mesh | Triangles


@dataclass(frozen=True, eq=False)
class Visual:
    """A shape on a body.

    body       its number; -1: the world
    placement  in the body's frame
    color      None: whatever whoever draws it likes
    collision  whether the file has it for contacts rather than for the eye
    """

    body: int
    placement: Placement
    shape: Shape
    color: Color | None = None
    collision: bool = False

    def moved(self, body: int, by: Placement) -> Visual:
        """The same shape on another body, in whose frame this one's body is placed."""
        return replace(self, body=body, placement=by @ self.placement)


def rotation_to(direction: Array) -> Array:
    """A rotation that takes z, the axis of a capsule, to a direction of any length; the identity for zero."""
    length = float(np.linalg.norm(direction))
    if length == 0.0:
        return np.eye(3)
    z = np.asarray(direction, float) / length
    x = np.cross(np.eye(3)[int(np.argmin(np.abs(z)))], z)
    x /= np.linalg.norm(x)
    return np.column_stack([x, np.cross(z, x), z])
