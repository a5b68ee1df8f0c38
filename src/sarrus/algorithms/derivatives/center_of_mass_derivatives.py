"""Derivatives of the centre of mass and of its velocity."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sarrus.algorithms.tree.center_of_mass import center_of_mass
from sarrus.mechanics.derivatives.momentum_variation import momentum_variations
from sarrus.model.model import Model
from sarrus.model.tree import tree_of
from sarrus.registry.table import algorithm
from sarrus.spatial.arrays import Array


class CenterOfMassDerivativesResult(NamedTuple):
    """In the world frame. Columns: along `integrate(q, e_j)`, and v."""

    position: Array  # (3,)
    velocity: Array  # (3,)
    dposition_dq: Array  # (3, nv)
    dvelocity_dq: Array  # (3, nv)
    dvelocity_dv: Array  # (3, nv) the same as dposition_dq


@algorithm(cost="O(n)", references=("orin2013",))
def center_of_mass_derivatives(model: Model, q: Array, v: Array) -> CenterOfMassDerivativesResult:
    """Position and velocity of the centre of mass of all moving bodies, and their derivatives."""
    tree, (position, velocity) = tree_of(model), center_of_mass.text(model, q, v)
    by_position, by_q = (np.zeros((3, model.nv), np.result_type(q, v, position)) for _ in range(2))
    per_mass = 1.0 / model.mass
    for x in momentum_variations(tree, q, v):
        by_position[:, x.v] = per_mass * (x.R @ x.by_v[:3])
        by_q[:, x.v] = per_mass * (x.R @ x.by_q[:3])
    return CenterOfMassDerivativesResult(position, velocity, by_position, by_q, by_position)
