"""Constrained forward dynamics of a tree in the time of ABA, exact: penalties and multipliers."""

from __future__ import annotations

from sarrus.algorithms.constrained.lcaba import augmented_lagrangian
from sarrus.mechanics.mechanism import mechanism, rows_of
from sarrus.mechanics.solvers.proximal import MAX_ITERATIONS, RANK_TOLERANCE
from sarrus.mechanics.solvers.result import ConstrainedDynamicsResult
from sarrus.model.model import Model
from sarrus.registry.features import Feature
from sarrus.registry.table import algorithm
from sarrus.spatial.arrays import Array


@algorithm(
    cost="O(n + m)",
    references=("sathya2025constrained", "lcaba2025"),
    supports=Feature.ON_LINKS | Feature.ANY_RANK,
    derivatives="forward_dynamics_derivatives",
    smallest_forces=True,
)
def constrained_aba(
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
    """Constrained forward dynamics of a tree by constrainedABA: LCABA's black and brown lines (Algorithms 1 to 3).

    Rows on links against the world only add mu K^T K to the inertia of their link, so no links become neighbours and
    the sweeps are those of ABA in any order. For the other arguments see `lcaba`.
    """
    at = mechanism(model, q, v, tau, external_forces)
    rows = rows_of(at, k, "constrained_aba", declared=mu is not None)
    order = list(reversed(range(len(at.nodes))))
    return augmented_lagrangian(at, rows, order, forces0, mu, tolerance, max_iterations, rank_tolerance)
