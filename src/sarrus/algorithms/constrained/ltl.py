"""Constrained forward dynamics in joint space, with Featherstone's sparse factorization."""

from __future__ import annotations

import numpy as np

from sarrus.algorithms.tree.rnea import inward_forces
from sarrus.mechanics.bodies.joint_space import (
    Ltdl,
    constraint_jacobian,
    delassus_of,
    ltdl,
    solve_forward,
    solve_transposed,
)
from sarrus.mechanics.bodies.mass_matrix import mass_matrix
from sarrus.mechanics.constraints.rows import matrices_of
from sarrus.mechanics.problem import Problem, pose_problem
from sarrus.mechanics.solvers.fallback import FOR_LINKS, with_fallback
from sarrus.mechanics.solvers.penalty import typical_mobilities
from sarrus.mechanics.solvers.result import ConstrainedDynamicsResult, result
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

    fallback: the method for states that this one cannot do; None: the status tells
    """
    problem = pose_problem(model, q, v, tau, k, external_forces, "ltl")
    found = solve_in_joint_space(problem, q.dtype, weights=None)
    return with_fallback(found, fallback, FOR_LINKS, model, q, v, tau, k, external_forces)


def solve_in_joint_space(problem: Problem, dtype: np.dtype, weights: list[Array] | None) -> ConstrainedDynamicsResult:
    """(J M^-1 J^T + R) lam = J M^-1 (tau - c) - k, then qdd = M^-1 (tau - c - J^T lam); R = 0 without weights."""
    tree, passages, rows = problem.tree, problem.passages, problem.rows
    factor: Ltdl = ltdl(tree, mass_matrix(tree, passages, problem.inertias, dtype))
    c = inward_forces(tree, passages, problem.forces)
    z = solve_transposed(factor, problem.tau - c)  # L^-T (tau - c)
    lam, growth = np.zeros(0), 1.0
    if rows:
        J, supports = constraint_jacobian(tree, passages, matrices_of(rows), dtype)
        A, Y = delassus_of(factor, J, supports)
        with stage("multipliers"):
            if weights is not None:
                for i, w in enumerate(np.concatenate(weights)):
                    A[i, i] = A[i, i] + 1.0 / w
            b = Y @ (factor.d_inv * z) - np.concatenate([r.k for r in rows])
            typical = typical_mobilities(problem.model)
            Lambda = ldl_semidefinite(A, typical)
            growth = ldl_growth(Lambda, typical)
            lam = ldl_solve(Lambda, b)
            z = z - Y.T @ lam
    with stage("acceleration"):
        qdd = solve_forward(factor, z * factor.d_inv)
        a = node_accelerations(problem, qdd)
    soft = weights is not None
    return result(
        problem, qdd, a, [lam[span] for span in problem.spans], soft=soft, growth=growth, pivots=factor.pivots(tree)
    )


def node_accelerations(problem: Problem, qdd: Array) -> list[Array]:
    """In excess of the bias motion, from the joints' accelerations."""
    a: list[Array] = []
    for node, p in zip(problem.tree.nodes, problem.passages, strict=True):
        own = p.S @ qdd[node.v]
        a.append(own if node.parent < 0 else p.X.apply(a[node.parent]) + own)
    return a
