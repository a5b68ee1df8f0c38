"""Bodies that fly by themselves: on a free or planar joint, carrying nothing and held by no constraint."""

from __future__ import annotations

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
    """By number: the centre of mass (3,) in the axes of their joint."""
    carries = set(model.parents)
    held = {body for constraint in model.active_constraints for body in bodies_of(model, constraint)}
    found = {}
    for k, body in enumerate(model.bodies):
        alone = body.parent == WORLD and k not in carries and k not in held
        if alone and body.joint.type.name in _MOVES and not _is_massless(body.inertia):
            found[k] = canonical_axes(body).T @ ((1.0 / body.inertia.mass) * body.inertia.h)
    return found


def _is_massless(inertia: Inertia) -> bool:
    return is_numeric(vector(inertia.mass)) and inertia.mass <= 0.0
