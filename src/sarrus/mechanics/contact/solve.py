"""Solving the contact problem: sweeps find out what sticks, slips and opens, Newton's method does the rest.

1. The impulses of the last time step, where they are a solution already.
2. Block Gauss-Seidel sweeps, each followed by a look at the residual (`sweep.py`). Where many contacts of one body
   share what bears it, only over limits: sweeps share it unevenly, up to the edges of the cones, and Newton's method,
   which by itself shares it evenly, takes twice as many steps from there, in this step and in those that begin with
   its impulses. (Not so of the four corners of a box: there sweeps leave a third of the steps.)
3. Newton's method (`newton.py`): in rounds that differ in r and eps, then with centers that stay.
4. For the few states that are not done then: alternating directions (`alternating.py`).

Each is a loop that a state enters only where it needs it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sarrus.mechanics.contact.alternating import alternate
from sarrus.mechanics.contact.cone import askew, either, largest, projected, residual
from sarrus.mechanics.contact.newton import FIRST_EPS, Iterate, newton_step
from sarrus.mechanics.contact.problem import ContactProblem, ContactSolution, Scaled, scaled
from sarrus.mechanics.contact.sweep import sweep
from sarrus.spatial.arrays import Array, Scalar, vector
from sarrus.spatial.choice import choose
from sarrus.spatial.extremes import larger
from sarrus.spatial.iteration import iterate
from sarrus.spatial.norms import if_finite
from sarrus.spatial.precision import within
from sarrus.spatial.stages import stage
from sarrus.status import Status

_SWEEPS = 2  # those after the second where they pay: they find out what sticks and slips
_FEW = 18  # rows: Newton steps on so few cost as little as two sweeps, and one on more as much as many


class Round(NamedTuple):
    """Of Newton's method with a center that goes along: where one cycles, another may not."""

    r: float  # of the natural map
    eps: float | None = None  # to begin with; None: as it is
    anew: bool = False  # whether it begins where the first round began


class Approach(NamedTuple):
    """How a kind of problem is solved."""

    rounds: tuple[Round, ...]
    sweeps: int  # at most, before the first Newton step
    eps: float = FIRST_EPS  # of the first Newton step
    roughly: float = 0.0  # m/s: the residual from which on Newton's method needs no third sweep
    contacts: bool = True  # whether sweeps are over contacts, too, not only over limits


# A step on few rows that stick, and of which none is redundant, is exact with so small an eps; along rows that do
# nothing it would lead far away.
_OF_FEW = Approach((Round(3.0),), 5, eps=1e-6, roughly=3e-3)
_OF_FEW_IF_REDUNDANT = Approach((Round(0.5),), 8, eps=1e-2, roughly=3e-4)
_OF_MANY = Approach((Round(3.0),), 5)
_OF_MANY_IF_REDUNDANT = Approach(
    (Round(0.5), Round(1.0, 1e-2, anew=True), Round(3.0, 1e-3), Round(0.3, 1e-2)), 1, contacts=False
)
_R_STAYING = 3.0  # while Newton's center stays
_MAX_NEWTON = 12  # steps of each round, and with each center that stays
MOST_NEWTON = 21 * _MAX_NEWTON  # in all; after these, the fallback
_RELATIVE = 1e-10  # of the largest velocity: what rounding leaves
_STRICT = 10.0  # about Newton's iterates outside the cones: they will be projected onto them
_MARGIN = 0.5  # of what is accepted at last, for what that projection and rounding do
_ASKEW = 0.3  # of how far friction is askew to the sliding, of which the residual has the square
_STAYING = 0.1  # of that, while Newton's center stays: it pulls up to the end, which no last, quadratic step mends


