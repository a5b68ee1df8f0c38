"""Constraints to first order, and the kinetic metric in which motions that meet them are the smallest.

Half the squared length of a motion is its kinetic energy, so that the smallest motion with J dq = b is
dq = M^-1 J^T (J M^-1 J^T)^+ b: the one that an impulse through the constraints gives.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sarrus.mechanics.constraints.rows import position_errors
from sarrus.mechanics.mechanism import Mechanism
from sarrus.mechanics.solvers.joint_space import Ltdl, delassus_of, ltdl, solve_forward
from sarrus.spatial.arrays import Array, Scalar, vector
from sarrus.spatial.choice import choose
from sarrus.spatial.linear_algebra import Ldl, ldl_semidefinite, ldl_solve
from sarrus.spatial.stages import stage

_LIGHTEST = 1e-9  # of the mean inertia: what a joint that moves none is taken to have
_TINY = 1e-30  # no division by zero
_DEPENDENT = 1e-10  # the square of the angle below which rows count as dependent


class Linearized(NamedTuple):
    """Errors and Jacobian at a configuration, with what it takes to step there."""

    error: Array  # (m,)
    J: Array  # (m, nv)
    mass: Ltdl
    Y: Array  # (m, nv) J L^-1
    A: Array  # (m, m) J M^-1 J^T

    def step(self, change: Array, damping: Scalar) -> Array:
        """The smallest dq with J dq = change, but for the damping, which is relative to the mean of A's diagonal."""
        return self.motion(ldl_solve(self.factor(damping), change))

    def factor(self, damping: Scalar) -> Ldl:
        A, n = self.A.copy(), range(len(self.A))
        A[n, n] = A.diagonal() + damping * _mean(A)
        return ldl_semidefinite(A)

    def motion(self, impulse: Array) -> Array:
        """M^-1 J^T impulse."""
        return solve_forward(self.mass, (self.Y.T @ impulse) * self.mass.d_inv)


def linearized(
    at: Mechanism, M: Array, held: Array | None = None, more: tuple[Array, Array] | None = None
) -> Linearized:
    """All active constraints at a configuration; M: the mass matrix. Velocities that are `held` (1, else 0) have no
    part in any motion. `more`: errors and Jacobian of what else is to be met.

    Far from closed, the metric is mixed with a plain one: light bodies would spin wildly. The part of that is
    proportional to the error, so that close to the constraints it is the kinetic one.
    """
    model = at.model
    error, J = position_errors(model, at.joints, at.q, None, of_dynamics=False)
    if more is not None:
        error, J = np.concatenate([error, more[0]]), np.concatenate([J, more[1]])
    M = M.copy()
    n = range(model.nv)
    squared = error @ error
    size = np.sqrt(vector(squared))[0]
    far = choose(0.0, squared, size, 0.0) + (_LIGHTEST if model.ill_posed else 0.0)  # with a derivative at zero, too
    M[n, n] = M.diagonal() + far * _mean(M)
    moving = J
    if held is not None:
        free = 1.0 - held
        M = M * free * free[:, None]
        M[n, n] = M.diagonal() + held
        moving = J * free
    mass = ltdl(at.nodes, M)
    A, Y = delassus_of(mass, moving, [_support(row, mass.ancestors) for row in moving])
    return Linearized(error, J, mass, Y, A)


def without_opening(rows: Linearized, v: Array) -> Array:
    """v less what would open the constraints.

    Rows that vanish, or are redundant, where loops are closed are only almost so close by. Without damping they would
    hold the mechanism's own motion (the Sarrus linkage). It is relative to what a row of J of usual length would have;
    the second and third pass take back what it does to such rows.
    """
    with stage("velocity"):
        A, n = rows.A.copy(), range(len(rows.A))
        squares = vector(*(row @ row for row in rows.J))  # length of the rows
        usual = sum(squares, 0.0) * (1.0 / max(len(A), 1))
        A[n, n] = A.diagonal() * (1.0 + _DEPENDENT * usual / (squares + _TINY))
        factor = ldl_semidefinite(A)
        for _ in range(3):
            v = v - rows.motion(ldl_solve(factor, rows.J @ v))
        return v


def _support(row: Array, ancestors: list[list[int]]) -> list[int]:
    """The velocities that a row of Y = J L^-1 depends on: those that are not known to be zero, and their ancestors."""
    moving = [k for k, x in enumerate(row) if not (isinstance(x, float) and x == 0.0)]
    return sorted(set(moving).union(*(ancestors[k] for k in moving)))


def _mean(A: Array) -> Scalar:
    """Of the diagonal."""
    return sum(A.diagonal(), 0.0) * (1.0 / max(len(A), 1))
