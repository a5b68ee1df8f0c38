"""Inverse dynamics with embedded constraints: the constraint-embedding recursive Newton-Euler algorithm."""

from __future__ import annotations

from typing import NamedTuple

from sarrus.algorithms.tree.rnea import armature_of, inward_forces
from sarrus.mechanics.bodies import outward_motion, resultant_forces
from sarrus.mechanics.clusters.embedded import embedded_at
from sarrus.mechanics.clusters.motors import motor_forces
from sarrus.model.model import Model
from sarrus.model.tree import tree_of
from sarrus.registry.features import Feature
from sarrus.registry.table import algorithm
from sarrus.spatial.arrays import Array


class EmbeddedForcesResult(NamedTuple):
    """tau_y = W^T motors + missing, W being how fast each motor turns per independent velocity."""

    tau_y: Array  # (ny,) on the independent velocities
    motors: Array  # (number of motors,)
    missing: Array  # (ny,) what no motor can give: of a floating base, all of it


@algorithm(
    cost="O(n)",
    references=("chignoli2025", "luh1980"),
    needs=Feature.EMBEDDED,
    ignores=Feature.ROWS,
)
def ce_rnea(
    model: Model,
    q: Array,
    v: Array | None = None,
    a: Array | None = None,
    yd: Array | None = None,
    ydd: Array | None = None,
    external_forces: Array | None = None,
    motors: tuple[str, ...] = (),
) -> EmbeddedForcesResult:
    """Forces on the independent velocities, and those of motors, for an acceleration (embedding paper, section V).

    Newton and Euler outward and inward over all bodies; then G^T maps the forces on all joints to the independent
    velocities.

    a or ydd  accelerations of all joints (which must respect the constraints), or of the independent ones
    motors    what is actuated: names of joints, and of embedded loop closures whose joint turns or slides. If a cluster
              has more motors than degrees of freedom, their forces are a least-squares solution.
    """
    embedded = embedded_at(model, q, v, yd, loaded=external_forces is not None)
    acceleration = embedded.expand(ydd, bias=True) if ydd is not None else a
    assert acceleration is not None
    tree, joints = tree_of(model), embedded.joints
    motions = outward_motion(tree, joints, acceleration)
    forces = resultant_forces(tree, motions, external_forces)
    tau = inward_forces(tree, joints, forces) + armature_of(tree) * acceleration
    tau_y = embedded.reduce_force(tau)
    given, missing = motor_forces(model, embedded, motors, tau_y)
    return EmbeddedForcesResult(tau_y, given, missing)
