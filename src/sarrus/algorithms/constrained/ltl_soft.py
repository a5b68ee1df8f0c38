"""Soft constraints in joint space: MuJoCo's problem."""

from __future__ import annotations

from sarrus.algorithms.constrained.ltl import free_forces, node_accelerations, solve_in_joint_space
from sarrus.algorithms.constrained.pv_soft import soft_weight
from sarrus.algorithms.tree.crba import composite_bodies
from sarrus.mechanics.mechanism import mechanism, rows_of
from sarrus.mechanics.solvers.joint_space import ltdl, solve_forward, solve_transposed
from sarrus.mechanics.solvers.result import ConstrainedDynamicsResult, joined, result
from sarrus.model.model import Model
from sarrus.registry.features import Feature
from sarrus.registry.table import algorithm
from sarrus.spatial.arrays import Array, add_to
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

    The left side is the mass matrix of links with inertia H + K^T R^-1 K (section VI), so M = L^T D L applies to it
    too.

    weight    R^-1 for constraints that were declared without a softness R of their own
    accurate  solve for the forces by the matrix inversion lemma: costs half as much again, but loses no digits where
              constraints are stiff
    """
    at = mechanism(model, q, v, tau, external_forces)
    rows = [r.declared() for r in rows_of(at, k, "ltl_soft")]
    weights = [soft_weight(r.R, len(r.k), weight, "ltl_soft") for r in rows]
    if accurate:
        return solve_in_joint_space(at, rows, weights)
    penalties: dict[int, Array] = {}
    f = [node.f for node in at.nodes]
    with stage("constraints"):
        for r, w in zip(rows, weights, strict=True):
            KR = r.K.T * w  # (6, m)
            add_to(penalties, r.node, symmetric_product(KR, r.K))
            f[r.node] = f[r.node] + KR @ r.k
    factor = ltdl(at.nodes, composite_bodies(at.nodes, penalties))
    z = solve_transposed(factor, free_forces(at, f))
    with stage("acceleration"):
        qdd = solve_forward(factor, z * factor.d_inv)
        a = node_accelerations(at.nodes, qdd)
    lam = joined([w * r.residual(a) for r, w in zip(rows, weights, strict=True)])
    return result(at, rows, qdd, a, lam, factor.pivots(at.nodes), soft=True)
