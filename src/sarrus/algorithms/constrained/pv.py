"""Constrained forward dynamics of a tree: Popov and Vereshchagin's solver."""

from __future__ import annotations

import numpy as np

from sarrus.mechanics.constraints.rows import Rows
from sarrus.mechanics.mechanism import Eliminated, Mechanism, eliminate, mechanism, rows_of
from sarrus.mechanics.solvers.mobility import typical_mobilities
from sarrus.mechanics.solvers.result import FOR_LINKS, ConstrainedDynamicsResult, joined, result, with_fallback
from sarrus.model.model import Model
from sarrus.registry.features import Feature
from sarrus.registry.table import algorithm
from sarrus.spatial.arrays import Array, Scalar
from sarrus.spatial.linear_algebra import (
    Ldl,
    ldl_backward,
    ldl_forward,
    ldl_growth,
    ldl_semidefinite,
    ldl_solve,
    subtract_product,
    symmetric_product,
)
from sarrus.spatial.stacked import rows_T
from sarrus.spatial.stages import stage


@algorithm(
    cost="O(n + m^2 d + m^3)",
    references=("sathya2024pv", "popov1978", "vereshchagin1989"),
    supports=Feature.ON_LINKS,
    derivatives="forward_dynamics_derivatives",
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

    fallback: the method for states that this one cannot solve (rows that are dependent, or within a group that is
    eliminated first); None: the status reports them
    """
    at = mechanism(model, q, v, tau, external_forces)
    rows, nodes = rows_of(at, k, "pv"), at.nodes
    typical, m = typical_mobilities(model), sum(len(r.k) for r in rows)
    H, f = [node.H for node in nodes], [node.f for node in nodes]
    K: list[Array] = [np.zeros((0, len(node.S))) for node in nodes]
    index: list[list[int]] = [[] for _ in nodes]  # which of all rows are in K
    L, l, lam = (np.zeros(shape, dtype=np.result_type(q, tau)) for shape in ((m, m), m, m))
    for r in rows:
        K[r.node] = np.concatenate([K[r.node], r.K])
        index[r.node] += range(r.span.start, r.span.stop)
        l[r.span] = -r.k
    joints, u = dict[int, Eliminated](), dict[int, Array]()
    early: dict[int, tuple[Ldl, Array, Array]] = {}  # by root whose rows were eliminated first: L, L^-1 K and L^-1 l
    growth: Scalar = 0.0
    for i, (parent, _, X, S, _, _, _, _, _, _, torque) in reversed(list(enumerate(nodes))):
        mine = index[i]
        if parent < 0 and mine and _groups(i, at, rows) > 1:
            with stage("multipliers"):
                factor = ldl_semidefinite(L[np.ix_(mine, mine)], typical[mine])
                Y, y = ldl_forward(factor, K[i]), ldl_forward(factor, l[mine])
                early[i] = factor, Y, y
                dY = factor.divide(Y)
                H[i], f[i] = H[i] + symmetric_product(Y.T, dY), f[i] - dY.T @ y  # eq. (49)
                growth = growth + ldl_growth(factor, typical[mine], squared=len(mine) > 1)
        with stage("inward"):
            D, U, UD = joints[i] = eliminate(nodes[i], H[i])
            u[i] = torque + S.T @ f[i]
            if parent >= 0:
                H[parent] = H[parent] + X.congruence(subtract_product(H[i], UD, U))  # eq. (42a)
                f[parent] = f[parent] + X.apply_T(f[i] - UD @ u[i])  # eq. (42b)
        if mine and i not in early:
            with stage("constraints"):
                KS = K[i] @ S
                KSD = ldl_solve(D, KS.T).T
                l[mine] = l[mine] + KSD @ u[i]  # eq. (42d)
                block = np.ix_(mine, mine)
                L[block] = L[block] + symmetric_product(KSD, KS.T)  # eq. (42e)
                if parent >= 0:
                    K[parent] = np.concatenate([K[parent], rows_T(X, K[i] - KS @ UD.T)])  # eq. (42c)
                    index[parent] += mine
                else:
                    factor = ldl_semidefinite(L[block], typical[mine])
                    lam[mine] = ldl_solve(factor, l[mine])  # eq. (47)
                    growth = growth + ldl_growth(factor, typical[mine])
    a, qdd = list[Array](), list[Array]()
    for i, (parent, _, X, S, *_) in enumerate(nodes):
        D, _, UD = joints[i]
        with stage("outward acceleration"):
            if index[i] and i not in early:
                u[i] = u[i] - (K[i] @ S).T @ lam[index[i]]
            above = None if parent < 0 else X.apply(a[parent])
            qdd.append(ldl_solve(D, u[i]) if above is None else ldl_solve(D, u[i]) - UD.T @ above)
            a.append(S @ qdd[i] if above is None else above + S @ qdd[i])
        if i in early:
            with stage("multipliers"):
                factor, Y, y = early[i]
                lam[index[i]] = ldl_backward(factor, factor.divide(Y @ a[i] + y))  # eq. (46)
    pivots = [x.D.d_inv for _, x in sorted(joints.items())]
    found = result(at, rows, joined(qdd), a, lam, pivots, growth=growth, free=[l])
    return with_fallback(found, fallback, FOR_LINKS, model, q, v, tau, k, external_forces)


def _groups(root: int, at: Mechanism, rows: list[Rows]) -> int:
    """How many independent groups the rows that reach a root form, or 0 if some group cannot be eliminated before it.

    Constraints are in one group if a node beyond the root carries both. A group of rows needs at least as many freedoms
    between its links and the root as it has rows; whether these move it at this state the pivots tell.
    """
    groups: list[tuple[set[int], int]] = []  # the nodes that carry a group, and how many rows it has
    for r in rows:
        path = at.tree.paths[r.node]
        if path[-1] != root:
            continue
        carried, count = set(path[:-1]), len(r.k)
        apart = []
        for others, size in groups:
            if carried.isdisjoint(others):
                apart.append((others, size))
            else:
                carried, count = carried | others, count + size
        groups = [*apart, (carried, count)]
    if any(count > sum(at.nodes[i].S.shape[1] for i in carried) for carried, count in groups):
        return 0
    return len(groups)
