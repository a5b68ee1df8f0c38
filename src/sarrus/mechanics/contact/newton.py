"""A proximal semi-smooth Newton step on the natural map of the contact problem.

    F(x) = x - P(u),    u = x - r (c + Gamma(c) + eps (x - center)),    c = G x + g

is zero at a solution, for any r > 0, where the center is that solution, too. With P the projection onto the cones and D
its derivative,

    J = I - D (I - r ((I + Gamma') G + eps)),      J d = -F

(`delassus.py` solves that, by G's structure.) eps keeps redundant rows harmless, but lets impulses only crawl along
them.

To begin with, the center is where the iterate is. eps shrinks after a step that does much and grows after one that does
harm; very near a solution it falls with |F|, so that Newton's method is quadratic. That takes a step or two.

On many redundant contacts of which most slip it may not end: what distributes the load anew is a long way along rows
that do nothing, on which every step that is not tiny changes what sticks, slips and opens. So after a while the center
stays (the proximal point method): F then has one solution that Newton's method finds, the center moves there, and eps
becomes smaller, or larger where it was not found.

Of a few step lengths the first is taken with which |F| is less than the largest of the last three. Asking |F| to fall
in every step would end most of them where the first contact changes between open, stick and slip, and on redundant
feet there is always one. Where no length will do, the whole step is taken all the same: it, too, leaves the piece of F
in which Newton's method is stuck.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sarrus.mechanics.contact.cone import Projection, either, largest, length, projected, projection, shifted, tiny
from sarrus.mechanics.contact.delassus import Piece
from sarrus.mechanics.contact.problem import Scaled
from sarrus.spatial.arrays import Array, Scalar, vector
from sarrus.spatial.choice import choose
from sarrus.spatial.extremes import larger
from sarrus.spatial.norms import dot, root
from sarrus.spatial.precision import epsilon

FIRST_EPS = 1e-4
_LEAST_EPS, _MOST_EPS = 1e-10, 1e-2
_SHRINK, _GROW = 0.1, 100.0
_LEAST_HELD_EPS, _HELD_SHRINK, _HELD_GROW = 1e-8, 0.2, 3.0  # while the center stays
_LEAST = 4e3  # roundings: 1 - r eps must not be 1
_NEAR = 1e7  # one over the |F| from which eps falls with it
_LENGTHS = (1.0, 0.3, 0.1, 0.03)  # of steps
_DECREASE = 0.1  # of |F|^2, at least this much of the step length
_MUCH = 0.25  # of |F|^2: a step that leaves less of it did much


class Iterate(NamedTuple):
    """Where Newton's method is."""

    x: Array  # (m,)
    c: Array  # (m,) G x + g
    center: Array  # (m,)
    eps: Scalar
    before: Scalar  # |F|^2 a step ago; 0: forgotten
    earlier: Scalar  # two steps ago

    @staticmethod
    def first(x: Array, c: Array, eps: float = FIRST_EPS) -> Iterate:
        return Iterate(x, c, x, eps, 0.0, 0.0)

    def centered(self, p: Scaled, begins: Scalar, is_due: Scalar, solved: Scalar) -> Iterate:
        """With a center where it is, and that eps, where one begins to stay, or the one that stays moves.

        is_due  1 where it has stayed long enough, else 0;  solved  1 where F is nothing with this center, else 0
        """
        smaller = larger(_HELD_SHRINK * self.eps, _LEAST_HELD_EPS)
        greater = -larger(-_HELD_GROW * self.eps, -_MOST_EPS)
        eps = choose(0.5, solved, smaller, choose(0.5, is_due, greater, self.eps))
        eps = choose(0.5, begins, FIRST_EPS, eps)
        moves = larger(begins, larger(is_due, solved))
        forgotten = 1.0 - moves
        center = either(moves - 0.5, projected(p, self.x), self.center)
        return Iterate(self.x, self.c, center, eps, forgotten * self.before, forgotten * self.earlier)

    def is_solved(self, p: Scaled, r: Scalar, accepted: Scalar) -> Scalar:
        """1 where F is nothing with a center that stays, else 0."""
        F = natural_map(p, self.x, self.c, r, self.eps * (self.x - self.center))
        return choose(largest(p.w * F), accepted, 1.0, 0.0)


