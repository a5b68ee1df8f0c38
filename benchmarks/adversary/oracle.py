"""What is right: Gauss's principle, solved densely, with how well the numbers determine it.

Of all accelerations that meet the rows best (least squares), the one nearest to the free motion in the metric of M.
In double precision for whole batches; in extended precision, with perturbed data, for states in doubt (`verdict.py`).
Rows are measured by the size of their terms, so that a row of any length and unit counts alike.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from benchmarks.adversary import extended
from benchmarks.adversary.equations import Equations
from benchmarks.adversary.kinematics import apply

Array = np.ndarray
EPS = float(np.finfo(float).eps)
CUT = 1e-10  # singular values below this part of the rows' size count as zero
UNCLEAR = (1e-15, 1e-8)  # between rounding and what is clear: the rank is not decidable
UNSEEN = 1e-3  # part of the largest acceleration that a row is taken to see even if it does not
MET, NOT_MET = 1e-9, 1e-6  # residuals relative to their terms: rows are met, or in conflict


class Solution(NamedTuple):
    """The oracle's answer for a batch."""

    qdd: Array  # (B, n)
    free: Array  # (B, n) without constraints
    force: Array  # (B, m) one that goes with it, of least norm (of rows by their sizes)
    rank: Array  # (B,)
    clear: Array  # (B,) whether the rank is
    decidable: Array  # (B,) ... and whether the rows can be met
    feasible: Array  # (B,)
    condition: Array  # (B,) relative change of qdd per relative change of the data, an upper bound to first order
    kkt: Array  # (B,) condition of the matrix of all equations: what costs a method digits that solves for forces first


class Scaled(NamedTuple):
    """The problem in coordinates z = L^T S^-1 qdd, in which the metric is the identity: Y z = b."""

    S: Array  # (B, n)
    L: Array  # (B, n, n)
    Y: Array  # (B, m, n)
    free: Array  # (B, n) in those coordinates
    b: Array  # (B, m) of the correction
    size: Array  # (B,) what an element of Y may be

    def accelerations(self, z: Array) -> Array:
        return self.S * extended.backward(self.L, z[:, :, None])[:, :, 0]


def scaled(e: Equations, tau: Array) -> Scaled:
    """Rows divided by their sizes, velocities by the root of their inertia."""
    S = 1 / np.sqrt(np.einsum("bii->bi", e.M))
    M = S[:, :, None] * e.M * S[:, None]
    L = extended.cholesky(M)
    free = extended.forward(L, (S * (tau - e.c))[:, :, None])[:, :, 0]
    whitening = extended.forward(L, np.eye(M.shape[1], dtype=M.dtype) * S[:, :, None])
    row_size = np.where(e.J_size > 0, e.J_size, 1)
    rows = e.J / row_size[:, :, None]
    Y = rows @ np.swapaxes(whitening, 1, 2)
    b = e.k / row_size - apply(Y, free)
    return Scaled(S, L, Y, free, b, np.sqrt(np.sum(whitening**2, axis=(1, 2))))


def solve(e: Equations, tau: Array) -> Solution:
    """In double precision."""
    with np.errstate(all="ignore"):
        s = scaled(e, tau)
        m = s.Y.shape[1]
        U, values, Vt = np.linalg.svd(s.Y, full_matrices=False)
        relative = values / s.size[:, None]
        kept = relative > CUT
        inverse = np.where(kept, 1 / np.where(kept, values, 1), 0)
        y = inverse * apply(np.swapaxes(U, 1, 2), s.b)
        dz = apply(np.swapaxes(Vt, 1, 2), y)
        z = s.free + dz
        row_size = np.where(e.J_size > 0, e.J_size, 1)
        force = apply(U, inverse * y) / row_size
        qdd, free = s.accelerations(z), s.accelerations(s.free)
        off = relative_residual(e, qdd, free)
        clear = ~((relative > UNCLEAR[0]) & (relative < UNCLEAR[1])).any(axis=1)
        decidable = clear & ((off < MET) | (off > NOT_MET)) if m else clear
        # First order: |Y^+| (|dY| |z| + |db|) + |dY| |force|, and what the free motion is wrong by.
        smallest = np.where(kept, values, np.inf).min(axis=1, initial=np.inf)
        b_size = np.max(e.k_size / row_size, axis=1, initial=0.0)
        moved = (s.size * (_norm(z) + _norm(s.free)) + b_size) / smallest + s.size * _norm(force * row_size)
        moved = moved + _norm(s.free) + _norm(z) + _norm(s.S * e.c_size)
        condition = s.size * moved / size_of(qdd, free)
        kkt = (s.size / smallest) ** 2
        return Solution(qdd, free, force, kept.sum(axis=1), clear, decidable, off <= NOT_MET, condition, kkt)


def solve_extended(e: Equations, tau: Array, ranks: Array) -> tuple[Array, Array]:
    """(qdd, free) in the type of the data, with ranks that were decided before."""
    with np.errstate(all="ignore"):
        s = scaled(e, tau)
        z = s.free + extended.minimum_norm(s.Y, s.b, ranks)
        return s.accelerations(z), s.accelerations(s.free)


def size_of(qdd: Array, free: Array) -> Array:
    """(B,): what accelerations are relative to: the largest, that of the free motion included; at least 1."""
    return np.fmax(np.fmax(np.abs(qdd).max(axis=1), np.abs(free).max(axis=1)), 1)


def relative_residual(e: Equations, qdd: Array, free: Array) -> Array:
    """(B,): the largest of |J qdd - k|, each relative to its terms; zero without rows."""
    if not e.J.shape[1]:
        return np.zeros(len(qdd))
    with np.errstate(all="ignore"):
        terms = e.k_size + np.abs(e.k) + apply(np.abs(e.J), np.abs(qdd) + np.abs(free))
        terms = terms + UNSEEN * e.J_size * size_of(qdd, free)[:, None]
        off = np.abs(apply(e.J, qdd) - e.k)
        return np.where(off == 0, 0, off / np.where(terms > 0, terms, 1)).max(axis=1)


def momentum_residual(e: Equations, qdd: Array, force: Array, tau: Array, allowed: Array) -> Array:
    """(B,): the largest of |M qdd + c - tau - J^T f|, relative to its terms; of f, to those of `allowed`.

    Forces that overflow (of short rows, say) allow nothing.
    """
    with np.errstate(all="ignore"):
        allowed = np.where(np.isfinite(allowed), allowed, 0)
        Jt = np.swapaxes(e.J, 1, 2)
        off = np.abs(apply(e.M, qdd) + e.c - tau - apply(Jt, force))
        terms = apply(np.abs(e.M), np.abs(qdd)) + e.c_size + np.abs(tau) + apply(np.abs(Jt), np.abs(allowed))
        return np.where(off == 0, 0, off / np.where(terms > 0, terms, 1)).max(axis=1)


def _norm(x: Array) -> Array:
    return np.sqrt(np.sum(x * x, axis=1))
