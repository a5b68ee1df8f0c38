"""Where episodes begin: random states near home, on the loops and on the ground."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sarrus.calls.evaluator import evaluate
from sarrus.errors import AssemblyError
from sarrus.mechanics.bodies import joint_kinematics, world_poses
from sarrus.mechanics.contact.contact_set import ContactSet
from sarrus.model.bodies import WORLD
from sarrus.model.model import Model
from sarrus.model.state import home_or_neutral, integrate, limits
from sarrus.model.tree import tree_of
from sarrus.simulation.contact.settings import ContactOptions, contact_settings
from sarrus.simulation.manifold import joints_of
from sarrus.simulation.projection import CLOSED, Projector, with_position_constraints
from sarrus.simulation.step import kernel_algorithm
from sarrus.spatial.arrays import Array, vector

_LANDED = 1e-6  # metres between the lowest point and the ground
_ROUNDS = 30  # of going down by the smallest gap: one on a level ground


class _Gaps(NamedTuple):
    gaps: Array


def _gaps(model: Model, contacts: ContactSet, q: Array) -> _Gaps:
    """Between all that may touch."""
    tree = tree_of(model)
    return _Gaps(vector(*(c.gap for c in contacts.candidates(world_poses(tree, joint_kinematics(tree, q))))))


GAPS = kernel_algorithm(_gaps, {"q": None}, ("contacts",))


def starting_states(model: Model, noise: float, speed: float, count: int, seed: int = 0) -> tuple[Array, Array]:
    """(count, nq), (count, nv): home, joints and attitude off by so many radians (or metres), with random velocities.

    Loops and gears are closed, joints are within their limits, and what is fixed to nothing is put down so that it
    touches the ground. The first is home itself, at rest.
    """
    rng, closing = np.random.default_rng(seed), with_position_constraints(model)
    home = np.tile(home_or_neutral(model), (count, 1))
    moves, v = noise * rng.normal(size=(count, model.nv)), speed * rng.normal(size=(count, model.nv))
    moves[0], v[0] = 0.0, 0.0
    for joint, _, at in joints_of(model):
        if joint.type.name == "free":
            moves[:, at.start : at.start + 2] = 0.0  # where it begins is no matter
    q = np.clip(integrate(model, home, moves), *limits(model))
    if closing.active_constraints:
        found = Projector(closing)(q, v)
        good = found.error <= CLOSED
        if not good[0]:
            raise AssemblyError(f"the loops of {model.name!r} do not close near its home")
        q, v = (np.where(good[:, None], x, x[:1]) for x in (found.q, found.v))
    return put_down(model, q), v


def put_down(model: Model, q: Array) -> Array:
    """What is fixed to nothing goes up or down until it touches the ground."""
    settings, free = contact_settings(model, ContactOptions()), _bases(model)
    if settings is None or not free:
        return q
    contacts = settings.contacts
    below = np.array([contacts.pair_of(k).b.node == WORLD for k in range(contacts.count)])
    if not below.any():
        return q
    q = np.array(q)
    for _ in range(_ROUNDS):
        gap = evaluate(model, GAPS, {"q": q}, contacts=contacts)["gaps"][:, below].min(axis=-1)
        if np.abs(gap).max() < _LANDED:
            break
        for at in free:
            q[:, at.start + 2] -= gap
    return q


def _bases(model: Model) -> list[slice]:
    """Where coordinates of what is fixed to nothing are."""
    joints = zip(model.bodies, joints_of(model), strict=True)
    return [at for body, (joint, at, _) in joints if joint.type.name == "free" and body.parent == WORLD]
