"""Constrained forward dynamics in joint space, with loops and redundant rows: a sparse proximal factorization."""

from __future__ import annotations

from sarrus.algorithms.constrained.ltl import free_forces
from sarrus.algorithms.tree.crba import composite_bodies
from sarrus.mechanics.mechanism import mechanism, node_accelerations, rows_of
from sarrus.mechanics.solvers.joint_space import delassus_of, ltdl, solve_forward, solve_transposed
from sarrus.mechanics.solvers.loop_elimination import dual_scale
from sarrus.mechanics.solvers.loop_jacobian import loop_jacobian
from sarrus.mechanics.solvers.proximal import (
    MAX_ITERATIONS,
    RANK_TOLERANCE,
    confirmed,
    iterations,
    joined,
    penalties,
    warm_start,
)
from sarrus.mechanics.solvers.result import ConstrainedDynamicsResult, result_with_status, seen_by
from sarrus.model.model import Model
from sarrus.registry.features import Feature
from sarrus.registry.table import algorithm
from sarrus.spatial.arrays import Array
from sarrus.spatial.linear_algebra import ldl, ldl_solve
from sarrus.spatial.stages import stage


@algorithm(
    cost="O(n d^2 + m^2 d + m d^2 + m^3), then O(m^2) per iteration",
    references=("carpentier2021", "lcaba2025", "featherstone2010"),
    supports=Feature.ON_ALL | Feature.ANY_RANK,
    derivatives="forward_dynamics_derivatives",
    smallest_forces=True,
)
def prox_ltl(
    model: Model,
    q: Array,
    v: Array,
    tau: Array,
    k: Array | None = None,
    external_forces: Array | None = None,
    forces0: Array | None = None,
    mu: float | None = None,
    tolerance: float = 1e-9,
    max_iterations: int = MAX_ITERATIONS,
    rank_tolerance: float = RANK_TOLERANCE,
) -> ConstrainedDynamicsResult:
    """Constrained forward dynamics by the sparse factorization of the regularised KKT matrix (Carpentier et al. 2021).

        [ -1/mu  J ] [lam]   [ k - lam0 / mu ]
        [  J^T   M ] [qdd] = [   tau - c     ]                                                    LCABA paper, eq. (12)

    is factored as U D U^T, with velocities eliminated from the leaves, then the multipliers: U contains M's factor and
    Y = J L^-1, both with the tree's sparsity, and the factor of the damped Delassus matrix Lambda = J M^-1 J^T + 1/mu.
    Iterations only solve with the latter (eq. 13). For the arguments see `lcaba`.
    """
    at = mechanism(model, q, v, tau, external_forces)
    rows = rows_of(at, k, "prox_ltl", declared=mu is not None)
    factor = ltdl(at.nodes, composite_bodies(at.nodes))
    z = solve_transposed(factor, free_forces(at))  # L^-T (tau - c)
    penalty, lam0 = penalties(model, mu, dual=True), warm_start(rows, forces0)
    weights = penalty.mu
    J, supports = loop_jacobian(at, rows)
    A, Y = delassus_of(factor, J, supports)
    with stage("multipliers"):
        A[range(len(A)), range(len(A))] = A.diagonal() + 1.0 / weights
        Lambda = ldl(A)
        desired = joined([r.k for r in rows])
        free = Y @ (factor.d_inv * z) - desired  # J qdd_free - k
        lam = ldl_solve(Lambda, free + lam0 / weights)  # eq. (13)

    def step(r: Array) -> tuple[Array, tuple[Array, ...]]:
        return ldl_solve(Lambda, r) / weights, ()  # Lambda (lam - lam_before) = the last residual

    scale, before = dual_scale(desired, free), (lam - lam0) / weights
    done = iterations(step, lam0, before, (), penalty, scale, tolerance, max_iterations, rank_tolerance)
    with stage("acceleration"):
        qdd = solve_forward(factor, (z - Y.T @ done.lam) * factor.d_inv)
        done = confirmed(done, J @ qdd - desired, scale, lambda: seen_by(rows, node_accelerations(at.nodes, qdd)))
    pivots = factor.pivots(at.nodes)
    return result_with_status(at, rows, qdd, done.lam, done.residual, done.iterations, done.status, pivots)
