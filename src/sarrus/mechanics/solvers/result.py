"""What every method of constrained forward dynamics ends with."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sarrus.mechanics.clusters.embedded import SINGULAR
from sarrus.mechanics.problem import Problem
from sarrus.mechanics.solvers.proof import if_determined, if_finite, proved
from sarrus.spatial.arrays import Array, Scalar
from sarrus.spatial.choice import choose
from sarrus.spatial.stages import stage
from sarrus.status import Status


class ConstrainedDynamicsResult(NamedTuple):
    """Forces act on the robot, in the axes and at the origin of the constraint's frame (or along its rows), in the
    order of declaration: M qdd + c = tau + J^T forces. `status` is a `sarrus.Status`: OK is a proof (`proof.py`).
    """

    qdd: Array  # (nv,)
    forces: Array  # (m,)
    residual: Array  # (m,) K a - k in the declared rows
    iterations: Array  # ()
    status: Array  # ()
    fallback: Array  # () 1 where the method named as `fallback` gave the answer, else 0


def result(
    problem: Problem,
    qdd: Array,
    a: list[Array],
    lam: list[Array],
    soft: bool = False,
    iterations: Scalar = 0.0,
    growth: Scalar = 1.0,
    pivots: dict[int, Array] | None = None,
) -> ConstrainedDynamicsResult:
    """Forces (minus the multipliers) and residuals in the declared basis, and the status that follows from them.

    growth: how much smaller than they usually are the pivots were that rows were eliminated with. Rounding grows with
    it, and what the rows' residual means for the accelerations with its root. pivots: see `if_determined`.
    """
    rows = problem.rows
    status: Scalar = Status.OK
    with stage("result"):
        residuals = [r.residual(a) for r in rows]
        if rows and not soft:
            status = proved(rows, residuals, a, growth)
    return result_with_status(problem, qdd, lam, residuals, iterations, status, pivots)


def result_with_status(
    problem: Problem,
    qdd: Array,
    lam: list[Array],
    residuals: list[Array],
    iterations: Scalar,
    status: Scalar,
    pivots: dict[int, Array] | None = None,
) -> ConstrainedDynamicsResult:
    """Forces and residuals in the declared basis, where it is known whether rows are met and momentum balances."""
    with stage("result"):
        status = status if pivots is None else if_determined(status, problem.model, pivots)
        status = if_finite(status, qdd, *lam)
    qdd, status = spanning(problem, qdd, status)
    with stage("result"):
        forces = [r.declared_force(-x) for r, x in zip(problem.rows, lam, strict=True)]
        declared = [r.declared_residual(x) for r, x in zip(problem.rows, residuals, strict=True)]
        return ConstrainedDynamicsResult(
            qdd,
            joined(forces),
            joined(declared),
            np.asarray(iterations, dtype=object),
            np.asarray(status, dtype=object),
            np.asarray(0.0, dtype=object),
        )


def spanning(problem: Problem, ydd: Array, status: Scalar) -> tuple[Array, Scalar]:
    """Accelerations of all joints from those of the tree, and the status, which tells of a singular cluster."""
    if problem.embedded is None:
        return ydd, status
    with stage("clusters"):
        qdd = problem.embedded.expand(ydd, bias=True)
        return qdd, choose(SINGULAR, problem.embedded.regularity(), status, Status.CLUSTER_SINGULAR)


def joined(parts: list[Array]) -> Array:
    """One after the other; of none, nothing."""
    return np.concatenate(parts) if parts else np.zeros(0)
