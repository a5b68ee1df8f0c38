"""The rows of every constraint of a model, whatever its type, in the order of declaration."""

from __future__ import annotations

import numpy as np

from sarrus.errors import UnsupportedError
from sarrus.mechanics.bodies.frames import frame_in_node, spatial_velocities
from sarrus.mechanics.bodies.motion import Motion
from sarrus.mechanics.bodies.relative_motion import Relative, Side, relative
from sarrus.mechanics.constraints.center_of_mass_rows import center_of_mass_rows
from sarrus.mechanics.constraints.closure_rows import closure_rows
from sarrus.mechanics.constraints.coupling_rows import coupling_rows, distance_rows
from sarrus.mechanics.constraints.link_rows import constraint_rows
from sarrus.mechanics.constraints.rows import Rows
from sarrus.model.bodies import WORLD
from sarrus.model.constraints import CenterOfMass, Constraint, Coupling, Distance, LinkConstraint, LoopClosure
from sarrus.model.model import Model
from sarrus.model.tree import Kinematics, tree_of
from sarrus.spatial.arrays import Array
from sarrus.spatial.stages import stage


def all_rows(
    model: Model, joints: list[Kinematics], motions: list[Motion], q: Array, v: Array, k: Array | None, method: str
) -> list[Rows]:
    """Rows of links against the world, loop closures, couplings, distances and of the centre of mass."""
    desired = _inputs(model, k, method)
    of_links = [c for c in model.active_constraints if isinstance(c, LinkConstraint)]
    of_their_own = [desired[c] for c in of_links if c.takes_input]
    links = iter(
        constraint_rows(
            model, joints, motions, np.concatenate(of_their_own) if of_their_own else None, method, of_links
        )
    )
    with stage("constraint rows"):
        velocities = spatial_velocities(tree_of(model), joints)
        rows = []
        for constraint in model.active_constraints:
            if isinstance(constraint, LinkConstraint):
                rows.append(next(links))
            elif isinstance(constraint, Coupling):
                rows.append(coupling_rows(constraint, model, joints, q, v))
            elif isinstance(constraint, LoopClosure):
                rows.append(closure_rows(constraint, between(model, constraint, joints, motions, velocities)))
            elif isinstance(constraint, Distance):
                rows.append(distance_rows(constraint, between(model, constraint, joints, motions, velocities)))
            elif isinstance(constraint, CenterOfMass):
                wanted = desired[constraint] if constraint.takes_input else constraint.desired
                wanted = np.zeros(constraint.size) if wanted is None else wanted
                rows.append(center_of_mass_rows(constraint, model, joints, motions, v, wanted))
            else:
                raise UnsupportedError(
                    f"{method}: constraint {constraint.name!r} is a {type(constraint).__name__}: not supported"
                )
    return rows


def _inputs(model: Model, k: Array | None, method: str) -> dict[Constraint, Array]:
    """The accelerations that are given at run time, by constraint."""
    found, used = {}, 0
    for constraint in (c for c in model.active_constraints if c.takes_input):
        if k is None:
            raise UnsupportedError(f'constraint {constraint.name!r} was declared with k="input": {method} needs k')
        found[constraint] = k[used : used + constraint.size]
        used += constraint.size
    return found


def between(
    model: Model,
    constraint: LoopClosure | Distance,
    joints: list[Kinematics],
    motions: list[Motion],
    velocities: list[Array],
) -> Relative:
    """Frame b seen from frame a."""
    a, b = (_side(model, name, motions, velocities) for name in (constraint.frame_a, constraint.frame_b))
    if a.node == b.node == WORLD:
        raise UnsupportedError(
            f"constraint {constraint.name!r}: both of its frames are on the world, which does not move"
        )
    return relative(tree_of(model), joints, a, b)


def _side(model: Model, name: str, motions: list[Motion], velocities: list[Array]) -> Side:
    frame = model.frame(name)
    X = frame_in_node(tree_of(model), frame)
    if frame.body == WORLD:
        # The world accelerates against gravity, as everything does in the bias motion.
        still = Motion(np.zeros(3), np.zeros(3), -tree_of(model).gravity, np.zeros((3, 3)))
        return Side(WORLD, X.p, X.R, np.zeros(6), still)
    return Side(frame.body, X.p, X.R, velocities[frame.body], motions[frame.body])
