"""Joint forces of weights that something bears."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sarrus.model.bodies import WORLD
from sarrus.model.gravity_compensation import GravityCompensation
from sarrus.model.model import Model
from sarrus.registry.table import find
from sarrus.spatial.arrays import Array
from sarrus.spatial.inertia import Inertia


def bearing_forces(model: Model, compensation: GravityCompensation, q: Array, by_motors: bool) -> Array:
    """(nv,) at the joints whose motors bear weights, or at all others."""
    if not compensation.weights:
        return np.zeros(model.nv)
    chosen = np.zeros(model.nv)
    for name in model.joint_names:
        chosen[model.layout.v_of(name)] = (name in compensation.motors) == by_motors
    if not chosen.any():
        return chosen
    # What holds a robot against gravity that weighs as much as is borne.
    return chosen * find("gravity_forces").text(_of_weights(model, compensation), q)


def _of_weights(model: Model, compensation: GravityCompensation) -> Model:
    """The same bodies, with the masses that are borne instead of their own."""
    borne = [Inertia.zero() for _ in model.bodies]
    for weight in compensation.weights:
        frame = model.frame(weight.frame)
        if frame.body != WORLD:
            point = Inertia.from_com(weight.mass, np.array(weight.com), np.zeros((3, 3)))
            borne[frame.body] = borne[frame.body] + point.transformed(frame.placement.transform)
    bodies = tuple(replace(body, inertia=inertia) for body, inertia in zip(model.bodies, borne, strict=True))
    return replace(model, bodies=bodies, constraints=(), embedding=None, actuators=(), geometries=(), keyframes={})
