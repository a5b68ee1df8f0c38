"""How rows that depend on each other share a load: by forces of the smallest norm, and how these vary.

Where J^T N = 0, forces f and f + N c do the same. The smallest of them in the norm |f|^2 = f^T w f, w > 0 a constant of
each row, has N^T w f = 0, that is w f = J z for some z. Both conditions have derivatives, while the rank stays: with
dJ^T N + J^T dN = 0,

    N^T w df = -dN^T w f = -dN^T J z = N^T dJ z

so that of any df which the equations of motion allow, the one that belongs to the smallest forces is

    df - N S^-1 N^T (w df - dJ z)        S = N^T w N

The proximal methods and `lcaba` converge to these forces, w being the mobilities of the rows: each step changes the
multipliers by mu (K a - k), mu ~ 1 / w, and what is in the range of J / w has no part along N.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sarrus.mechanics.derivatives.constraint_variation import sharing_equations
from sarrus.mechanics.solvers.joint_space import solve_forward
from sarrus.mechanics.solvers.kkt_columns import Kkt
from sarrus.mechanics.solvers.mobility import typical_mobilities
from sarrus.model.independent import reported_rows
from sarrus.model.model import Model
from sarrus.spatial.arrays import Array, vector
from sarrus.spatial.choice import choose
from sarrus.spatial.linear_algebra import Ldl, ldl, ldl_backward, ldl_semidefinite, ldl_solve, symmetric_product


def norm_of(model: Model) -> Array:
    """(m,) w of all rows. Embedded ones have none: methods solve for the others, and these forces are the smallest."""
    w = np.zeros(model.spanning.n_rows)
    w[list(reported_rows(model))] = typical_mobilities(model)
    return w


def sharing(model: Model, forces: Array, z: Array, **at: Array) -> tuple[Array]:
    """What is zero of these forces: J z - w f (m,), in the basis of the rows; at: q, v, tau, ..."""
    return (sharing_equations(model.spanning, at["q"], at.get("k"), forces, z, norm_of(model)),)


class MinimumNorm(NamedTuple):
    """Of rows that are factored: the null space of J^T, and the norm in it."""

    N: Array  # (m, m) a column for each row that depends on rows before it, else zeros
    S: Ldl  # of N^T w N; the identity for the other rows
    w: Array  # (m,)

    @staticmethod
    def of(kkt: Kkt, w: Array) -> MinimumNorm:
        """w: of all rows of the factors (`norm_of`)"""
        # J M^-1 J^T = L D L^T, with D = 0 for rows that depend on those before: there, L^T n = e_j.
        depends = vector(*(choose(0.0, pivot, 0.0, 1.0) for pivot in kkt.Lambda.d_inv))
        N = ldl_backward(kkt.Lambda, np.diag(depends))
        S = symmetric_product(N.T * w, N) + np.diag(1.0 - depends)
        # Embedded rows may depend on each other alone: S is singular then, and what is unique is the rest.
        return MinimumNorm(N, ldl(S) if np.all(w > 0.0) else ldl_semidefinite(S, np.full(len(w), w.max())), w)

    def smallest(self, f: Array, dJ_z: Array | None = None) -> Array:
        """Forces (m, k) that do what these do; or variations of such, dJ_z (m, j) being those of J z in the first."""
        excess = (f.T * self.w).T
        if dJ_z is not None:
            excess[:, : dJ_z.shape[1]] = excess[:, : dJ_z.shape[1]] - dJ_z
        return f - self.N @ ldl_solve(self.S, self.N.T @ excess)

    def weights(self, f_bar: Array) -> tuple[Array, Array]:
        """What weights (m, k) of the variations of the smallest forces are for those of any others that do the same,
        and for those of J z: `smallest`, transposed.
        """
        along = self.N @ ldl_solve(self.S, self.N.T @ f_bar)
        return f_bar - (along.T * self.w).T, along

    def with_motion(self, kkt: Kkt, f: Array) -> tuple[Array, Array]:
        """The smallest forces (m,) that do what f does, and z (nv,) with J z = w f of these."""
        f = self.smallest(f)
        y = ldl_solve(kkt.Lambda, self.w * f)
        return f, solve_forward(kkt.mass, kkt.mass.d_inv * (kkt.Y.T @ y))
