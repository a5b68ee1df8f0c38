"""Soft constraints in joint space: MuJoCo's problem."""

from __future__ import annotations

from sarrus.algorithms.constrained import ConstrainedDynamicsResult, pose_problem
from sarrus.algorithms.ltl import solve_in_joint_space
from sarrus.algorithms.pv_soft import soft_weight
from sarrus.algorithms.registry import algorithm
from sarrus.model.model import Model
from sarrus.spatial.arrays import Array


@algorithm(
    inputs=("q", "v", "tau", "k?", "external_forces?"),
    outputs=None,
    cost="O(n d^2 + m^2 d + m d^2 + m^3)",
    references=("sathya2024pv", "todorov2014", "featherstone2010"),
    supports=("link constraints", "multi-dof joints", "soft", "redundant rows", "conflicting rows"),
    family="constrained dynamics",
)
def ltl_soft(
    model: Model,
    q: Array,
    v: Array,
    tau: Array,
    k: Array | None = None,
    external_forces: Array | None = None,
    weight: float | None = None,
) -> ConstrainedDynamicsResult:
    """Soft constrained forward dynamics: (M + J^T R^-1 J) qdd = tau - c + J^T R^-1 k by the matrix inversion lemma.

    weight: R^-1 for constraints that were declared without a softness R of their own.
    """
    problem = pose_problem(model, q, v, tau, k, external_forces, "ltl_soft")
    problem = problem._replace(rows=[r.declared() for r in problem.rows])
    weights = [soft_weight(r.R, len(r.k), weight, "ltl_soft") for r in problem.rows]
    return solve_in_joint_space(problem, q.dtype, weights)
