"""Inverse dynamics with embedded constraints as a linear function of all inertial parameters."""

from __future__ import annotations

from typing import NamedTuple

from sarrus.algorithms.tree.inverse_dynamics_regressor import inward_regressors
from sarrus.mechanics.bodies import outward_motion
from sarrus.mechanics.clusters.embedded import embedded_at
from sarrus.mechanics.clusters.motors import motor_forces
from sarrus.model.model import Model
from sarrus.model.tree import tree_of
from sarrus.registry.features import Feature
from sarrus.registry.table import algorithm
from sarrus.spatial.arrays import Array
from sarrus.spatial.stacked import by_column


class EmbeddedRegressorResult(NamedTuple):
    """tau_y = Y pi, and on the motors `motors` pi; what armatures take is not part of either."""

    Y: Array  # (ny, 10 nb)
    motors: Array  # (number of motors, 10 nb)


@algorithm(
    cost="O(n d)",
    references=("chignoli2025", "gautier1990"),
    needs=Feature.EMBEDDED,
    ignores=Feature.ROWS,
)
def ce_inverse_dynamics_regressor(
    model: Model,
    q: Array,
    v: Array | None = None,
    a: Array | None = None,
    yd: Array | None = None,
    ydd: Array | None = None,
    motors: tuple[str, ...] = (),
) -> EmbeddedRegressorResult:
    """The regressor G^T Y of the forces on the independent velocities, and that of the motors, with gears and loops.

    Y is that of `inverse_dynamics_regressor` over all bodies, rotors and rods among them; arguments are those of
    `ce_rnea`.
    """
    embedded = embedded_at(model, q, v, yd, loaded=True)
    acceleration = embedded.expand(ydd, bias=True) if ydd is not None else a
    assert acceleration is not None
    tree, joints = tree_of(model), embedded.joints
    Y = inward_regressors(tree, joints, outward_motion(tree, joints, acceleration))
    reduced = by_column(embedded.reduce_force, Y)
    return EmbeddedRegressorResult(reduced, by_column(lambda f: motor_forces(model, embedded, motors, f)[0], reduced))
