"""Soft constraints in joint space: MuJoCo's problem."""

from __future__ import annotations

from sarrus.algorithms.constrained.ltl import node_accelerations, solve_in_joint_space
from sarrus.algorithms.constrained.pv_soft import soft_weight
from sarrus.algorithms.tree.rnea import inward_forces
from sarrus.mechanics.bodies.joint_space import ltdl, solve_forward, solve_transposed
from sarrus.mechanics.bodies.mass_matrix import mass_matrix
from sarrus.mechanics.problem import pose_problem
from sarrus.mechanics.solvers.result import ConstrainedDynamicsResult, result
from sarrus.model.model import Model
from sarrus.registry.features import Feature
from sarrus.registry.table import algorithm
from sarrus.spatial.arrays import Array
from sarrus.spatial.linear_algebra import symmetric_product
from sarrus.spatial.stages import stage


@algorithm(
    cost="O(n d^2)",
    references=("sathya2024pv", "todorov2014", "featherstone2010"),
    supports=Feature.ON_LINKS | Feature.ANY_RANK | Feature.SOFT,
)
def ltl_soft(
    model: Model,
    q: Array,
    v: Array,
    tau: Array,
    k: Array | None = None,
    external_forces: Array | None = None,
    weight: float | None = None,
    accurate: bool = False,
) -> ConstrainedDynamicsResult:
    """Soft constrained forward dynamics: (M + J^T R^-1 J) qdd = tau - c + J^T R^-1 k, with the tree's sparsity.

    The left side is the mass matrix of links with inertia H + K^T R^-1 K (section VI), so M = L^T D L serves it too.

    weight    R^-1 for constraints that were declared without a softness R of their own
    accurate  solve for the forces, by the matrix inversion lemma: half as much again to compute, and no digits are lost
              where constraints are stiff
    """
    problem = pose_problem(model, q, v, tau, k, external_forces, "ltl_soft")
    problem = problem._replace(rows=[r.declared() for r in problem.rows])
    weights = [soft_weight(r.R, len(r.k), weight, "ltl_soft") for r in problem.rows]
    if accurate:
        return solve_in_joint_space(problem, q.dtype, weights)
    penalties: dict[int, Array] = {}
    f = list(problem.forces)
    with stage("constraints"):
        for r, w in zip(problem.rows, weights, strict=True):
            KR = r.K.T * w  # (6, m)
            H = symmetric_product(KR, r.K)
            penalties[r.node] = penalties[r.node] + H if r.node in penalties else H
            f[r.node] = f[r.node] + KR @ r.k
    tree, passages = problem.tree, problem.passages
    factor = ltdl(tree, mass_matrix(tree, passages, problem.inertias, q.dtype, penalties))
    z = solve_transposed(factor, problem.tau - inward_forces(tree, passages, f))
    with stage("acceleration"):
        qdd = solve_forward(factor, z * factor.d_inv)
        a = node_accelerations(problem, qdd)
    lam = [w * r.residual(a) for r, w in zip(problem.rows, weights, strict=True)]
    return result(problem, qdd, a, lam, soft=True, pivots=factor.pivots(tree))
