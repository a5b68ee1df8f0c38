"""Constrained forward dynamics with loops: the recursion of Brandl, Bae and others."""

from __future__ import annotations

import numpy as np

from sarrus.mechanics.mechanism import mechanism, rows_of
from sarrus.mechanics.solvers.loop_elimination import at_world, eliminate_loops, inward, loads_of, outward
from sarrus.mechanics.solvers.loop_roots import loop_roots
from sarrus.mechanics.solvers.mobility import typical_mobilities
from sarrus.mechanics.solvers.proximal import joined
from sarrus.mechanics.solvers.result import FOR_LOOPS, ConstrainedDynamicsResult, result, with_fallback
from sarrus.model.bodies import WORLD
from sarrus.model.model import Model
from sarrus.registry.features import Feature
from sarrus.registry.table import algorithm
from sarrus.spatial.arrays import Array
from sarrus.spatial.linear_algebra import Ldl, ldl_growth, ldl_semidefinite


@algorithm(
    cost="O(n + m_b^3 n), m_b: rows that the most loaded link supports",
    references=("brandl1987", "bae1987", "lcaba2025"),
    supports=Feature.ON_ALL,
    derivatives="forward_dynamics_derivatives",
)
def bbo(
    model: Model,
    q: Array,
    v: Array,
    tau: Array,
    k: Array | None = None,
    external_forces: Array | None = None,
    fallback: str | None = "prox_ltl",
) -> ConstrainedDynamicsResult:
    """Constrained forward dynamics with loops by BBO: each loop's multipliers are eliminated at its root, exactly.

    The limit of `prox_bbo` for mu to infinity (LCABA paper, section V, with L = 0 in eq. 42b): one pass, no iterations.
    Rows must be independent of each other given the joints of their own loop. A row that is not is left out; if it is
    then not met, the status says so.

    fallback: the method for states that this one cannot solve; None: the status reports them
    """
    at = mechanism(model, q, v, tau, external_forces)
    rows, nodes = rows_of(at, k, "bbo"), range(len(at.nodes))
    typical = typical_mobilities(model)
    none = np.zeros(sum(len(r.k) for r in rows), dtype=np.result_type(q, tau))

    def factorize(L: Array, R: list[int]) -> Ldl:
        return ldl_semidefinite(L, typical[R])

    e = eliminate_loops(at, rows, loop_roots(at.tree, rows), none, factorize)
    loads = inward(e, nodes, loads_of(at, joined([-r.k for r in rows]).astype(none.dtype)))
    lam = at_world(e, loads, none)
    a: dict[int, Array] = {}
    qdd = joined(list(outward(e, nodes, loads, lam, a).values()))
    growth = sum((ldl_growth(x.factor, typical[x.R], squared=i != WORLD) for i, x in e.closed.items()), 0.0)
    found = result(at, rows, qdd, list(a.values()), lam, e.pivots, growth=growth, free=[loads.l])
    return with_fallback(found, fallback, FOR_LOOPS, model, q, v, tau, k, external_forces)