def solve(
    problem: ContactProblem,
    start: Array | None = None,
    tolerance: float = 1e-6,
    max_newton: int = _MAX_NEWTON,
    sweeps: int | None = None,
    convex: bool = False,
    entry: Scalar = 1.0,
    fallback: bool = True,
) -> ContactSolution:
    """Impulses that solve the contact problem.

    start       impulses to begin with, those of the last time step: if they are a solution, nothing is iterated
    tolerance   of the residual, in m/s; the status is OK where it is met
    max_newton  steps of each round of Newton's method, and with each center
    sweeps      at most, before the first Newton step; None: two to eight, or one of limits alone where many contacts
                are redundant
    convex      the relaxed problem, without De Saxce's term: what slides lifts off
    entry       where this is not greater than 0, nothing is iterated: whoever says so does not want the answer
    fallback    whether alternating directions take over where Newton's method does not end
    """
    with stage("scaling"):
        p = scaled(problem, convex)
        # Of rows that exist: one that does not may have any velocity.
        speeds = vector(*(choose(0.0, over, g, 0.0) for over, g in zip(p.inverse, problem.g, strict=True)))
        accepted = within(tolerance, 1e1) + within(_RELATIVE, 1e2) * largest(speeds)
    few = len(p.g) <= _FEW
    how = _approach(problem, p, few)
    with stage("start"):
        x = np.zeros(len(p.g)) if start is None else projected(p, _existing(p, start))
        c = p.g if start is None else p.G @ x + p.g
        todo = if_finite(choose(accepted, residual(p, x, c), 1.0, 0.0), 0.0, c, p.friction, p.bounds)
        todo = choose(0.0, entry, todo, 0.0)

    def far(x: Array, c: Array, strict: float = 1.0) -> Scalar:
        """The residual, and of few rows how far friction is from being against the sliding."""
        left = residual(p, x, c, strict)
        return larger(left, _ASKEW * askew(p, x, c)) if few else left

    def swept(state: tuple[Array, ...]) -> tuple[tuple[Array, ...], Scalar]:
        x, c = sweep(p, *state[:2], contacts=how.contacts)
        _, count = state[2]
        left = far(x, c)
        todo = choose(_MARGIN * accepted, left, 1.0, 0.0)
        again = choose(count, _SWEEPS - 1.5, todo, choose(how.roughly, left, todo, 0.0)) if few else todo
        return (x, c, vector(todo, count + 1.0)), again

    def newton(state: tuple[Array, ...]) -> tuple[tuple[Array, ...], Scalar]:
        x, c, center, (_, count, since, *rest) = state
        r, (eps, *before) = how.rounds[0].r, rest
        for k, following in enumerate(how.rounds[1:], 1):
            r = choose(k * max_newton - 0.5, count, following.r, r)
            new = 0.5 - abs(count - k * max_newton)
            if following.eps is not None:
                eps = choose(0.0, new, following.eps, eps)
            if following.anew:
                x, c = either(new, first.x, x), either(new, first.c, c)
        goes_along = len(how.rounds) * max_newton
        stays, begins = choose(goes_along - 0.5, count, 1.0, 0.0), choose(abs(count - goes_along), 0.5, 1.0, 0.0)
        r = choose(0.5, stays, _R_STAYING, r)
        at = Iterate(x, c, center, eps, *before)
        solved = stays * at.is_solved(p, r, _MARGIN * _STAYING * accepted)
        is_due = stays * choose(max_newton - 0.5, since, 1.0, 0.0)
        at = at.centered(p, begins, is_due, solved)
        since = choose(0.5, larger(begins, larger(is_due, solved)), 0.0, since)
        x, c, center, *rest = newton_step(p, at, r, stays)
        enough = _MARGIN * choose(0.5, stays, _STAYING, 1.0) * accepted
        left = far(x, c, _STRICT)
        todo = choose(left, enough, 0.0, 1.0)  # also where it is not a number: for the fallback, but no more steps
        return (x, c, center, vector(todo, count + 1.0, since + 1.0, *rest)), choose(enough, left, 1.0, 0.0)

    with stage("sweeps"):
        usual = how.sweeps if how.contacts else min(p.first, how.sweeps)
        most = usual if sweeps is None else sweeps
        (x, c, (todo, _)), _ = iterate(swept, (x, c, vector(todo, 0.0)), most, todo)
    first = Iterate.first(x, c, how.eps)
    with stage("newton"):
        begin = (*first[:3], vector(todo, 0.0, 0.0, *first[3:]))
        (x, _, _, (todo, *_)), count = iterate(newton, begin, MOST_NEWTON // _MAX_NEWTON * max_newton, todo)
    with stage("fallback"):
        x = alternate(p, x, _MARGIN * accepted, todo) if fallback else x
    with stage("result"):
        return _solution(problem, p, x, count, accepted)


def _approach(problem: ContactProblem, p: Scaled, few: bool) -> Approach:
    if not few:  # where some of many rows are redundant, that need not be so of those that exist
        return _OF_MANY_IF_REDUNDANT if p.G.is_redundant else _OF_MANY
    more = problem.freedoms is not None and problem.freedoms < len(p.g)
    return _OF_FEW_IF_REDUNDANT if p.G.is_redundant or more else _OF_FEW


def _existing(p: Scaled, start: Array) -> Array:
    """Impulses to begin with, scaled; of what is not there any more, 0."""
    pairs = zip(p.inverse, p.w * start, strict=True)
    return vector(*(choose(0.0, over, x, 0.0) for over, x in pairs))


def _solution(problem: ContactProblem, p: Scaled, x: Array, count: Scalar, accepted: Scalar) -> ContactSolution:
    """Impulses within their cones, and what is proven about them: computed from G and g as they were given."""
    impulses = p.inverse * projected(p, x)
    velocities = problem.G @ impulses + problem.g
    given = velocities if problem.compliance is None else velocities + problem.compliance * impulses
    left = residual(p, p.w * impulses, p.inverse * given)
    hopeless = _fastest_approach(problem, p)
    met = choose(left, accepted, Status.OK, Status.MAX_ITERATIONS)
    met = choose(accepted, hopeless, Status.INFEASIBLE, met)
    numbers = impulses, velocities, problem.friction, problem.bounds, vector(left)
    status = if_finite(met, Status.NOT_FINITE, *numbers)
    return ContactSolution(impulses, velocities, larger(left, hopeless), count, status)


def _fastest_approach(problem: ContactProblem, p: Scaled) -> Scalar:
    """The velocity with which something closes that is active, but that no impulse can move."""
    fastest: Scalar = 0.0
    normals = [*range(p.nb, p.first), *(rows.stop - 1 for rows in p.contacts)]
    for i, active in zip(normals, problem.active, strict=True):
        closing = choose(0.0, active, -problem.g[i], 0.0)
        fastest = larger(fastest, choose(0.0, p.inverse[i], 0.0, closing))
    return fastest
