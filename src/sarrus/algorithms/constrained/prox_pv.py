"""Constrained forward dynamics of a tree with redundant rows: Popov and Vereshchagin's solver in its proximal form."""

from __future__ import annotations

import numpy as np

from sarrus.mechanics.mechanism import mechanism, rows_of
from sarrus.mechanics.solvers.loop_elimination import damped, dual_scale, eliminate_loops, inward, loads_of, outward
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
from sarrus.model.bodies import WORLD
from sarrus.model.model import Model
from sarrus.registry.features import Feature
from sarrus.registry.table import algorithm
from sarrus.spatial.arrays import Array
from sarrus.spatial.linear_algebra import ldl, ldl_solve


@algorithm(
    cost="O(n + m^2 d + m^3), then O(m^2) per iteration",
    references=("sathya2025constrained", "sathya2024pv"),
    supports=Feature.ON_LINKS | Feature.ANY_RANK,
    derivatives="forward_dynamics_derivatives",
    smallest_forces=True,
)
def prox_pv(
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
    """Constrained forward dynamics of a tree by proxPV: PV whose L has 1 / mu on its diagonal.

    At the world L = J M^-1 J^T + 1 / mu, which is factored once; iterations only solve with it. The outward sweep comes
    at the end. For the arguments see `lcaba`.
    """
    at = mechanism(model, q, v, tau, external_forces)
    rows, nodes = rows_of(at, k, "prox_pv", declared=mu is not None), range(len(at.nodes))
    penalty, lam0 = penalties(model, mu, dual=True), warm_start(rows, forces0)
    weights, desired = penalty.mu, joined([r.k for r in rows])
    dtype = np.result_type(q, tau)
    e = eliminate_loops(at, rows, [WORLD] * len(rows), (1.0 / weights).astype(dtype), damped)
    loads = inward(e, nodes, loads_of(at, (lam0 / weights - desired).astype(dtype)))
    factor = e.closed[WORLD].factor if len(lam0) else ldl(np.zeros((0, 0)))
    lam = ldl_solve(factor, loads.l) if len(lam0) else lam0

    def step(r: Array) -> tuple[Array, tuple[Array, ...]]:
        return ldl_solve(factor, r) / weights, ()

    scale = dual_scale(desired, loads.l)
    end = iterations(step, lam0, (lam - lam0) / weights, (), penalty, scale, tolerance, max_iterations, rank_tolerance)
    a: dict[int, Array] = {}
    qdd = joined(list(outward(e, nodes, loads, end.lam, a).values()))
    end = confirmed(end, joined([r.residual(a) for r in rows]), scale, lambda: seen_by(rows, a))
    return result_with_status(at, rows, qdd, end.lam, end.residual, end.iterations, end.status, e.pivots)
