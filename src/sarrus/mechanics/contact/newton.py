"""A proximal semi-smooth Newton step on the natural map of the contact problem.

    F(x) = x - P(u),    u = x - r (c + Gamma(c)),    c = G x + g

is zero at a solution, for any r > 0. With P the projection onto the cones and D its derivative,

    J = I - D (I - r ((I + Gamma') G + eps)),      J d = -F

(`delassus.py` solves that, by G's structure.) eps keeps redundant rows harmless, but lets impulses only crawl along
them: it shrinks after a step that does much and grows after one that does harm. Very near a solution it falls with |F|,
so that Newton's method is quadratic.

Of a few step lengths the first is taken with which |F| is less than the largest of the last three. Asking |F| to fall
in every step would end most of them where the first contact changes between open, stick and slip, and on redundant
feet there is always one. Where no length will do, the whole step is taken all the same: it, too, leaves the piece of F
in which Newton's method is stuck.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sarrus.mechanics.contact.cone import Projection, length, projected, projection, shifted, tiny
from sarrus.mechanics.contact.delassus import Piece
from sarrus.mechanics.contact.problem import Scaled
from sarrus.spatial.arrays import Array, Scalar, vector
from sarrus.spatial.choice import choose
from sarrus.spatial.extremes import larger
from sarrus.spatial.norms import dot, root

FIRST_EPS = 1e-4
_LEAST_EPS, _MOST_EPS = 1e-10, 1e-2
_SHRINK, _GROW = 0.1, 100.0
_NEAR = 1e7  # one over the |F| from which eps falls with it
_LENGTHS = (1.0, 0.3, 0.1, 0.03)  # of steps
_DECREASE = 0.1  # of |F|^2, at least this much of the step length
_MUCH = 0.25  # of |F|^2: a step that leaves less of it did much


class Iterate(NamedTuple):
    """Where Newton's method is."""

    x: Array  # (m,)
    c: Array  # (m,) G x + g
    eps: Scalar
    before: Scalar  # |F|^2 a step ago; 0: forgotten
    earlier: Scalar  # two steps ago


def newton_step(p: Scaled, at: Iterate, r: Scalar) -> Iterate:
    """The next iterate."""
    x, c, eps, before, earlier = at
    F = natural_map(p, x, c, r)
    now = dot(F, F)
    near = _NEAR * root(now)
    k = 1.0 - r * eps * choose(near, 1.0, near, 1.0)
    d = p.G.newton_direction(pieces(p, x, c, r, k), r, k, F)
    Gd = p.G @ d
    most = larger(now, larger(before, earlier))
    step: Scalar = 0.0
    after: Scalar = 0.0
    for t in reversed(_LENGTHS):
        there = natural_map(p, x + t * d, c + t * Gd, r)
        square = dot(there, there)
        falls = choose(square, (1.0 - _DECREASE * t) * most, 1.0, 0.0)
        step, after = choose(0.5, falls, t, step), choose(0.5, falls, square, after)
    stuck = choose(0.0, step, 0.0, 1.0)
    whole = choose(0.5 * (_LENGTHS[0] + _LENGTHS[1]), step, 1.0, 0.0)
    shrunk, grown = larger(_SHRINK * eps, _LEAST_EPS), -larger(-_GROW * eps, -_MOST_EPS)
    following = choose(after, _MUCH * now, choose(0.5, whole, shrunk, eps), choose(now, after, grown, eps))
    following = choose(0.5, stuck, grown, following)
    step = choose(0.5, stuck, 1.0, step)
    known = 1.0 - stuck
    return Iterate(x + step * d, c + step * Gd, following, known * now, known * before)


def natural_map(p: Scaled, x: Array, c: Array, r: Scalar) -> Array:
    """F."""
    return x - projected(p, x - r * shifted(p, c))


def pieces(p: Scaled, x: Array, c: Array, r: Scalar, k: Scalar) -> list[Piece]:
    """What J is made of, row by row and contact by contact."""
    much = 1.0 / (1.0 - k)  # of N where P does nothing
    found = []
    for i in range(p.first):
        u = x[i] - r * c[i]
        D = choose(abs(u), p.bounds[i], 1.0, 0.0) if i < p.nb else choose(0.0, u, 1.0, 0.0)
        found.append(Piece(slice(i, i + 1), vector(D)[None], vector(D * much)[None], np.eye(1)))
    for rows, mu in zip(p.contacts, p.friction, strict=True):
        b = c[rows]
        sliding = 0.0 if p.convex else length(b[0], b[1])
        P = projection(x[rows] - r * vector(b[0], b[1], b[2] + mu * sliding), mu)
        T = np.eye(3, dtype=np.result_type(b, p.friction))
        if not p.convex:
            over = mu / (sliding + tiny())
            T[2, 0], T[2, 1] = b[0] * over, b[1] * over
        # On the surface of the cone P keeps what is along it, shrinks what is across to that, and takes the rest.
        across = choose(0.5, P.inside, much, P.ratio / (1.0 - k * choose(0.5, P.inside, 0.0, P.ratio)))
        D = _in_axes(P, mu, P.ratio, 1.0)
        found.append(Piece(rows, D, _in_axes(P, mu, across, much), T))
    return found


def _in_axes(P: Projection, mu: Scalar, across: Scalar, along: Scalar) -> Array:
    """(3, 3) a matrix with these eigenvalues, and 0: with s = 1 / (1 + mu^2), along [mu e; 1] sqrt(s), across to it in
    the tangent plane, and normal to the cone; inside of it, the identity times `along`.
    """
    ex, ey = P.direction
    slope = along * P.slope
    both = mu * mu * slope - choose(0.5, P.inside, 0.0, across)
    side = mu * slope
    D = np.empty((3, 3), dtype=np.result_type(P.direction, vector(both, side)))
    D[0, 0], D[1, 1] = across + both * ex * ex, across + both * ey * ey
    D[0, 1] = D[1, 0] = both * ex * ey
    D[0, 2] = D[2, 0] = side * ex
    D[1, 2] = D[2, 1] = side * ey
    D[2, 2] = slope + along * P.inside
    return D
