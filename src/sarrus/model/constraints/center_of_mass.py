"""The robot's centre of mass, held or moved."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from sarrus.errors import ModelError
from sarrus.model.answer import answer
from sarrus.model.constraints.arguments import checked_desired, checked_time, finite_numbers
from sarrus.model.constraints.constraint import Constraint, Kind


@dataclass(frozen=True, eq=False)
class CenterOfMass(Constraint):
    """The robot's centre of mass moves as prescribed along some axes of the world: rows on all bodies.

    axes     of the world, in the order of the rows
    desired  (m,) acceleration along them, m/s^2; None: zero; "input": given at run time
    at       (m,) where it is held along those axes, m; None: velocity feedback only

    Forces act on the robot at its centre of mass, along those axes; each body gets a share in proportion to its mass.

    >>> sarrus.center_of_mass_constraint("xy").size
    2
    """

    axes: str = "xyz"
    desired: Any = field(default=None, kw_only=True)
    at: Any = field(default=None, kw_only=True)
    kind = Kind.CENTER_OF_MASS

    @answer
    def size(self) -> int:
        return len(self.axes)

    @property
    def numbers(self) -> list[int]:
        """Which of x, y, z are held."""
        return ["xyz".index(axis) for axis in self.axes]

    def in_words(self) -> tuple[str, str]:
        return "centre of mass", f"along {', '.join(self.axes)}"


def center_of_mass_constraint(axes: str = "xyz", *, name: str | None = None, at: Any = None, k: Any = None,
                              stabilization: float | None = None) -> CenterOfMass:  # fmt: skip
    """The robot's centre of mass is held or moved: one row per axis of the world, on all bodies.

    axes           which of "x", "y" and "z" are held, and in which order
    k              its desired acceleration along them: None (zero), numbers, or "input" (an input of the algorithm)
    at             where it is held, for Baumgarte position feedback: one number per axis
    stabilization  time constant of Baumgarte stabilization in seconds (None: off)
    name           unique in the model; default: generated
    returns        a `CenterOfMass`, for `model.with_constraints`
    errors         `ModelError`: no such axes, or numbers that do not fit them

    >>> robot = sarrus.zoo.stem(3, 2).with_constraints(sarrus.center_of_mass_constraint("xy"))
    >>> robot.n_rows
    2
    """
    if not isinstance(axes, str) or not axes or len(set(axes)) != len(axes) or not set(axes) <= set("xyz"):
        raise ModelError(f'centre of mass: the axes are {axes!r}. Valid: "x", "y", "z" or several, such as "xy", "xyz"')
    what, along = "the centre of mass", f", along {', '.join(axes)}"
    return CenterOfMass(
        name or f"center_of_mass_{axes}", axes, desired=checked_desired(k, len(axes), what),
        at=None if at is None else finite_numbers(at, len(axes), "centre of mass: `at`", along),
        stabilization=checked_time(stabilization, what),
    )  # fmt: skip
