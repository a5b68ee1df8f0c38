"""The equations of constrained motion at a state, factored: their solution, and what it makes of other right-hand sides

    M qdd - J^T f = tau - c        J qdd + C f = k

C is the compliance of soft methods, else zero.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sarrus.mechanics.constraints.rows import Rows
from sarrus.mechanics.mechanism import Mechanism, node_accelerations
from sarrus.mechanics.solvers.joint_space import ltdl, solve_forward, solve_transposed
from sarrus.mechanics.solvers.kkt_columns import Kkt
from sarrus.mechanics.solvers.loop_jacobian import loop_jacobian
from sarrus.mechanics.solvers.minimum_norm import MinimumNorm
from sarrus.mechanics.solvers.mobility import typical_mobilities
from sarrus.mechanics.solvers.result import if_determined, joined, proved
from sarrus.spatial.arrays import Array, Scalar
from sarrus.spatial.linear_algebra import ldl_forward, ldl_growth, ldl_solve
from sarrus.spatial.norms import if_finite
from sarrus.spatial.stacked import by_column
from sarrus.spatial.stages import stage
from sarrus.status import Status


class MotionResponse(NamedTuple):
    """The solution, and how it answers to other right-hand sides; forces of all rows, in the declared basis."""

    qdd: Array  # (nv,)
    forces: Array  # (m,)
    x: Array  # (nv, c)
    f: Array  # (m, c)
    rank: Array  # () how many rows do not depend on others
    unique: Array  # () 1 where the rows that do would be met by what meets the others of a probe, else 0
    status: Array  # () of the solution
    z: Array  # (nv,) with J z = w f, of forces of the smallest norm (`minimum_norm.py`); else zero
    along: Array  # (m, c) weights of what these vary with, in the basis of the rows; else zero


class ConstrainedMotion(NamedTuple):
    """A mechanism of bodies with its rows, and the factors."""

    at: Mechanism
    rows: list[Rows]
    kkt: Kkt

    @staticmethod
    def factored(at: Mechanism, rows: list[Rows], M: Array, compliance: list[Array] | None = None) -> ConstrainedMotion:
        """compliance: of every constraint's rows; None: all are rigid"""
        C = [np.zeros(len(r.k)) for r in rows] if compliance is None else compliance
        kkt = Kkt.factored(ltdl(at.nodes, M), *loop_jacobian(at, rows), joined(C), typical_mobilities(at.model))
        return ConstrainedMotion(at, rows, kkt)

    def solution(self, free: Array, softly: bool = False) -> tuple[Array, Array, Scalar]:
        """Accelerations, forces in the basis of the rows, and the status that they prove; free: tau - c."""
        at, rows, (factor, Y, Lambda) = self
        with stage("solution"):
            z = solve_transposed(factor, free)  # L^-T (tau - c)
            asked = Y @ (factor.d_inv * z) - joined([r.k for r in rows])
            f = -ldl_solve(Lambda, asked)
            qdd = solve_forward(factor, (z + Y.T @ f) * factor.d_inv)
            a = node_accelerations(at.nodes, qdd)
            status: Scalar = Status.OK
            if not softly:
                growth = ldl_growth(Lambda, typical_mobilities(at.model))
                status = proved(rows, [r.residual(a) for r in rows], a, growth, [asked])
            status = if_determined(status, at.model, factor.pivots(at.nodes))
            return qdd, f, if_finite(status, Status.NOT_FINITE, qdd, f)

    def declared_forces(self, f: Array) -> list[Array]:
        """Per constraint, of columns (m, c) in the basis of the rows."""
        return [by_column(r.declared_force, f[r.span], len(r.k)) for r in self.rows]

    def response(
        self,
        free: Array,
        momentum: Array,
        rows: Array,
        probe: Array,
        norm: Array | None = None,
        varied: Array | None = None,
        adjoint: bool = False,
    ) -> MotionResponse:
        """The solution, and x (nv, c), f (m, c) with M x - J^T f = momentum and J x + C f = rows, all in the declared
        basis. Forces of rows that depend on rows before them are zero, whatever these are asked for.

        free     tau - c
        probe    (m,) what rows may ask for
        norm     w (m,): instead, forces are the smallest that do the same (`minimum_norm.py`)
        varied   (m, c) by which J z - w f of these varies with both held, in the basis of the rows; it is zero
        adjoint  whether rows are weights -f_bar of such variations
        """
        qdd, lam, status = self.solution(free)
        none = np.zeros((0, rows.shape[1]))
        mine = np.concatenate([none, *(by_column(r.residual_of_declared, rows[r.span], len(r.k)) for r in self.rows)])
        shares = MinimumNorm.of(self.kkt, norm) if norm is not None and len(lam) else None
        z, along = np.zeros(len(qdd)), np.zeros(mine.shape)
        with stage("response"):
            if shares is not None:
                lam, z = shares.with_motion(self.kkt, lam)
            if shares is not None and adjoint:
                mine, along = shares.weights(mine)
            x, f, *_ = self.kkt.solve(-momentum, -mine)
            if shares is not None and not adjoint:
                f = shares.smallest(f, varied)
            asked = joined([r.residual_of_declared(probe[r.span]) for r in self.rows])
            unique = self.kkt.is_consistent(ldl_forward(self.kkt.Lambda, asked)[:, None])
        forces = joined([r.declared_force(lam[r.span]) for r in self.rows])
        of_rows = np.concatenate([none, *self.declared_forces(f)])
        rank, unique, status = (np.asarray(y, dtype=object) for y in (self.kkt.rank, unique, status))
        return MotionResponse(qdd, forces, x, of_rows, rank, unique, status, z, along)
