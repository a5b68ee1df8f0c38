"""Rigid-body inertia: mass m, first moment h = m c, second moment Sigma = integral of r r^T dm about the origin.

Sigma rather than the inertia tensor Io = tr(Sigma) 1 - Sigma: it moves more simply, and what a body shares with its
parent (see `model/tree.py`) are elements of Sigma, so that they become exact zeros.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sarrus.spatial.arrays import Array, Scalar, is_numeric, vector
from sarrus.spatial.rotations import cross, skew
from sarrus.spatial.stacked import by_column
from sarrus.spatial.transforms import Transform


@dataclass(frozen=True, eq=False)
class Inertia:
    """Ten numbers, in a body frame. Sums and moves like a vector."""

    mass: Scalar
    h: Array  # (3,) first moment, mass times centre of mass
    Sigma: Array  # (3, 3) second moment about the origin

    @staticmethod
    def zero() -> Inertia:
        return Inertia(0.0, np.zeros(3), np.zeros((3, 3)))

    @staticmethod
    def from_com(mass: Scalar, com: Array, Ic: Array) -> Inertia:
        """From the centre of mass and the inertia tensor about it."""
        half_trace = 0.5 * (Ic[0, 0] + Ic[1, 1] + Ic[2, 2])
        h = mass * com
        return Inertia(mass, h, half_trace * np.eye(3) - Ic + np.outer(h, com))

    def __add__(self, other: Inertia) -> Inertia:
        return Inertia(self.mass + other.mass, self.h + other.h, self.Sigma + other.Sigma)

    def __sub__(self, other: Inertia) -> Inertia:
        return Inertia(self.mass - other.mass, self.h - other.h, self.Sigma - other.Sigma)

    def transformed(self, X: Transform) -> Inertia:
        """The same body seen from the parent frame of X."""
        return Inertia(*X.inertia(self.mass, self.h, self.Sigma))

    @property
    def Io(self) -> Array:
        """The inertia tensor about the origin."""
        xx, yy, zz = self.Sigma[0, 0], self.Sigma[1, 1], self.Sigma[2, 2]
        out = -self.Sigma
        out[0, 0], out[1, 1], out[2, 2] = yy + zz, xx + zz, xx + yy
        return out

    def matrix(self) -> Array:
        """The 6x6 matrix H that takes [v; w] to [linear; angular] momentum."""
        hx = skew(self.h)
        m = self.mass
        mass = np.zeros((3, 3), dtype=vector(m).dtype)
        mass[0, 0] = mass[1, 1] = mass[2, 2] = m
        return np.block([[mass, -hx], [hx, self.Io]])

    @property
    def is_zero(self) -> bool:
        numeric = is_numeric(vector(self.mass)) and is_numeric(self.h) and is_numeric(self.Sigma)
        return numeric and self.mass == 0.0 and not self.h.any() and not self.Sigma.any()

    def momentum(self, m: Array) -> Array:
        """H m for a motion vector m = [v; w]."""
        v, w = m[:3], m[3:]
        return np.concatenate([self.mass * v + cross(w, self.h), self.Io @ w + cross(self.h, v)])

    def force(self, Gamma: Array, a: Array) -> Array:
        """The force and moment that move the body: [m a + Gamma h; integral of r x (a + Gamma r) dm].

        a is the acceleration of the body's origin (of the point, not the spatial one) and Gamma = alpha x + w x w x
        that of its other points: a + Gamma r. Newton and Euler in one; with Sigma sparse this is cheaper than Io
        alpha + w x Io w.
        """
        A = Gamma @ self.Sigma
        moment = vector(A[2, 1] - A[1, 2], A[0, 2] - A[2, 0], A[1, 0] - A[0, 1])
        return np.concatenate([self.mass * a + Gamma @ self.h, moment + cross(self.h, a)])


def momentum(bodies: Sequence[Inertia], S: Array) -> Array:
    """H S of several bodies, one below the other: six rows of S each."""
    parts = [by_column(body.momentum, S[6 * k : 6 * k + 6]) for k, body in enumerate(bodies)]
    return np.concatenate(parts)
