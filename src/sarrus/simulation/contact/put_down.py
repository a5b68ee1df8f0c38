"""How far a robot is from all that it may touch, and putting it down on the ground."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sarrus.calls.evaluator import evaluate
from sarrus.mechanics.bodies import joint_kinematics, world_poses
from sarrus.mechanics.contact.contact_set import ContactSet
from sarrus.model.bodies import WORLD
from sarrus.model.model import Model
from sarrus.model.tree import tree_of
from sarrus.simulation.manifold import joints_of
from sarrus.simulation.step import kernel_algorithm
from sarrus.spatial.arrays import Array, vector

_LANDED = 1e-6  # metres off the height that was asked for
_ROUNDS = 30  # of going down by the smallest gap: one on a level ground


class _Gaps(NamedTuple):
    gaps: Array


def _gaps(model: Model, contacts: ContactSet, q: Array) -> _Gaps:
    tree = tree_of(model)
    return _Gaps(vector(*(c.gap for c in contacts.candidates(world_poses(tree, joint_kinematics(tree, q))))))


_GAPS = kernel_algorithm(_gaps, {"q": None}, ("contacts",))


def gaps_between(model: Model, contacts: ContactSet, q: Array) -> Array:
    """(..., candidates) between all that may touch, at configurations (..., nq)."""
    return evaluate(model, _GAPS, {"q": q}, contacts=contacts)["gaps"]


def put_down(model: Model, contacts: ContactSet, q: Array, height: Array | float = 0.0) -> Array:
    """q (B, nq) with what is fixed to nothing moved up or down, until its lowest point is so high above the ground."""
    loose = loose_bodies(model)
    below = np.array([contacts.pair_of(k).b.node == WORLD for k in range(contacts.count)])
    if not loose or not below.any() or not len(q):
        return q
    q = np.array(q)
    for _ in range(_ROUNDS):
        up = height - gaps_between(model, contacts, q)[:, below].min(axis=-1)
        if np.abs(up).max() < _LANDED:
            break
        for at in loose:
            q[:, at.start + 2] += up
    return q


def loose_bodies(model: Model) -> list[slice]:
    """Where coordinates of what is fixed to nothing are."""
    joints = zip(model.bodies, joints_of(model), strict=True)
    return [at for body, (joint, at, _) in joints if joint.type.name == "free" and body.parent == WORLD]
