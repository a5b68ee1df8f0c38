"""Constrained forward dynamics with loops: the loop-constrained articulated-body algorithm."""

from __future__ import annotations

from sarrus.mechanics.constraints.rows import Rows
from sarrus.mechanics.mechanism import Mechanism, mechanism, rows_of
from sarrus.mechanics.solvers.elimination_order import elimination_order, nodes_of
from sarrus.mechanics.solvers.link_elimination import (
    Loads,
    eliminate_links,
    inward,
    outward,
    row_accelerations,
    row_loads,
)
from sarrus.mechanics.solvers.proximal import (
    MAX_ITERATIONS,
    RANK_TOLERANCE,
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
    cost="O(n + m + m_c^2 n), m_c: neighbours of a link",
    references=("lcaba2025",),
    supports=Feature.ON_ALL | Feature.ANY_RANK,
    derivatives="forward_dynamics_derivatives",
    smallest_forces=True,
)
def lcaba(
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
    order: tuple[int, ...] | None = None,
) -> ConstrainedDynamicsResult:
    """Constrained forward dynamics with loops by LCABA, Algorithms 1 to 3: iterated ABA with rows as penalties.

    The penalties mu couple links that are not parent and child; links are eliminated from the leaves, those with the
    fewest neighbours first. Each iteration then repeats two sweeps over the links that carry constraints.

    forces0         forces of the last call, to start from (warm start)
    mu              penalty of all rows, large is stiff; default: chosen from the mechanism (`mobility.py`)
    tolerance       for the residual and its change, relative to the accelerations that the rows see, and absolute
    max_iterations  number of solves, including the first
    rank_tolerance  rows that are independent of others by less than this (a singular value, relative to its usual size)
                    count as dependent, and are met in the least-squares sense
    order           of the links (or clusters), by number, children before parents; default: minimum degree
    """
    at = mechanism(model, q, v, tau, external_forces)
    rows = rows_of(at, k, "lcaba", declared=mu is not None)
    eliminated = elimination_order(at.tree, [nodes_of(r) for r in rows], order)
    return augmented_lagrangian(at, rows, eliminated, forces0, mu, tolerance, max_iterations, rank_tolerance)


def augmented_lagrangian(
    at: Mechanism,
    rows: list[Rows],
    order: list[int],
    forces0: Array | None,
    mu: float | None,
    tolerance: float,
    max_iterations: int,
    rank_tolerance: float,
) -> ConstrainedDynamicsResult:
    """Algorithm 3 for any elimination order."""
    penalty, lam0 = penalties(at.model, mu, dual=False), warm_start(rows, forces0)
    weights = penalty.weights
    e = eliminate_links(at, rows, weights, order)
    inner_set = {j for r in rows for i in nodes_of(r) for j in at.tree.paths[i]}
    inner = [i for i in order if i in inner_set]  # what a change of the multipliers reaches before the others
    outer = [i for i in order if i not in inner_set]

    # First solve (Algorithm 1).
    with stage("inward"):
        l = row_loads(e, [m * r.k - lam0[r.span] for r, m in zip(rows, weights, strict=True)])
        z = inward(e, order, Loads({i: at.nodes[i].f for i in order}, {i: at.nodes[i].tau for i in order}, l))
    a: dict[int, Array] = {}
    y: dict[int, Array] = {}
    with stage("outward acceleration"):
        qdd = outward(e, inner, z, a, y)
        residual = joined([x - r.k for x, r in zip(row_accelerations(e, y), rows, strict=True)])

    # Reduced sweeps (Algorithm 2): only the change, only where constraints act.
    def step(r: Array) -> tuple[Array, tuple[Array, ...]]:
        dl = row_loads(e, [-(m * r[x.span]) for x, m in zip(rows, weights, strict=True)])
        dy: dict[int, Array] = {}
        dqdd = outward(e, inner, inward(e, inner, Loads({}, {}, dl)), {}, dy)
        return r + joined(row_accelerations(e, dy)), tuple(dqdd[i] for i in inner)

    first, seen = tuple(qdd[i] for i in inner), seen_by(rows, a)
    wanted = joined([r.k for r in rows])
    end = iterations(step, lam0, residual, first, penalty, seen, tolerance, max_iterations, rank_tolerance, wanted)
    qdd = dict(zip(inner, end.sums, strict=True))

    # The other links follow those that carry them.
    with stage("outward acceleration"):
        carriers = {j for i in outer for j in at.tree.paths[at.nodes[i].parent]} & inner_set
        a = {}
        for i in (i for i in reversed(inner) if i in carriers):
            parent, _, X, S, *_ = at.nodes[i]
            a[i] = S @ qdd[i] if parent < 0 else X.apply(a[parent]) + S @ qdd[i]
        qdd |= outward(e, outer, z, a, {})
    whole = joined([qdd[i] for i in range(len(at.nodes))])
    return result_with_status(at, rows, whole, end.lam, end.residual, end.iterations, end.status, e.pivots)