def newton_step(p: Scaled, at: Iterate, r: Scalar, stays: Scalar) -> Iterate:
    """The next iterate; stays: 1 where the center stays, 0 where it goes along."""
    x, c, center, eps, before, earlier = at
    held = stays * eps
    pull = held * (x - center)
    F = natural_map(p, x, c, r, pull)
    now = dot(F, F)
    near = _NEAR * root(now)
    k = 1.0 - r * choose(0.5, stays, eps, larger(eps * choose(near, 1.0, near, 1.0), _LEAST * epsilon()))
    d = p.G.newton_direction(pieces(p, x, c, r, k, pull), r, k, F)
    Gd = p.G @ d
    most = larger(now, larger(before, earlier))
    step: Scalar = 0.0
    after: Scalar = 0.0
    for t in reversed(_LENGTHS):
        there = natural_map(p, x + t * d, c + t * Gd, r, pull + (t * held) * d)
        square = dot(there, there)
        falls = choose(square, (1.0 - _DECREASE * t) * most, 1.0, 0.0)
        step, after = choose(0.5, falls, t, step), choose(0.5, falls, square, after)
    stuck = choose(0.0, step, 0.0, 1.0)
    whole = choose(0.5 * (_LENGTHS[0] + _LENGTHS[1]), step, 1.0, 0.0)
    shrunk, grown = larger(_SHRINK * eps, _LEAST_EPS), -larger(-_GROW * eps, -_MOST_EPS)
    following = choose(after, _MUCH * now, choose(0.5, whole, shrunk, eps), choose(now, after, grown, eps))
    following = choose(0.5, stays, eps, choose(0.5, stuck, grown, following))
    step = choose(0.5, stuck, 1.0, step)
    known = 1.0 - stuck
    return Iterate(x + step * d, c + step * Gd, center, following, known * now, known * before)


def natural_map(p: Scaled, x: Array, c: Array, r: Scalar, pull: Array) -> Array:
    """F, where the center pulls with eps (x - center)."""
    return x - projected(p, x - r * (shifted(p, c) + pull))


def pieces(p: Scaled, x: Array, c: Array, r: Scalar, k: Scalar, pull: Array) -> list[Piece]:
    """What J is made of, row by row and contact by contact."""
    much = 1.0 / (1.0 - k)  # of N where P does nothing
    found = []
    for i in range(p.first):
        u = x[i] - r * (c[i] + pull[i])
        D = choose(abs(u), p.bounds[i], 1.0, 0.0) if i < p.nb else choose(0.0, u, 1.0, 0.0)
        found.append(Piece(slice(i, i + 1), vector(D)[None], vector(D * much)[None], np.eye(1)))
    for rows, mu in zip(p.contacts, p.friction, strict=True):
        *b, parting = c[rows]
        sliding = 0.0 if p.convex else length(*b)
        P = projection(x[rows] - r * (vector(*b, parting + mu * sliding) + pull[rows]), mu)
        T = np.eye(len(b) + 1, dtype=np.result_type(c, p.friction))
        if not p.convex:
            over = mu / (sliding + tiny())
            T[-1, :-1] = [x * over for x in b]
        # On the surface of the cone P keeps what is along it, shrinks what is across to that, and takes the rest.
        across = choose(0.5, P.inside, much, P.ratio / (1.0 - k * choose(0.5, P.inside, 0.0, P.ratio)))
        D = _in_axes(P, mu, P.ratio, 1.0)
        found.append(Piece(rows, D, _in_axes(P, mu, across, much), T))
    return found


def _in_axes(P: Projection, mu: Scalar, across: Scalar, along: Scalar) -> Array:
    """(3, 3) or more, with these eigenvalues, and 0: with s = 1 / (1 + mu^2), along [mu e; 1] sqrt(s), across to it in
    the tangent plane, and normal to the cone; inside of it, the identity times `along`.
    """
    e = P.direction
    slope = along * P.slope
    both = mu * mu * slope - choose(0.5, P.inside, 0.0, across)
    side = mu * slope
    n = len(e)
    D = np.empty((n + 1, n + 1), dtype=np.result_type(P.direction, vector(both, side)))
    for i in range(n):
        D[i, i] = across + both * e[i] * e[i]
        for j in range(i):
            D[i, j] = D[j, i] = both * e[j] * e[i]
        D[i, n] = D[n, i] = side * e[i]
    D[n, n] = slope + along * P.inside
    return D
