"""How contacts are treated: what a user may say, and what a step is compiled for."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from sarrus.errors import StateError, check_name, unknown_name
from sarrus.mechanics.bodies import joint_kinematics, world_poses
from sarrus.mechanics.contact.broad_phase import own_pairs, roots_of
from sarrus.mechanics.contact.contact_rows import Twist
from sarrus.mechanics.contact.contact_set import ContactSet, contact_set, resistance_to_turning
from sarrus.mechanics.contact.narrow_phase import is_supported
from sarrus.mechanics.contact.operator_choice import OPERATORS
from sarrus.model.arguments import positive_number, whole_number
from sarrus.model.bodies import WORLD
from sarrus.model.constraints import Kind
from sarrus.model.meeting_pairs import MeetingPair, meeting_pairs
from sarrus.model.model import Model
from sarrus.model.state import home_or_neutral
from sarrus.model.tree import tree_of
from sarrus.simulation.contact.dry_friction import Rub
from sarrus.simulation.contact.limits import limits_of
from sarrus.spatial.arrays import Array

_MOST_USUAL, _MOST_USUAL_LIMITS = 12, 4
_STANDING = 5e-3  # metres: what is no further from the ground than that where a robot stands, touches it
_LOWERED = 1.0  # metres by which a robot that stands in the air is lowered to find out
_SLOTS, _SPARE_SLOTS = 8, 2
_SLOTS_PER_THING, _MOST_SLOTS = 4, 24  # of several free bodies, which may lie on each other: one more than they are
_CLOSE = 0.1  # metres
_LIMIT_SLOTS, _MOST_LIMIT_SLOTS = 4, 16  # and one for every two joints that have limits
_AT_LIMIT = 1e-2  # radians or metres


@dataclass(frozen=True)
class ContactOptions:
    """How a robot touches its surroundings (`sarrus.Simulation(..., contacts=ContactOptions(restitution=0.5))`).

    restitution     rebound speed as a fraction of the impact speed
    self_collision  whether bodies of one robot touch each other; those of two robots, or of a robot and an object,
                    always do
    pairs           the only pairs of geometries, by name, that may touch; None: as the model says
    slots           how many contacts there may be at a time; None: an estimate. If there are more, the nearest count
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
    pairs: tuple[tuple[str, str], ...] | None = None
    slots: int | None = None
    stiffness: float | None = None
    damping: float = 0.0
    joint_limits: bool = True
    tolerance: float = 1e-6
    convex: bool = False
    turning: bool = False
    operator: str | None = None
    exact_friction: bool = False

    def __post_init__(self) -> None:
        positive_number("restitution", self.restitution, least=0.0)
        if self.restitution > 1.0:
            raise StateError(f"restitution is {self.restitution:g}: expected a number from 0 to 1")
        positive_number("tolerance", self.tolerance)
        positive_number("damping", self.damping, least=0.0)
        if self.stiffness is not None:
            positive_number("stiffness", self.stiffness)
            if self.restitution > 0.0:
                raise StateError(
                    f"restitution is {self.restitution:g} of a contact that gives way: it bounces by its stiffness and "
                    "as its damping lets it; give one or the other"
                )
        elif self.damping > 0.0:
            raise StateError(f"damping is {self.damping:g} but contacts are rigid: give a stiffness, too")
        if self.slots is not None:
            whole_number("slots", self.slots, least=1)
        if self.operator is not None:
            check_name("operator", self.operator, OPERATORS)


