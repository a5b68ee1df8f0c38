"""A robot that stands where its file has it somewhere in the air."""

from __future__ import annotations

from typing import Any

import numpy as np

from sarrus.errors import UnsupportedError
from sarrus.model.model import Model
from sarrus.model.state import check_configuration
from sarrus.simulation.contact.put_down import loose_bodies
from sarrus.simulation.contact.put_down import put_down as moved_down
from sarrus.simulation.contact.settings import ContactOptions, contact_settings
from sarrus.spatial.arrays import Array


def put_down(model: Model, q: Any, height: float = 0.0) -> Array:
    """q with everything on a free joint moved up or down, until its lowest point is at a given height above the ground.

    q        (nq,) or (B, nq)
    height   metres
    returns  like q
    errors   `UnsupportedError`: no ground (`model.with_ground()`), or no free joint; `StateError`: the wrong shape

    >>> robot = sarrus.zoo.geared_quadruped().with_ground()
    >>> gaps = sarrus.distances(robot, sarrus.put_down(robot, robot.home))
    >>> np.isclose(min(d.gap for d in gaps if "ground" in d.names), 0.0, atol=1e-5)
    np.True_
    """
    settings = contact_settings(model, ContactOptions())
    if settings is None or not loose_bodies(model):
        lacks = "nothing to stand on: `model.with_ground()`" if settings is None else "no free joint that could move"
        raise UnsupportedError(f"put_down: {model.name!r} has {lacks}")
    q = check_configuration(model, q)
    found = moved_down(model, settings.contacts, np.atleast_2d(q), height)
    return found if q.ndim == 2 else found[0]
