"""A proximal semi-smooth Newton step on the natural map of the contact problem.

    F(x) = x - P(u),    u = x - r (c + Gamma(c)),    c = G x + g

is zero at a solution, for any r > 0. With P the projection onto the cones and D its derivative,

    J = I - D (I - r ((I + Gamma') G + eps)),      J d = -F

eps keeps redundant rows harmless, but lets impulses only crawl along them: it shrinks after a step that does much and
grows after one that does harm. Very near a solution it falls with |F|, so that Newton's method is quadratic.

Of a few step lengths the first is taken with which |F| is less than the largest of the last three. Asking |F| to fall
in every step would end most of them where the first contact changes between open, stick and slip, and on redundant
feet there is always one. Where no length will do, the whole step is taken all the same: it, too, leaves the piece of F
in which Newton's method is stuck.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sarrus.mechanics.contact.cone import clipped, length, projected, projection, shifted, tiny
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
    _, J = linearized(p, x, c, r, eps * choose(near, 1.0, near, 1.0))
    d = -solve_unpivoted(J, F)
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


def linearized(p: Scaled, x: Array, c: Array, r: Scalar, eps: Scalar) -> tuple[Array, Array]:
    """F and J."""
    m = len(x)
    F = np.empty(m, dtype=np.result_type(x, c, p.G, vector(r, eps)))
    J = np.empty((m, m), dtype=F.dtype)
    for i in range(p.first):
        u = x[i] - r * c[i]
        near = clipped(u, p.bounds[i]) if i < p.nb else larger(u, 0.0)
        D = choose(abs(u), p.bounds[i], 1.0, 0.0) if i < p.nb else choose(0.0, u, 1.0, 0.0)
        F[i] = x[i] - near
        J[i] = (r * D) * p.G[i]
        J[i, i] = J[i, i] + (1.0 - D) + r * eps * D
    for rows, mu in zip(p.contacts, p.friction, strict=True):
        F[rows], D, DT = _linearized_contact(x[rows], c[rows], mu, r, p.convex)
        J[rows] = (r * DT) @ p.G[rows]
        J[rows, rows] = J[rows, rows] + np.eye(3) - (1.0 - r * eps) * D
    return F, J


def _linearized_contact(x: Array, c: Array, mu: Scalar, r: Scalar, convex: bool) -> tuple[Array, Array, Array]:
    """F of one contact, D and D (I + Gamma')."""
    sliding = 0.0 if convex else length(c[0], c[1])
    P = projection(x - r * vector(c[0], c[1], c[2] + mu * sliding), mu)
    ex, ey = P.direction
    # On the surface, with s = 1 / (1 + mu^2): D_TT = mu^2 s e e' + ratio (1 - e e'), D_Tn = mu s e, D_nn = s.
    along = mu * mu * P.slope - choose(0.5, P.inside, 0.0, P.ratio)
    side = mu * P.slope
    D = np.empty((3, 3), dtype=np.result_type(x, c, P.direction, vector(along, side)))
    D[0, 0], D[1, 1] = P.ratio + along * ex * ex, P.ratio + along * ey * ey
    D[0, 1] = D[1, 0] = along * ex * ey
    D[0, 2] = D[2, 0] = side * ex
    D[1, 2] = D[2, 1] = side * ey
    D[2, 2] = P.slope + P.inside
    if convex:
        return x - P.nearest, D, D
    over = mu / (sliding + tiny())
    DT = np.array(D)
    DT[:, 0] = D[:, 0] + D[:, 2] * (c[0] * over)
    DT[:, 1] = D[:, 1] + D[:, 2] * (c[1] * over)
    return x - P.nearest, D, DT


def solve_unpivoted(A: Array, b: Array) -> Array:
    """A^-1 b by elimination in the given order. (J is neither symmetric nor near a matrix that needs pivots.)"""
    m = len(b)
    U, y = np.array(A), np.array(b)
    inverse = []
    for k in range(m):
        inverse.append(1.0 / U[k, k])
        for i in range(k + 1, m):
            factor = U[i, k] * inverse[k]
            U[i, k + 1 :] = U[i, k + 1 :] - factor * U[k, k + 1 :]
            y[i] = y[i] - factor * y[k]
    for k in reversed(range(m)):
        for j in range(k + 1, m):
            y[k] = y[k] - U[k, j] * y[j]
        y[k] = y[k] * inverse[k]
    return y
