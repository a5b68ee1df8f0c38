"""The linear problem that a model poses at a state: what every method of constrained forward dynamics begins with."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from sarrus.mechanics.bodies.node_inertia import NodeInertia
from sarrus.mechanics.bodies.passage import Passage, passages_of
from sarrus.mechanics.bodies.sweeps import joint_kinematics, link_inertias, outward_motion, resultant_forces
from sarrus.mechanics.clusters.embedded import Embedded, embedded_at
from sarrus.mechanics.clusters.nodes import assemble_nodes
from sarrus.mechanics.constraints.equations import constraint_rows
from sarrus.mechanics.constraints.link_rows import link_constraints
from sarrus.mechanics.constraints.rows import Rows
from sarrus.model.model import Model
from sarrus.model.topology import AbstractTree
from sarrus.spatial.arrays import Array


class Problem(NamedTuple):
    """The linear problem that a model poses at a state, about the bias motion."""

    model: Model
    tree: AbstractTree
    passages: list[Passage]
    inertias: list[NodeInertia]
    forces: list[Array]  # resultants f per node
    tau: Array  # on the tree's velocities
    rows: list[Rows]
    spans: list[slice]  # where each constraint's rows lie among all
    embedded: Embedded | None = None  # the tree's velocities are then the independent ones

    @property
    def H(self) -> list[Array]:
        """Inertia matrices per node, before anything is eliminated."""
        return [inertia.matrix() for inertia in self.inertias]


def pose_problem(
    model: Model,
    q: Array,
    v: Array | None,
    tau: Array,
    k: Array | None,
    external_forces: Array | None,
    method: str,
    loops: bool = False,
    yd: Array | None = None,
    tau_y: Array | None = None,
    declared: bool = False,
) -> Problem:
    """The bias motion and the rows; with `loops`, of constraints of every type, else only of links against the
    world.

    declared: rows as they were declared, which costs more; least squares of rows in conflict are then those
    """
    embedded = None if model.embedding is None else embedded_at(model, q, v, yd, loaded=external_forces is not None)
    tree = model.tree if embedded is None else embedded.bodies
    v = np.zeros(model.nv) if v is None else v
    v = v if embedded is None else embedded.v
    joints = joint_kinematics(tree, q, v) if embedded is None else embedded.joints
    motions = outward_motion(tree, joints, None if embedded is None else embedded.bias())
    forces = resultant_forces(tree, motions, external_forces)
    if not loops:
        link_constraints(model, method)
    rows = constraint_rows(model, joints, motions, q, v, k, method)
    ends = np.cumsum([0, *(len(r.k) for r in rows)])
    spans = [slice(int(a), int(b)) for a, b in pairwise(ends)]
    if embedded is None:
        rows = [r.declared() for r in rows] if declared else rows
        return Problem(model, tree, passages_of(tree, joints), link_inertias(tree), forces, tau, rows, spans)
    nodes = assemble_nodes(embedded, motions, forces)
    independent = (embedded.reduce_force(tau) if tau_y is None else tau_y) + np.concatenate([np.zeros(0), *nodes.tau])
    return Problem(
        model,
        embedded.tree,
        nodes.passages,
        nodes.inertias,
        nodes.forces,
        independent,
        embedded.rows(rows),
        spans,
        embedded,
    )
