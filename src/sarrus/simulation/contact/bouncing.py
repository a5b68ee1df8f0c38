"""Bounces take energy: what Newton's law of restitution gives too much of, with friction, is taken back.

Newton's law asks for e times the speed of each contact before the step, whatever friction does to the others: a rod
that strikes the ground with one end may then have more energy than before (Kane's paradox). Between the impulses x0 of
an impact without restitution, which only take energy, and those with it, x1, the work

    W(s) = x . v + x . G x / 2,      x = x0 + s (x1 - x0)

of the impulses on velocities v before them is a parabola; s is the largest number up to 1 for which it is not positive.
"""

from __future__ import annotations

from sarrus.mechanics.contact.problem import ContactProblem, ContactSolution
from sarrus.spatial.arrays import Array, Scalar, vector
from sarrus.spatial.choice import choose
from sarrus.spatial.extremes import larger, smaller
from sarrus.spatial.norms import dot, root, size

_ROUNDING = 1e-9  # of the work that is done and taken: what is gained by rounding
_TINY = 1e-30


def work(problem: ContactProblem, x: Array, v: Array) -> Scalar:
    """What impulses x add to the kinetic energy, but for rounding; v: velocities of the rows before them."""
    change = problem.G @ x
    rounding = _ROUNDING * (size(x * v) + size(x * change))
    return dot(x, v) + 0.5 * dot(x, change) - rounding


def between(problem: ContactProblem, none: ContactSolution, full: ContactSolution, v: Array) -> ContactSolution:
    """As much of a full bounce as takes energy, from none.

    none, full  without and with restitution
    v           velocities of the rows before the impulses
    """
    x0, more = none.impulses, full.impulses - none.impulses
    G0, G1 = problem.G @ x0, problem.G @ more
    a, b = 0.5 * dot(more, G1), dot(more, v + G0)
    c = smaller(dot(x0, v) + 0.5 * dot(x0, G0), 0.0)
    edge = root(larger(b * b - 4.0 * a * c, 0.0))
    rising = -2.0 * c / (larger(b, 0.0) + edge + _TINY)
    s = choose(b, 0.0, (edge - b) / (2.0 * a + _TINY), rising)
    s = smaller(larger(s, 0.0), 1.0)

    def mixed(x: Array, y: Array) -> Array:
        return x + s * (y - x)

    return ContactSolution(
        mixed(x0, full.impulses),
        mixed(none.velocities, full.velocities),
        larger(none.residual, full.residual),
        none.iterations + full.iterations,
        larger(none.status, full.status),
    )


def flat(found: ContactSolution) -> tuple[Array, ...]:
    return (found.impulses, found.velocities, vector(found.residual, found.iterations, found.status))


def of_flat(arrays: tuple[Array, ...]) -> ContactSolution:
    x, v, (residual, iterations, status) = arrays
    return ContactSolution(x, v, residual, iterations, status)
