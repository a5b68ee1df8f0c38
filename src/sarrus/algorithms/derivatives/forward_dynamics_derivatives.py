"""Derivatives of constrained forward dynamics."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sarrus.algorithms.constrained.ltl import free_forces
from sarrus.algorithms.constrained.pv_soft import soft_weight
from sarrus.algorithms.derivatives.rnea_derivatives import rnea_derivatives
from sarrus.algorithms.tree.crba import composite_bodies
from sarrus.algorithms.tree.rnea import rnea
from sarrus.errors import check_name
from sarrus.mechanics.derivatives.constraint_variation import constraint_equations, constraint_variation
from sarrus.mechanics.mechanism import mechanism, rows_of
from sarrus.mechanics.solvers.constrained_motion import ConstrainedMotion, MotionResponse
from sarrus.mechanics.solvers.minimum_norm import MinimumNorm, norm_of, sharing
from sarrus.model.model import Model
from sarrus.registry.algorithm import AnyAlgorithm, Implicit
from sarrus.registry.features import Feature
from sarrus.registry.table import algorithm, catalog, check_model, find
from sarrus.spatial.arrays import Array
from sarrus.spatial.choice import choose
from sarrus.spatial.norms import if_finite
from sarrus.spatial.stages import stage
from sarrus.status import Status


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
    dqdd_dk: Array  # (nv, inputs)
    dforces_dk: Array  # (m, inputs)
    rank: Array  # () of J; where it is less than m, forces are one choice of many
    unique: Array  # () 1 where accelerations have derivatives along every column, 0: only along motions that J allows
    status: Array  # () of values and derivatives: ok means that all are finite


def motion_equations(model: Model, qdd: Array, forces: Array, **at: Array) -> tuple[Array, Array]:
    """What is zero at a solution: M qdd + c - J^T f - tau (nv,) and J qdd - k (m,); at: q, v, tau, ..."""
    q, v, whole = at["q"], at["v"], model.spanning
    rows, on_joints = constraint_equations(whole, q, v, at.get("k"), qdd, forces)
    return rnea.text(whole, q, v, qdd, at.get("external_forces")) - on_joints - at["tau"], rows


def motion_response(model: Model, minimum_norm: bool, adjoint: bool, **given: Array) -> MotionResponse:
    """The solution, and that of M x - J^T f = right_x, J x = right_f: see `ConstrainedMotion.response`."""
    at = mechanism(model.spanning, given["q"], given["v"], given["tau"], given.get("external_forces"))
    motion = ConstrainedMotion.factored(at, rows_of(at, given.get("k"), "a derivative"), composite_bodies(at.nodes))
    x, f, probe, varied = (given[name] for name in ("right_x", "right_f", "probe", "varied"))
    return motion.response(free_forces(at), x, f, probe, norm_of(model) if minimum_norm else None, varied, adjoint)


@algorithm(
    cost="O(n^2 d + m n^2 + m^2 n + m^3)",
    references=("carpentier2018", "featherstone2010"),
    supports=Feature.ON_ALL | Feature.REDUNDANT,
    implicit=Implicit(("qdd", "forces"), motion_equations, motion_response, sharing),
)
def forward_dynamics_derivatives(
    model: Model,
    q: Array,
    v: Array,
    tau: Array,
    k: Array | None = None,
    external_forces: Array | None = None,
    method: str | None = None,
    weight: float | None = None,
    minimum_norm: bool = False,
) -> ForwardDynamicsDerivativesResult:
    """Accelerations and constraint forces, and their derivatives with respect to q, v, tau and k.

    By the implicit function theorem at the solution of M qdd + c = tau + J^T f, J qdd + C f = k, where C is the
    compliance of soft methods, otherwise zero. With R the derivative of M qdd + c - J^T f, and K that of J qdd - k,
    with qdd and f held constant,

        [ M  -J^T ] [dqdd]     [ R ]        (J M^-1 J^T + C) df = J M^-1 R - K
        [ J    C  ] [ df ] = - [ K ]        dqdd = M^-1 (J^T df - R)

    M = L^T D L and Y = J L^-1 have the sparsity of the tree. The iterations of a method are never differentiated.

    Redundant rows: accelerations do not depend on how these share a load. `rank` says how many rows are independent;
    the forces of the others are zero, or all forces are the smallest ones that do the same, and the derivatives are
    those of the forces that are returned. If the rows of a loop are redundant only where it is closed, only motions
    that keep it closed have derivatives: `unique` is 0, and columns must be combined into such motions. Embedded
    constraints count as rows here: a single column opens the loops, and columns times G keep them closed.

    method  finds qdd and f; default or "auto": the factors that the derivatives need anyway. With soft methods
            (pv_soft, ltl_soft) the constraints yield, and the derivatives account for that
    weight  of soft methods: R^-1 for constraints that were declared without a softness R of their own
    minimum_norm  whether redundant rows share a load by forces of the smallest norm, as proximal methods and lcaba do
    """
    whole, softly = model.spanning, method in ("pv_soft", "ltl_soft")
    ours = [c in model.active_constraints for c in whole.active_constraints]
    soft = [mine and softly for mine in ours]
    at = mechanism(whole, q, v, tau, external_forces)
    rows = rows_of(at, k, "forward_dynamics_derivatives")
    rows = [r.declared() if x else r for r, x in zip(rows, soft, strict=True)]
    C = [
        1.0 / soft_weight(r.R, len(r.k), weight, str(method)) if x else np.zeros(len(r.k))
        for r, x in zip(rows, soft, strict=True)
    ]
    motion = ConstrainedMotion.factored(at, rows, composite_bodies(at.nodes), C)
    qdd, f, status = motion.solution(free_forces(at), softly)
    shares = MinimumNorm.of(motion.kkt, norm_of(model)) if minimum_norm and len(f) else None
    f, z = (f, None) if shares is None else shares.with_motion(motion.kkt, f)
    if method not in (None, "auto"):  # any other comes on top of the factors
        weighted = {"weight": weight} if softly else {}
        named = _method(method, model).text(model, q, v, tau, k, external_forces, **weighted)
        qdd, status = named.qdd, choose(0.5, named.status.item(), named.status.item(), status)
    inverse = rnea_derivatives.text(whole, q, v, qdd, external_forces)
    varied = constraint_variation(whole, q, v, k, qdd, f, soft, z)
    K = np.concatenate([varied.rows_q, varied.rows_v, varied.rows_k], axis=1)
    R = np.zeros((model.nv, K.shape[1]), dtype=np.result_type(K, inverse.tau))
    R[:, : 2 * model.nv] = np.concatenate([inverse.dtau_dq - varied.forces_q, inverse.dtau_dv], axis=1)
    with stage("derivatives"):
        dqdd, df, half, sums = motion.kkt.solve(R, K)
        by_tau, f_by_tau, sums_by_tau = motion.kkt.inverse()
        if shares is not None:
            df, f_by_tau = shares.smallest(df, varied.rows_along), shares.smallest(f_by_tau)
        status = if_finite(status, choose(0.5, status, status, Status.NOT_FINITE), sums, sums_by_tau)
    both = np.column_stack([f, f_by_tau, df])
    declared = [x for x, mine in zip(motion.declared_forces(both), ours, strict=True) if mine]
    forces = np.concatenate([np.zeros((0, both.shape[1])), *declared])
    by_q, by_v, by_k = np.split(dqdd, [model.nv, 2 * model.nv], axis=1)
    f_by_tau, f_by_q, f_by_v, f_by_k = np.split(forces[:, 1:], model.nv * np.arange(1, 4), axis=1)
    last = (np.asarray(x, dtype=object) for x in (motion.kkt.rank, motion.kkt.is_consistent(half), status))
    return ForwardDynamicsDerivativesResult(
        qdd, forces[:, 0], by_q, by_v, by_tau, f_by_q, f_by_v, f_by_tau, by_k, f_by_k, *last
    )


def _method(name: str, model: Model) -> AnyAlgorithm:
    """That of constrained dynamics; an error in words if there is none of that name, or not for this model."""
    check_name("method of constrained dynamics", name, [x for x, y in catalog().items() if y.family == "constrained"])
    check_model(find(name), model, strict=True)
    return find(name)
