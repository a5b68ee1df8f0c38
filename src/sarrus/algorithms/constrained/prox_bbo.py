"""Constrained forward dynamics with loops and redundant rows: the recursion BBO in its proximal form."""

from __future__ import annotations

import numpy as np

from sarrus.mechanics.constraints.loop_roots import early_roots
from sarrus.mechanics.problem import pose_problem
from sarrus.mechanics.solvers.loop_elimination import damped, eliminate
from sarrus.mechanics.solvers.loop_sweeps import Loads, at_world, dual_scale, inward, outward
from sarrus.mechanics.solvers.penalty import penalties
from sarrus.mechanics.solvers.proof import seen_by
from sarrus.mechanics.solvers.proximal import (
    MAX_ITERATIONS,
    RANK_TOLERANCE,
    confirmed,
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
    cost="O(n + m_b^3 n), then O(n + m_b^2 n) per iteration; m_b: rows that the most loaded link supports",
    references=("lcaba2025", "brandl1987", "bae1987"),
    supports=Feature.ON_ALL | Feature.ANY_RANK,
)
def prox_bbo(
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
    """Constrained forward dynamics with loops by proxBBO (LCABA paper, Algorithms 4 to 6), about the bias motion.

    Inward, the constraints' rows K, their coupling L (1 / mu on its diagonal) and their offset l go along with ABA's H
    and f; at a loop's root its multipliers are eliminated. Iterations repeat the two sweeps of f and l for the change
    of l, and only where it reaches: from the roots of loops to the world and back. The rest of the mechanism follows
    once, at the end. For the arguments see `lcaba`.
    """
    problem = pose_problem(model, q, v, tau, k, external_forces, "prox_bbo", loops=True, declared=mu is not None)
    penalty = penalties(model, mu, dual=True)
    weights = penalty.mu
    lam0 = joined(warm_start(problem, forces0))
    dtype = np.result_type(q, tau)
    # Algorithm 4: inward, and outward as far as the loops' roots.
    tree, rows = problem.tree, problem.rows
    damping = np.asarray(1.0 / weights, dtype=dtype)
    e = eliminate(tree, problem.passages, problem.H, rows, problem.spans, early_roots(tree, rows), damping, damped)
    desired = joined([r.k for r in problem.rows])
    start = Loads(dict(enumerate(problem.forces)), (lam0 / weights - desired).astype(dtype), {}, {})  # eq. (42c)
    beyond = inward(e, e.outer, start, problem.tau)
    loads = inward(e, e.inner, beyond, problem.tau)
    lam = at_world(e, loads, np.zeros(len(lam0), dtype=dtype))
    qdd = outward(e, e.inner, loads, lam, {})

    def step(r: Array) -> tuple[Array, tuple[Array, ...]]:  # Algorithm 5
        still = {i: np.zeros(len(e.joints[i].passage.S)) for i in e.inner}
        change = inward(e, e.inner, Loads(still, r, {}, {}), np.zeros(len(problem.tau)))
        lam = at_world(e, change, np.zeros(len(r), dtype=r.dtype))
        qdd = outward(e, e.inner, change, lam, {})
        return lam / weights, tuple(qdd.values())

    scale = dual_scale(desired, loads.l)
    done = iterations(
        step,
        lam0,
        (lam - lam0) / weights,
        tuple(qdd.values()),
        penalty,
        scale,
        tolerance,
        max_iterations,
        rank_tolerance,
    )
    # The rest of the mechanism.
    qdd = dict(zip(e.inner, done.sums, strict=True))
    a: dict[int, Array] = {}
    with stage("outward acceleration"):
        for i in e.inner:
            part = e.joints[i]
            parent, p = part.node.parent, part.passage
            own = p.S @ qdd[i]
            a[i] = own if parent < 0 else p.X.apply(a[parent]) + own
    qdd |= outward(e, e.outer, beyond, done.lam.copy(), a)
    done = confirmed(done, joined([r.residual(a) for r in rows]), seen_by(rows, a))
    lams, residuals = ([x[span] for span in problem.spans] for x in (done.lam, done.residual))
    joined_qdd = joined([qdd[i] for i in range(len(qdd))])
    return result_with_status(problem, joined_qdd, lams, residuals, done.iterations, done.status, e.pivots)
