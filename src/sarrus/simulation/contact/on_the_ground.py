"""A robot that stands where its file has it somewhere in the air."""

from __future__ import annotations

from typing import Any

import numpy as np

from sarrus.errors import StateError, UnsupportedError
from sarrus.model.arguments import as_numbers
from sarrus.model.bodies import WORLD
from sarrus.model.model import Model, check_is_model
from sarrus.model.state import check_configuration
from sarrus.simulation.contact.options import ContactOptions
from sarrus.simulation.contact.put_down import loose_bodies
from sarrus.simulation.contact.put_down import put_down as moved_down
from sarrus.simulation.contact.settings import contact_settings
from sarrus.spatial.arrays import Array


def put_down(model: Model, q: Any, height: float = 0.0) -> Array:
    """q with everything on a free joint moved up or down, until its lowest point is at a given height above the ground.

    q        (nq,) or (B, nq)
    height   metres
    returns  like q
    errors   `UnsupportedError`: no ground (`model.with_ground()`) or none below it, no shapes, no free joint;
             `StateError`: the wrong shape

    Walls carry nothing: only what rises less steeply than about 84 degrees is ground.

    >>> robot = sarrus.zoo.geared_quadruped().with_ground()
    >>> gaps = sarrus.distances(robot, sarrus.put_down(robot, robot.home))
    >>> np.isclose(min(d.gap for d in gaps if "ground" in d.names), 0.0, atol=1e-5)
    np.True_
    """
    if not np.isfinite(as_numbers("height: expected a number of metres", height)).all() or np.ndim(height):
        raise StateError(f"height is {height!r}: expected a finite number of metres")
    check_is_model("put_down", model)
    settings = contact_settings(model, ContactOptions())
    if lacks := _lacks(model, settings is not None):
        raise UnsupportedError(f"put_down: {model.name!r} has {lacks}")
    assert settings is not None
    q = check_configuration(model, q)
    found = moved_down(model, settings.contacts, np.atleast_2d(q), height)
    return found if q.ndim == 2 else found[0]


def _lacks(model: Model, touches: bool) -> str:
    """What is missing for a robot to stand on something, in words; nothing, if it can."""
    on_world = [geometry.body == WORLD for geometry in model.geometries]
    if not loose_bodies(model):
        return "no free joint that could move"
    if not any(on_world):
        return "no ground: `model.with_ground()` adds one"
    if all(on_world):
        return "no shapes that could stand on the ground: `ModelBuilder.add_geometry` adds them"
    return "" if touches else "no two geometries that may touch (see `Simulation.notes`)"
