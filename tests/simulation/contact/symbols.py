"""Robots whose masses, lengths, gear ratios and feet are symbols: factors, 1 for the robot as it is."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import casadi as ca
import numpy as np

import sarrus
from sarrus.model.bodies import Placement
from sarrus.spatial.inertia import Inertia
from sarrus.spatial.parameter import Parameter


def with_symbols(
    model: sarrus.Model,
    masses: Collection[str] = (),
    lengths: Collection[str] = (),
    ratios: Collection[str] = (),
    geometries: Collection[str] = (),
) -> tuple[sarrus.Model, dict[str, float]]:
    """The model and the values of its symbols.

    masses      bodies whose inertia has a factor
    lengths     bodies whose joint is so many times as far from that of their parent
    ratios      gears
    geometries  that are so many times as far from their body's joint
    """
    values: dict[str, float] = {}

    def factor(name: str) -> Parameter:
        values[name] = 1.0
        return Parameter(ca.SX.sym(name))

    def farther(place: Placement, name: str) -> Placement:
        x = factor(name)
        return Placement(place.R, np.array([x * p if p else 0.0 for p in place.p], dtype=object))

    bodies = []
    for body in model.bodies:
        if body.name in masses:
            x, I = factor(f"mass of {body.name}"), body.inertia
            body = replace(body, inertia=Inertia(x * I.mass, x * I.h, x * I.Sigma))
        if body.name in lengths:
            body = replace(body, placement=farther(body.placement, f"length to {body.name}"))
        bodies.append(body)
    placed = tuple(
        replace(g, placement=farther(g.placement, f"place of {g.name}")) if g.name in geometries else g
        for g in model.geometries
    )
    constraints = []
    for constraint in model.constraints:
        if constraint.name in ratios:
            (motor, one), (link, ratio) = constraint.ratios  # type: ignore[attr-defined]
            given = ((motor, one), (link, factor(f"ratio of {constraint.name}") * ratio))
            constraint = replace(constraint, ratios=given)
        constraints.append(constraint)
    symbolic = replace(model, bodies=tuple(bodies), geometries=placed, constraints=tuple(constraints))
    return replace(symbolic, typical=tuple(values.items())), values
