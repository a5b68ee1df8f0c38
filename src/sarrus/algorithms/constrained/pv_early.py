"""Constrained forward dynamics in O(n + m): multipliers eliminated as early as possible."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sarrus.mechanics.mechanism import Eliminated, eliminate, mechanism, rows_of
from sarrus.mechanics.solvers.mobility import carried_mobilities, typical_mobilities
from sarrus.mechanics.solvers.result import FOR_LINKS, ConstrainedDynamicsResult, joined, result, with_fallback
from sarrus.model.model import Model
from sarrus.registry.features import Feature
from sarrus.registry.table import algorithm
from sarrus.spatial.arrays import Array, Scalar
from sarrus.spatial.choice import NUMBERS
from sarrus.spatial.linear_algebra import Ldl, ldl_congruence, ldl_growth, ldl_semidefinite, ldl_solve, subtract_product
from sarrus.spatial.norms import total
from sarrus.spatial.orthogonal import Reflections, triangularize
from sarrus.spatial.precision import epsilon
from sarrus.spatial.stacked import rows_T
from sarrus.spatial.stages import stage


class Resolved(NamedTuple):
    """What a node keeps of its rows for the outward sweep."""

    KS: Array  # (m, n) K S
    Q: Reflections  # the basis in which the first r multipliers are resolved here
    K: Array  # (r, 6) their rows beyond the joint
    l: Array  # (r,)
    Sigma: Ldl  # (r, r) their coupling
    growth: Scalar  # how much smaller its pivots are than usual
    added: Scalar  # how much larger what it adds to the parent's inertia is than that


@algorithm(
    cost="O(n + m)",
    references=("sathya2024pv",),
    supports=Feature.ON_LINKS,
    structural=True,
    derivatives="forward_dynamics_derivatives",
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

    fallback: the method for states that this one cannot solve (straight legs, rows that are dependent); None: the
    status reports them
    """
    at = mechanism(model, q, v, tau, external_forces)
    rows, nodes = rows_of(at, k, "pv_early"), at.nodes
    typical, carried = typical_mobilities(model), carried_mobilities(model)
    H, f = [node.H for node in nodes], [node.f for node in nodes]
    # Of the type of q: numbers among symbols are the robot's, and those that are zero are so in every state.
    K: list[Array] = [np.zeros((0, len(node.S)), dtype=q.dtype) for node in nodes]
    l: list[Array] = [np.zeros(0) for _ in nodes]
    mobility = [0.0 for _ in nodes]  # the largest that is typical of a node's rows
    sources: list[list[tuple[str, int, int]]] = [[] for _ in nodes]  # whose rows are in K: (kind, number, how many)
    for number, r in enumerate(rows):
        K[r.node], l[r.node] = np.concatenate([K[r.node], r.K]), np.concatenate([l[r.node], -r.k])
        sources[r.node].append(("constraint", number, len(r.k)))
        mobility[r.node] = max(mobility[r.node], *typical[r.span])
    joints: dict[int, Eliminated] = {}
    u: dict[int, Array] = {}
    done: dict[int, Resolved] = {}
    for i, (parent, _, X, S, _, _, _, _, _, _, torque) in reversed(list(enumerate(nodes))):
        with stage("inward"):
            D, U, UD = joints[i] = eliminate(nodes[i], H[i])
            u[i] = torque + S.T @ f[i]
            Ha, fa = subtract_product(H[i], UD, U), f[i] - UD @ u[i]
        if len(K[i]):
            with stage("constraints"):
                KS = K[i] @ S
                K_a, l_a = K[i] - KS @ UD.T, l[i] + KS @ ldl_solve(D, u[i])  # eqs (42c), (42d)
                beside = (mobility[i], mobility[i] if parent < 0 else carried[parent])
                done[i], K_left, l_left = _resolve(parent < 0, KS, K_a, l_a, D, *beside)
                Ha = Ha + ldl_congruence(done[i].Sigma, done[i].K)  # eq. (63)
                fa = fa - done[i].K.T @ ldl_solve(done[i].Sigma, done[i].l)
            if len(K_left):
                K[parent] = np.concatenate([K[parent], rows_T(X, K_left)])
                l[parent] = np.concatenate([l[parent], l_left])
                sources[parent].append(("node", i, len(K_left)))
                mobility[parent] = max(mobility[parent], mobility[i])
        if parent >= 0:
            with stage("inward"):
                H[parent], f[parent] = H[parent] + X.congruence(Ha), f[parent] + X.apply_T(fa)

    lam: list[Array] = [np.zeros(len(r.k)) for r in rows]
    from_parent: dict[int, Array] = {}  # multipliers of the rows that a node passed on
    a, qdd = list[Array](), list[Array]()
    with stage("outward acceleration"):
        for i, (parent, _, X, S, *_) in enumerate(nodes):
            D, _, UD = joints[i]
            above = np.zeros(len(S)) if parent < 0 else X.apply(a[parent])
            if i in done:
                KS, Q, K_i, l_i, Sigma, *_ = done[i]
                resolved = ldl_solve(Sigma, K_i @ above + l_i)  # eq. (62)
                multipliers = Q.apply_T(np.concatenate([resolved, from_parent.get(i, np.zeros(0))]))  # eq. (64)
                u[i] = u[i] - KS.T @ multipliers
                for (kind, number, _), mine in zip(sources[i], _split(multipliers, sources[i]), strict=True):
                    (lam if kind == "constraint" else from_parent)[number] = mine
            qdd.append(ldl_solve(D, u[i]) - UD.T @ above)
            a.append(above + S @ qdd[i])
    pivots = [x.D.d_inv for _, x in sorted(joints.items())]
    free = [x.l for x in done.values()]
    growth, added = total([x.growth for x in done.values()]), total([x.added for x in done.values()])
    found = result(at, rows, joined(qdd), a, joined(lam), pivots, growth=growth, added=added, free=free)
    return with_fallback(found, fallback, FOR_LINKS, model, q, v, tau, k, external_forces)


def _resolve(
    at_root: bool, KS: Array, K: Array, l: Array, D: Ldl, usual: float, carried: float
) -> tuple[Resolved, Array, Array]:
    """Resolve as many multipliers as the joint has freedoms; at a root, all that are left.

    K, l: beyond the joint; usual: the mobility that is typical of such rows; carried: that on the parent
    """
    seen = np.zeros_like(KS) if _is_rounding(KS) else KS
    Q, turned, r = (Reflections(()), KS, len(KS)) if at_root else triangularize(seen)
    K, l = Q.apply(K), Q.apply(l)
    Sigma = ldl_semidefinite(ldl_congruence(D, turned[:r].T), np.full(r, usual))
    growth, added = (ldl_growth(Sigma, np.full(r, w), squared=r > 1 and not at_root) for w in (usual, carried))
    return Resolved(KS, Q, K[:r], l[:r], Sigma, growth, added), K[r:], l[r:]


def _is_rounding(KS: Array) -> bool:
    """Whether K S is what a file's rounding leaves of nothing, in every state: a point on the joint's axis, say.

    Rows are of length one. The square of these numbers, what the joint lets the rows move, is less than rounding.
    """
    return all(isinstance(x, NUMBERS) and abs(x) <= epsilon() ** 0.5 for x in KS.flat)


def _split(multipliers: Array, sources: list[tuple[str, int, int]]) -> list[Array]:
    """Those of every source."""
    return np.split(multipliers, np.cumsum([count for _, _, count in sources])[:-1])
