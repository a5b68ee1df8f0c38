"""What the proximal methods share: the penalty mu, a warm start, and iterations by conjugate residuals.

The augmented Lagrangian method and the dual proximal point method are two ways to the same iterates (LCABA paper,
section III-D):

    minimize over a  the Lagrangian at lam + 1/2 |K a - k|^2_mu,      lam <- lam + mu (K a - k)

A method factors its own matrix once and then says, as `step`, what the next residual K a - k is. Repeating that divides
the part of the residual r that belongs to an eigenvalue w of the Delassus matrix A by 1 + mu w, which is slow where w
is small. The same step, used as an operator, does better: with r' the residual after it,

    T r = r - r' = A (A + 1/mu)^-1 r       and       mu r' = (A + 1/mu)^-1 r  is the change of the multipliers,

and T is symmetric in the scalar product <x, y> = x^T mu y with eigenvalues mu w / (1 + mu w) between 0 and 1. So the
conjugate residual method applies: one step of the method per iteration, as before, and the least residual that so many
steps can reach. Redundant rows (w = 0) do no harm: T does not see them. Rows in conflict leave a residual that T maps
to zero, but for rounding: then the plain step is taken, twice, and what is left are the least-squares accelerations,
rows weighted by mu.

What is left of a residual is judged by what it does to the accelerations: along an eigenvalue w, a residual r means an
error of r sqrt(w_typical / w). Which w that is, the quotient <r', r'> / <r', T r> = 1 / (mu w) tells: what a step
leaves is mostly along the smallest eigenvalues, so that it sees those which hardly show in r.

It is measured against the accelerations of the links that carry rows, and against those that rows want, which are
rarely larger. Primal methods know the former before they iterate, dual ones the latter. A state at which they do not
get there is judged once more by both: all have one yardstick, and only such states pay for it. Whether rows are in
conflict, or rounding may have decided, is told by the accelerations of the links, and by the rounding of the others.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from sarrus.errors import UnsupportedError
from sarrus.mechanics.constraints.rows import Rows
from sarrus.mechanics.solvers.mobility import leverage, mobilities
from sarrus.mechanics.solvers.result import TOLERANCE, joined
from sarrus.model.model import Model
from sarrus.spatial.arrays import Array, Scalar, vector
from sarrus.spatial.choice import choose
from sarrus.spatial.iteration import iterate
from sarrus.spatial.norms import dot, root, size
from sarrus.spatial.precision import epsilon, largest, within
from sarrus.spatial.replacement import replace_where
from sarrus.spatial.stages import stage
from sarrus.status import Status

# mu times a row's diagonal element of the Delassus matrix. Large is quick; what bounds it is rounding. Methods that add
# mu K^T K to inertias lose that much of them; methods that add 1 / mu to the Delassus matrix only where rows are nearly
# dependent or in conflict, or where a limb cannot move them.
_STIFFNESS, _DUAL_STIFFNESS = 1e6, 3e6
_LEVERAGE = 1.2e4  # of robots it is less; where it is more, rows are held less stiffly by as much
_LOSS = 1e-4  # in single precision, what rounding may take
MAX_ITERATIONS = 25  # by default
RANK_TOLERANCE = 1e-7  # by default


class Penalty(NamedTuple):
    """mu of every row, and what it is relative to the mechanism."""

    weights: list[Array]  # per constraint
    stiffness: float  # the largest mu w, w: typical mobility of a row
    dual: bool

    @property
    def mu(self) -> Array:
        """(m,) of all rows."""
        return joined(self.weights)

    @property
    def growth(self) -> float:
        """How much larger than the mechanism's own are the inertias on which rounding acts."""
        return 1.0 if self.dual else self.stiffness


def penalties(model: Model, mu: float | None, dual: bool) -> Penalty:
    """The given mu on every row, or a stiffness over the typical mobility w, which then converges in a step or two.

    dual: whether the method adds 1 / mu to the Delassus matrix; else it adds mu K^T K to inertias
    """
    usual = min(_DUAL_STIFFNESS if dual else _STIFFNESS, _LOSS / epsilon())
    if mu is None:
        usual = usual * min(1.0, _LEVERAGE / max(leverage(model), 1.0))
        return Penalty([usual / w for w in mobilities(model)], usual, dual)
    if isinstance(mu, bool) or not isinstance(mu, (int, float, np.number)) or not 0.0 < mu < float("inf"):
        raise UnsupportedError(f"mu is {mu!r}: expected a positive, finite number (large is stiff), or None")
    given = float(mu)
    weights = [np.full(c.size, given) for c in model.active_constraints]
    mobile = [float(w.max(initial=0.0)) for w in mobilities(model)] if model.is_numeric else []
    return Penalty(weights, given * max(mobile) if mobile else usual, dual)


