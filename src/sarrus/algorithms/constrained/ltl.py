"""Constrained forward dynamics in joint space, with Featherstone's sparse factorization."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sarrus.algorithms.tree.crba import composite_bodies
from sarrus.algorithms.tree.rnea import inward_forces
from sarrus.mechanics.constraints.rows import Rows
from sarrus.mechanics.mechanism import Mechanism, mechanism, node_accelerations, rows_of
from sarrus.mechanics.solvers.joint_space import (
    constraint_jacobian,
    delassus_of,
    ltdl,
    solve_forward,
    solve_transposed,
)
from sarrus.mechanics.solvers.mobility import typical_mobilities
from sarrus.mechanics.solvers.result import FOR_LINKS, ConstrainedDynamicsResult, joined, result, with_fallback
from sarrus.model.model import Model
from sarrus.registry.features import Feature
from sarrus.registry.table import algorithm
from sarrus.spatial.arrays import Array
from sarrus.spatial.linear_algebra import ldl_growth, ldl_semidefinite, ldl_solve
from sarrus.spatial.stages import stage


@algorithm(
    cost="O(n d^2 + m^2 d + m d^2 + m^3)",
    references=("featherstone2010", "featherstone2005"),
    supports=Feature.ON_LINKS,
    derivatives="forward_dynamics_derivatives",
)
def ltl(
    model: Model,
    q: Array,
    v: Array,
    tau: Array,
    k: Array | None = None,
    external_forces: Array | None = None,
    fallback: str | None = "prox_ltl",
) -> ConstrainedDynamicsResult:
    """Constrained forward dynamics by M = L^T D L and Y = J L^-1, both with the tree's sparsity (Featherstone 2010).

    fallback: the method for states that this one cannot solve; None: the status reports them
    """
    at = mechanism(model, q, v, tau, external_forces)
    found = solve_in_joint_space(at, rows_of(at, k, "ltl"), weights=None)
    return with_fallback(found, fallback, FOR_LINKS, model, q, v, tau, k, external_forces)


def solve_in_joint_space(at: Mechanism, rows: list[Rows], weights: list[Array] | None) -> ConstrainedDynamicsResult:
    """(J M^-1 J^T + R) lam = J M^-1 (tau - c) - k, then qdd = M^-1 (tau - c - J^T lam); R = 0 without weights."""
    factor = ltdl(at.nodes, composite_bodies(at.nodes))
    z = solve_transposed(factor, free_forces(at))  # L^-T (tau - c)
    lam, free, growth = np.zeros(0), np.zeros(0), 1.0
    if rows:
        J, supports = constraint_jacobian(at.nodes, rows)
        A, Y = delassus_of(factor, J, supports)
        with stage("multipliers"):
            if weights is not None:
                for i, w in enumerate(np.concatenate(weights)):
                    A[i, i] = A[i, i] + 1.0 / w
            free = Y @ (factor.d_inv * z) - np.concatenate([r.k for r in rows])
            typical = typical_mobilities(at.model)
            Lambda = ldl_semidefinite(A, typical)
            growth = ldl_growth(Lambda, typical)
            lam = ldl_solve(Lambda, free)
            z = z - Y.T @ lam
    with stage("acceleration"):
        qdd = solve_forward(factor, z * factor.d_inv)
        a = node_accelerations(at.nodes, qdd)
    pivots, soft = factor.pivots(at.nodes), weights is not None
    return result(at, rows, qdd, a, lam, pivots, soft=soft, growth=growth, free=[free])


def free_forces(at: Mechanism, f: Sequence[Array] | None = None) -> Array:
    """tau - c of a mechanism, on which forces f act (default: its own)."""
    tau = joined([node.tau for node in at.nodes])
    return tau - inward_forces(at.tree, at.nodes, [node.f for node in at.nodes] if f is None else f)
