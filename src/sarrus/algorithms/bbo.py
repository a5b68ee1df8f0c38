"""Constrained forward dynamics with loops: the recursion of Brandl, Bae and others."""

from __future__ import annotations

from functools import partial

import numpy as np

from sarrus.algorithms.constrained import ConstrainedDynamicsResult, pose_problem, result
from sarrus.algorithms.loop_elimination import eliminate
from sarrus.algorithms.loop_roots import loop_roots
from sarrus.algorithms.loop_sweeps import Loads, at_world, inward, outward
from sarrus.algorithms.registry import algorithm
from sarrus.model.model import Model
from sarrus.spatial.arrays import Array, Scalar
from sarrus.spatial.choice import choose
from sarrus.spatial.linear_algebra import Ldl, ldl_semidefinite

_IMMOBILE = 1e-20  # of the whole robot's mobility as one body: a row that moves so little is rounding, squared


@algorithm(
    inputs=("q", "v", "tau", "k?", "external_forces?"),
    outputs=None,
    cost="O(n + m_b^3 n), m_b: rows that the most loaded link supports",
    references=("brandl1987", "bae1987", "lcaba2025"),
    supports=("link constraints", "loops", "couplings", "center of mass", "multi-dof joints"),
    family="constrained dynamics",
)
def bbo(
    model: Model, q: Array, v: Array, tau: Array, k: Array | None = None, external_forces: Array | None = None
) -> ConstrainedDynamicsResult:
    """Constrained forward dynamics with loops by BBO: each loop's multipliers are eliminated at its root, exactly.

    The limit of `prox_bbo` for mu to infinity (LCABA paper, section V, with L = 0 in eq. 42b): one pass, no iterations.
    Rows must be independent of each other given the joints of their own loop; a row that is not is left out, and the
    status then says so if it is not met.
    """
    problem = pose_problem(model, q, v, tau, k, external_forces, "bbo", loops=True)
    nodes, m = range(len(problem.tree.nodes)), sum(len(r.k) for r in problem.rows)
    dtype = np.result_type(q, tau)
    tree, rows = problem.tree, problem.rows
    factorize = partial(factor_rows, least=_IMMOBILE / model.mass)
    none = np.zeros(m, dtype=dtype)
    roots = loop_roots(tree, rows)
    e = eliminate(tree, problem.passages, problem.H, rows, problem.spans, roots, none, factorize)
    l = np.concatenate([-r.k for r in problem.rows]) if m else np.zeros(0)
    loads = inward(e, [*nodes], Loads(dict(enumerate(problem.forces)), l.astype(dtype), {}, {}), problem.tau)
    lam = at_world(e, loads, none)
    a: dict[int, Array] = {}
    qdd = outward(e, [*nodes], loads, lam, a)
    return result(
        problem, np.concatenate([qdd[i] for i in nodes]), [a[i] for i in nodes], [lam[span] for span in problem.spans]
    )


def factor_rows(L: Array, least: Scalar) -> Ldl:
    """Factor L_RR; rows that nothing in their loop can move (out of the plane of a planar loop) are left out."""
    L = L.copy()
    for j in range(len(L)):
        L[j, j] = choose(least, L[j, j], L[j, j], 0.0)
    return ldl_semidefinite(L)
