"""Derivatives of forward dynamics."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sarrus.algorithms.tree.aba import articulated_bodies
from sarrus.mechanics.derivatives.articulated_joints import articulated_joints
from sarrus.mechanics.derivatives.responses import responses
from sarrus.mechanics.mechanism import mechanism
from sarrus.model.model import Model
from sarrus.registry.features import Feature
from sarrus.registry.table import algorithm
from sarrus.spatial.arrays import Array


class AbaDerivativesResult(NamedTuple):
    """Rows: joint accelerations; columns: along `integrate(q, e_j)`, v and tau."""

    qdd: Array  # (nv,)
    dqdd_dq: Array  # (nv, nv)
    dqdd_dv: Array  # (nv, nv)
    dqdd_dtau: Array  # (nv, nv) M^-1


@algorithm(cost="O(n^2)", references=("carpentier2018", "singh2022", "featherstone2008"), ignores=Feature.ROWS)
def aba_derivatives(
    model: Model, q: Array, v: Array, tau: Array, external_forces: Array | None = None
) -> AbaDerivativesResult:
    """Joint accelerations qdd with M qdd + c = tau + J^T f_ext, and their derivatives with respect to q, v and tau.

    No matrix is factored or multiplied: forces and accelerations are propagated along the tree, as in ABA, and the
    derivative for a pair of joints is the product of the force of one and the acceleration of the other at a link that
    both share.

    External forces move along with their bodies.
    """
    at = mechanism(model, q, v, tau, external_forces)
    found = articulated_bodies(at.nodes)
    joints = articulated_joints(at, *found, q, v)
    return AbaDerivativesResult(found.qdd, *responses(joints, np.result_type(q, v, tau, found.qdd)))
