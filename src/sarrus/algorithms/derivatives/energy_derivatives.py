"""Derivatives of kinetic and potential energy."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sarrus.algorithms.tree.energy import energy
from sarrus.algorithms.tree.rnea import armature_of
from sarrus.mechanics.derivatives.momentum_variation import momentum_variations
from sarrus.model.model import Model
from sarrus.model.tree import tree_of
from sarrus.registry.table import algorithm
from sarrus.spatial.arrays import Array


class EnergyDerivativesResult(NamedTuple):
    """In joules. Gradients: along `integrate(q, e_j)`, and v."""

    kinetic: Array  # ()
    potential: Array  # ()
    dkinetic_dq: Array  # (nv,)
    dkinetic_dv: Array  # (nv,) M v
    dpotential_dq: Array  # (nv,) the joint forces that hold gravity


@algorithm(cost="O(n)", references=("featherstone2008",))
def energy_derivatives(model: Model, q: Array, v: Array) -> EnergyDerivativesResult:
    """The kinetic energy, including armature, and the potential energy of gravity, with their gradients.

    If the position of a joint varies, velocities beyond it vary by u, and so the kinetic energy by u . h, in any axes.
    """
    tree, found = tree_of(model), energy.text(model, q, v)
    kinetic_q, kinetic_v, potential_q = (np.zeros(model.nv, np.result_type(q, v, found.kinetic)) for _ in range(3))
    for x in momentum_variations(tree, q, v):
        kinetic_q[x.v], kinetic_v[x.v] = x.u.T @ x.h, x.S.T @ x.h
        potential_q[x.v] = -(x.by_v[:3].T @ (x.R.T @ tree.gravity))
    return EnergyDerivativesResult(*found, kinetic_q, kinetic_v + armature_of(tree) * v, potential_q)
