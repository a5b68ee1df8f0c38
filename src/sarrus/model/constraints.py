"""Constraints as declared. They are data: what they do to the dynamics is computed elsewhere.

Rows and forces are always in the order in which constraints were declared.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sarrus.errors import ModelError, unknown_name


@dataclass(frozen=True, eq=False)
class Constraint:
    """Something that holds between parts of a model; `name` is unique, `source` says which tag it came from."""

    name: str
    source: str = field(default="", kw_only=True)
    active: bool = field(default=True, kw_only=True)

    @property
    def size(self) -> int:
        """How many rows it has."""
        return 0

    @property
    def takes_input(self) -> bool:
        """Whether its desired acceleration is given at run time."""
        return False


@dataclass(frozen=True, eq=False)
class LinkConstraint(Constraint):
    """A constraint of one frame against the world: rows on the frame's spatial acceleration, in the frame's axes.

    desired        the acceleration that the rows are to have: None (zero), numbers, or "input" (given at run time)
    stabilization  Baumgarte's time constant in seconds; None: no feedback
    R              softness, one number or one per row: a soft row's force is (k - K a) / R; None where only hard
                   methods are used
    """

    frame: str
    desired: Any = field(default=None, kw_only=True)
    stabilization: float | None = field(default=None, kw_only=True)
    R: Any = field(default=None, kw_only=True)

    @property
    def size(self) -> int:
        raise NotImplementedError

    @property
    def takes_input(self) -> bool:
        return isinstance(self.desired, str)


@dataclass(frozen=True, eq=False)
class Contact(LinkConstraint):
    """A frame that stays where it is: its origin (dim 3) or its whole pose (dim 6).

    `at`: the position (dim 3) or (position, rotation matrix) that Baumgarte's feedback returns to; None: velocity
    feedback only. Rows of dim 3 are the acceleration of the origin as a point.
    """

    dim: int = 3
    at: Any = None

    @property
    def size(self) -> int:
        return self.dim


@dataclass(frozen=True, eq=False)
class LinkRows(LinkConstraint):
    """Arbitrary rows: K a = desired with a the frame's spatial acceleration [linear; angular] in its own axes."""

    K: Any = None  # (m, 6)

    @property
    def size(self) -> int:
        return len(self.K)


