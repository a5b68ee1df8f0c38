"""How a body that flies by itself turns in a step.

Euler's equations, J w' + w x J w = 0 about the centre of mass, are solved by the implicit midpoint rule:

    J (m - w) + s/2 m x J m = 0,      w+ = 2 m - w,      R+ = R cay(s m)

It keeps the energy and the angular momentum in the world exactly, however fast and thin a body spins; s is the time of
a step, or a little more, so that a body that spins about one axis turns by as much as it does. With velocity products
that are predicted, a pencil that spins at 300 rad/s has three times its energy after a second.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sarrus.model.bodies import Body
from sarrus.spatial.arrays import Array, Scalar, each, is_numeric, vector
from sarrus.spatial.extremes import smaller
from sarrus.spatial.inertia import Inertia
from sarrus.spatial.norms import dot, root
from sarrus.spatial.rotations import cross, skew, unit
from sarrus.spatial.stages import stage

_ITERATIONS = 4  # of Newton's method: exact to the last digits for bodies that turn by less than a radian in a step
_FARTHEST = 1.2  # radians that are half of what a body turns in a step: what is more counts as that
_TINY = 1e-30  # keeps roots away from zero, where they have no slope; a number in single precision, too
_ROUND = 1e-12  # of moments of inertia, relative: what differs by less turns about any axis as it is


class Flight(NamedTuple):
    """Of one body."""

    way: Array  # (3,) s m
    after: Array  # (3,) w+

    @staticmethod
    def of(body: Body, w: Array, dt: Scalar) -> Flight:
        """w: the angular velocity at the beginning, in the body's axes; dt: less than 0 goes back in time."""
        with stage("flight"):
            half = root(smaller((0.25 * dt * dt) * dot(w, w), _FARTHEST**2) + _TINY)
            sine, cosine = (each(f, vector(half))[0] for f in (np.sin, np.cos))
            s = dt * (sine / (half * cosine))
            m = _midway(about_com(body.inertia), w, 0.5 * s)
            return Flight(s * m, 2.0 * m - w)


def cayley(way: Array) -> Array:
    """(4,) the quaternion of cay(way)."""
    return unit(np.concatenate([0.5 * way, np.ones(1)]))


def about_com(inertia: Inertia) -> Array:
    """(3, 3) the inertia tensor about the centre of mass."""
    hx = skew(inertia.h)
    return inertia.Io + (1.0 / inertia.mass) * (hx @ hx)


def _midway(J: Array, w: Array, half: Scalar) -> Array:
    """m, by Newton's method; half: s/2."""
    if is_numeric(J) and np.abs(J - J[0, 0] * np.eye(3)).max() <= _ROUND * J[0, 0]:
        return w
    m = w
    for _ in range(_ITERATIONS):
        Jm = J @ m
        off = J @ (m - w) + half * cross(m, Jm)
        a, b, c = (J + half * (skew(m) @ J - skew(Jm))).T  # columns
        bc = cross(b, c)
        m = m - (1.0 / dot(a, bc)) * vector(dot(off, bc), dot(off, cross(c, a)), dot(off, cross(a, b)))
    return m
