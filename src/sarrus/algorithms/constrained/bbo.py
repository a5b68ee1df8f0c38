"""Constrained forward dynamics with loops: the recursion of Brandl, Bae and others."""

from __future__ import annotations

import numpy as np

from sarrus.mechanics.constraints.loop_roots import loop_roots
from sarrus.mechanics.problem import pose_problem
from sarrus.mechanics.solvers.fallback import FOR_LOOPS, with_fallback
from sarrus.mechanics.solvers.loop_elimination import eliminate
from sarrus.mechanics.solvers.loop_sweeps import Loads, at_world, inward, outward
from sarrus.mechanics.solvers.penalty import typical_mobilities
from sarrus.mechanics.solvers.proximal import joined
from sarrus.mechanics.solvers.result import ConstrainedDynamicsResult, result
from sarrus.model.model import WORLD, Model
from sarrus.registry.features import Feature
from sarrus.registry.table import algorithm
from sarrus.spatial.arrays import Array
from sarrus.spatial.linear_algebra import Ldl, ldl_growth, ldl_semidefinite


@algorithm(
    cost="O(n + m_b^3 n), m_b: rows that the most loaded link supports",
    references=("brandl1987", "bae1987", "lcaba2025"),
    supports=Feature.ON_ALL,
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
    Rows must be independent of each other given the joints of their own loop; a row that is not is left out, and the
    status then says so if it is not met.

    fallback: the method for states that this one cannot do; None: the status tells
    """
    problem = pose_problem(model, q, v, tau, k, external_forces, "bbo", loops=True)
    nodes, m = range(len(problem.tree.nodes)), sum(len(r.k) for r in problem.rows)
    dtype = np.result_type(q, tau)
    tree, rows = problem.tree, problem.rows
    none = np.zeros(m, dtype=dtype)
    roots = loop_roots(tree, rows)
    typical = typical_mobilities(model)

    def factorize(L: Array, R: list[int]) -> Ldl:
        return ldl_semidefinite(L, typical[R])

    e = eliminate(tree, problem.passages, problem.H, rows, problem.spans, roots, none, factorize)
    l = np.concatenate([-r.k for r in problem.rows]) if m else np.zeros(0)
    loads = inward(e, [*nodes], Loads(dict(enumerate(problem.forces)), l.astype(dtype), {}, {}), problem.tau)
    lam = at_world(e, loads, none)
    a: dict[int, Array] = {}
    qdd = outward(e, [*nodes], loads, lam, a)
    growth = sum((ldl_growth(x.factor, typical[x.R], squared=i != WORLD) for i, x in e.closed.items()), 0.0)
    forces = [lam[span] for span in problem.spans]
    found = result(
        problem, joined([qdd[i] for i in nodes]), [a[i] for i in nodes], forces, growth=growth, pivots=e.pivots
    )
    return with_fallback(found, fallback, FOR_LOOPS, model, q, v, tau, k, external_forces)
