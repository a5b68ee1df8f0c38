"""What every method of constrained forward dynamics ends with: a result whose status is a proof, and what takes over.

The rows' residual is computed from the accelerations found, and measured against the accelerations that the rows see,
those without constraints included: that is what cancels in it. A mechanism that is locked in all but a wheel, which
turns fast and is not balanced, accelerates nowhere else, and the residual is what rounding leaves of large forces. The
multipliers would tell of these as well, but rows in conflict make them as large as rounding allows: an answer must not
be excused by its own size, so what it is measured against is known before it.

The balance of momentum, M qdd + c = tau + J^T f, holds by construction in all methods here, but for rounding: the
sweeps solve it for whatever multipliers there are. Rounding acts on what was added to the inertias when rows were
eliminated, K^T L^-1 K, so it grows where a pivot of L is small beside what is usual for its rows (a straight leg, whose
foot its knee cannot move). Both are told by one number, the `growth`. Checking the balance itself would cost a fifth of
a solve; this costs two operations a row.

The mass matrix itself may be singular at a state, where a joint moves nothing that has inertia along it. The pivot of a
joint is at least what its own link has about it, so only joints on links that weigh next to nothing are looked at.

Every comparison is such that what is not a number fails it.

Behind a quick method stands a robust one, which takes over the states that the quick one cannot do, in the same call.
Full-rank methods need rows that are independent of each other within a limb or a loop; a straight leg is enough to fail
them. Their status says so. The states that it names are solved again by a method that needs nothing of the kind; all
others pay nothing. Both run in one kernel, where they share what they have in common.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from sarrus.errors import unknown_name
from sarrus.mechanics.constraints.rows import Rows
from sarrus.mechanics.mechanism import Mechanism, if_regular, spanning
from sarrus.model.model import Model
from sarrus.model.well_posed import light_joints
from sarrus.registry import table as registry
from sarrus.spatial.arrays import Array, Scalar
from sarrus.spatial.choice import choose
from sarrus.spatial.norms import if_finite, root, size
from sarrus.spatial.precision import epsilon, largest, within
from sarrus.spatial.replacement import replace_where
from sarrus.spatial.stages import stage
from sarrus.status import Status


class ConstrainedDynamicsResult(NamedTuple):
    """Forces act on the robot, in the axes and at the origin of the constraint's frame (or along its rows), in the
    order of declaration: M qdd + c = tau + J^T forces. `status` is a `sarrus.Status`: OK is a proof (see above).
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
    free: Sequence[Array] = (),
    added: Scalar | None = None,
) -> ConstrainedDynamicsResult:
    """Forces (minus the multipliers) and residuals in the declared basis, and the status that follows from them.

    pivots  see `if_determined`
    growth  how much smaller than they usually are the pivots were that rows were eliminated with. Rounding grows with
            it, and what the rows' residual means for the accelerations with its root.
    free    the rows' K a - k without their multipliers, as they were when these were solved for
    added   how much larger what eliminated rows added to inertias is than these; default: the growth
    """
    status: Scalar = Status.OK
    with stage("result"):
        residuals = [r.residual(a) for r in rows]
        if rows and not soft:
            status = proved(rows, residuals, a, growth, free, added)
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
    qdd = spanning(at, qdd)
    with stage("result"):
        forces = joined([r.declared_force(-lam[r.span]) for r in rows])
        # Of what is returned, not of what it is made of: forces of short rows may overflow where multipliers do not.
        status = if_finite(if_determined(status, at.model, pivots), Status.NOT_FINITE, qdd, forces)
    status = if_regular(status, at)
    with stage("result"):
        residuals = joined([r.declared_residual(residual[r.span]) for r in rows])
        last = (np.asarray(x, dtype=object) for x in (iterations, status, 0.0))
        return ConstrainedDynamicsResult(qdd, forces, residuals, *last)


def joined(parts: Sequence[Array]) -> Array:
    """One after the other; of none, nothing."""
    return np.concatenate(parts) if parts else np.zeros(0)


TOLERANCE = 1e-8  # of the residual, relative to the accelerations that the rows see, with constraints and without
_ROBUST = 4e-11  # the same, as robust methods measure it: what leaves more is for them to say, and they stand behind
_GROWTH = 2e-7  # what rounding may grow to; near straight legs the error is about a hundredth of that


def proved(
    rows: list[Rows],
    residuals: list[Array],
    a: Sequence[Array],
    growth: Scalar,
    free: Sequence[Array],
    added: Scalar | None = None,
) -> Scalar:
    """The status of accelerations `a` that leave these residuals."""
    off, links, without = size(*residuals), 1.0 + seen_by(rows, a), size(*free)
    scale, of_robust = within(TOLERANCE, 1e3) * (links + without), within(_ROBUST, 1e3) * (links + 1e-2 * without)
    growth = 1.0 + growth  # of pivots that are all infinite it is zero
    added = growth if added is None else added
    balanced = choose(added, within(_GROWTH, 1e3) / epsilon(), Status.OK, Status.MOMENTUM_NOT_BALANCED)
    met = choose(off * root(growth), scale, balanced, Status.CONSTRAINTS_NOT_MET)
    met = choose(
        off, of_robust, met, Status.CONSTRAINTS_NOT_MET
    )  # rows in a slight conflict, say, one of them left out
    return choose(scale, largest(), met, Status.NOT_FINITE)  # beside infinity everything is small


def if_determined(status: Scalar, model: Model, pivots: Sequence[Array]) -> Scalar:
    """The status, unless a joint moves no inertia at this state. pivots: d_inv of every joint's D."""
    light = {} if model.embedding is not None else light_joints(model)
    shares = [w * d for i, usual in light.items() for w, d in zip(usual, pivots[i], strict=True)]
    return (
        choose(sum(shares, 0.0), within(_GROWTH, 1e3) / epsilon(), status, Status.NOT_DETERMINED) if shares else status
    )


def seen_by(rows: list[Rows], a: dict[int, Array] | Sequence[Array]) -> Scalar:
    """Size of the accelerations that the rows see. (Where rows are met, k is no larger.)"""
    return size(*(a[i] for i in sorted({block.node for r in rows for block in r.blocks})))


FOR_LINKS = ("prox_pv", "prox_ltl", "constrained_aba", "prox_bbo", "lcaba")
FOR_LOOPS = ("prox_ltl", "prox_bbo", "lcaba")


def with_fallback(
    first: ConstrainedDynamicsResult,
    fallback: str | None,
    robust: tuple[str, ...],
    model: Model,
    q: Array,
    v: Array,
    tau: Array,
    k: Array | None,
    external_forces: Array | None,
    **options: Any,
) -> ConstrainedDynamicsResult:
    """The result of a quick method where its status is ok, else that of the one named `fallback`, one of `robust`.

    options: of the fallback
    """
    if fallback is None or not model.active_constraints:
        return first
    if fallback not in robust:
        raise unknown_name("fallback", fallback, (*robust, "None"))
    method = registry.find(fallback)

    def make() -> tuple[Array, ...]:
        found = method.text(model, q, v, tau, k, external_forces, **options)
        return tuple(found._replace(fallback=np.asarray(1.0, dtype=object)))

    return ConstrainedDynamicsResult(*replace_where(first.status.item(), tuple(first), make))