@dataclass(frozen=True)
class ContactSettings:
    """Everything about contacts that determines a step. Its `repr` is part of the kernel's name."""

    contacts: ContactSet
    restitution: float = 0.0
    limits: bool = True  # of joints
    usual_limits: tuple[int, ...] = ()  # those at which joints are where the robot stands
    limit_slots: int = 4
    limited: tuple[int, ...] = ()  # velocities of joints that have limits
    tolerance: float = 1e-6  # m/s
    convex: bool = False
    rubs: tuple[Rub, ...] = ()  # dry friction of joints and tendons
    softness: tuple[float, float] | None = None  # stiffness and damping of contacts
    operator: str | None = None  # None: by count
    exact_friction: bool = False  # of joints

    @property
    def limit_count(self) -> int:
        """How many velocities have limits that are looked at."""
        return len(self.limited) if self.limits else 0

    @property
    def cold(self) -> tuple[float, ...]:
        """What the first step begins with, and every other with what the step before left: numbers of the contacts in
        the slots, their impulses, impulses of joint limits, and dry friction, as parts of its size.
        """
        slots, width = self.contacts.slots, self.contacts.width
        return (-1.0,) * slots + (0.0,) * (width * slots + self.limit_count + len(self.rubs))


def contact_settings(model: Model, options: ContactOptions, traced: Model | None = None) -> ContactSettings | None:
    """Those of a model; None if nothing can touch.

    traced  the model with symbols, if steps are made of that: shapes are then where it has them, while decisions are
            those for the numbers of the model
    """
    pairs = [pair for pair in chosen_pairs(model, options) if is_supported(*_shapes(model, pair))]
    if not pairs:
        return None
    contacts = contact_set(model, pairs, (), 0, bool(options.turning))
    usual = usual_contacts(model, contacts)
    slots = options.slots or max(_SLOTS, len(usual) + _SPARE_SLOTS, _slots_of_things(model))
    contacts = replace(contacts, usual=usual[:slots], slots=min(slots, contacts.count))
    contacts = replace(contacts, closely=_close_to_the_ground(model, contacts))
    if traced is not None:
        contacts = replace(contacts, pairs=contact_set(traced, pairs, (), 0, bool(options.turning)).pairs)
    return ContactSettings(
        contacts, float(options.restitution), options.joint_limits, _usual_limits(model), _limit_slots(model),
        tuple(sorted({limit.v for limit in limits_of(model)})),
        tolerance=float(options.tolerance), convex=bool(options.convex),
        softness=None if options.stiffness is None else (float(options.stiffness), float(options.damping)),
        operator=options.operator,
        exact_friction=bool(options.exact_friction),
    )  # fmt: skip


def _slots_of_things(model: Model) -> int:
    """For free bodies that lie on each other; 0 where there is one, or none."""
    loose = sum(body.parent == WORLD and body.joint.type.name == "free" for body in model.bodies)
    return min(_MOST_SLOTS, _SLOTS_PER_THING * (loose + 1)) if loose > 1 else 0


def chosen_pairs(model: Model, options: ContactOptions) -> list[MeetingPair]:
    """The pairs that may touch, supported or not."""
    pairs = list(meeting_pairs(model))
    if options.pairs is not None:
        known = {geometry.name for geometry in model.geometries}
        for name in (x for pair in options.pairs for x in pair):
            if name not in known:
                raise unknown_name("geometry", name, known)
        wanted = {frozenset(pair) for pair in options.pairs}
        return [pair for pair in pairs if frozenset(_names(model, pair)) in wanted]
    roots = roots_of(model.parents)
    others = [pair for pair in pairs if roots[model.geometries[pair.a].body] != roots[model.geometries[pair.b].body]]
    if not options.self_collision:
        return others
    kept = {(pair.a, pair.b) for pair in (*others, *own_pairs(model))}
    return [pair for pair in pairs if (pair.a, pair.b) in kept]


