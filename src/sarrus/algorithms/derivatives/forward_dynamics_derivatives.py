"""Derivatives of constrained forward dynamics."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sarrus.algorithms.constrained.ltl import free_forces
from sarrus.algorithms.derivatives.rnea_derivatives import rnea_derivatives
from sarrus.algorithms.tree.crba import composite_bodies
from sarrus.mechanics.derivatives.constraint_variation import constraint_variation
from sarrus.mechanics.mechanism import mechanism, node_accelerations, rows_of
from sarrus.mechanics.solvers.joint_space import delassus_of, ltdl, solve_forward, solve_transposed
from sarrus.mechanics.solvers.kkt_columns import Kkt
from sarrus.mechanics.solvers.loop_jacobian import loop_jacobian
from sarrus.mechanics.solvers.mobility import typical_mobilities
from sarrus.mechanics.solvers.result import if_determined, joined, proved
from sarrus.model.model import Model
from sarrus.registry.features import Feature
from sarrus.registry.table import algorithm, find
from sarrus.spatial.arrays import Array, Scalar
from sarrus.spatial.choice import choose
from sarrus.spatial.linear_algebra import Ldl, ldl_growth, ldl_semidefinite, ldl_solve
from sarrus.spatial.norms import if_finite, size
from sarrus.spatial.precision import within
from sarrus.spatial.stacked import by_column
from sarrus.spatial.stages import stage
from sarrus.status import Status

_CONSISTENT = 1e-7  # of what rows ask for: what those may differ by that depend on others


class ForwardDynamicsDerivativesResult(NamedTuple):
    """Rows: joint accelerations, or forces on the robot in the order and the axes of declaration.

    Columns: along `integrate(q, e_j)`, v and tau, and the accelerations k of rows that were declared with k="input".
    """

    qdd: Array  # (nv,)
    forces: Array  # (m,)
    dqdd_dq: Array  # (nv, nv)
    dqdd_dv: Array  # (nv, nv)
    dqdd_dtau: Array  # (nv, nv)
    dforces_dq: Array  # (m, nv)
    dforces_dv: Array  # (m, nv)
    dforces_dtau: Array  # (m, nv)
    rank: Array  # () of J; where it is less than m, forces are one choice of many
    unique: Array  # () 1 where accelerations have derivatives along every column, 0: only along motions that J allows
    status: Array  # ()


@algorithm(
    cost="O(n^2 d + m n^2 + m^2 n + m^3)",
    references=("carpentier2018", "featherstone2010"),
    supports=Feature.ON_ALL | Feature.REDUNDANT,
)
def forward_dynamics_derivatives(
    model: Model,
    q: Array,
    v: Array,
    tau: Array,
    k: Array | None = None,
    external_forces: Array | None = None,
    method: str | None = None,
) -> ForwardDynamicsDerivativesResult:
    """Accelerations and constraint forces, and their derivatives with respect to q, v and tau.

    By the implicit function theorem at the solution of M qdd + c = tau + J^T f, J qdd = k: with R the derivative of
    M qdd + c - J^T f and K that of J qdd - k, qdd and f held,

        [ M  -J^T ] [dqdd]     [ R ]        J M^-1 J^T df = J M^-1 R - K
        [ J    0  ] [ df ] = - [ K ]        dqdd = M^-1 (J^T df - R)

    M = L^T D L and Y = J L^-1 have the tree's sparsity. Nothing differentiates through the iterations of a method.

    Redundant rows: accelerations do not depend on which forces share a load. `rank` says how many rows are independent;
    forces of the others are taken not to vary. If the rows of a loop are redundant only where it is closed, only
    motions that keep it closed have derivatives: `unique` is 0, and columns are to be combined to such. Embedded
    constraints count as rows here, so that columns leave the loops one by one, and times G move along them.

    method: what finds qdd and f; default: the factors that the derivatives need anyway
    """
    whole = model.spanning
    at = mechanism(whole, q, v, tau, external_forces)
    rows = rows_of(at, k, "forward_dynamics_derivatives")
    factor = ltdl(at.nodes, composite_bodies(at.nodes))
    J, supports = loop_jacobian(at, rows)
    G, Y = delassus_of(factor, J, supports)
    typical = typical_mobilities(whole)
    Lambda = ldl_semidefinite(G, typical)
    with stage("solution"):
        z = solve_transposed(factor, free_forces(at))  # L^-T (tau - c)
        free = Y @ (factor.d_inv * z) - joined([r.k for r in rows])
        f = -ldl_solve(Lambda, free)
        qdd = solve_forward(factor, (z + Y.T @ f) * factor.d_inv)
        a = node_accelerations(at.nodes, qdd)
        status = proved(rows, [r.residual(a) for r in rows], a, ldl_growth(Lambda, typical), [free])
        status = if_finite(if_determined(status, whole, factor.pivots(at.nodes)), Status.NOT_FINITE, qdd, f)
    if method is not None:
        named = find(method).text(model, q, v, tau, k, external_forces)
        qdd, status = named.qdd, choose(0.5, named.status.item(), named.status.item(), status)
    inverse = rnea_derivatives.text(whole, q, v, qdd, external_forces)
    varied = constraint_variation(whole, q, v, k, qdd, f)
    R = np.concatenate([inverse.dtau_dq - varied.forces_q, inverse.dtau_dv], axis=1)
    K = np.concatenate([varied.rows_q, varied.rows_v], axis=1)
    with stage("derivatives"):
        kkt = Kkt(factor, Y, Lambda)
        dqdd, df, half = kkt.solve(R, K)
    with stage("inverse"):
        by_tau, f_by_tau = kkt.inverse()
    ours = [r for r, c in zip(rows, whole.active_constraints, strict=True) if c in model.active_constraints]
    declared = [by_column(r.declared_force, np.column_stack([f, df, f_by_tau])[r.span], len(r.k)) for r in ours]
    forces = np.concatenate(declared) if declared else np.zeros((0, 1 + 3 * model.nv))
    rank = sum((choose(0.0, pivot, 1.0, 0.0) for pivot in Lambda.d_inv), 0.0)
    by_q, by_v = np.split(dqdd, 2, axis=1)
    f_by_q, f_by_v, f_by_tau = np.split(forces[:, 1:], 3, axis=1)
    last = (np.asarray(x, dtype=object) for x in (rank, _unique(Lambda, half), status))
    return ForwardDynamicsDerivativesResult(qdd, forces[:, 0], by_q, by_v, by_tau, f_by_q, f_by_v, f_by_tau, *last)


def _unique(Lambda: Ldl, half: Array) -> Scalar:
    """Whether rows that depend on others ask for nothing else. Motions that open an overconstrained loop do."""
    off, scale = 0.0, 1.0
    for pivot, row in zip(Lambda.d_inv, half, strict=True):
        here = size(row)
        off, scale = off + choose(0.0, pivot, 0.0, here), scale + here
    return choose(off, within(_CONSISTENT, 1e3) * scale, 1.0, 0.0)
