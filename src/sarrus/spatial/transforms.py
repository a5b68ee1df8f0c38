"""Spatial transforms kept as products of elementary factors.

A `Transform` is the pose of a child frame in a parent frame: a product of turns about a coordinate axis,
shifts and (rarely) dense rotations. Nothing is multiplied out: each factor touches only the components it
changes, so that a traced joint costs a dozen operations instead of a 6x6 product.

Spatial vectors are [linear; angular]. With R the child's axes and p the child's origin in the parent:

    apply(m)        motion, parent to child:   [R^T (v + w x p); R^T w]
    apply_T(f)      force, child to parent:    [R f; R n + p x R f]
    congruence(H)   inertia, child to parent:  X^T H X for a symmetric 6x6 H
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from sarrus.spatial.arrays import Array, Scalar, is_numeric
from sarrus.spatial.product import product
from sarrus.spatial.rotations import cross

_EMPTY = np.zeros(3)


class AbstractFactor(ABC):
    """One elementary factor of a pose."""

    @abstractmethod
    def rotate(self, x: Array) -> Array:
        """A direction, child to parent."""

    @abstractmethod
    def rotate_T(self, x: Array) -> Array:
        """A direction, parent to child."""

    @abstractmethod
    def point(self, x: Array) -> Array:
        """A point, child to parent."""

    @abstractmethod
    def apply(self, m: Array) -> Array:
        """A motion vector, parent to child."""

    @abstractmethod
    def apply_T(self, f: Array) -> Array:
        """A force vector, child to parent."""

    @abstractmethod
    def congruence_blocks(self, M: Array, B: Array, Io: Array) -> tuple[Array, Array, Array]:
        """The blocks of H = [[M, B], [B^T, Io]], child to parent."""

    @abstractmethod
    def inverse(self) -> AbstractFactor:
        """The factor that undoes this one."""

    @abstractmethod
    def inertia(self, mass: Scalar, h: Array, Sigma: Array) -> tuple[Scalar, Array, Array]:
        """A rigid body's mass, first and second moment about the origin, child to parent."""


class AbstractRotation(AbstractFactor):
    """A factor that leaves the origin in place."""

    @abstractmethod
    def rotate_symmetric(self, A: Array) -> Array:
        """R A R^T for a symmetric A."""

    @abstractmethod
    def rotate_matrix(self, B: Array) -> Array:
        """R B R^T."""

    def point(self, x: Array) -> Array:
        return self.rotate(x)

    def apply(self, m: Array) -> Array:
        return np.concatenate([self.rotate_T(m[:3]), self.rotate_T(m[3:])])

    def apply_T(self, f: Array) -> Array:
        return np.concatenate([self.rotate(f[:3]), self.rotate(f[3:])])

    def congruence_blocks(self, M: Array, B: Array, Io: Array) -> tuple[Array, Array, Array]:
        return self.rotate_symmetric(M), self.rotate_matrix(B), self.rotate_symmetric(Io)

    def inertia(self, mass: Scalar, h: Array, Sigma: Array) -> tuple[Scalar, Array, Array]:
        return mass, self.rotate(h), self.rotate_symmetric(Sigma)


