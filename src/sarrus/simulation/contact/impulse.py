"""The impact of everything that touches: velocities before and after, at one configuration."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from sarrus.errors import UnsupportedError
from sarrus.mechanics.bodies import world_poses
from sarrus.mechanics.contact.contact_rows import Twist, node_twists
from sarrus.mechanics.contact.contact_set import Candidate
from sarrus.mechanics.mechanism import mechanism
from sarrus.model.model import Model, check_is_model
from sarrus.model.state import as_state_array, check_configuration
from sarrus.model.tree import tree_of
from sarrus.simulation.contact.contact_motion import NEAR
from sarrus.simulation.contact.contact_problem import ContactProblemAtState, slot_numbers
from sarrus.simulation.contact.free_motion import free_motion
from sarrus.simulation.contact.kernels import kernel_of
from sarrus.simulation.contact.limits import NEAR as REACHED
from sarrus.simulation.contact.limits import JointLimit, limits_in_slots, limits_of
from sarrus.simulation.contact.options import ContactOptions, check_rigid, options_for
from sarrus.simulation.contact.record import CREEP, ContactRecord
from sarrus.simulation.contact.settings import ContactSettings, contact_settings
from sarrus.simulation.contact.slots import STRAIGHT, contacts_in_slots
from sarrus.simulation.step import scalar
from sarrus.spatial.arrays import Array, Scalar
from sarrus.spatial.choice import choose

_SLACK = 10.0  # of the tolerance: what a problem that is solved may leave


class ImpulseResult(NamedTuple):
    """What an impact does, of one state or of a batch."""

    v: Array  # (nv,) or (B, nv), after it
    contacts: ContactRecord  # their `forces` are impulses, in newton seconds
    residual: Array  # m/s
    status: Any  # `sarrus.Status`


def impulse(model: Model, q: Any, v: Any, contacts: ContactOptions | None = None) -> ImpulseResult:
    """Velocities after an impact with everything that touches at q, within 2 mm, and with joint limits that are
    reached, within 0.02 rad or m.

    Loops stay closed; friction and `contacts.restitution` act. Forces do not, because an impact takes no time.

    q, v      (n,) or (B, n)
    contacts  how things touch, including `restitution`; None: as in a simulation by default
    returns   `v` after it, `contacts` with impulses (N s), `residual` (m/s), `status`: CONTACTS_LEFT_OUT where more
              touches than there are slots, and what has none still closes
    errors    `UnsupportedError`: nothing can touch; `StateError`: arrays of the wrong shape, or contacts that give way,
              which have no impulse

    >>> ball = "<body pos='0 0 .1'><freejoint/><geom size='.1'/></body>"
    >>> robot = sarrus.load(f"<mujoco><worldbody><geom type='plane' size='1 1 1'/>{ball}</worldbody></mujoco>")
    >>> np.allclose(sarrus.impulse(robot, robot.home, [0.0, 0.0, -1.0, 0.0, 0.0, 0.0]).v, 0.0, atol=1e-6)
    True
    """
    check_is_model("impulse", model)
    options = options_for("impulse", contacts)
    check_rigid("impulse", options, "a contact that gives way pushes for a while, and an impact takes no time")
    settings = contact_settings(model, options)
    if settings is None:
        raise UnsupportedError(
            "impulse: this model has nothing that can touch. It needs geometries (`ModelBuilder.add_geometry`)"
        )
    q, v = check_configuration(model, q), as_state_array("v", v, model.nv)
    found: Any = kernel_of(model, impact, ("q", "v"), settings=settings)(q, v)
    names = [settings.contacts.pair_of(number).names for number in range(settings.contacts.count)]
    return ImpulseResult(found.v, ContactRecord.of(found.contacts, names), found.residual, found.status)


class ImpactOutputs(NamedTuple):
    """See `ImpulseResult`."""

    v: Array
    contacts: Array  # (18 s + 1,)
    residual: Array
    status: Array


def impact(model: Model, settings: ContactSettings, q: Array, v: Array) -> ImpactOutputs:
    """The text of `impulse`. Gaps and times do not count: what touches does not approach any more."""
    contacts = settings.contacts
    free = free_motion(mechanism(model, q, v, np.zeros(model.nv)), np.zeros(model.nv))
    poses = world_poses(tree_of(model), free.at.joints)
    found = contacts.candidates(poses)
    gaps, straight = [c.gap for c in found], [STRAIGHT] * len(found)
    near = contacts_in_slots(found, gaps, straight, model.parents, NEAR, contacts.slots)
    touching = [contact._replace(gap=0.0) for contact in near]
    limits = limits_of(model) if settings.limits else []
    held = [limit._replace(gap=0.0) for limit in limits_in_slots(limits, q, v, 0.0, settings.limit_slots)]
    problem = ContactProblemAtState(model, settings, free, poses, v, v, 1.0)
    motion = problem.solved(touching, held, np.zeros(sum(c.at.size for c in touching)), np.zeros(settings.limit_count))
    motion = motion.told(_closes(found, limits, q, motion.v, node_twists(free.at, poses, motion.v), settings.tolerance))
    recorded = slot_numbers(motion.contacts, 1.0, motion.residual)
    return ImpactOutputs(motion.v, recorded, scalar(motion.residual), scalar(motion.status))


def _closes(
    found: Sequence[Candidate],
    limits: Sequence[JointLimit],
    q: Array,
    v: Array,
    twists: Sequence[Twist],
    tolerance: float,
) -> Scalar:
    """1 where something that touches, or a limit that is reached, still closes after the impact: it has found no slot.
    Else 0.
    """
    rates = [(c.gap - NEAR, c.closing(twists)) for c in found]
    rates += [(limit.gap(q) - REACHED, limit.rate(q, v)) for limit in limits]
    closes: Scalar = 0.0
    for beyond, rate in rates:
        closes = choose(beyond, 0.0, choose(rate, -CREEP - _SLACK * tolerance, 1.0, closes), closes)
    return closes
