"""What a user may say about contacts, checked."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from sarrus.errors import StateError, check_name
from sarrus.mechanics.contact.operator_choice import OPERATORS
from sarrus.model.arguments import pairs_of_names, positive_number, true_or_false, whole_number

_SWITCHES = ("self_collision", "joint_limits", "convex", "turning", "exact_friction")
_COUNTS = ("slots", "limit_slots")


@dataclass(frozen=True)
class ContactOptions:
    """How a robot touches its surroundings (`sarrus.Simulation(..., contacts=ContactOptions(restitution=0.5))`).

    restitution     rebound speed as a fraction of the impact speed
    self_collision  whether bodies of one robot touch each other; those of two robots, or of a robot and an object,
                    always do. Chains that a loop holds together are one robot
    pairs           the only pairs of geometries, by name, that may touch; None: as the model says
    slots           how many contacts there may be at a time; None: an estimate. If there are more, the nearest count
    limit_slots     the same of joint limits that are reached at a time
    stiffness       N/m of a compliant contact point along its normal; None: contacts are rigid
    damping         N s/m of a compliant contact
    joint_limits    True: as contacts, which push but never pull; False: as springs (`JointForces`)
    tolerance       in m/s, for the solution of the contact problem
    exact_friction  True: joints with dry friction begin and cease to slip in the very step in which they must, as rows
                    of the contact problem, which takes several times as long; False: one step later
    turning         whether contacts resist spinning and rolling where the model says so (`dimensions` 4 and 6)
    convex          use the convex relaxation instead of Coulomb's law: sliding contacts lift off a little
    operator        what contact problems are solved with: "dense" (a matrix), or "sweeps" over the tree, wherever
                    contacts with the world allow it; None: that which is less work (`Simulation.notes` says why)

    >>> sarrus.ContactOptions(restitution=0.5).restitution
    0.5
    """

    restitution: float = 0.0
    self_collision: bool = False
    pairs: Iterable[tuple[str, str]] | None = None
    slots: int | None = None
    stiffness: float | None = None
    damping: float = 0.0
    joint_limits: bool = True
    tolerance: float = 1e-6
    convex: bool = False
    turning: bool = False
    operator: str | None = None
    exact_friction: bool = False
    limit_slots: int | None = None

    def __post_init__(self) -> None:
        for name in _SWITCHES:
            self._set(name, true_or_false(name, getattr(self, name)))
        for name in _COUNTS:
            if getattr(self, name) is not None:
                self._set(name, whole_number(name, getattr(self, name), least=1))
        self._set("restitution", positive_number("restitution", self.restitution, least=0.0))
        if self.restitution > 1.0:
            raise StateError(f"restitution is {self.restitution:g}: expected a number from 0 to 1")
        self._set("tolerance", positive_number("tolerance", self.tolerance))
        self._set("damping", positive_number("damping", self.damping, least=0.0))
        if self.stiffness is not None:
            self._set("stiffness", positive_number("stiffness", self.stiffness))
            if self.restitution > 0.0:
                raise StateError(
                    f"restitution is {self.restitution:g} of a contact that gives way: it bounces by its stiffness and "
                    "as its damping lets it; give one or the other"
                )
        elif self.damping > 0.0:
            raise StateError(f"damping is {self.damping:g} but contacts are rigid: give a stiffness, too")
        if self.pairs is not None:
            self._set("pairs", pairs_of_names(self.pairs))
        if self.operator is not None:
            check_name("operator", self.operator, OPERATORS)

    def _set(self, name: str, value: Any) -> None:
        """Keep a plain value in place of whatever says the same: the name of a kernel depends on how it is written."""
        object.__setattr__(self, name, value)


def options_for(function: str, contacts: Any) -> ContactOptions:
    """The options that a function was given, or the default ones. It always has contacts: True and False say nothing.

    errors  `StateError`: something else
    """
    if contacts is None:
        return ContactOptions()
    if not isinstance(contacts, ContactOptions):
        raise StateError(
            f"{function}: contacts is {contacts!r}. Valid: sarrus.ContactOptions(...), or None for the default ones"
        )
    return contacts


def check_rigid(function: str, options: ContactOptions, why: str) -> None:
    """Refuse contacts that give way, for a reason."""
    if options.stiffness is not None:
        raise StateError(f"{function}: stiffness is {options.stiffness:g}, but {why}. Leave stiffness and damping out")
