"""Along which normal two shapes made of segments and discs are farthest apart, or overlap least.

The difference of two such shapes is one of them, too: offsets along segments, within discs. How far the origin is
outside of it along a unit vector n,

    separation(n) = x . n - sum |s . n| - sum r |z x n|,

is largest for the shortest way out. Apart it is concave and has one maximum; else the largest is at one of the normals
of its faces: these are across a segment or an axis (n . u = 0), where one angle is left to find, or a disc's own. Two
rims also touch at normals of neither kind, which Newton's method finds from there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from sarrus.mechanics.contact.difference import Difference
from sarrus.mechanics.contact.rim_normals import rim_normals
from sarrus.spatial.arrays import Array, Scalar, vector
from sarrus.spatial.choice import choose
from sarrus.spatial.extremes import choose_vector, direction, larger, sign
from sarrus.spatial.iteration import iterate
from sarrus.spatial.norms import dot, root, total
from sarrus.spatial.rotations import cross

_LOOKS = 12  # of half a circle, before it is bisected between neighbours
_BISECTIONS = 32
_BETTER = 1e-9  # metres by which a normal must be better than one that is known exactly
_TINY = 1e-20  # |z x n|^2 below which n is along z


class _Circle(NamedTuple):
    """All normals across an axis, in the plane of two vectors of length one."""

    basis: tuple[Array, Array]
    x: Array  # (2,)
    segments: list[Array]  # (2,) each
    discs: list[tuple[Array, Scalar, float]]  # axis (2,), the square of its component along the circle's, radius

    def separation(self, n: Array) -> Scalar:
        of_segments = [abs(dot(s, n)) for s in self.segments]
        of_discs = [r * root(along + _across(z, n) * _across(z, n)) for z, along, r in self.discs]
        return dot(self.x, n) - total([*of_segments, *of_discs])

    def slope(self, n: Array) -> Scalar:
        """As n turns to the left."""
        left = vector(-n[1], n[0])
        parts = [-sign(dot(s, n)) * dot(s, left) for s in self.segments]
        for z, along, r in self.discs:
            squared = along + _across(z, n) * _across(z, n)
            inverse = 1.0 / root(choose(_TINY, squared, squared, 1.0))
            parts.append(r * inverse * dot(z, n) * dot(z, left))
        return dot(self.x, left) + total(parts)

    def normal(self, n: Array) -> Array:
        return self.basis[0] * n[0] + self.basis[1] * n[1]


def best_normal(
    difference: Difference, exact: Sequence[Array], bases: Sequence[tuple[Array, Array]], rims: bool = False
) -> tuple[Array, Scalar]:
    """The unit vector along which they are separated most, and by how much.

    exact  unit vectors of either sign that are looked at in any case
    bases  two unit vectors across each axis that normals may be across
    rims   whether two rims may touch, too
    """
    towards = [n * sign(dot(n, difference.x)) for n in exact]
    best, most = towards[0], difference.separation(towards[0])
    for n in towards[1:]:
        best, most = _better(difference, n, best, most, 0.0)
    circles = [_circle(difference, basis) for basis in bases]
    found = best
    for circle, n in zip(circles, _bisected(circles), strict=True):
        found, most = _better(difference, circle.normal(n), found, most, _BETTER)
    if rims:
        for n in rim_normals(difference, found):
            found, most = _better(difference, n, found, most, _BETTER)
    return found, most


def _better(difference: Difference, n: Array, best: Array, most: Scalar, by: float) -> tuple[Array, Scalar]:
    mine = difference.separation(n)
    return choose_vector(most + by, mine, n, best), choose(most + by, mine, mine, most)


def _circle(difference: Difference, basis: tuple[Array, Array]) -> _Circle:
    def seen(x: Array) -> Array:
        return vector(dot(x, basis[0]), dot(x, basis[1]))

    axis = cross(*basis)
    discs = [(seen(z), dot(z, axis) * dot(z, axis), r) for z, r in zip(*difference.discs, strict=True)]
    return _Circle(basis, seen(difference.x), [seen(s) for s in difference.segments], discs)


def _bisected(circles: Sequence[_Circle]) -> list[Array]:
    """The best n (2,) of each circle: of a few, and then between the neighbours, where the slope changes its sign."""
    angle = np.pi / _LOOKS
    cosine, sine = float(np.cos(angle)), float(np.sin(angle))

    def turned(n: Array, s: float) -> Array:
        return vector(cosine * n[0] - s * n[1], s * n[0] + cosine * n[1])

    def look(state: tuple[Array, ...]) -> tuple[tuple[Array, ...], Scalar]:
        out = []
        for circle, (n, best, most) in zip(circles, _triples(state), strict=True):
            outward = n * sign(dot(n, circle.x))
            mine = circle.separation(outward)
            better = (most[0], mine)
            out += [turned(n, sine), choose_vector(*better, outward, best), vector(larger(most[0], mine))]
        return tuple(out), 1.0

    first = [np.array([1.0, 0.0]), np.array([1.0, 0.0]), np.array([-1e30])]
    looked, _ = iterate(look, tuple(first * len(circles)), _LOOKS)
    ends = [(turned(best, -sine), turned(best, sine)) for _, best, _ in _triples(looked)]

    def bisect(state: tuple[Array, ...]) -> tuple[tuple[Array, ...], Scalar]:
        out = []
        for k, circle in enumerate(circles):
            right, left = state[2 * k], state[2 * k + 1]
            middle, _ = direction(right + left, np.array([1.0, 0.0]))
            up = (0.0, circle.slope(middle))
            out += [choose_vector(*up, middle, right), choose_vector(*up, left, middle)]
        return tuple(out), 1.0

    ended, _ = iterate(bisect, tuple(n for pair in ends for n in pair), _BISECTIONS)
    return [direction(ended[2 * k] + ended[2 * k + 1], np.array([1.0, 0.0]))[0] for k in range(len(circles))]


def _triples(state: Sequence[Array]) -> list[tuple[Array, Array, Array]]:
    return [(state[k], state[k + 1], state[k + 2]) for k in range(0, len(state), 3)]


def _across(a: Array, b: Array) -> Scalar:
    return a[0] * b[1] - a[1] * b[0]
