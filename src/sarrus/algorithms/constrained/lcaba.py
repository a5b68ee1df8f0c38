"""Constrained forward dynamics with loops: the loop-constrained articulated-body algorithm."""

from __future__ import annotations

import numpy as np

from sarrus.mechanics.problem import Problem, pose_problem
from sarrus.mechanics.solvers import link_elimination as links
from sarrus.mechanics.solvers import link_sweeps as sweeps
from sarrus.mechanics.solvers.elimination_order import minimum_degree, nodes_of, support
from sarrus.mechanics.solvers.penalty import penalties
from sarrus.mechanics.solvers.proof import seen_by
from sarrus.mechanics.solvers.proximal import (
    MAX_ITERATIONS,
    RANK_TOLERANCE,
    iterations,
    joined,
    warm_start,
)
from sarrus.mechanics.solvers.result import ConstrainedDynamicsResult, result_with_status
from sarrus.model.model import Model
from sarrus.registry.features import Feature
from sarrus.registry.table import algorithm
from sarrus.spatial.arrays import Array
from sarrus.spatial.stages import stage


@algorithm(
    cost="O(n + m + m_c^2 n), m_c: neighbours of a link",
    references=("lcaba2025",),
    supports=Feature.ON_ALL | Feature.ANY_RANK,
)
def lcaba(
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
    """Constrained forward dynamics with loops by LCABA, Algorithms 1 to 3: ABA in which rows are penalties, repeated.

    The penalties mu couple links that are not parent and child; links are eliminated from the leaves, those with the
    fewest neighbours first. Each iteration then repeats two sweeps over the links that carry constraints.

    forces0         forces of the last call, to start from (warm start)
    mu              penalty of all rows, large is stiff; default: chosen from the mechanism (`penalty.py`)
    tolerance       of the residual and of its change, relative to the accelerations that the rows see, and absolute
    max_iterations  solves, the first included
    rank_tolerance  rows that are independent of others by less than this (a singular value, relative to what is usual)
                    count as dependent, and are met in the sense of least squares
    """
    problem = pose_problem(model, q, v, tau, k, external_forces, "lcaba", loops=True, declared=mu is not None)
    order = minimum_degree(problem.tree, [nodes_of(r) for r in problem.rows])
    return augmented_lagrangian(model, problem, forces0, mu, tolerance, max_iterations, rank_tolerance, order)


def augmented_lagrangian(
    model: Model,
    problem: Problem,
    forces0: Array | None,
    mu: float | None,
    tolerance: float,
    max_iterations: int,
    rank_tolerance: float,
    order: list[int],
) -> ConstrainedDynamicsResult:
    """Algorithm 3 for any elimination order."""
    tree, rows = problem.tree, problem.rows
    penalty = penalties(model, mu, dual=False)
    weights = penalty.weights
    lam0 = warm_start(problem, forces0)
    e = links.eliminate(tree, problem.passages, problem.H, rows, weights, order)
    inner_set = support(tree, [i for r in rows for i in nodes_of(r)])
    inner = [i for i in order if i in inner_set]  # what a change of the multipliers reaches before the others
    outer = [i for i in order if i not in inner_set]

    # First solve (Algorithm 1).
    with stage("inward"):
        loads = sweeps.Loads(dict(enumerate(problem.forces)), {i: problem.tau[tree.nodes[i].v] for i in order}, {})
        loads = sweeps.row_loads(e, [m * r.k - x for r, m, x in zip(rows, weights, lam0, strict=True)], loads)
        z = sweeps.inward(e, order, loads)
    a: dict[int, Array] = {}
    y: dict[int, Array] = {}
    with stage("outward acceleration"):
        qdd = sweeps.outward(e, inner, z, a, y)
        residual = joined([x - r.k for x, r in zip(sweeps.images(e, a, qdd, y), rows, strict=True)])

    # Reduced sweeps (Algorithm 2): only the change, only where constraints act.
    def step(r: Array) -> tuple[Array, tuple[Array, ...]]:
        more = [-(m * r[span]) for m, span in zip(weights, problem.spans, strict=True)]
        dz = sweeps.inward(e, inner, sweeps.row_loads(e, more, sweeps.Loads({}, {}, {})))
        da: dict[int, Array] = {}
        dy: dict[int, Array] = {}
        dqdd = sweeps.outward(e, inner, dz, da, dy)
        return r + joined(sweeps.images(e, da, dqdd, dy)), tuple(dqdd[i] for i in inner)

    end = iterations(
        step,
        joined(lam0),
        residual,
        tuple(qdd[i] for i in inner),
        penalty,
        seen_by(rows, a),
        tolerance,
        max_iterations,
        rank_tolerance,
    )
    qdd = dict(zip(inner, end.sums, strict=True))

    # The other links follow those that carry them.
    with stage("outward acceleration"):
        carriers = support(tree, [tree.nodes[i].parent for i in outer]) & inner_set
        a = {}
        for i in (i for i in reversed(inner) if i in carriers):
            parent, p = tree.nodes[i].parent, problem.passages[i]
            a[i] = p.S @ qdd[i] if parent < 0 else p.X.apply(a[parent]) + p.S @ qdd[i]
        qdd |= sweeps.outward(e, outer, z, a, {})
    parts = [end.lam[span] for span in problem.spans], [end.residual[span] for span in problem.spans]
    whole = np.concatenate([qdd[i] for i in range(len(tree.nodes))]) if qdd else np.zeros(0)
    return result_with_status(problem, whole, *parts, end.iterations, end.status, e.pivots)
