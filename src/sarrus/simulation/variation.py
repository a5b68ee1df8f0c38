"""Robots of a batch that differ: factors on masses, friction and gains, as inputs of the step.

A factor on a body's mass is one on its density: centre of mass and shape of the inertia stay, so that any positive
factor gives a body that there can be. All happens in the text of the step, with symbols for the factors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from sarrus.model.bodies import Body
from sarrus.model.model import Model
from sarrus.simulation.contact.settings import ContactSettings
from sarrus.spatial.arrays import Array, Scalar
from sarrus.spatial.inertia import Inertia

VARIED = ("masses", "friction", "gains")


def factor_shapes(model: Model, varied: Sequence[str]) -> dict[str, tuple[int, ...]]:
    """The step's inputs: a factor per body; one on all coefficients of friction; kp's and kd's."""
    shapes: dict[str, tuple[int, ...]] = {"masses": (model.nb,), "friction": (), "gains": (2,)}
    return {f"{name}_factor": shapes[name] for name in VARIED if name in varied}


def varied_step(model: Model, settings: Any, inputs: dict[str, Array]) -> tuple[Model, Any]:
    """The model and the `StepSettings` with these factors. (Controllers multiply their gains themselves.)"""
    masses, friction, gains = (inputs.get(f"{name}_factor") for name in VARIED)
    if gains is not None:
        model = _with_armature(model, settings, gains)
    if masses is not None:
        pairs = zip(model.bodies, masses, strict=True)
        model = replace(model, bodies=tuple(replace(body, inertia=_times(x, body.inertia)) for body, x in pairs))
    if friction is not None and settings.contact is not None:
        settings = replace(settings, contact=_with_friction(settings.contact, friction.item()))
    return model, settings


def _times(factor: Scalar, inertia: Inertia) -> Inertia:
    return Inertia(factor * inertia.mass, factor * inertia.h, factor * inertia.Sigma)


def _with_friction(contact: ContactSettings, factor: Scalar) -> ContactSettings:
    pairs = tuple(pair._replace(friction=factor * pair.friction) for pair in contact.contacts.pairs)
    return replace(contact, contacts=replace(contact.contacts, pairs=pairs))


def _with_armature(model: Model, settings: Any, factors: Array) -> Model:
    """Implicit steps have dt kd + dt^2 kp among the armature (`implicit_step`): what other gains add to it."""
    added: Array = np.zeros(model.nv)
    for controller in settings.controllers:
        if controller.lookahead:
            kp, kd = controller.gains(model)
            ahead = np.array(controller.lookahead)
            added = added + ahead * (kd * (factors[1] - 1.0) + settings.dt * kp * (factors[0] - 1.0))
    pairs = zip(model.bodies, model.layout.v, strict=True)
    return replace(model, bodies=tuple(_stiffened(body, added[at]) for body, at in pairs))


def _stiffened(body: Body, added: Array) -> Body:
    return replace(body, joint=replace(body.joint, armature=body.joint.armature + added))
