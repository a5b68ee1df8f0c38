"""What every type of constraint asks of the bodies: one table, and the functions that read it.

A new type is a class in `model/constraints`, a file here with its two functions, and a line in `EQUATIONS`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from sarrus.errors import UnsupportedError
from sarrus.mechanics.bodies.motion import Motion, outward_motion
from sarrus.mechanics.constraints.center_of_mass_rows import center_of_mass_error, center_of_mass_rows
from sarrus.mechanics.constraints.coupling_rows import coupling_error, coupling_rows
from sarrus.mechanics.constraints.kinematic_state import KinematicState
from sarrus.mechanics.constraints.link_rows import contact_rows, link_error, link_rows
from sarrus.mechanics.constraints.loop_rows import loop_error, loop_rows
from sarrus.mechanics.constraints.rows import Rows
from sarrus.model.constraints import CenterOfMass, Constraint, Contact, Coupling, Distance, LinkRows, LoopClosure
from sarrus.model.model import Model
from sarrus.model.tree import Kinematics, tree_of
from sarrus.spatial.arrays import Array
from sarrus.spatial.stages import stage


class Equations(NamedTuple):
    """Of one type of constraint, at a state.

    rows   (constraint, state, desired): rows on the accelerations of nodes, which are to be `desired` (m,)
    error  (constraint, state, of_dynamics): position error (m,) and Jacobian J (m, nv). Where they differ, J is that of
           the dynamics, or the one for which J^T error is the gradient of half the squared error
    """

    rows: Callable[[Any, KinematicState, Array], Rows]
    error: Callable[[Any, KinematicState, bool], tuple[Array, Array]]


EQUATIONS: dict[type[Constraint], Equations] = {
    Contact: Equations(contact_rows, link_error),
    LinkRows: Equations(link_rows, link_error),
    LoopClosure: Equations(loop_rows, loop_error),
    Distance: Equations(loop_rows, loop_error),
    Coupling: Equations(coupling_rows, coupling_error),
    CenterOfMass: Equations(center_of_mass_rows, center_of_mass_error),
}


def constraint_rows(
    model: Model, joints: list[Kinematics], motions: list[Motion], q: Array, v: Array, k: Array | None, method: str
) -> list[Rows]:
    """The rows of all active constraints, in the order of declaration.

    motions  the bias motion
    k        accelerations of those that were declared with k="input", one after the other
    """
    if not model.active_constraints:
        return []
    with stage("constraint rows"):
        at = KinematicState.of(model, joints, motions, q, v)
        return rows_at(at, model.active_constraints, k, method)


def rows_at(
    at: KinematicState, constraints: Sequence[Constraint], k: Array | None = None, method: str = ""
) -> list[Rows]:
    """The rows of some constraints."""
    rows, used = [], 0
    for constraint in constraints:
        desired = np.zeros(constraint.size) if constraint.desired is None else constraint.desired
        if constraint.takes_input:
            if k is None:
                raise UnsupportedError(f'constraint {constraint.name!r} was declared with k="input": {method} needs k')
            desired = k[used : used + constraint.size]
            used += constraint.size
        rows.append(_equations(constraint, method).rows(constraint, at, desired))
    return rows


def position_errors(
    model: Model, joints: list[Kinematics], q: Array, v: Array | None, of_dynamics: bool
) -> tuple[Array, Array]:
    """Position errors (m,) and the Jacobian (m, nv) of all active constraints, embedded ones among them.

    Rotations are measured by their angle, not its sine, which is also zero after half a turn.
    """
    at = KinematicState.of(
        model, joints, outward_motion(tree_of(model), joints), q, np.zeros(model.nv) if v is None else v
    )
    with stage("constraint rows"):
        parts = [_equations(c, "closure").error(c, at, of_dynamics) for c in model.spanning.active_constraints]
    errors, jacobians = zip(*parts, strict=True) if parts else ((np.zeros(0),), (np.zeros((0, model.nv)),))
    return np.concatenate(errors), np.concatenate(jacobians)


def _equations(constraint: Constraint, method: str) -> Equations:
    if type(constraint) not in EQUATIONS:
        raise UnsupportedError(
            f"{method}: constraint {constraint.name!r} is a {type(constraint).__name__}: not supported. Valid: "
            f"{', '.join(known.__name__ for known in EQUATIONS)}"
        )
    return EQUATIONS[type(constraint)]
