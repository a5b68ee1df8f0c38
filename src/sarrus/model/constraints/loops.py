"""Constraints between two frames, which close loops of the tree: joints that were cut, and distances."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import numpy as np

from sarrus.errors import ModelError, unknown_name
from sarrus.model.answer import answer
from sarrus.model.constraints.arguments import checked_time
from sarrus.model.constraints.constraint import FRAME, Constraint, Kind
from sarrus.once import cached_property
from sarrus.spatial.arrays import Array
from sarrus.spatial.product import direction

_SHORTEST = 1e-9  # metres of a rod whose direction is known to seven digits, a metre from the origin


class Held(Enum):
    """What is held of frame b, seen from frame a, and by how many rows."""

    POINT = "the origins coincide", 3
    LINE = "the origin stays on the axis", 2
    PLANE = "the origin stays in the plane across the axis", 1
    ROTATION = "nothing turns", 3
    DIRECTION = "the axes are parallel", 2
    RIGHT_ANGLE = "the second axis stays perpendicular to the axis", 1
    SCREW = "the advance along the axis is the pitch times the angle about it", 1
    DISTANCE = "the origins keep their distance", 1

    @cached_property
    def rows(self) -> int:
        return self.value[1]


CLOSURES: dict[str, tuple[Held, ...]] = {  # in the order of their rows
    "weld": (Held.POINT, Held.ROTATION),
    "connect": (Held.POINT,),
    "spherical": (Held.POINT,),
    "revolute": (Held.POINT, Held.DIRECTION),
    "universal": (Held.POINT, Held.RIGHT_ANGLE),
    "prismatic": (Held.LINE, Held.ROTATION),
    "cylindrical": (Held.LINE, Held.DIRECTION),
    "planar": (Held.PLANE, Held.DIRECTION),
    "helical": (Held.LINE, Held.DIRECTION, Held.SCREW),
}


@dataclass(frozen=True, eq=False)
class LoopConstraint(Constraint):
    """A constraint of two frames against each other."""

    frame_a: str = field(metadata=FRAME)  # the name of a frame, or "world"
    frame_b: str = field(metadata=FRAME)  # the name of another, which its forces act on
    kind = Kind.LOOP

    @answer
    @abstractmethod
    def holds(self) -> tuple[Held, ...]:
        """In the order of the rows."""

    @answer
    def size(self) -> int:
        return sum(held.rows for held in self.holds)


@dataclass(frozen=True, eq=False)
class LoopClosure(LoopConstraint):
    """A joint between two frames that closes a loop of the tree. The cut joint may be of any type.

    frame_a      the name of a frame, or "world"
    frame_b      the name of another, which its forces act on
    joint        revolute, universal, prismatic, cylindrical, planar, helical, spherical, connect or weld
    axis         of the joint, in frame_a and, when the loop is closed, in frame_b; default z
    second_axis  of a universal joint, in frame_b
    pitch        of a helical joint: metres per radian

    Forces act on frame_b (and their opposites on frame_a), in the axes of frame_a for weld and connect, otherwise along
    the rows.

    >>> sarrus.loop("a", "b", "universal").size
    4
    """

    joint: str
    axis: tuple[float, float, float] | None = None
    second_axis: tuple[float, float, float] | None = field(default=None, kw_only=True)
    pitch: float = field(default=0.0, kw_only=True)

    @answer
    def holds(self) -> tuple[Held, ...]:
        """What the joint holds of frame b, seen from frame a, in the order of the rows."""
        if self.joint not in CLOSURES:
            raise unknown_name(f"joint of loop closure {self.name!r}:", self.joint, CLOSURES)
        return CLOSURES[self.joint]

    @cached_property
    def basis(self) -> Array:
        """(3, 3): the axis, and two directions across it."""
        u = direction(np.array((0.0, 0.0, 1.0) if self.axis is None else self.axis, dtype=float))
        t = direction(np.cross(u, np.eye(3)[int(np.argmin(np.abs(u)))]))
        return np.stack([u, t, np.cross(u, t)])

    def in_words(self) -> tuple[str, str]:
        return f"loop closed by {self.joint}", f"{self.frame_a} - {self.frame_b}"


@dataclass(frozen=True, eq=False)
class Distance(LoopConstraint):
    """Two frames whose origins stay at a fixed distance.

    frame_a  the name of a frame, or "world"
    frame_b  the name of another, which its forces act on
    length   metres

    >>> sarrus.distance("a", "b", 0.5).length
    0.5
    """

    length: float

    @answer
    def holds(self) -> tuple[Held, ...]:
        """What it holds: the distance of the origins, one row."""
        return (Held.DISTANCE,)

    def in_words(self) -> tuple[str, str]:
        return "distance", f"{self.frame_a} - {self.frame_b}"


def weld(frame_a: str, frame_b: str, *, name: str | None = None, stabilization: float | None = None) -> LoopClosure:
    """Two frames that coincide: 6 rows. Either may be "world".

    frame_a, frame_b  names of frames; either may be "world"
    name              unique in the model; default: generated
    stabilization     time constant of Baumgarte stabilization in seconds (None: off)
    returns           a `LoopClosure`, for `model.with_constraints`
    errors            `ModelError`: the two frames are the same


    >>> sarrus.weld("hand", "world").size
    6
    """
    return loop(frame_a, frame_b, "weld", name=name, stabilization=stabilization)


def connect(frame_a: str, frame_b: str, *, name: str | None = None, stabilization: float | None = None) -> LoopClosure:
    """Two frames whose origins coincide, as with a ball joint: 3 rows.

    frame_a, frame_b  names of frames; either may be "world"
    name              unique in the model; default: generated
    stabilization     time constant of Baumgarte stabilization in seconds (None: off)
    returns           a `LoopClosure`, for `model.with_constraints`
    errors            `ModelError`: the two frames are the same


    >>> sarrus.connect("rod_end", "hand").size
    3
    """
    return loop(frame_a, frame_b, "connect", name=name, stabilization=stabilization)


def loop(frame_a: str, frame_b: str, joint: str = "revolute", *, axis: Any = None, second_axis: Any = None,
         pitch: float = 0.0, name: str | None = None, stabilization: float | None = None) -> LoopClosure:  # fmt: skip
    """A joint between two frames of the tree, which closes a loop.

    joint             revolute (5 rows), universal (4), prismatic (5), cylindrical (4), planar (3), helical (5); also
                      weld, connect, spherical
    axis              of the joint, in both frames (default z); for a planar joint, the normal of its plane
    second_axis       of a universal joint, in frame_b; default: one perpendicular to `axis`
    pitch             of a helical joint: metres per radian
    stabilization     time constant of Baumgarte stabilization in seconds (None: off)
    frame_a, frame_b  names of frames; either may be "world"
    name              unique in the model; default: generated
    returns           a `LoopClosure`, for `model.with_constraints`
    errors            `UnknownNameError`: no such joint type; `ModelError`: an axis or pitch that the joint does not
                      have

    >>> sarrus.loop("rod_end", "crank_pin", "revolute", axis=(0, 1, 0)).size
    5
    """
    if joint not in CLOSURES:
        raise unknown_name(f"joint of the loop between {frame_a!r} and {frame_b!r}:", joint, CLOSURES)
    where = f"loop between {frame_a!r} and {frame_b!r}"
    if not np.isfinite(pitch):
        raise ModelError(f"{where}: the pitch is {pitch!r}: it must be finite")
    if pitch != 0.0 and joint != "helical":
        raise ModelError(f"{where}: a {joint} joint has no pitch; only a helical one has")
    if second_axis is not None and joint != "universal":
        raise ModelError(f"{where}: a {joint} joint has no second axis; only a universal one has")
    return LoopClosure(
        name or f"{joint}_{frame_a}_{frame_b}", *_two_frames(frame_a, frame_b), joint, _direction(axis, where),
        second_axis=_direction(second_axis, where), pitch=float(pitch),
        stabilization=checked_time(stabilization, f"{frame_a!r} - {frame_b!r}"),
    )  # fmt: skip


def distance(frame_a: str, frame_b: str, length: float, *, name: str | None = None,
             stabilization: float | None = None) -> Distance:  # fmt: skip
    """Two frames whose origins stay `length` metres apart, as with a massless rod between ball joints: 1 row.

    length            metres
    frame_a, frame_b  names of frames; either may be "world"
    name              unique in the model; default: generated
    stabilization     time constant of Baumgarte stabilization in seconds (None: off)
    returns           a `Distance`, for `model.with_constraints`
    errors            `ModelError`: a length that is not positive, a frame and itself


    >>> sarrus.distance("ankle", "motor", 0.3).size
    1
    """
    pair = f"{frame_a!r} - {frame_b!r}"
    _two_frames(frame_a, frame_b)
    if not np.isfinite(length) or length < 0.0:
        raise ModelError(f"distance of {pair}: the length is {length!r}: it must be finite and not negative")
    if length < _SHORTEST:
        raise ModelError(
            f"distance of {pair}: the length is {length:g}; rounding decides on the direction of a rod shorter than "
            f"{_SHORTEST:g} m. Use `connect`"
        )
    name, time = name or f"distance_{frame_a}_{frame_b}", checked_time(stabilization, pair)
    return Distance(name, frame_a, frame_b, float(length), stabilization=time)


def _two_frames(frame_a: str, frame_b: str) -> tuple[str, str]:
    if frame_a == frame_b:
        raise ModelError(f"a constraint between frame {frame_a!r} and itself has no effect")
    return frame_a, frame_b


def _direction(axis: Any, where: str) -> tuple[float, float, float] | None:
    if axis is None:
        return None
    try:
        x, y, z = (float(number) for number in axis)
    except (TypeError, ValueError):
        raise ModelError(f"{where}: an axis is three numbers, got {axis!r}") from None
    length = float(np.linalg.norm([x, y, z]))
    if not np.isfinite(length) or length == 0.0:
        raise ModelError(f"{where}: the axis {[x, y, z]} has no direction")
    return (x / length, y / length, z / length)
