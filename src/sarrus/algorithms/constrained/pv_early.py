"""Constrained forward dynamics in O(n + m): multipliers eliminated as early as possible."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sarrus.mechanics.bodies.passage import Passage
from sarrus.mechanics.bodies.sweeps import Articulated, eliminate_joint, pivots_of
from sarrus.mechanics.problem import pose_problem
from sarrus.mechanics.solvers.fallback import FOR_LINKS, with_fallback
from sarrus.mechanics.solvers.penalty import typical_mobilities
from sarrus.mechanics.solvers.result import ConstrainedDynamicsResult, result
from sarrus.model.model import Model
from sarrus.registry.features import Feature
from sarrus.registry.table import algorithm
from sarrus.spatial.arrays import Array, Scalar
from sarrus.spatial.linear_algebra import Ldl, ldl_congruence, ldl_growth, ldl_semidefinite, ldl_solve
from sarrus.spatial.orthogonal import Reflections, triangularize
from sarrus.spatial.stages import stage


class Eliminated(NamedTuple):
    """What a node keeps of its rows for the outward sweep."""

    ks: Array  # (m, n) K S
    Q: Reflections  # the basis in which the first r multipliers are resolved here
    K: Array  # (r, 6) their rows beyond the joint, felt
    l: Array  # (r,)
    Sigma: Ldl  # (r, r) their coupling
    growth: Scalar  # of rounding, by dividing by it


@algorithm(
    cost="O(n + m)",
    references=("sathya2024pv",),
    supports=Feature.ON_LINKS,
    structural=True,
)
def pv_early(
    model: Model,
    q: Array,
    v: Array,
    tau: Array,
    k: Array | None = None,
    external_forces: Array | None = None,
    fallback: str | None = "prox_pv",
) -> ConstrainedDynamicsResult:
    """Constrained forward dynamics: PV with early elimination of multipliers (section VIII).

    After the joint of a node, L = K S D^-1 S^T K^T has the rank of that joint. Reflections Q turn the rows so that
    only the first r of them see it; those multipliers are resolved at once (eqs 61-63) and only the others go on to the
    parent. For a joint with one degree of freedom Q is one reflection (eq. 65), else a QR factorization of K S.

    fallback: the method for states that this one cannot do (straight legs, rows that are dependent); None: the status
    tells
    """
    problem = pose_problem(model, q, v, tau, k, external_forces, "pv_early")
    nodes = problem.tree.nodes
    H = problem.H
    f = list(problem.forces)
    K: list[Array] = [np.zeros((0, len(p.S))) for p in problem.passages]
    l: list[Array] = [np.zeros(0) for _ in nodes]
    growth: Scalar = 0.0
    typical = typical_mobilities(model)
    mobility = [0.0 for _ in nodes]  # the largest that is typical of a node's rows
    sources: list[list[tuple[str, int, int]]] = [[] for _ in nodes]  # whose rows are in K: (kind, number, how many)
    for number, r in enumerate(problem.rows):
        K[r.node], l[r.node] = np.concatenate([K[r.node], r.K]), np.concatenate([l[r.node], -r.k])
        sources[r.node].append(("constraint", number, len(r.k)))
        mobility[r.node] = max(mobility[r.node], *typical[problem.spans[number]])
    parts: list[Articulated] = [None] * len(nodes)  # type: ignore[list-item]
    done: dict[int, Eliminated] = {}
    for i in range(len(nodes) - 1, -1, -1):
        node, p = nodes[i], problem.passages[i]
        with stage("inward"):
            parts[i], Ha, fa = eliminate_joint(p, H[i], f[i], problem.tau[node.v])
        if len(K[i]):
            with stage("constraints"):
                done[i], K_left, l_left, Ha, fa = _eliminate(
                    node.parent < 0, p, K[i], l[i], parts[i], Ha, fa, mobility[i]
                )
                growth = growth + done[i].growth
            if node.parent >= 0 and len(K_left):
                K[node.parent] = np.concatenate([K[node.parent], p.apply_T(K_left)])
                l[node.parent] = np.concatenate([l[node.parent], l_left])
                sources[node.parent].append(("node", i, len(K_left)))
                mobility[node.parent] = max(mobility[node.parent], mobility[i])
        if node.parent >= 0:
            with stage("inward"):
                H[node.parent] = H[node.parent] + p.congruence(Ha)
                f[node.parent] = f[node.parent] + p.apply_T(fa)

    lam: list[Array] = [np.zeros(len(r.k)) for r in problem.rows]
    from_parent: dict[int, Array] = {}  # multipliers of the rows that a node passed on
    a: list[Array] = []
    qdd: list[Array] = []
    with stage("outward acceleration"):
        for i, (node, p, part) in enumerate(zip(nodes, problem.passages, parts, strict=True)):
            above = np.zeros(6) if node.parent < 0 else a[node.parent]
            felt = p.felt(above)
            u = part.u
            if i in done:
                mine = done[i]
                resolved = ldl_solve(mine.Sigma, mine.K @ felt + mine.l)  # eq. (62)
                turned = np.concatenate([resolved, from_parent.get(i, np.zeros(0))])
                multipliers = mine.Q.apply_T(turned)  # eq. (64)
                u = u - mine.ks.T @ multipliers
                start = 0
                for kind, number, count in sources[i]:
                    target = lam if kind == "constraint" else from_parent
                    target[number] = multipliers[start : start + count]
                    start += count
            qdd.append(ldl_solve(part.D, u) - part.UD.T @ felt)
            a.append(p.acceleration(above, felt, qdd[-1]))
    found = result(problem, np.concatenate(qdd) if qdd else np.zeros(0), a, lam, growth=growth, pivots=pivots_of(parts))
    return with_fallback(found, fallback, FOR_LINKS, model, q, v, tau, k, external_forces)


def _eliminate(
    at_root: bool, p: Passage, K: Array, l: Array, part: Articulated, Ha: Array, fa: Array, usual: float
) -> tuple[Eliminated, Array, Array, Array, Array]:
    """Resolve as many multipliers as the joint has freedoms; at a root, all that are left.

    usual: the mobility that is typical of such rows
    """
    ks = K @ p.S  # (m, n)
    K, l = p.beyond(K, ks @ part.UD.T, None, part.kept), l + ks @ ldl_solve(part.D, part.u)  # eqs (42c), (42d)
    if at_root:
        typical = np.full(len(ks), usual)
        Sigma = ldl_semidefinite(ldl_congruence(part.D, ks.T), typical)
        return Eliminated(ks, Reflections(()), K, l, Sigma, ldl_growth(Sigma, typical)), K[:0], l[:0], Ha, fa
    Q, ks_turned, r = triangularize(ks)
    K, l = Q.apply(K), Q.apply(l)
    typical = np.full(r, usual)
    Sigma = ldl_semidefinite(ldl_congruence(part.D, ks_turned[:r].T), typical)
    growth = ldl_growth(Sigma, typical, squared=r > 1)
    Ha = Ha + ldl_congruence(Sigma, K[:r])  # eq. (63)
    fa = fa - K[:r].T @ ldl_solve(Sigma, l[:r])
    return Eliminated(ks, Q, K[:r], l[:r], Sigma, growth), K[r:], l[r:], Ha, fa