def warm_start(rows: list[Rows], forces0: Array | None) -> Array:
    """lam of the last forces, in the basis of the rows; zero without."""
    if forces0 is None:
        return np.zeros(sum(len(r.k) for r in rows))
    return joined([-r.force_of_declared(forces0[r.span]) for r in rows])


def confirmed(end: Iterated, residual: Array, scale: Scalar, seen: Callable[[], Scalar]) -> Iterated:
    """The end of iterations that never saw the links' accelerations, with the residual of these, once they are known.

    Where they do not meet the rows although the iterations say so, rounding has decided.

    scale  what the iterations measured residuals against
    seen   size of the accelerations of the links that the rows are on: what states that are not ok are judged by
    """

    def status(of_iterations: Scalar, scale: Scalar) -> Scalar:
        met = choose(size(residual), within(TOLERANCE, 1e3) * (1.0 + scale), Status.OK, Status.NOT_DETERMINED)
        return choose(0.5, of_iterations, of_iterations, met)

    def once_more() -> tuple[Array]:
        links = seen()
        wider = scale + links
        found = status(end.judged(links, scale), wider)
        return (vector(choose(wider, largest(), found, Status.NOT_FINITE)),)  # beside infinity everything is small

    with stage("result"):
        first = status(end.status, scale)
        (found,) = replace_where(first, (vector(first),), once_more)
        return end._replace(residual=residual, status=found[0])


_UNSEEN = 4e-2  # of the tolerance: what may be left of a residual, along eigenvalues that no quotient has seen
_ACCELERATION = 3.0  # tolerances: the error of accelerations to accept
_BALANCED = 1e-7  # of forces: what rounding may leave of the balance of momentum
_NOISE = 1e1  # roundings: a Rayleigh quotient below that is that of rows in conflict
_VAGUE = 1e2  # roundings: what rows want is not known any better
_IDLE_STEPS = 2.0  # so many steps in a row that change nothing but rounding end the iterations
# Squares of 1e150 overflow, which is no conflict: scalar products of residuals beyond a size, by precision, are scaled.
_DOUBLE_SQUARES, _SINGLE_SQUARES = (1e100, 2.0**-1000), (1e10, 2.0**-110)


class Iterated(NamedTuple):
    """Where the iterations ended."""

    lam: Array  # (m,) multipliers, of all rows
    residual: Array  # (m,) K a - k
    sums: tuple[Array, ...]  # what the steps added up
    iterations: Scalar
    status: Scalar
    judged: Callable[[Scalar, Scalar], Scalar]  # the status if links have these accelerations, and rows want those


