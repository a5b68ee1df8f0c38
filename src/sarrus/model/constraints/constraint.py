"""What every constraint answers for itself."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, fields, replace
from enum import Enum
from typing import Any, ClassVar, TypeVar

from sarrus.model.answer import answer
from sarrus.once import cached_property
from sarrus.spatial.parameter import Parameter

Terms = tuple[tuple[str, float], ...]  # (joint name, number), ...

# Metadata of fields: whose names they hold. A reference is no part of what is held.
FRAME, JOINT, REFERENCE = {"names": "frame"}, {"names": "joint"}, {"names": "reference"}


class Kind(Enum):
    """What a constraint holds: the methods differ in which of these they take."""

    LINK = "link constraint"  # a frame against the world
    LOOP = "loop"  # two frames against each other
    COUPLING = "coupling"  # coordinates of joints
    CENTER_OF_MASS = "centre of mass"  # all bodies, against the world
    TENDON = "tendon"  # nothing: it has no rows

    @property
    def embeddable(self) -> bool:
        """Whether such a constraint makes a cluster of bodies, in which it holds by construction."""
        return self in (Kind.LOOP, Kind.COUPLING)


@dataclass(frozen=True, eq=False)
class Constraint(ABC):
    """A condition that holds between parts of a model.

    name           unique in its model
    source         the tag in the file that it came from
    active         whether it holds; inactive constraints are only kept for the record
    stabilization  time constant of Baumgarte stabilization in seconds; None: no feedback

    Constraints against the world also take these arguments:

    desired        the prescribed acceleration of its rows: None (zero), numbers, or "input" (given at run time)
    at             the place to which Baumgarte feedback returns; None: velocity feedback only

    >>> sarrus.zoo.four_bar().constraints[0].size
    5
    """

    name: str
    source: str = field(default="", kw_only=True)
    active: bool = field(default=True, kw_only=True)
    stabilization: float | None = field(default=None, kw_only=True)
    desired: Any = field(default=None, init=False)
    at: Any = field(default=None, init=False)
    kind: ClassVar[Kind]  # what such constraints hold: a link, a loop, coordinates of joints, the centre of mass

    def __getstate__(self) -> dict[str, Any]:
        """What is declared, without what was computed from it."""
        return {f.name: getattr(self, f.name) for f in fields(self)}

    @answer
    @abstractmethod
    def size(self) -> int:
        """How many rows it has."""

    @abstractmethod
    def in_words(self) -> tuple[str, str]:
        """Two texts: what it is, and what it holds."""

    @cached_property
    def frames(self) -> tuple[str, ...]:
        """The frames that it names: where it is drawn."""
        return self._names_of(FRAME)

    @property
    def joints(self) -> tuple[str, ...]:
        """The joints that it names."""
        return self._names_of(JOINT)

    @cached_property
    def takes_input(self) -> bool:
        """Whether its desired acceleration is given at run time."""
        return isinstance(self.desired, str)

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """Those of its numbers that are symbols."""
        return tuple(x for f in fields(self) for x in _scalars(getattr(self, f.name)) if isinstance(x, Parameter))

    @property
    def velocity_only(self) -> bool:
        """Whether it holds velocities, but says nothing about positions."""
        return self.kind in (Kind.LINK, Kind.CENTER_OF_MASS) and self.at is None

    def renamed(self, named: Callable[[str], str]) -> Constraint:
        """The same with other names: its own, and those of frames and joints.

        named    a function from an old name to the new one
        returns  a constraint of the same type
        errors   none

        >>> sarrus.weld("tip", "world", name="hold").renamed(lambda name: f"left_{name}").frames
        ('left_tip', 'left_world')
        """
        changes: dict[str, Any] = {"name": named(self.name)}
        for f in fields(self):
            held = getattr(self, f.name) if f.metadata else None
            if held is not None:
                changes[f.name] = named(held) if isinstance(held, str) else tuple((named(j), x) for j, x in held)
        return replace(self, **changes)

    def _names_of(self, what: dict[str, str]) -> tuple[str, ...]:
        held = [getattr(self, f.name) for f in fields(self) if f.metadata == what]
        terms = [((x, 1.0),) if isinstance(x, str) else x or () for x in held]
        return tuple(name for part in terms for name, _ in part)


def _scalars(value: Any) -> list[Any]:
    """What is in a field, and in the tuples in it."""
    return [x for part in value for x in _scalars(part)] if isinstance(value, tuple) else [value]


AnyConstraint = TypeVar("AnyConstraint", bound=Constraint)


def of_type(constraints: Iterable[Constraint], wanted: type[AnyConstraint]) -> list[AnyConstraint]:
    """Those of one type, in order: for what only that type can answer."""
    return [c for c in constraints if isinstance(c, wanted)]
