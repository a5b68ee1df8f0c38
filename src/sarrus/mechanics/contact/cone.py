"""The sets that impulses lie in, De Saxce's term, and how far an answer is from one.

In the scaled rows of `problem.Scaled`. The cone of a contact is K = { |x_T| <= mu x_n }, its dual
K* = { mu |c_T| <= c_n }; T are all rows but the last, two or more.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from sarrus.mechanics.contact.problem import Scaled
from sarrus.spatial.arrays import Array, Scalar, vector
from sarrus.spatial.choice import choose
from sarrus.spatial.extremes import larger, smaller
from sarrus.spatial.norms import root
from sarrus.spatial.precision import epsilon


class Projection(NamedTuple):
    """The nearest point of a cone, and what divides there."""

    nearest: Array  # (3,) or more
    direction: Array  # (2,) or more, of the tangent part
    ratio: Scalar  # mu alpha / |u_T|: how much the tangent part shrinks; 1 inside, 0 in the polar cone
    slope: Scalar  # 1 / (1 + mu^2) on the surface of the cone, else 0
    inside: Scalar  # 1 inside, else 0


def tiny() -> float:
    """Beside lengths, so that nothing is divided by zero."""
    return epsilon() ** 5


def length(*parts: Scalar) -> Scalar:
    """Of a tangent vector."""
    return root(dot_of(parts, parts))


def dot_of(a: Sequence[Scalar], b: Sequence[Scalar]) -> Scalar:
    first, *others = [x * y for x, y in zip(a, b, strict=True)]
    return sum(others, first)


def clipped(x: Scalar, bound: Scalar) -> Scalar:
    return choose(x, -bound, -bound, choose(bound, x, bound, x))


def either(condition: Scalar, yes: Array, no: Array) -> Array:
    """`yes` where the condition is greater than 0, else `no`, element by element."""
    return vector(*(choose(0.0, condition, a, b) for a, b in zip(yes, no, strict=True)))


def largest(x: Array) -> Scalar:
    """The largest absolute value."""
    most: Scalar = 0.0
    for e in x:
        most = larger(most, abs(e))
    return most


def onto_cone(u: Array, mu: Scalar) -> Array:
    """The point of K that is nearest to u."""
    return projection(u, mu).nearest


def projection(u: Array, mu: Scalar) -> Projection:
    """The point of K that is nearest to u, with all that its derivative needs."""
    *tangent, n = u
    t = length(*tangent)
    over = 1.0 / (t + tiny())
    slope = 1.0 / (1.0 + mu * mu)
    alpha = (n + mu * t) * slope
    # With mu = 0 nothing is inside: no tangent part is left.
    beyond = choose(-n, mu * t, 1.0, 0.0)  # of the polar cone, whose nearest point is 0
    inside = choose(t, mu * n, 1.0, 0.0)
    ratio = choose(0.5, inside, 1.0, choose(0.5, beyond, mu * alpha * over, 0.0))
    normal = choose(0.5, inside, n, choose(0.5, beyond, alpha, 0.0))
    on_surface = choose(0.5, inside, 0.0, choose(0.5, beyond, slope, 0.0))
    nearest, direction = vector(*(ratio * x for x in tangent), normal), vector(*(x * over for x in tangent))
    return Projection(nearest, direction, ratio, on_surface, inside)


def projected(p: Scaled, x: Array) -> Array:
    """The nearest impulses that are possible: bounded, not negative, in their cones."""
    rows = [clipped(x[i], p.bounds[i]) for i in range(p.nb)]
    rows += [larger(x[i], 0.0) for i in range(p.nb, p.first)]
    rows += [e for rows, mu in zip(p.contacts, p.friction, strict=True) for e in onto_cone(x[rows], mu)]
    return vector(*rows)


def shifted(p: Scaled, c: Array) -> Array:
    """c + Gamma(c)."""
    if p.convex:
        return c
    out = np.array(c)
    for rows, mu in zip(p.contacts, p.friction, strict=True):
        out[rows] = with_sliding(c[rows], mu)
    return out


def with_sliding(c: Array, mu: Scalar) -> Array:
    """c + Gamma(c) of one contact."""
    *tangent, n = c
    return vector(*tangent, n + mu * length(*tangent))


def residual(p: Scaled, x: Array, c: Array, strict: float = 1.0) -> Scalar:
    """How far impulses x and velocities c are from a solution, in m/s: the worst row or contact.

    Of a contact: how far x is outside K, how far c + Gamma(c) is outside K*, and
    |x . (c + Gamma(c))| / max(|x|, |c + Gamma(c)|). Impulses count as the velocities that they give their own row.

    strict  by how much being outside counts more: who then projects x changes all velocities by some of that
    """
    worst: Scalar = 0.0
    for i in range(p.nb):
        worst = larger(worst, p.w[i] * abs(x[i] - clipped(x[i] - c[i], p.bounds[i])))
    for i in range(p.nb, p.first):
        worst = larger(worst, p.w[i] * abs(choose(x[i], c[i], x[i], c[i])))
    for rows, mu in zip(p.contacts, p.friction, strict=True):
        (*a, push), (*b, parting) = x[rows], c[rows]
        pushed, sliding = length(*a), length(*b)
        normal = parting if p.convex else parting + mu * sliding
        outside = larger(pushed - mu * larger(push, 0.0), -push)
        entering = mu * sliding - normal if p.convex else -parting
        work = abs(dot_of(a, b) + push * normal)
        squares = larger(pushed * pushed + push * push, sliding * sliding + normal * normal)
        not_complementary = work / (root(squares) + tiny())
        worst = larger(worst, p.w[rows.start] * larger(larger(strict * outside, entering), not_complementary))
    return worst


def askew(p: Scaled, x: Array, c: Array) -> Scalar:
    """How far friction is from being against the sliding, as a velocity of its own row, or how fast that is, where it
    is slower: the worst contact.
    """
    worst: Scalar = 0.0
    for rows, mu in zip(p.contacts, p.friction, strict=True):
        (*a, push), (*b, _) = x[rows], c[rows]
        sliding = length(*b)
        over = mu * larger(push, 0.0) / (sliding + tiny())
        missing = length(*(f + over * v for f, v in zip(a, b, strict=True)))
        worst = larger(worst, p.w[rows.start] * smaller(sliding, missing))
    return worst
