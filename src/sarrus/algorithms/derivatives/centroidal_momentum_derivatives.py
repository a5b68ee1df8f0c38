"""Derivatives of the momentum about the centre of mass."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sarrus.algorithms.tree.center_of_mass import center_of_mass
from sarrus.algorithms.tree.centroidal_momentum import centroidal_momentum
from sarrus.mechanics.derivatives.momentum_variation import momentum_variations
from sarrus.model.model import Model
from sarrus.model.tree import tree_of
from sarrus.registry.table import algorithm
from sarrus.spatial.arrays import Array
from sarrus.spatial.rotations import cross


class CentroidalMomentumDerivativesResult(NamedTuple):
    """[linear; angular], in the world's axes. Columns: along `integrate(q, e_j)`, and v."""

    h: Array  # (6,)
    dh_dq: Array  # (6, nv)
    dh_dv: Array  # (6, nv) the centroidal momentum matrix


@algorithm(cost="O(n)", references=("orin2013", "carpentier2018"))
def centroidal_momentum_derivatives(model: Model, q: Array, v: Array) -> CentroidalMomentumDerivativesResult:
    """Momentum, angular about the centre of mass, without armature, and its derivatives with respect to q and v."""
    tree, h, com = tree_of(model), centroidal_momentum.text(model, q, v), center_of_mass.text(model, q).position
    by_q, by_v = (np.zeros((6, model.nv), np.result_type(q, v, h)) for _ in range(2))

    def about_com(x: Array, R: Array, p: Array) -> Array:
        """A momentum about the origin p and in the axes R of a node."""
        push = R @ x[:3]
        return np.concatenate([push, R @ x[3:] + cross(p - com, push)])

    for x in momentum_variations(tree, q, v):
        for k, own_v, own_q in zip(range(x.v.start, x.v.stop), x.by_v.T, x.by_q.T, strict=True):
            by_v[:, k], by_q[:, k] = about_com(own_v, x.R, x.p), about_com(own_q, x.R, x.p)
            moved = (1.0 / model.mass) * by_v[:3, k]  # of the centre of mass, about which it is
            by_q[3:, k] = by_q[3:, k] - cross(moved, h[:3])
    return CentroidalMomentumDerivativesResult(h, by_q, by_v)
