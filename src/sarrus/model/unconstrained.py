"""What constraints leave alone: bodies that fly by themselves, and joints that no loop is closed by."""

from __future__ import annotations

import numpy as np

from sarrus.model.bodies import WORLD
from sarrus.model.clusters import bodies_of
from sarrus.model.computational_frames import canonical_axes
from sarrus.model.model import Model
from sarrus.model.per_model import per_model
from sarrus.spatial.arrays import Array, is_numeric, vector
from sarrus.spatial.inertia import Inertia

_MOVES = ("free", "planar")


@per_model
def flying_bodies(model: Model) -> dict[int, Array]:
    """Bodies on a free or planar joint that carry nothing and are held by no constraint, by number: the centre of mass
    (3,) in the axes of their joint. What has armature does not fly as its own inertia does.
    """
    carries, held = set(model.parents), _held(model)
    found = {}
    for k, body in enumerate(model.bodies):
        alone = body.parent == WORLD and k not in carries and k not in held
        alone = alone and is_numeric(body.joint.armature) and not body.joint.armature.any()
        if alone and body.joint.type.name in _MOVES and not _is_massless(body.inertia):
            found[k] = canonical_axes(body).T @ ((1.0 / body.inertia.mass) * body.inertia.h)
    return found


@per_model
def free_of_loops(model: Model) -> Array:
    """(nv,) 1 for joints that move nothing which a constraint holds, embedded or not; else 0."""
    held, alone = _held(model), np.ones(model.nv)
    for k in reversed(range(model.nb)):
        if k in held:
            held.add(model.parents[k])
            alone[model.layout.v[k]] = 0.0
    return alone


def _held(model: Model) -> set[int]:
    return {body for constraint in model.constraints for body in bodies_of(model, constraint)}


def _is_massless(inertia: Inertia) -> bool:
    return is_numeric(vector(inertia.mass)) and inertia.mass <= 0.0
