"""Where episodes begin: random states near home, on the loops and on the ground."""

from __future__ import annotations

import numpy as np

from sarrus.errors import AssemblyError
from sarrus.model.model import Model
from sarrus.model.state import home_or_neutral, integrate, limits
from sarrus.simulation.contact.options import ContactOptions
from sarrus.simulation.contact.put_down import put_down
from sarrus.simulation.contact.settings import contact_settings
from sarrus.simulation.manifold import joints_of
from sarrus.simulation.projection import CLOSED, Projector, with_position_constraints
from sarrus.spatial.arrays import Array


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
    return _landed(model, q), v


def standing(model: Model) -> Array:
    """(nq,): home, put down so that it touches the ground."""
    return _landed(model, home_or_neutral(model)[None])[0]


def _landed(model: Model, q: Array) -> Array:
    settings = contact_settings(model, ContactOptions())
    return q if settings is None else put_down(model, settings.contacts, q)
