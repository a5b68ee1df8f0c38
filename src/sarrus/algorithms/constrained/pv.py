"""Constrained forward dynamics of a tree: Popov and Vereshchagin's solver."""

from __future__ import annotations

import numpy as np

from sarrus.mechanics.bodies.relative_motion import path_to_root
from sarrus.mechanics.bodies.sweeps import Articulated, eliminate_joint, outward_acceleration, pivots_of
from sarrus.mechanics.problem import Problem, pose_problem
from sarrus.mechanics.solvers.fallback import FOR_LINKS, with_fallback
from sarrus.mechanics.solvers.penalty import typical_mobilities
from sarrus.mechanics.solvers.result import ConstrainedDynamicsResult, result
from sarrus.model.model import Model
from sarrus.registry.features import Feature
from sarrus.registry.table import algorithm
from sarrus.spatial.arrays import Array, Scalar
from sarrus.spatial.linear_algebra import Ldl, ldl_congruence, ldl_growth, ldl_semidefinite, ldl_solve
from sarrus.spatial.stages import stage


@algorithm(
    cost="O(n + m^2 d + m^3)",
    references=("sathya2024pv", "popov1978", "vereshchagin1989"),
    supports=Feature.ON_LINKS,
)
def pv(
    model: Model,
    q: Array,
    v: Array,
    tau: Array,
    k: Array | None = None,
    external_forces: Array | None = None,
    fallback: str | None = "prox_pv",
) -> ConstrainedDynamicsResult:
    """Constrained forward dynamics: the PV solver, Algorithm 1, about the bias motion.

    Inward, beside ABA's H and f (eq. 42), the constraints' rows K, their coupling L and their offset l:

        K' = (K - K S D^-1 U^T) X      L' = L + K S D^-1 S^T K^T      l' = l + K S D^-1 u

    The multipliers solve L lam = l at the root. Where several independent groups of rows meet there, they are
    eliminated first, block by block (eq. 49); else after the root's joint (eq. 47).

    fallback: the method for states that this one cannot do (rows that are dependent, or within a group that is
    eliminated first); None: the status tells
    """
    problem = pose_problem(model, q, v, tau, k, external_forces, "pv")
    nodes, m = problem.tree.nodes, sum(len(r.k) for r in problem.rows)
    dtype = np.result_type(q, tau)
    H = problem.H
    f = list(problem.forces)
    K: list[Array] = [np.zeros((0, len(p.S))) for p in problem.passages]
    index: list[list[int]] = [[] for _ in nodes]  # which of all rows are in K
    L = np.zeros((m, m), dtype=dtype)
    l = np.zeros(m, dtype=dtype)
    for r, span in zip(problem.rows, problem.spans, strict=True):
        K[r.node] = np.concatenate([K[r.node], r.K])
        index[r.node] += range(span.start, span.stop)
        l[span] = -r.k
    parts: list[Articulated] = [None] * len(nodes)  # type: ignore[list-item]
    KS: dict[int, Array] = {}
    lam = np.zeros(m, dtype=dtype)
    early: dict[int, tuple[list[int], Ldl]] = {}
    growth: Scalar = 0.0
    typical = typical_mobilities(model)
    for i in range(len(nodes) - 1, -1, -1):
        node, p = nodes[i], problem.passages[i]
        rows = index[i]
        if node.parent < 0 and rows and _groups(i, problem) > 1:
            with stage("multipliers"):
                factor = ldl_semidefinite(L[np.ix_(rows, rows)], typical[rows])
                H[i] = H[i] + ldl_congruence(factor, K[i])  # eq. (49)
                f[i] = f[i] - K[i].T @ ldl_solve(factor, l[rows])
                early[i] = (rows, factor)
                growth = growth + ldl_growth(factor, typical[rows], squared=len(rows) > 1)
            rows = []
        with stage("inward"):
            parts[i], Ha, fa = eliminate_joint(p, H[i], f[i], problem.tau[node.v])
            if node.parent >= 0:
                H[node.parent] = H[node.parent] + p.congruence(Ha)
                f[node.parent] = f[node.parent] + p.apply_T(fa)
        if rows:
            with stage("constraints"):
                ks = K[i] @ p.S  # (m_i, n_i)
                KS[i] = ks
                ksD = ldl_solve(parts[i].D, ks.T).T
                for x, row in enumerate(rows):
                    for y, column in enumerate(rows[: x + 1]):
                        L[row, column] = L[column, row] = L[row, column] + ksD[x] @ ks[y]  # eq. (42e)
                l[rows] = l[rows] + ksD @ parts[i].u  # eq. (42d)
                if node.parent >= 0:
                    carried = p.beyond(K[i], ks @ parts[i].UD.T, None, parts[i].kept)  # eq. (42c)
                    K[node.parent] = np.concatenate([K[node.parent], p.apply_T(carried)])
                    index[node.parent] += rows
                else:
                    factor = ldl_semidefinite(L[np.ix_(rows, rows)], typical[rows])
                    lam[rows] = ldl_solve(factor, l[rows])  # eq. (47)
                    growth = growth + ldl_growth(factor, typical[rows])
    # The roots that were eliminated early need their acceleration first: eq. (46).
    for i, (rows, factor) in early.items():
        with stage("multipliers"):
            a = problem.passages[i].S @ ldl_solve(parts[i].D, parts[i].u)
            lam[rows] = ldl_solve(factor, K[i] @ a + l[rows])
    with stage("constraints"):
        held = {i: ks.T @ lam[index[i]] for i, ks in KS.items()}
    qdd, a = outward_acceleration(problem.tree, problem.passages, parts, held)
    found = result(problem, qdd, a, [lam[span] for span in problem.spans], growth=growth, pivots=pivots_of(parts))
    return with_fallback(found, fallback, FOR_LINKS, model, q, v, tau, k, external_forces)


def _groups(root: int, problem: Problem) -> int:
    """How many independent groups the rows that reach a root form, or 0 if some group cannot be eliminated before it.

    Constraints are in one group if a node beyond the root carries both. A group of rows needs at least as many freedoms
    between its links and the root as it has rows; whether these move it at this state the pivots tell.
    """
    nodes = problem.tree.nodes
    groups: list[tuple[set[int], int]] = []  # the nodes that carry a group, and how many rows it has
    for r in problem.rows:
        path = path_to_root(problem.tree, r.node)
        if path[-1] != root:
            continue
        carried, count = set(path[:-1]), len(r.k)
        apart = []
        for others, rows in groups:
            if carried.isdisjoint(others):
                apart.append((others, rows))
            else:
                carried, count = carried | others, count + rows
        groups = [*apart, (carried, count)]
    if any(count > sum(nodes[i].m for i in carried) for carried, count in groups):
        return 0
    return len(groups)
