"""What every method of constrained forward dynamics ends with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from sarrus.mechanics.clusters.embedded import SINGULAR
from sarrus.mechanics.constraints.rows import Rows
from sarrus.mechanics.mechanism import Mechanism
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
    at: Mechanism,
    rows: list[Rows],
    qdd: Array,
    a: Sequence[Array],
    lam: Array,
    pivots: Sequence[Array],
    soft: bool = False,
    growth: Scalar = 1.0,
) -> ConstrainedDynamicsResult:
    """Forces (minus the multipliers) and residuals in the declared basis, and the status that follows from them.

    pivots  see `if_determined`
    growth  how much smaller than they usually are the pivots were that rows were eliminated with. Rounding grows with
            it, and what the rows' residual means for the accelerations with its root.
    """
    status: Scalar = Status.OK
    with stage("result"):
        residuals = [r.residual(a) for r in rows]
        if rows and not soft:
            status = proved(rows, residuals, a, growth)
    return result_with_status(at, rows, qdd, lam, joined(residuals), 0.0, status, pivots)


def result_with_status(
    at: Mechanism,
    rows: list[Rows],
    qdd: Array,
    lam: Array,
    residual: Array,
    iterations: Scalar,
    status: Scalar,
    pivots: Sequence[Array],
) -> ConstrainedDynamicsResult:
    """Forces and residuals in the declared basis, where it is known whether rows are met and momentum balances."""
    with stage("result"):
        status = if_finite(if_determined(status, at.model, pivots), qdd, lam)
    qdd, status = spanning(at, qdd, status)
    with stage("result"):
        return ConstrainedDynamicsResult(
            qdd,
            joined([r.declared_force(-lam[r.span]) for r in rows]),
            joined([r.declared_residual(residual[r.span]) for r in rows]),
            *(np.asarray(x, dtype=object) for x in (iterations, status, 0.0)),
        )


def spanning(at: Mechanism, ydd: Array, status: Scalar) -> tuple[Array, Scalar]:
    """Accelerations of all joints from those of the tree, and the status, which tells of a singular cluster."""
    if at.embedded is None:
        return ydd, status
    with stage("clusters"):
        qdd = at.embedded.expand(ydd, bias=True)
        return qdd, choose(SINGULAR, at.embedded.regularity(), status, Status.CLUSTER_SINGULAR)


def joined(parts: Sequence[Array]) -> Array:
    """One after the other; of none, nothing."""
    return np.concatenate(parts) if parts else np.zeros(0)