def contact_notes(model: Model, options: ContactOptions) -> list[str]:
    """What a user should know about contacts that do not happen."""
    if not model.geometries:
        return ["no ground, and nothing to touch: the model has no geometries"]
    chosen = chosen_pairs(model, options)
    notes = []
    if all(geometry.body != WORLD for geometry in model.geometries):
        notes.append(
            "no ground: no geometry is fixed to the world (model.with_ground() adds a floor, as --ground does)"
        )
    elif not chosen:
        notes.append("nothing touches: no two geometries may meet")
    unsupported = sorted({_words(model, pair) for pair in chosen if not is_supported(*_shapes(model, pair))})
    if unsupported:
        words = ", ".join(unsupported)
        notes.append(f"not supported, these never touch: {words} (sarrus.distances says how far apart they are)")
    turning = [pair for pair in chosen if any(resistance_to_turning(pair))]
    if turning and not options.turning:
        pairs = "1 pair resists" if len(turning) == 1 else f"{len(turning):,} pairs resist"
        notes.append(f"{pairs} sliding, but neither spinning nor rolling (turning=True lets them, as --turning does)")
    left_out = len(meeting_pairs(model)) - len(chosen)
    if options.self_collision and options.pairs is None:
        own = len(own_pairs(model))
        notes.append(f"self-collision: {own:,} of {own + left_out:,} pairs can meet within the limits of the joints")
    elif left_out and options.pairs is None:
        pairs = "1 pair" if left_out == 1 else f"{left_out:,} pairs"
        notes.append(
            f"{pairs} within one robot may not touch (self_collision=True lets them, as --self-collision does)"
        )
    return notes


def usual_contacts(model: Model, contacts: ContactSet) -> tuple[int, ...]:
    """Candidates against the world that touch it where the robot stands: in its keyframes, or at home."""
    found: dict[int, float] = {}
    for q in _standing(model):
        candidates = [c for c in contacts.candidates(_poses(model, q)) if c.b == WORLD]
        lowest = min((float(c.gap) for c in candidates), default=np.inf)
        if lowest < _LOWERED:
            found |= {c.number: float(c.gap) - lowest for c in candidates if c.gap - lowest < _STANDING}
    nearest = sorted(found, key=lambda number: (found[number], number))[:_MOST_USUAL]
    return tuple(sorted(nearest))


def _standing(model: Model) -> list[Array]:
    """Configurations in which the robot stands, as far as we know."""
    return [keyframe.q for keyframe in model.keyframes.values()] or [home_or_neutral(model)]


def _close_to_the_ground(model: Model, contacts: ContactSet) -> tuple[int, ...]:
    """Nodes of which a ball around their shapes comes near the ground, or something else, where the robot stands."""
    found = {contacts.pair_of(number).a.node for number in contacts.usual}
    for q in _standing(model):
        poses = _poses(model, q)
        at_rest = [Twist(np.zeros(3), np.zeros(3), p) for _, p in poses]
        found |= {bound.node for bound in contacts.bounds(poses, at_rest) if bound.distance < _CLOSE}
    return tuple(sorted(found))


def _usual_limits(model: Model) -> tuple[int, ...]:
    """Limits at which joints are where the robot stands: those of a closed gripper, say.

    Of joints that a coupling moves together, one is enough.
    """
    together = {name: k for k, c in enumerate(model.constraints) if c.kind is Kind.COUPLING for name in c.joints}
    names = {k: name for name in model.joint_names for k in range(model.nv)[model.layout.v_of(name)]}
    found: dict[object, int] = {}
    for q in _standing(model):
        for k, limit in enumerate(limits_of(model)):
            if abs(limit.gap(q)) < _AT_LIMIT:
                found.setdefault(together.get(names[limit.v], (limit.v, limit.sign)), k)
    return tuple(sorted(found.values())[:_MOST_USUAL_LIMITS])


def _limit_slots(model: Model) -> int:
    """For limp robots: up to half of their joints come to lie at a limit."""
    joints = {limit.v for limit in limits_of(model)}
    return min(_MOST_LIMIT_SLOTS, max(_LIMIT_SLOTS, len(joints) // 2))


def _poses(model: Model, q: Array) -> list[tuple[Array, Array]]:
    tree = tree_of(model)
    return world_poses(tree, joint_kinematics(tree, q))


def _names(model: Model, pair: MeetingPair) -> Iterable[str]:
    return (model.geometries[k].name for k in (pair.a, pair.b))


def _shapes(model: Model, pair: MeetingPair) -> tuple:
    return tuple(model.geometries[k].shape for k in (pair.a, pair.b))


def _words(model: Model, pair: MeetingPair) -> str:
    return " and ".join(sorted(type(shape).__name__ for shape in _shapes(model, pair)))
