"""What the proximal methods share: warm start, iterations and when to stop. (The penalty mu is in `penalty.py`.)

The augmented Lagrangian method and the dual proximal point method are two ways to the same iterates (LCABA paper,
section III-D):

    minimize over a  the Lagrangian at lam + 1/2 |K a - k|^2_mu,      lam <- lam + mu (K a - k)

A method factors its own matrix once and then says, as `step`, what the next residual K a - k is. Each iteration
divides the part of the residual that belongs to an eigenvalue w of the Delassus matrix by 1 + mu w. Redundant rows (w
= 0) do no harm. Rows in conflict leave a residual that no longer changes: then accelerations are the least-squares
ones, rows weighted by mu.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from sarrus.algorithms.constrained import INFEASIBLE, MAX_ITERATIONS, Problem
from sarrus.algorithms.rows import Rows
from sarrus.spatial.arrays import Array, Scalar, vector
from sarrus.spatial.choice import choose
from sarrus.spatial.iteration import iterate
from sarrus.spatial.stages import stage

SUPPORTS = (
    "link constraints",
    "loops",
    "couplings",
    "center of mass",
    "redundant rows",
    "conflicting rows",
    "multi-dof joints",
)
INPUTS = ("q", "v", "tau", "k?", "external_forces?", "forces0?")

_STALLED = 1e-3  # a step smaller than this part of the residual, and within the tolerance, ends the iterations


def warm_start(problem: Problem, forces0: Array | None) -> list[Array]:
    """lam of the last forces, in the basis of the rows; zero without."""
    if forces0 is None:
        return [np.zeros(len(r.k)) for r in problem.rows]
    return [-r.force_of_declared(forces0[span]) for r, span in zip(problem.rows, problem.spans, strict=True)]


class Iterated(NamedTuple):
    """Where the iterations ended."""

    lam: Array  # (m,) multipliers, of all rows
    residual: Array  # (m,) K a - k
    sums: tuple[Array, ...]  # what the steps added up
    iterations: Scalar
    status: Scalar


def iterations(
    step: Callable[[Array], tuple[Array, tuple[Array, ...]]],
    lam: Array,
    residual: Array,
    sums: tuple[Array, ...],
    mu: Array,
    scale: Scalar,
    tolerance: float,
    max_iterations: int,
) -> Iterated:
    """From the first solve, which was at multipliers `lam` and left `residual`, on to convergence.

    step   from a residual r to the next one, that with mu r added to the multipliers, and what to add to `sums`
    scale  squared size of the accelerations that the rows see: residual and step are measured against 1 + scale
    """
    bound = tolerance**2 * (1.0 + scale)

    def stalled(off: Scalar) -> Scalar:
        """The squared step below which a residual no longer changes; one that goes on shrinking slowly does."""
        slow = _STALLED**2 * off
        return choose(bound, slow, bound, slow)

    def once(state: tuple[Array, ...]) -> tuple[tuple[Array, ...], Scalar]:
        lam, r, _, *sums = state
        following, added = step(r)
        moved = following - r
        off, step_size = following @ following, moved @ moved
        go_on = choose(bound, off, choose(stalled(off), step_size, 1.0, 0.0), 0.0)
        new = (lam + mu * following, following, vector(step_size), *(x + y for x, y in zip(sums, added, strict=True)))
        return new, go_on

    count: Scalar = 0.0
    with stage("iterations"):
        state = (lam + mu * residual, residual, vector(bound + 1.0), *sums)
        if max_iterations > 1 and len(lam):
            state, count = iterate(once, state, max_iterations - 1)
        lam, residual, (moved,), *total = state
        off, status = residual @ residual, 0.0
        if len(lam):
            status = choose(bound, off, choose(stalled(off), moved, MAX_ITERATIONS, INFEASIBLE), 0.0)
            # In conflict, lam has grown by the same mu r each time, which does nothing: J^T mu r = 0.
            idle = choose(bound, off, choose(stalled(off), moved, 0.0, 1.0 + count), 0.0)
            lam = lam - idle * (mu * residual)
    return Iterated(lam, residual, tuple(total), 1.0 + count, status)


def scale_of(rows: list[Rows], a: dict[int, Array] | list[Array]) -> Scalar:
    """Squared size of the accelerations that the rows see."""
    nodes = {block.node for r in rows for block in r.blocks}
    return sum((r.k @ r.k for r in rows), 0.0) + sum((a[i] @ a[i] for i in sorted(nodes)), 0.0)


def joined(parts: list[Array]) -> Array:
    return np.concatenate(parts) if parts else np.zeros(0)
