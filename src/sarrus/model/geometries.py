"""What a robot and its surroundings touch with, as data: shapes on bodies and on the world, with their friction.

Nothing here is part of `Model.digest`: a step that has contacts takes them as an option.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from sarrus.errors import ModelError, StateError
from sarrus.model.arguments import as_numbers
from sarrus.model.bodies import WORLD_NAME, Placement, freeze
from sarrus.model.visuals import Box, Capsule, Cylinder, Ellipsoid, Sphere, check_sizes
from sarrus.spatial.arrays import Array


@dataclass(frozen=True)
class Plane:
    """The half-space below z = 0; unbounded."""


def _array(what: str, value: Any) -> Array:
    """Real numbers as an array that stays as it is."""
    try:
        numbers = as_numbers(f"{what}: expected numbers", value).astype(float, copy=False)
    except StateError as error:
        raise ModelError(str(error)) from None
    freeze(numbers)
    return numbers


@dataclass(frozen=True, eq=False)
class ConvexMesh:
    """The convex hull of points."""

    vertices: Array  # (n, 3), those on the hull only
    path: str = ""  # the file that it came from

    def __post_init__(self) -> None:
        object.__setattr__(self, "vertices", _array("ConvexMesh: vertices", self.vertices))


@dataclass(frozen=True, eq=False)
class HeightField:
    """Ground of heights z over a rectangle about the origin, linear in between, two triangles to a cell.

    heights  (rows, columns): rows along y, columns along x
    size     half the lengths along x and y
    """

    heights: Array
    size: tuple[float, float]

    def __post_init__(self) -> None:
        check_sizes(self, size=2)
        object.__setattr__(self, "heights", _array("HeightField: heights", self.heights))


ContactShape = Plane | Sphere | Capsule | Cylinder | Box | Ellipsoid | ConvexMesh | HeightField
GROUND = (Plane, HeightField)  # shapes without an end: of the world only


@dataclass(frozen=True)
class Friction:
    """Coefficients: of sliding (no unit), and of twisting and rolling (metres)."""

    sliding: float = 1.0
    torsional: float = 0.0
    rolling: float = 0.0


@dataclass(frozen=True, eq=False)
class Geometry:
    """A shape that can touch others.

    body        its number; -1: the world
    placement   in the body's frame
    dimensions  1: no friction, 3: sliding, 4: twisting too, 6: rolling too
    category, collides_with  bits: two geometries may meet if a category of one is among what the other collides with
    margin      metres from which on a contact is looked at
    priority    of two geometries that differ in it, the higher one gives friction and dimensions; else the larger ones
    link        the body that it was declared on, which may have been merged into `body`: what `excluded_pairs` name
    """

    name: str
    body: int
    placement: Placement
    shape: ContactShape
    friction: Friction = Friction()
    dimensions: int = 3
    category: int = 1
    collides_with: int = 1
    margin: float = 0.0
    priority: int = 0
    link: str = WORLD_NAME

    def __post_init__(self) -> None:
        freeze(self.placement.R, self.placement.p)

    def moved(self, body: int, by: Placement) -> Geometry:
        """The same shape on another body, in whose frame this one's body is placed."""
        return replace(self, body=body, placement=by @ self.placement)


@dataclass(frozen=True)
class GeometryPair:
    """Two geometries, by name, that may meet whatever their categories say; None: as the geometries say."""

    a: str
    b: str
    friction: Friction | None = None
    dimensions: int | None = None
    margin: float | None = None
