"""What the proximal methods share: the penalty mu, the warm start, the iterations and when to stop.

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
from weakref import WeakKeyDictionary

import numpy as np

from sarrus.algorithms.constrained import INFEASIBLE, MAX_ITERATIONS, Problem, pose_problem
from sarrus.algorithms.crba import mass_matrix
from sarrus.algorithms.joint_space import ltdl, solve_transposed
from sarrus.algorithms.loop_jacobian import loop_jacobian
from sarrus.algorithms.rows import Block, Rows
from sarrus.errors import UnsupportedError
from sarrus.model.model import Model
from sarrus.model.state import random_state
from sarrus.spatial.arrays import Array, Scalar, vector
from sarrus.spatial.choice import choose
from sarrus.spatial.iteration import iterate
from sarrus.spatial.linear_algebra import symmetric_product
from sarrus.spatial.stages import stage

SUPPORTS = ("link constraints", "loops", "couplings", "redundant rows", "conflicting rows", "multi-dof joints")
INPUTS = ("q", "v", "tau", "k?", "external_forces?", "forces0?")

STIFFNESS = 1e6  # mu times a row's diagonal element of the Delassus matrix
_STALLED = 1e-3  # a step smaller than this part of the residual, and within the tolerance, ends the iterations
_SAMPLES = 3
_IMMOBILE = 1e-9  # a row with so much less mobility than others of its kind has none: what is left is rounding
_mu_of: WeakKeyDictionary[Model, list[Array]] = WeakKeyDictionary()


def penalties(model: Model, mu: float | None) -> list[Array]:
    """mu per row of every constraint: the given one, or `default_mu`."""
    if mu is not None:
        return [np.full(c.size, float(mu)) for c in model.active_constraints]
    if model not in _mu_of:
        _mu_of[model] = default_mu(model)
    return _mu_of[model]


def default_mu(model: Model) -> list[Array]:
    """STIFFNESS / w: w is the mean diagonal element of J M^-1 J^T over the rows of one kind of a constraint.

    The kinds are linear and angular rows: forces and moments have different units. w is that of the tree, a mean over
    a few random configurations, and hence a constant of the mechanism: mu decides how fast the iterations converge,
    not what they converge to. A row that nothing in the tree can move (w = 0, out of the plane of a planar mechanism)
    takes the w of the others of its kind.
    """
    if not model.is_numeric:
        raise UnsupportedError(
            f"model {model.name!r} has symbols: the default mu is a number. Pass mu=... (large is stiff, e.g. 1e4)"
        )
    samples = [_mobility(model, random_state(model, seed)[0]) for seed in range(_SAMPLES)]
    mobility = {key: float(np.mean([sample[key] for sample in samples])) for key in samples[0]}
    largest = {kind: max(w for (_, other), w in mobility.items() if other == kind) for _, kind in mobility}
    mu = []
    for number, kinds in enumerate(_kinds(model)):
        w = [max(mobility[number, kind], _IMMOBILE * largest[kind]) for kind in kinds]
        mu.append(np.array([STIFFNESS / x if x > 0.0 else 1.0 for x in w]))
    return mu


def _mobility(model: Model, q: Array) -> dict[tuple[int, str], float]:
    """The mean of J M^-1 J^T over the diagonal elements of each constraint's linear and of its angular rows."""
    problem = pose_problem(model, q, np.zeros(model.nv), np.zeros(model.n_input_rows), None, "default_mu", loops=True)
    factor = ltdl(model.tree, mass_matrix(model.tree, problem.joints, model.nv, q.dtype))
    J, supports = loop_jacobian(model, problem.joints, problem.rows, q.dtype)
    half = [solve_transposed(factor, row, support) for row, support in zip(J, supports, strict=True)]
    diagonal = [(Y * Y) @ factor.d_inv for Y in half]
    out = {}
    for number, (span, kinds) in enumerate(zip(problem.spans, _kinds(model), strict=True)):
        w = diagonal[span]
        for kind in set(kinds):
            out[number, kind] = float(np.mean([x for x, other in zip(w, kinds, strict=True) if other == kind]))
    return out


def _kinds(model: Model) -> list[list[str]]:
    """Per constraint and row, "linear" or "angular": whether the row's matrix has a linear part on some body."""
    q, v = random_state(model, 0)[0], np.zeros(model.nv)
    rows = pose_problem(model, q, v, np.zeros(model.n_input_rows), None, "default_mu", loops=True).rows
    linear = [[any(block.K[x, :3].any() for block in r.blocks) for x in range(len(r.k))] for r in rows]
    return [["linear" if x else "angular" for x in of_one] for of_one in linear]


def weighted_gram(block: Block, mu: Array) -> Array:
    """K^T diag(mu) K, each element once; nothing at all to compute where K^T K is known."""
    if block.gram is None:
        return symmetric_product((block.K.T * mu), block.K)
    if len(mu) == 3:
        return mu[0] * block.gram
    return mu[0] * block.gram + (mu[3] - mu[0]) * np.diag([0.0, 0.0, 0.0, 1.0, 1.0, 1.0])


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