@dataclass(frozen=True, eq=False)
class Turn(AbstractRotation):
    """A rotation about coordinate axis 0, 1 or 2 with cosine c and sine s."""

    axis: int
    c: Scalar
    s: Scalar

    def rotate(self, x: Array) -> Array:
        i, j = (self.axis + 1) % 3, (self.axis + 2) % 3
        out = _like(x, self.c)
        out[self.axis] = x[self.axis]
        out[i] = self.c * x[i] - self.s * x[j]
        out[j] = self.s * x[i] + self.c * x[j]
        return out

    def rotate_T(self, x: Array) -> Array:
        return self.inverse().rotate(x)

    def inverse(self) -> Turn:
        return Turn(self.axis, self.c, -self.s)

    def rotate_symmetric(self, A: Array) -> Array:
        k, i, j = self.axis, (self.axis + 1) % 3, (self.axis + 2) % 3
        c, s = self.c, self.s
        out = _like(A, c)
        # c^2 a - 2 c s b + s^2 d and its like, with one shared product: 10 operations instead of 17.
        alpha = s * (A[i, i] - A[j, j]) + c * (A[i, j] + A[i, j])
        out[i, i] = A[i, i] - s * alpha
        out[j, j] = A[j, j] + s * alpha
        out[i, j] = out[j, i] = c * alpha - A[i, j]
        out[k, i] = out[i, k] = c * A[i, k] - s * A[j, k]
        out[k, j] = out[j, k] = s * A[i, k] + c * A[j, k]
        out[k, k] = A[k, k]
        return out

    def rotate_matrix(self, B: Array) -> Array:
        k, i, j = self.axis, (self.axis + 1) % 3, (self.axis + 2) % 3
        c, s = self.c, self.s
        out = _like(B, c)
        alpha = s * (B[i, i] - B[j, j]) + c * (B[i, j] + B[j, i])
        out[i, i] = B[i, i] - s * alpha
        out[j, j] = B[j, j] + s * alpha
        out[i, j] = c * alpha - B[j, i]
        out[j, i] = c * alpha - B[i, j]
        out[i, k] = c * B[i, k] - s * B[j, k]
        out[j, k] = s * B[i, k] + c * B[j, k]
        out[k, i] = c * B[k, i] - s * B[k, j]
        out[k, j] = s * B[k, i] + c * B[k, j]
        out[k, k] = B[k, k]
        return out


@dataclass(frozen=True, eq=False)
class Dense(AbstractRotation):
    """A rotation given by its matrix R (child axes in columns); constant zeros and ones fold away when traced."""

    R: Array

    def rotate(self, x: Array) -> Array:
        return product(self.R, x)

    def rotate_T(self, x: Array) -> Array:
        return product(self.R.T, x)

    def inverse(self) -> Dense:
        return Dense(self.R.T)

    def rotate_symmetric(self, A: Array) -> Array:
        RA = product(self.R, A)
        out = np.empty((3, 3), dtype=RA.dtype)
        for i in range(3):
            for j in range(i, 3):
                out[i, j] = out[j, i] = product(RA[i], self.R[j])
        return out

    def rotate_matrix(self, B: Array) -> Array:
        return product(product(self.R, B), self.R.T)


@dataclass(frozen=True, eq=False)
class Shift(AbstractFactor):
    """A displacement by p without rotation."""

    p: Array

    def rotate(self, x: Array) -> Array:
        return x

    def rotate_T(self, x: Array) -> Array:
        return x

    def point(self, x: Array) -> Array:
        return x + self.p

    def inverse(self) -> Shift:
        return Shift(-self.p)

    def apply(self, m: Array) -> Array:
        return np.concatenate([m[:3] + cross(m[3:], self.p), m[3:]])

    def apply_T(self, f: Array) -> Array:
        return np.concatenate([f[:3], f[3:] + cross(self.p, f[:3])])

    def congruence_blocks(self, M: Array, B: Array, Io: Array) -> tuple[Array, Array, Array]:
        # H' = X^T H X with X = [[1, -p x], [0, 1]]: B' = B - M p x, I' = I + p x B' + (p x B)^T
        p = self.p
        B1 = np.empty((3, 3), dtype=np.result_type(M, B, p))
        I1 = np.empty((3, 3), dtype=np.result_type(M, B, Io, p))
        for i in range(3):
            j, k = (i + 1) % 3, (i + 2) % 3
            for r in range(3):
                B1[r, i] = B[r, i] + (p[j] * M[r, k] - p[k] * M[r, j])
        for i in range(3):
            j, k = (i + 1) % 3, (i + 2) % 3
            I1[i, i] = Io[i, i] + (p[j] * (B[k, i] + B1[k, i]) - p[k] * (B[j, i] + B1[j, i]))
            I1[i, j] = I1[j, i] = Io[i, j] + (p[j] * B1[k, j] + p[k] * (B[i, i] - B1[j, j]) - p[i] * B[k, i])
        return M, B1, I1

    def inertia(self, mass: Scalar, h: Array, Sigma: Array) -> tuple[Scalar, Array, Array]:
        # r' = r + p: Sigma' = Sigma + p g^T + g p^T with g = h + m p / 2
        p = self.p
        g = h + (0.5 * mass) * p
        out = np.empty((3, 3), dtype=np.result_type(Sigma, g))
        for i in range(3):
            j = (i + 1) % 3
            out[i, i] = Sigma[i, i] + 2.0 * (p[i] * g[i])
            out[i, j] = out[j, i] = Sigma[i, j] + (p[i] * g[j] + g[i] * p[j])
        return mass, h + mass * p, out


