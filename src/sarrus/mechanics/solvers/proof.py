"""Whether a result of constrained dynamics is right: finite, rows met, momentum balanced.

The rows' residual is computed from the accelerations found. The balance of momentum, M qdd + c = tau + J^T f, holds by
construction in all methods here, but for rounding: the sweeps solve it for whatever multipliers there are. Rounding
acts on what was added to the inertias when rows were eliminated, K^T L^-1 K, so it grows where a pivot of L is small
beside what is usual for its rows (a straight leg, whose foot its knee cannot move). Both are told by one number, the
`growth`. Checking the balance itself would cost a fifth of a solve; this costs two operations a row.

The mass matrix itself may be singular at a state, where a joint moves nothing that has inertia along it. The pivot of a
joint is at least what its own link has about it, so only joints on links that weigh next to nothing are looked at.

Every comparison is such that what is not a number fails it.
"""

from __future__ import annotations

from collections.abc import Sequence

from sarrus.mechanics.constraints.rows import Rows
from sarrus.model.model import Model
from sarrus.model.well_posed import light_joints
from sarrus.spatial.arrays import Array, Scalar
from sarrus.spatial.choice import choose
from sarrus.spatial.norms import root, size, total
from sarrus.spatial.precision import epsilon, largest, within
from sarrus.status import Status

TOLERANCE = 1e-8  # of the residual, relative to the accelerations that the rows see
_GROWTH = 2e-7  # what rounding may grow to; near straight legs the error is about a hundredth of that


def proved(rows: list[Rows], residuals: list[Array], a: Sequence[Array], growth: Scalar) -> Scalar:
    """The status of accelerations `a` that leave these residuals."""
    off, scale = size(*residuals), within(TOLERANCE, 1e3) * (1.0 + seen_by(rows, a))
    growth = 1.0 + growth  # of pivots that are all infinite it is zero
    balanced = choose(growth, within(_GROWTH, 1e3) / epsilon(), Status.OK, Status.MOMENTUM_NOT_BALANCED)
    return choose(off * root(growth), scale, balanced, Status.CONSTRAINTS_NOT_MET)


def if_determined(status: Scalar, model: Model, pivots: Sequence[Array]) -> Scalar:
    """The status, unless a joint moves no inertia at this state. pivots: d_inv of every joint's D."""
    light = {} if model.embedding is not None else light_joints(model)
    shares = [w * d for i, usual in light.items() for w, d in zip(usual, pivots[i], strict=True)]
    return (
        choose(sum(shares, 0.0), within(_GROWTH, 1e3) / epsilon(), status, Status.NOT_DETERMINED) if shares else status
    )


def if_finite(status: Scalar, *arrays: Array) -> Scalar:
    """The status, unless a number is not finite."""
    return choose(abs(total(*arrays)), largest(), status, Status.NOT_FINITE)


def seen_by(rows: list[Rows], a: dict[int, Array] | Sequence[Array]) -> Scalar:
    """Size of the accelerations that the rows see. (Where rows are met, k is no larger.)"""
    return size(*(a[i] for i in sorted({block.node for r in rows for block in r.blocks})))
