"""How contacts are treated: what a step is compiled for, by the model and by what a user says."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from sarrus.errors import StateError, check_name
from sarrus.mechanics.bodies import joint_kinematics, world_poses
from sarrus.mechanics.contact.broad_phase import own_pairs
from sarrus.mechanics.contact.contact_rows import Twist
from sarrus.mechanics.contact.contact_set import ContactSet, contact_set, resistance_to_turning
from sarrus.mechanics.contact.narrow_phase import is_supported
from sarrus.model.bodies import WORLD
from sarrus.model.constraints import Kind
from sarrus.model.meeting_pairs import MeetingPair, meeting_pairs
from sarrus.model.model import Model
from sarrus.model.robots import robots_of
from sarrus.model.state import home_or_neutral
from sarrus.model.tree import tree_of
from sarrus.simulation.contact.dry_friction import Rub
from sarrus.simulation.contact.limits import limits_of
from sarrus.simulation.contact.options import ContactOptions
from sarrus.spatial.arrays import Array

_MOST_USUAL, _MOST_USUAL_LIMITS = 12, 4
_STANDING = 5e-3  # metres: what is no further from the ground than that where a robot stands, touches it
_LOWERED = 1.0  # metres by which a robot that stands in the air is lowered to find out
_SLOTS, _SPARE_SLOTS = 8, 4
_SLOTS_PER_THING, _MOST_SLOTS = 4, 24  # of several free bodies, which may lie on each other: one more than they are
_CLOSE = 0.1  # metres
_LIMIT_SLOTS, _MOST_LIMIT_SLOTS = 4, 16  # and one for every two joints that have limits
_AT_LIMIT = 1e-2  # radians or metres


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
    contacts = contact_set(model, pairs, (), 0, options.turning)
    standing = standing_contacts(model, contacts)
    usual = tuple(sorted(standing[:_MOST_USUAL]))
    slots = options.slots or max(_SLOTS, min(_MOST_SLOTS, max(len(standing) + _SPARE_SLOTS, _slots_of_things(model))))
    contacts = replace(contacts, usual=usual[:slots], slots=min(slots, contacts.count))
    contacts = replace(contacts, closely=_close_to_the_ground(model, contacts))
    if traced is not None:
        contacts = replace(contacts, pairs=contact_set(traced, pairs, (), 0, options.turning).pairs)
    return ContactSettings(
        contacts, options.restitution, options.joint_limits, _usual_limits(model), _limit_slots(model, options),
        tuple(sorted({k for limit in limits_of(model) for k in limit.velocities})),
        tolerance=options.tolerance, convex=options.convex,
        softness=None if options.stiffness is None else (options.stiffness, options.damping),
        operator=options.operator, exact_friction=options.exact_friction,
    )  # fmt: skip


def _slots_of_things(model: Model) -> int:
    """For free bodies that lie on each other; 0 where there is one, or none."""
    loose = sum(body.parent == WORLD and body.joint.type.name == "free" for body in model.bodies)
    return _SLOTS_PER_THING * (loose + 1) if loose > 1 else 0


def slot_notes(model: Model, settings: ContactSettings) -> list[str]:
    """What a user should know about things that may touch in more places than there are slots."""
    slots, contacts = settings.contacts.slots, settings.contacts
    wanted = min(contacts.count, max(len(standing_contacts(model, contacts)), _slots_of_things(model)))
    if wanted <= slots:
        return []
    return [
        f"{wanted} places may touch at once, and steps have {slots} slots for contacts: what is left out of a step may "
        f"creep. slots={wanted} (--slots {wanted}) makes room, and takes longer to compile"
    ]


def chosen_pairs(model: Model, options: ContactOptions) -> list[MeetingPair]:
    """The pairs that may touch, supported or not."""
    pairs = list(meeting_pairs(model))
    if options.pairs is not None:
        return _named_pairs(model, pairs, options.pairs)
    robots = robots_of(model)
    others = [pair for pair in pairs if robots[model.geometries[pair.a].body] != robots[model.geometries[pair.b].body]]
    if not options.self_collision:
        return others
    kept = {(pair.a, pair.b) for pair in (*others, *own_pairs(model, options.joint_limits))}
    return [pair for pair in pairs if (pair.a, pair.b) in kept]


def _named_pairs(model: Model, pairs: list[MeetingPair], wanted: Iterable[tuple[str, str]]) -> list[MeetingPair]:
    """Those of the pairs that are named; an error names one that is not among them."""
    known = [geometry.name for geometry in model.geometries]
    for name in (x for names in wanted for x in names):
        check_name("geometry", name, known)
    by_names = {frozenset(_names(model, pair)): pair for pair in pairs}
    for a, b in wanted:
        if frozenset((a, b)) not in by_names:
            raise StateError(
                f"pairs has {(a, b)!r}, which never meet: both are on one body, on the world, on neighbours or on "
                "links that are excluded, or categories keep them apart. `ModelBuilder.add_geometry_pair` lets two "
                "meet that are not on one body"
            )
    chosen = {frozenset(names) for names in wanted}
    return [pair for names, pair in by_names.items() if names in chosen]


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
        own = len(own_pairs(model, options.joint_limits))
        within = "within the limits of the joints" if options.joint_limits else "as no limits of joints are contacts"
        notes.append(f"self-collision: {own:,} of {own + left_out:,} pairs can meet {within}")
    elif left_out and options.pairs is None:
        pairs = "1 pair" if left_out == 1 else f"{left_out:,} pairs"
        notes.append(
            f"{pairs} within one robot may not touch (self_collision=True lets them, as --self-collision does)"
        )
    return notes


def standing_contacts(model: Model, contacts: ContactSet) -> list[int]:
    """Candidates against the world that touch it where the robot stands, in its keyframes or at home; nearest first."""
    found: dict[int, float] = {}
    for q in _standing(model):
        candidates = [c for c in contacts.candidates(_poses(model, q)) if c.b == WORLD]
        lowest = min((float(c.gap) for c in candidates), default=np.inf)
        if lowest < _LOWERED:
            found |= {c.number: float(c.gap) - lowest for c in candidates if c.gap - lowest < _STANDING}
    return sorted(found, key=lambda number: (found[number], number))


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


def _limit_slots(model: Model, options: ContactOptions) -> int:
    """As many as asked for, if there are so many limits. Else for limp robots: up to half of their joints come to lie
    at one.
    """
    limits = limits_of(model)
    if options.limit_slots is not None:
        return min(options.limit_slots, len(limits))
    joints = {limit.v for limit in limits}
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
