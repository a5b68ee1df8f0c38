"""Constrained forward dynamics with loops and redundant rows: the recursion BBO in its proximal form."""

from __future__ import annotations

import numpy as np

from sarrus.mechanics.mechanism import mechanism, rows_of
from sarrus.mechanics.solvers.loop_elimination import (
    Loads,
    at_world,
    damped,
    dual_scale,
    eliminate_loops,
    inward,
    loads_of,
    outward,
)
from sarrus.mechanics.solvers.loop_roots import early_roots
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
from sarrus.spatial.stages import stage


@algorithm(
    cost="O(n + m_b^3 n), then O(n + m_b^2 n) per iteration; m_b: rows that the most loaded link supports",
    references=("lcaba2025", "brandl1987", "bae1987"),
    supports=Feature.ON_ALL | Feature.ANY_RANK,
    derivatives="forward_dynamics_derivatives",
    smallest_forces=True,
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
    at = mechanism(model, q, v, tau, external_forces)
    rows = rows_of(at, k, "prox_bbo", declared=mu is not None)
    penalty, lam0 = penalties(model, mu, dual=True), warm_start(rows, forces0)
    weights, desired = penalty.mu, joined([r.k for r in rows])
    dtype = np.result_type(q, tau)
    # Algorithm 4: inward, and outward as far as the loops' roots.
    e = eliminate_loops(at, rows, early_roots(at.tree, rows), np.asarray(1.0 / weights, dtype=dtype), damped)
    beyond = inward(e, e.outer, loads_of(at, (lam0 / weights - desired).astype(dtype)))  # eq. (42c)
    loads = inward(e, e.inner, beyond)
    lam = at_world(e, loads, np.zeros(len(lam0), dtype=dtype))
    qdd = outward(e, e.inner, loads, lam, {})

    def step(r: Array) -> tuple[Array, tuple[Array, ...]]:  # Algorithm 5
        still = {i: np.zeros(len(at.nodes[i].S)) for i in e.inner}
        change = inward(e, e.inner, Loads(still, r, {}, {}))
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
            parent, _, X, S, *_ = at.nodes[i]
            a[i] = S @ qdd[i] if parent < 0 else X.apply(a[parent]) + S @ qdd[i]
    qdd |= outward(e, e.outer, beyond, done.lam.copy(), a)
    done = confirmed(done, joined([r.residual(a) for r in rows]), scale, lambda: seen_by(rows, a))
    whole = joined([qdd[i] for i in range(len(qdd))])
    return result_with_status(at, rows, whole, done.lam, done.residual, done.iterations, done.status, e.pivots)