def iterations(
    step: Callable[[Array], tuple[Array, tuple[Array, ...]]],
    lam: Array,
    residual: Array,
    sums: tuple[Array, ...],
    penalty: Penalty,
    seen: Scalar,
    tolerance: float,
    max_iterations: int,
    rank_tolerance: float,
    wanted: Array | None = None,
) -> Iterated:
    """From the first solve, which was at multipliers `lam` and left `residual`, on to convergence.

    step       from a residual r to the next one, that with mu r added to the multipliers, and what that adds to `sums`
    seen       size of the accelerations that the rows see: residuals are measured against 1 + seen
    wanted     those that rows want, if `seen` is of links alone: what is not ok is measured against these, too
    """
    _check(tolerance, max_iterations, rank_tolerance)
    if not len(lam):
        return Iterated(lam, residual, sums, 1.0, Status.OK, lambda *_: Status.OK)
    scale = within(tolerance, 1e2) * (1.0 + seen)
    mu, stiffness = penalty.mu, penalty.stiffness
    long, little = _DOUBLE_SQUARES if epsilon() < 1e-9 else _SINGLE_SQUARES
    first = size(residual)  # none after it is longer
    squares, unscaled = choose(first, long, 1.0, little), choose(first, long, 1.0, 1.0 / little)
    in_products = mu * squares
    # A method that solves with A + 1/mu has the rounding of A, beside which 1/mu is small.
    noise = max(_NOISE * epsilon() * (stiffness if penalty.dual else 1.0), stiffness * rank_tolerance**2)
    count_of_sums = len(sums)

    def once(state: tuple[Array, ...]) -> tuple[tuple[Array, ...], Scalar]:
        lam, r, image, change, (last_inverse, idle, idle_change, _, idled, *_), *rest = state
        sums, moves = rest[:count_of_sums], rest[count_of_sums:]
        following, move = step(r)
        weighted = in_products * r
        moved = r - following  # T r
        rho, rest_of_r = dot(weighted, moved), dot(weighted, following)
        # Where r is almost all in conflict, rho is rounding: then the plain step, which harms nothing.
        idles = choose(noise * (rho + rest_of_r), rho, 0.0, 1.0)
        beta = choose(0.5, idles, 0.0, rho * last_inverse)
        image = moved + beta * image  # T p
        weighted_rest = in_products * following
        change = weighted_rest + beta * change
        moves = [x + beta * y for x, y in zip(move, moves, strict=True)]
        idle_change = 1.0 + beta * idle_change
        alpha = choose(0.5, idles, 1.0, _quotient(rho, dot(in_products * image, image)))
        r = r - alpha * image
        sums = [x + alpha * y for x, y in zip(sums, moves, strict=True)]
        # By how much more than r the accelerations may be off: (1 - t) / t is 1 / (mu w) of what the step has left.
        left = dot(weighted_rest, following)
        felt = root(1.0 + stiffness * _quotient(left, rest_of_r - left))
        off = size(r)
        not_done = _not_done(off, felt, scale)
        idled = choose(0.5, idles, idled + 1.0, 0.0)
        inverse = choose(0.5, idles, 0.0, _quotient(1.0, rho))
        numbers = vector(inverse, idle + alpha * idle_change, idle_change, not_done, idled, felt, off)
        new = (lam + (alpha * unscaled) * change, r, image, change, numbers, *sums, *moves)
        return new, choose(_IDLE_STEPS - 0.5, idled, 0.0, not_done)

    with stage("iterations"):
        none = np.zeros(len(lam))
        begin = choose(first, _UNSEEN * scale, 0.0, 1.0)
        numbers = vector(0.0, 1.0, 0.0, begin, 0.0, 1.0, first)
        start = (lam + mu * residual, residual, none, none, numbers, *sums, *(np.zeros(x.shape) for x in sums))
        state, count = iterate(once, start, max_iterations - 1, begin)
        lam, residual, _, _, (_, idle, _, not_done, idled, felt, off), *rest = state
        balanced = Status.OK if penalty.growth * epsilon() < within(_BALANCED, 1e3) else Status.MOMENTUM_NOT_BALANCED

        def status(not_done: Scalar, scale: Scalar, vague: Scalar) -> Scalar:
            # What idles is along rows that count as dependent, and means nothing for the accelerations.
            conflict = choose(off, vague, Status.NOT_DETERMINED, Status.INFEASIBLE)
            conflict = choose(off, _UNSEEN * scale, balanced, conflict)
            unfinished = choose(_IDLE_STEPS - 0.5, idled, conflict, Status.MAX_ITERATIONS)
            return choose(0.5, not_done, unfinished, balanced)

        def judged(seen: Scalar, wanted: Scalar) -> Scalar:
            of_links = within(tolerance, 1e2) * (1.0 + seen)
            scale = of_links + within(tolerance, 1e2) * wanted
            return status(_not_done(off, felt, scale), scale, of_links + _VAGUE * epsilon() * wanted)

        found = status(not_done, scale, scale)
        if wanted is not None:
            (last,) = replace_where(found, (vector(found),), lambda: (vector(judged(seen, size(wanted))),))
            found = last[0]
        # In conflict, every change of lam had a part that does nothing: J^T mu r = 0.
        infeasible = choose(0.5, not_done, choose(_IDLE_STEPS - 0.5, idled, idle, 0.0), 0.0)
        lam = lam - infeasible * (mu * residual)
    return Iterated(lam, residual, tuple(rest[:count_of_sums]), 1.0 + count, found, judged)


def _not_done(off: Scalar, felt: Scalar, scale: Scalar) -> Scalar:
    """0 where a residual, or what accelerations feel of it, is as small as it should be; else 1."""
    return choose(off, _UNSEEN * scale, choose(felt * off, _ACCELERATION * scale, 0.0, 1.0), 1.0)


def _quotient(a: Scalar, b: Scalar) -> Scalar:
    """a / b, or 0 where b is not greater than 0."""
    return choose(0.0, b, a / choose(0.0, b, b, 1.0), 0.0)


def _check(tolerance: float, max_iterations: int, rank_tolerance: float) -> None:
    if not (isinstance(rank_tolerance, (int, float)) and 0.0 <= rank_tolerance < 1.0):
        raise UnsupportedError(f"rank_tolerance is {rank_tolerance!r}: expected a number from 0 to 1, such as 1e-7")
    if not (isinstance(tolerance, (int, float)) and 0.0 <= tolerance < 1.0):
        raise UnsupportedError(f"tolerance is {tolerance!r}: expected a number from 0 to 1, such as 1e-9")
    if isinstance(max_iterations, bool) or not isinstance(max_iterations, int) or max_iterations < 1:
        raise UnsupportedError(f"max_iterations is {max_iterations!r}: expected a whole number, 1 or more")
