"""Loops in a step on the ground: closed after it, not only in what they accelerate.

With position errors phi, J v their rate and k = -dJ/dt v, a step with velocities v+ that lasts dt ends at

    phi(q+) = phi + dt J v+ - dt^2 k / 2 + O(dt^3)

Accelerations that keep J a = k let that grow: at 1 ms, limp legs that whirl open their loops by centimetres within ten
steps. Instead J v+ takes half of phi away in every step, which leaves what the third order adds. As accelerations,

    J a = k / 2 - (J v) / dt - phi / (2 dt^2)

which is half of what Baumgarte's feedback with the time constant dt makes of k.
"""

from __future__ import annotations

from dataclasses import replace

from sarrus.mechanics.constraints.rows import KinematicState, Rows, position_errors, rows_at
from sarrus.mechanics.mechanism import Mechanism, numbered
from sarrus.model.constraints import Constraint
from sarrus.spatial.arrays import Scalar
from sarrus.spatial.extremes import larger

OPEN = 1e-4  # metres or radians by which a loop may be open without its being told


def rows_in_step(at: Mechanism, dt: Scalar) -> list[Rows]:
    """The rows of all active constraints, in order of declaration, for a step that lasts dt.

    Those with feedback or a motion of their own, or that say nothing about positions, are as they are.
    """
    constraints = [
        replace(c, stabilization=dt) if _is_closed_by_steps(c) else c  # type: ignore[arg-type]
        for c in at.model.active_constraints
    ]
    state = KinematicState.of(at.model, at.joints, at.bias, at.q, at.v)
    rows = [
        r._replace(k=0.5 * r.k) if _is_closed_by_steps(c) else r
        for r, c in zip(rows_at(state, constraints, None, "contact"), at.model.active_constraints, strict=True)
    ]
    return numbered(rows if at.embedded is None else at.embedded.rows(rows))


def _is_closed_by_steps(constraint: Constraint) -> bool:
    return constraint.stabilization is None and constraint.desired is None and not constraint.velocity_only


def opening(at: Mechanism) -> Scalar:
    """How far loops are open, in metres or radians: the worst row."""
    worst: Scalar = 0.0
    for error in position_errors(at.model, at.joints, at.q, None, of_dynamics=True)[0]:
        worst = larger(worst, abs(error))
    return worst