CLOSURES: dict[str, int] = {
    "weld": 6, "connect": 3, "spherical": 3, "revolute": 5, "universal": 4, "prismatic": 5, "cylindrical": 4,
    "planar": 3, "helical": 5,
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class LoopClosure(Constraint):
    """Two frames that a joint connects, which closes a loop of the tree: any joint type may be the cut joint.

    joint          weld (6 rows), connect or spherical (3), revolute (5), universal (4), prismatic (5), cylindrical
                   (4), planar (3), helical (5)
    axis           of the joint, in frame_a and, when the loop is closed, in frame_b; default z. second_axis:
                   universal joints', in frame_b
    stabilization  Baumgarte's time constant in seconds; None: no feedback

    Forces act on frame_b (and their opposite on frame_a), in the axes of frame_a for weld and connect, else along the
    rows.
    """

    frame_a: str
    frame_b: str
    joint: str
    axis: tuple[float, float, float] | None = None
    second_axis: tuple[float, float, float] | None = field(default=None, kw_only=True)
    pitch: float = field(default=0.0, kw_only=True)
    stabilization: float | None = field(default=None, kw_only=True)

    @property
    def size(self) -> int:
        return CLOSURES[self.joint]


@dataclass(frozen=True, eq=False)
class Coupling(Constraint):
    """A polynomial relation between joint coordinates: sum of coefficients * q = polynomial(q of `driver`).

    Linear gears, belts and differentials: `sum_k ratio_k q_k = offset`. For MJCF's `equality/joint` and URDF's `mimic`,
    `q_joint = polycoef[0] + polycoef[1] q_driver + ...` (all relative to their reference positions).
    """

    ratios: tuple[tuple[str, float], ...]  # (joint name, coefficient): sum = polynomial(driver)
    driver: str | None = None
    polynomial: tuple[float, ...] = (0.0,)
    references: tuple[tuple[str, float], ...] = ()  # positions that q is measured from; 0 where not named
    stabilization: float | None = field(default=None, kw_only=True)

    @property
    def size(self) -> int:
        return 1


@dataclass(frozen=True, eq=False)
class Distance(Constraint):
    """Two frames whose origins keep a distance."""

    frame_a: str
    frame_b: str
    length: float
    stabilization: float | None = field(default=None, kw_only=True)

    @property
    def size(self) -> int:
        return 1


@dataclass(frozen=True, eq=False)
class CenterOfMass(Constraint):
    """The robot's centre of mass moves as it is told, along some axes of the world: rows on all bodies.

    desired        its acceleration: None (zero), numbers, or "input" (given at run time)
    at             the position, along those axes, that Baumgarte's feedback returns to; None: velocity feedback only
    stabilization  Baumgarte's time constant in seconds; None: no feedback

    Forces act on the robot at its centre of mass, along those axes: every body takes the part that its mass has.
    """

    axes: str = "xyz"
    desired: Any = field(default=None, kw_only=True)
    at: Any = field(default=None, kw_only=True)
    stabilization: float | None = field(default=None, kw_only=True)

    @property
    def size(self) -> int:
        return len(self.axes)

    @property
    def takes_input(self) -> bool:
        return isinstance(self.desired, str)

    @property
    def numbers(self) -> list[int]:
        """Which of x, y, z are held."""
        return ["xyz".index(axis) for axis in self.axes]


@dataclass(frozen=True, eq=False)
class Tendon(Constraint):
    """A fixed tendon: a length `sum_k coefficient_k q_k`, which actuators, springs and limits act on.

    It constrains nothing by itself; an equality on it is a `Coupling`.
    """

    coefficients: tuple[tuple[str, float], ...]
    properties: tuple[tuple[str, Any], ...] = ()


def contact(frame: str, dim: int = 3, *, name: str | None = None, at: Any = None, k: Any = None,
            stabilization: float | None = None, R: Any = None) -> Contact:  # fmt: skip
    """A frame that touches the world: dim 3 holds its origin, dim 6 welds it.

    k              desired acceleration of the rows: None (zero), numbers, or "input" (an input of the algorithm)
    at             where it is held, for Baumgarte's position feedback: a position, or (position, rotation) for dim 6
    stabilization  Baumgarte's time constant in seconds (None: off)
    R              softness of the rows, for the soft methods
    """
    if dim not in (3, 6):
        raise ModelError(f"contact of frame {frame!r}: dim is {dim!r}. Valid: 3 (point), 6 (weld)")
    what = f"frame {frame!r}"
    return Contact(
        name or f"contact_{frame}", frame, dim, at, desired=_desired(k, dim, what),
        stabilization=_time(stabilization, what), R=_softness(R, dim, what),
    )  # fmt: skip


def link_rows(frame: str, K: Any, k: Any = None, *, name: str | None = None, stabilization: float | None = None,
              R: Any = None) -> LinkRows:  # fmt: skip
    """Rows `K a = k` on a frame's spatial acceleration [linear; angular], in the frame's own axes. K is (m, 6)."""
    rows = np.array(K, dtype=float)
    if rows.ndim != 2 or rows.shape[1] != 6 or not np.isfinite(rows).all():
        raise ModelError(f"link_rows of frame {frame!r}: K must be finite, of shape (m, 6), got shape {rows.shape}")
    m, what = len(rows), f"frame {frame!r}"
    return LinkRows(
        name or f"rows_{frame}", frame, rows, desired=_desired(k, m, what),
        stabilization=_time(stabilization, what), R=_softness(R, m, what),
    )  # fmt: skip


def weld(frame_a: str, frame_b: str, *, name: str | None = None, stabilization: float | None = None) -> LoopClosure:
    """Two frames that are one: 6 rows. Either may be "world"."""
    return _closure("weld", frame_a, frame_b, name, stabilization)


def connect(frame_a: str, frame_b: str, *, name: str | None = None, stabilization: float | None = None) -> LoopClosure:
    """Two frames whose origins are one point, as a ball joint makes them: 3 rows."""
    return _closure("connect", frame_a, frame_b, name, stabilization)


def loop(frame_a: str, frame_b: str, joint: str = "revolute", *, axis: Any = None, second_axis: Any = None,
         pitch: float = 0.0, name: str | None = None, stabilization: float | None = None) -> LoopClosure:  # fmt: skip
    """A joint between two frames of the tree, which closes a loop.

    joint          revolute (5 rows), universal (4), prismatic (5), cylindrical (4), planar (3), helical (5); also weld,
                   connect, spherical
    axis           of the joint, in both frames (default z); a planar joint's is the normal of its plane
    second_axis    of a universal joint, in frame_b; default: one perpendicular to `axis`
    pitch          of a helical joint: metres per radian
    stabilization  Baumgarte's time constant in seconds (None: off)
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
    return _closure(
        joint, frame_a, frame_b, name, stabilization, axis=_direction(axis, where),
        second_axis=_direction(second_axis, where), pitch=float(pitch),
    )  # fmt: skip


def distance(frame_a: str, frame_b: str, length: float, *, name: str | None = None,
             stabilization: float | None = None) -> Distance:  # fmt: skip
    """Two frames whose origins stay `length` metres apart, as a massless rod between ball joints holds them: 1 row."""
    pair = f"{frame_a!r} - {frame_b!r}"
    _two_frames(frame_a, frame_b)
    if not np.isfinite(length) or length < 0.0:
        raise ModelError(f"distance of {pair}: the length is {length!r}: it must be finite and not negative")
    if length == 0.0:
        raise ModelError(f"distance of {pair}: the length is 0, where the rod has no direction. Use `connect`")
    return Distance(
        name or f"distance_{frame_a}_{frame_b}",
        frame_a,
        frame_b,
        float(length),
        stabilization=_time(stabilization, pair),
    )


def coupling(ratios: Mapping[str, float], driver: str | None = None, polynomial: Any = (0.0,), *,
             references: Mapping[str, float] | None = None, name: str | None = None,
             stabilization: float | None = None) -> Coupling:  # fmt: skip
    """A relation between joint coordinates, 1 row: sum of ratio * q = polynomial(q of the driver).

    A gear 1:6 is `coupling({"rotor": 1.0, "link": -6.0})`; a mimic is
    `coupling({"b": 1.0}, driver="a", polynomial=(offset, ratio))`.

    ratios      coefficient by joint name
    polynomial  coefficients of 1, x, x^2, ...; without a driver just the constant
    references  positions that coordinates are measured from; 0 where not named
    """
    joined = "_".join(ratios)
    if not ratios:
        raise ModelError("coupling: it needs at least one joint")
    for joint, number in [*ratios.items(), *(references or {}).items()]:
        if not np.isfinite(number):
            raise ModelError(f"coupling of {joint!r}: the number is {number!r}: it must be finite")
    if not any(ratios.values()):
        raise ModelError(f"coupling of {', '.join(map(repr, ratios))}: every ratio is zero")
    coefficients = tuple(float(c) for c in np.atleast_1d(np.asarray(polynomial, dtype=float)))
    if not coefficients or not np.isfinite(coefficients).all():
        raise ModelError(
            f"coupling of {joined!r}: the polynomial is {polynomial!r}: expected finite coefficients of 1, x, x^2, ..."
        )
    if driver is None and any(coefficients[1:]):
        raise ModelError(
            f"coupling of {joined!r}: a polynomial of degree {len(coefficients) - 1} needs a `driver` joint"
        )
    return Coupling(
        name or f"coupling_{joined}", tuple((joint, float(x)) for joint, x in ratios.items()), driver, coefficients,
        tuple((joint, float(x)) for joint, x in (references or {}).items()), stabilization=_time(stabilization, joined),
    )  # fmt: skip


def center_of_mass_constraint(axes: str = "xyz", *, name: str | None = None, at: Any = None, k: Any = None,
                              stabilization: float | None = None) -> CenterOfMass:  # fmt: skip
    """The robot's centre of mass is held, or moved: one row per axis of the world, on all bodies.

    axes           which of "x", "y" and "z" are held, and in which order
    k              its desired acceleration along them: None (zero), numbers, or "input" (an input of the algorithm)
    at             where it is held along them, for Baumgarte's position feedback: as many numbers as axes
    stabilization  Baumgarte's time constant in seconds (None: off)
    """
    if not isinstance(axes, str) or not axes or len(set(axes)) != len(axes) or not set(axes) <= set("xyz"):
        raise ModelError(f'centre of mass: the axes are {axes!r}. Valid: "x", "y", "z" or several, such as "xy", "xyz"')
    what = "the centre of mass"
    return CenterOfMass(
        name or f"center_of_mass_{axes}", axes, desired=_desired(k, len(axes), what), at=_place(at, axes),
        stabilization=_time(stabilization, what),
    )  # fmt: skip


def _place(at: Any, axes: str) -> Any:
    if at is None:
        return None
    try:
        place = np.array(at, dtype=float)
    except (TypeError, ValueError):
        place = np.full(1, np.nan)
    if place.shape != (len(axes),) or not np.isfinite(place).all():
        raise ModelError(
            f"centre of mass: `at` must be {len(axes)} finite numbers, along {', '.join(axes)}, got {at!r}"
        )
    return place


def _closure(
    joint: str, frame_a: str, frame_b: str, name: str | None, stabilization: float | None, **geometry: Any
) -> LoopClosure:
    _two_frames(frame_a, frame_b)
    time = _time(stabilization, f"{frame_a!r} - {frame_b!r}")
    return LoopClosure(name or f"{joint}_{frame_a}_{frame_b}", frame_a, frame_b, joint, stabilization=time, **geometry)


def _two_frames(frame_a: str, frame_b: str) -> None:
    if frame_a == frame_b:
        raise ModelError(f"a constraint between frame {frame_a!r} and itself holds nothing")


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


def _desired(k: Any, size: int, what: str) -> Any:
    if k is None or (isinstance(k, str) and k == "input"):
        return k
    try:
        array = np.array(k, dtype=float)
    except (TypeError, ValueError):
        raise ModelError(f'constraint of {what}: k is {k!r}. Valid: None, {size} numbers, "input"') from None
    if array.shape != (size,) or not np.isfinite(array).all():
        raise ModelError(f"constraint of {what}: k must be {size} finite numbers, got {array.tolist()}")
    return array


def _softness(R: Any, size: int, what: str) -> Any:
    if R is None:
        return None
    array = np.array(R, dtype=float) * np.ones(size) if np.ndim(R) == 0 else np.array(R, dtype=float)
    if array.shape != (size,) or not np.isfinite(array).all() or (array <= 0.0).any():
        raise ModelError(f"constraint of {what}: R must be positive, one number or {size}, got {R!r}")
    return array


def _time(stabilization: float | None, what: str) -> float | None:
    if stabilization is not None and not (np.isfinite(stabilization) and stabilization > 0.0):
        raise ModelError(f"constraint of {what}: the stabilization time must be positive, got {stabilization!r}")
    return stabilization
