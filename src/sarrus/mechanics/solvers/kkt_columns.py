"""Many right-hand sides of the equations of constrained motion, once they are factored:

    [ M  -J^T ] [ x ]     [ r ]
    [ J    C  ] [ f ] = - [ s ]        M = L^T D L,   Y = J L^-1,   Y D^-1 Y^T + C factored as Lambda

All columns have one text, which is a repetition. So that what is zero by structure costs nothing in it, those with the
same zeros are taken together: velocities of one limb, usually.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from sarrus.mechanics.solvers.joint_space import Ltdl, delassus_of, solve_forward, solve_transposed
from sarrus.spatial.arrays import Array, Scalar
from sarrus.spatial.choice import AbstractScalar, choose
from sarrus.spatial.linear_algebra import Ldl, ldl_backward, ldl_forward, ldl_semidefinite
from sarrus.spatial.norms import size, total
from sarrus.spatial.precision import within
from sarrus.spatial.repetition import repeat

_FEW = 5  # columns: too few for a text of their own, if there is one that fits
_SHORT = 3  # velocities of a limb
_CONSISTENT = 1e-7  # of what rows ask for: what those may differ by that depend on others


class KktColumns(NamedTuple):
    """Solutions, column by column."""

    x: Array  # (nv, k)
    f: Array  # (m, k)
    half: Array  # (m, k) halfway through the solve for f: what rows that depend on others cannot have
    sums: Array  # (k,) of all elements of a column of x and f: not finite, if one of them is not


class Kkt(NamedTuple):
    """The factors."""

    mass: Ltdl
    Y: Array  # (m, nv)
    Lambda: Ldl

    @staticmethod
    def factored(mass: Ltdl, J: Array, supports: list[list[int]], compliance: Array, typical: Array) -> Kkt:
        """supports: per row of J, the velocities that it depends on; typical: of each row, its usual mobility"""
        A, Y = delassus_of(mass, J, supports)
        for i, softness in enumerate(compliance):
            A[i, i] = A[i, i] + softness
        return Kkt(mass, Y, ldl_semidefinite(A, typical))

    @property
    def rank(self) -> Scalar:
        """How many rows do not depend on others."""
        return sum((choose(0.0, pivot, 1.0, 0.0) for pivot in self.Lambda.d_inv), 0.0)

    def is_consistent(self, half: Array) -> Scalar:
        """1 where rows that depend on others ask for nothing else than these in any column, else 0."""
        off, scale = 0.0, 1.0
        for pivot, row in zip(self.Lambda.d_inv, half, strict=True):
            here = size(row)
            off, scale = off + choose(0.0, pivot, 0.0, here), scale + here
        return choose(off, within(_CONSISTENT, 1e3) * scale, 1.0, 0.0)

    def solve(self, r: Array, s: Array) -> KktColumns:
        """For columns r (nv, k) and s (m, k)."""
        (n, count), m = r.shape, len(s)
        out = np.zeros((n + 2 * m + 1, count), dtype=np.result_type(r, s, self.Y))
        both = np.concatenate([r, s]).T

        def text(column: Array) -> Array:
            z = solve_transposed(self.mass, column[:n])  # L^-T r
            half, f = self._multipliers(self.Y @ (z * self.mass.d_inv) - column[n:])
            x = solve_forward(self.mass, (self.Y.T @ f - z) * self.mass.d_inv)
            return np.concatenate([x, f, half, [total([*x, *f])]])

        for alike in _alike(both):
            out[:, alike] = repeat(text, both[alike]).T
        return KktColumns(out[:n], out[n : n + m], out[n + m : -1], out[-1])

    def inverse(self) -> tuple[Array, Array, Array]:
        """x, a symmetric matrix of which half is computed, and f, per element of -r; and sums as in `KktColumns`."""
        n, m, d_inv = len(self.mass.d_inv), len(self.Y), self.mass.d_inv
        sums = []
        x, f = np.zeros((n, n), dtype=self.Y.dtype), np.zeros((m, n), dtype=self.Y.dtype)
        for first, stop in _limbs(self.mass):
            limb = slice(first, stop)
            reach = sorted({*range(first, stop)}.union(*self.mass.ancestors[first:stop]))

            def text(unit: Array, limb=limb, stop=stop, reach=reach) -> Array:
                r = np.zeros(n, dtype=np.result_type(unit, self.Y))
                r[limb] = unit
                z = solve_transposed(self.mass, r, reach) * d_inv
                _, f = self._multipliers(-(self.Y @ z))
                x = solve_forward(self.mass, z[:stop] + d_inv[:stop] * (self.Y.T[:stop] @ f))
                return np.concatenate([x, f, [total([*x, *f])]])

            rows = repeat(text, np.eye(stop - first).astype(self.Y.dtype))
            x[limb, :stop], f[:, limb] = rows[:, :stop], rows[:, stop:-1].T
            x[:first, limb] = x[limb, :first].T
            sums.append(rows[:, -1])
        return x, f, np.concatenate([np.zeros(0), *sums])

    def _multipliers(self, s: Array) -> tuple[Array, Array]:
        """Half of the solve for f, and all of it."""
        half = ldl_forward(self.Lambda, s)
        return half, ldl_backward(self.Lambda, self.Lambda.divide(half))


def _limbs(mass: Ltdl) -> list[tuple[int, int]]:
    """Velocities first .. stop - 1 each of which moves the next one; short ones of these are joined."""
    n = len(mass.ancestors)
    firsts: list[int] = []
    for j in range(n):
        ends = j == 0 or mass.ancestors[j] != [*mass.ancestors[j - 1], j - 1]
        if ends and not (firsts and j - firsts[-1] < _SHORT):
            firsts.append(j)
    return list(pairwise([*firsts, n]))


def _alike(rows: Array) -> list[list[int]]:
    """Numbers of the rows, together where the same elements are known to be zero, or many of the same."""
    known = [[not isinstance(x, AbstractScalar) and x == 0.0 for x in row] for row in rows]
    found: dict[tuple[bool, ...], list[int]] = {}
    for number, zeros in enumerate(known):
        found.setdefault(tuple(zeros), []).append(number)
    for zeros in sorted(found, key=sum, reverse=True):
        others = [x for x in found if x != zeros and all(z or not y for y, z in zip(x, zeros, strict=True))]
        if others and len(found[zeros]) < _FEW and not all(zeros):
            found[max(others, key=sum)] += found.pop(zeros)
    return list(found.values())