@dataclass(frozen=True, eq=False)
class Transform:
    """The pose of a child in a parent frame: the product of `factors`, the parent's side first."""

    factors: tuple[AbstractFactor, ...] = ()

    def __matmul__(self, other: Transform) -> Transform:
        return Transform(self.factors + other.factors)

    def rotate(self, x: Array) -> Array:
        for factor in reversed(self.factors):
            x = factor.rotate(x)
        return x

    def rotate_T(self, x: Array) -> Array:
        for factor in self.factors:
            x = factor.rotate_T(x)
        return x

    def point(self, x: Array) -> Array:
        for factor in reversed(self.factors):
            x = factor.point(x)
        return x

    def rotate_matrix(self, B: Array) -> Array:
        """R B R^T."""
        for factor in reversed(self.factors):
            B = factor.rotate_matrix(B) if isinstance(factor, AbstractRotation) else B
        return B

    @property
    def p(self) -> Array:
        """The child's origin in the parent."""
        return self.point(_EMPTY)

    @property
    def R(self) -> Array:
        """The child's axes in the parent, as columns."""
        return np.stack([self.rotate(e) for e in np.eye(3)], axis=1)

    def apply(self, m: Array) -> Array:
        for factor in self.factors:
            m = factor.apply(m)
        return m

    def apply_T(self, f: Array) -> Array:
        for factor in reversed(self.factors):
            f = factor.apply_T(f)
        return f

    def congruence(self, H: Array) -> Array:
        M, B, Io = H[:3, :3], H[:3, 3:], H[3:, 3:]
        for factor in reversed(self.factors):
            M, B, Io = factor.congruence_blocks(M, B, Io)
        return np.block([[M, B], [B.T, Io]])

    def congruence_of_motions(self, L: Array) -> Array:
        """X L X^T for a symmetric 6x6 L that takes forces to motions, parent to child."""
        A, B, C = L[:3, :3], L[:3, 3:], L[3:, 3:]
        for factor in self.factors:  # as inertias do, the other way round, with linear and angular exchanged
            C, B, A = factor.inverse().congruence_blocks(C, B.T, A)
            B = B.T
        return np.block([[A, B], [B.T, C]])

    def inertia(self, mass: Scalar, h: Array, Sigma: Array) -> tuple[Scalar, Array, Array]:
        for factor in reversed(self.factors):
            mass, h, Sigma = factor.inertia(mass, h, Sigma)
        return mass, h, Sigma

    def inverse(self) -> Transform:
        """The pose of the parent in the child (dense)."""
        R = self.R
        return pose(R.T, -product(R.T, self.p))


def pose(R: Array, p: Array) -> Transform:
    """The transform with rotation matrix R and origin p."""
    factors: list[AbstractFactor] = []
    if not (is_numeric(p) and not p.any()):
        factors.append(Shift(p))
    if not (is_numeric(R) and np.array_equal(R, np.eye(3))):
        factors.append(Dense(R))
    return Transform(tuple(factors))


def _like(A: Array, scalar: Scalar) -> Array:
    """An empty array for A's elements combined with a scalar's."""
    numeric = A.dtype != object and isinstance(scalar, (float, int, np.floating))
    return np.empty(A.shape, dtype=float if numeric else object)
