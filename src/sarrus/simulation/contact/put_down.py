"""Putting a robot down on what is below it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sarrus.calls.evaluator import evaluate
from sarrus.errors import UnsupportedError
from sarrus.mechanics.bodies import joint_kinematics, world_poses
from sarrus.mechanics.contact.contact_set import ContactSet
from sarrus.mechanics.contact.touch import ABSENT
from sarrus.model.bodies import WORLD
from sarrus.model.model import Model
from sarrus.model.tree import tree_of
from sarrus.simulation.manifold import joints_of
from sarrus.simulation.step import kernel_algorithm
from sarrus.spatial.arrays import Array, vector

_LANDED = 1e-6  # metres off the height that was asked for
_ROUNDS = 300  # of going down by the smallest gap, which passes nothing by: one on a level ground
_STEEPEST = 0.1  # the upward part of a normal: what is steeper is a wall (or a ceiling), on which nothing stands


class _Gaps(NamedTuple):
    gaps: Array  # (candidates,)
    rises: Array  # (candidates,) the rates at which they open as all moves up


def _gaps(model: Model, contacts: ContactSet, q: Array) -> _Gaps:
    tree = tree_of(model)
    found = contacts.candidates(world_poses(tree, joint_kinematics(tree, q)))
    return _Gaps(vector(*(c.gap for c in found)), vector(*(c.normal[2] for c in found)))


_GAPS = kernel_algorithm(_gaps, {"q": None}, ("contacts",))


def gaps_between(model: Model, contacts: ContactSet, q: Array) -> Array:
    """(..., candidates) between all that may touch, at configurations (..., nq)."""
    return evaluate(model, _GAPS, {"q": q}, contacts=contacts)["gaps"]


def put_down(model: Model, contacts: ContactSet, q: Array, height: Array | float = 0.0) -> Array:
    """q (B, nq) with what is fixed to nothing moved up or down, until its lowest point is so high above the ground."""
    loose = loose_bodies(model)
    moving = set(loose)
    for body, parent in enumerate(model.parents):
        moving |= {body} if parent in moving else set()
    pairs = [contacts.pair_of(k) for k in range(contacts.count)]
    standing = np.array([pair.b.node == WORLD and pair.a.node in moving for pair in pairs])
    if not standing.any() or not len(q):
        return q
    q, up = np.array(q), np.zeros(len(q))
    for _ in range(_ROUNDS):
        found = evaluate(model, _GAPS, {"q": q}, contacts=contacts)
        up = _ups(model, found["gaps"][:, standing], found["rises"][:, standing], height)
        if np.abs(up).max() < _LANDED:
            return q
        for body, at in loose.items():
            q[:, at] += up[:, None] * model.bodies[body].placement.R[2]  # along the world's z
    worst = int(np.argmax(np.abs(up)))
    raise UnsupportedError(
        f"put_down: {model.name!r}{_which(worst, len(q))} comes to no rest on what is below it, after {_ROUNDS} "
        f"moves still {abs(up[worst]):.3g} m off"
    )


def _ups(model: Model, gaps: Array, rises: Array, height: Array | float) -> Array:
    """(B,) how far each robot is to move up next: down by the smallest gap, out of what it is in at once."""
    is_ground = (rises > _STEEPEST) & (gaps < 0.5 * ABSENT)
    if not is_ground.any(axis=1).all():
        which = _which(int(np.argmin(is_ground.any(axis=1))), len(gaps))
        raise UnsupportedError(
            f"put_down: {model.name!r}{which} has no ground below it: walls carry nothing, and a height field ends "
            "where its rectangle does"
        )
    up = np.broadcast_to(height, len(gaps))[:, None] - gaps
    return np.where(is_ground, np.where(up > 0.0, up / np.maximum(rises, _STEEPEST), up), -np.inf).max(axis=1)


def _which(robot: int, count: int) -> str:
    return f", robot {robot} of the batch," if count > 1 else ""


def loose_bodies(model: Model) -> dict[int, slice]:
    """Bodies that are fixed to nothing, and where q has their positions."""
    joints = zip(model.bodies, joints_of(model), strict=True)
    return {
        k: slice(at.start, at.start + 3)
        for k, (body, (joint, at, _)) in enumerate(joints)
        if joint.type.name == "free" and body.parent == WORLD
    }
