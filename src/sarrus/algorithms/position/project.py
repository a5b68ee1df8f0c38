"""The nearest state on the constraints."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from sarrus.algorithms.tree.crba import composite_bodies
from sarrus.mechanics.mechanism import mechanism
from sarrus.mechanics.solvers.constraint_metric import Linearized, linearized, without_opening
from sarrus.model.model import Model
from sarrus.model.state import moved
from sarrus.registry.features import Feature
from sarrus.registry.table import algorithm
from sarrus.spatial.arrays import Array, Scalar, vector
from sarrus.spatial.choice import choose
from sarrus.spatial.iteration import iterate
from sarrus.spatial.stages import stage
from sarrus.status import Status

_FARTHEST = 0.5  # of one step, radians or metres
_DAMPING = 1e-2  # at first, per metre or radian of error, relative to J M^-1 J^T
_EASED, _GROWN = 0.2, 8.0  # factors of the damping after a good step and a bad one
_LARGEST = 10.0  # factor of it where a step was too long
_UPHILL = 4.0  # what a step may make of the squared error: the way down a curved valley is not straight
_SLOW, _PATIENCE = 0.98, 12.0  # so many steps may leave more than that part of the squared error
_NEVER = 1e30  # larger than any squared error that counts


class ProjectResult(NamedTuple):
    """`status` is a `sarrus.Status`; `error` is the largest that is left, in metres or radians (angles, not sines).

    `opening` is the largest rate J v that is left of v: rounding, except where rows are dependent but for 1e-6.
    """

    q: Array  # (nq,)
    v: Array  # (nv,)
    error: Array  # ()
    iterations: Array  # ()
    status: Array  # ()
    opening: Array  # ()


@algorithm(
    cost="O(n d^2 + m^2 d + m d^2 + m^3) per iteration",
    references=("featherstone2010",),
    supports=Feature.ON_ALL | Feature.ANY_RANK,
    ignores=Feature.MASSLESS,
)
def project(
    model: Model,
    q: Array,
    v: Array | None = None,
    held: Array | None = None,
    tolerance: float = 1e-12,
    max_iterations: int = 100,
) -> ProjectResult:
    """The nearest state on the position and velocity constraints: light bodies move rather than heavy ones.

    Gauss-Newton in the kinetic metric, dq = -M^-1 J^T (J M^-1 J^T)^+ error, and then v in the same way, with the error
    J v. Damping in proportion to the error keeps distant starts and singular rows under control and leaves the last
    steps quadratic (Levenberg-Marquardt). Contacts without `at` stay where they are, to first order.

    held        1 for joints that must not move and velocities that must not change, otherwise 0; default: all zero
    tolerance   the largest error to accept, in metres or radians
    """
    return nearest_on(lambda q: _linearized(model, q, held), model, q, v, tolerance, max_iterations)


def nearest_on(
    rows_at: Callable[[Array], Linearized],
    model: Model,
    q: Array,
    v: Array | None,
    tolerance: float,
    max_iterations: int,
) -> ProjectResult:
    """`project` onto whatever `rows_at` a configuration says."""

    def once(state: tuple[Array, ...]) -> tuple[tuple[Array, ...], Scalar]:
        """Look where the step leads. If near enough: stay, and prepare the next. Else go back to prepare a shorter one.

        last     squared error before the step; "never" where the step only leads back
        closest  the largest error of all rows, where it was smallest
        """
        before, step, (last, error, damping, slow) = state
        here = moved(model, before, step)
        rows = rows_at(here)
        squared = rows.error @ rows.error
        size = np.sqrt(vector(squared))[0]
        following = rows.step(-rows.error, damping * size)
        with stage("step"):
            length = _largest(following)
            too_long = choose(length, _LARGEST * _FARTHEST, length * (1.0 / _FARTHEST), _LARGEST)
            eased = choose(last, _NEVER, _EASED, 1.0)
            changed = damping * choose(_FARTHEST, length, too_long, eased)
            following = following * choose(_FARTHEST, length, _FARTHEST / choose(_FARTHEST, length, length, 1.0), 1.0)
            no_gain = choose(_SLOW * last, squared, slow + 1.0, 0.0)
            taken = (squared, _largest(rows.error), changed, no_gain)
            numbers = _chosen(squared, _UPHILL * last, taken, (_NEVER, error, _GROWN * damping, slow + 0.5))
            q = _chosen(squared, _UPHILL * last, here, before)
            step = _chosen(squared, _UPHILL * last, following, np.zeros(model.nv))
            go_on = choose(tolerance, numbers[1], choose(numbers[3], _PATIENCE, 1.0, 0.0), 0.0)
        return (q, step, numbers), go_on

    start = (q, np.zeros(model.nv), vector(_NEVER, _NEVER, _DAMPING, 0.0))
    (found, _, (_, error, _, _)), count = iterate(once, start, max_iterations + 1)
    failed = choose(max_iterations + 0.5, count, Status.MAX_ITERATIONS, Status.NOT_CLOSER)
    status = choose(error, tolerance, Status.OK, failed)
    speed, opening = np.zeros(model.nv), 0.0
    if v is not None:
        rows = rows_at(found)
        speed = without_opening(rows, v)
        opening = _largest(rows.J @ speed)
    return ProjectResult(found, speed, *(np.asarray(x, dtype=object) for x in (error, count - 1.0, status, opening)))


def _linearized(model: Model, q: Array, held: Array | None) -> Linearized:
    at = mechanism(model, q, spanning=True)
    return linearized(at, composite_bodies(at.nodes), held)


def _chosen(a: Scalar, b: Scalar, yes: Sequence[Scalar] | Array, no: Sequence[Scalar] | Array) -> Array:
    """Of every pair, the first where a < b."""
    return vector(*(choose(a, b, x, y) for x, y in zip(yes, no, strict=True)))


def _largest(x: Array) -> Scalar:
    largest: Scalar = 0.0
    for size in (abs(e) for e in x):
        largest = choose(largest, size, size, largest)
    return largest
