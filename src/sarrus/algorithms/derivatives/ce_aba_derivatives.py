"""Derivatives of forward dynamics with embedded constraints, in independent coordinates."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sarrus.algorithms.derivatives.rnea_derivatives import rnea_derivatives
from sarrus.algorithms.embedded.ce_aba import ce_aba
from sarrus.mechanics.clusters.embedded import embedded_at
from sarrus.mechanics.derivatives.embedding_variation import embedding_variation
from sarrus.model.independent import independent_velocities
from sarrus.model.model import Model
from sarrus.registry.features import Feature
from sarrus.registry.table import algorithm
from sarrus.spatial.arrays import Array
from sarrus.spatial.linear_algebra import ldl, ldl_solve, symmetric_product
from sarrus.spatial.stages import stage


class CeAbaDerivativesResult(NamedTuple):
    """Rows: independent accelerations; columns: independent positions, along `integrate`, velocities and forces."""

    ydd: Array  # (ny,)
    dydd_dy: Array  # (ny, ny)
    dydd_dyd: Array  # (ny, ny)
    dydd_dtau_y: Array  # (ny, ny) (G^T M G)^-1
    G: Array  # (nv, ny) v = G yd: how all joints move with the independent ones
    status: Array  # ()


@algorithm(cost="O(n^2 d + ny^3)", references=("chignoli2025", "jain2011", "carpentier2018"), needs=Feature.EMBEDDED)
def ce_aba_derivatives(
    model: Model,
    q: Array,
    v: Array | None = None,
    tau: Array | None = None,
    yd: Array | None = None,
    tau_y: Array | None = None,
    external_forces: Array | None = None,
) -> CeAbaDerivativesResult:
    """Independent accelerations of a model whose constraints are embedded, and their derivatives.

    With id the inverse dynamics of the tree, G^T id(q, v, qdd) = tau_y at v = G yd and qdd = G ydd + g. So

        G^T M G dydd = dtau_y - G^T (did/dq G dy + did/dv dv + M dqdd) - dG^T id

    where dv and dqdd are the derivatives of G yd and G ydd + g with ydd held constant. Loops stay closed: dq = G dy.
    Forces tau on all joints amount to tau_y = G^T tau, which varies with G.

    v or yd       velocities of all joints, or of the independent ones
    tau or tau_y  forces on all joints, or on the independent velocities
    """
    given = np.zeros(model.nv) if tau is None else tau
    if yd is None:
        yd = (np.zeros(model.nv) if v is None else v)[list(independent_velocities(model))]
    qdd, ydd, status = ce_aba.text(model, q, None, given, yd, tau_y, external_forces)
    at = embedded_at(model, q, None, yd)
    G = np.stack([at.expand(unit) for unit in np.eye(len(yd))], axis=1)
    of_tree = rnea_derivatives.text(model.spanning, q, at.v, qdd, external_forces)
    varied = embedding_variation(model, q, yd, ydd, G, of_tree.tau - given if tau_y is None else of_tree.tau)
    with stage("derivatives"):
        M, by_v = of_tree.dtau_da, of_tree.dtau_dv
        D = ldl(symmetric_product(G.T, M @ G))
        by_y = G.T @ (of_tree.dtau_dq @ G + by_v @ varied.v_y + M @ varied.qdd_y) + varied.forces_y
        by_yd = G.T @ (by_v @ G + M @ varied.qdd_yd)
        inverse = ldl_solve(D, np.eye(len(yd)).astype(M.dtype))
    return CeAbaDerivativesResult(ydd, -ldl_solve(D, by_y), -ldl_solve(D, by_yd), inverse, G, status)
