"""The normal at which the rims of two cylinders touch: there the separation is smooth, and Newton's method finds it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sarrus.mechanics.contact.difference import Difference
from sarrus.spatial.arrays import Array, Scalar, vector
from sarrus.spatial.choice import choose
from sarrus.spatial.extremes import direction, larger, sign, smaller
from sarrus.spatial.iteration import iterate
from sarrus.spatial.norms import dot, root, total
from sarrus.spatial.rotations import cross

_STEPS, _FARTHEST, _OFF = 16, 0.3, 0.05  # steps, radians that one goes, and off what is known where it begins
_FLATTEST, _ROUND, _TINY = 1e-3, 1e-9, 1e-20  # least |z x n|, curvature and square that something is divided by


def rim_normals(difference: Difference, known: Array) -> list[Array]:
    """Maxima of the separation that are found from what is known to be good, and straight from middle to middle."""
    straight, _ = direction(difference.x, known)
    return _newton(difference, [_uphill(difference, known), straight])


def _uphill(difference: Difference, n: Array) -> Array:
    """A normal a little off n, which may be the axis of a disc or across a segment: there is no gradient there."""
    gradient = difference.x
    for s in difference.segments:
        across = dot(s, n)
        gradient = gradient - s * choose(abs(across), _FLATTEST, 0.0, sign(across))
    for z, r in zip(*difference.discs, strict=True):
        tangent, length = direction(cross(z, n), np.zeros(3))
        gradient = gradient - cross(tangent, z) * choose(length, _FLATTEST, 0.0, r)
    up, _ = direction(gradient - n * dot(gradient, n), np.zeros(3))
    return direction(n + up * _OFF, n)[0]


def _newton(difference: Difference, starts: Sequence[Array]) -> list[Array]:
    """The maxima near some normals where two rims touch: there it is smooth, and signs of segments stay."""

    def step(state: tuple[Array, ...]) -> tuple[tuple[Array, ...], Scalar]:
        return tuple(_newton_step(difference, n) for n in state), 1.0

    found, _ = iterate(step, tuple(starts), _STEPS)
    return list(found)


def _newton_step(difference: Difference, n: Array) -> Array:
    gradient = difference.x - sum((s * sign(dot(s, n)) for s in difference.segments), np.zeros(3))
    across, _ = direction(cross(n, difference.discs.axes[0]), _any_across(n))
    t = (across, cross(n, across))
    tangents = []
    farthest: Scalar = _FARTHEST
    for z, r in zip(*difference.discs, strict=True):
        tangent, length = direction(cross(z, n), across)
        farthest = smaller(farthest, 0.5 * length)  # near an axis a short way leads far around the rim
        gradient = gradient - cross(tangent, z) * r  # the point on the rim
        tangents.append((tangent, r / larger(length, _FLATTEST)))
    a, b, d = (
        total([c * dot(e, t[i]) * dot(e, t[j]) for e, c in tangents]) + _ROUND * (i == j)
        for i, j in ((0, 0), (0, 1), (1, 1))
    )
    pull = dot(gradient, n)  # the curvature of the sphere, left out where it would lead downhill
    uphill = choose(0.0, a + d + 2.0 * pull, choose(b * b, (a + pull) * (d + pull), 1.0, 0.0), 0.0)
    pull = choose(0.5, uphill, pull, 0.0)
    a, d = a + pull, d + pull
    g = (dot(gradient, t[0]), dot(gradient, t[1]))
    inverse = 1.0 / larger(a * d - b * b, _ROUND * _ROUND)
    move = vector((d * g[0] - b * g[1]) * inverse, (a * g[1] - b * g[0]) * inverse)
    length = root(dot(move, move) + _TINY)
    move = move * choose(farthest, length, farthest / length, 1.0)
    moved, _ = direction(n + t[0] * move[0] + t[1] * move[1], n)
    return moved


def _any_across(n: Array) -> Array:
    """A unit vector across n, or nearly so."""
    small = choose(abs(n[0]), 0.6, 1.0, 0.0)
    aside, _ = direction(cross(n, vector(small, 1.0 - small, 0.0)), np.array([1.0, 0.0, 0.0]))
    return aside
