"""What every method of constrained forward dynamics begins and ends with."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from sarrus.algorithms.all_rows import all_rows
from sarrus.algorithms.cluster_passages import assemble_nodes
from sarrus.algorithms.constraint_rows import constraint_rows
from sarrus.algorithms.embedded import SINGULAR, Embedded, embedded_at
from sarrus.algorithms.node_inertia import NodeInertia
from sarrus.algorithms.passage import Passage, passages_of
from sarrus.algorithms.proof import if_finite, proved
from sarrus.algorithms.rows import Rows
from sarrus.algorithms.sweeps import joint_kinematics, link_inertias, outward_motion, resultant_forces
from sarrus.model.model import Model
from sarrus.model.topology import AbstractTree
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


class Problem(NamedTuple):
    """The linear problem that a model poses at a state, about the bias motion."""

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
) -> Problem:
    """The bias motion and the rows; with `loops`, of constraints of every type, else only of links against the
    world.
    """
    embedded = None if model.embedding is None else embedded_at(model, q, v, yd, loaded=external_forces is not None)
    tree = model.tree if embedded is None else embedded.bodies
    v = np.zeros(model.nv) if v is None else v
    v = v if embedded is None else embedded.v
    joints = joint_kinematics(tree, q, v) if embedded is None else embedded.joints
    motions = outward_motion(tree, joints, None if embedded is None else embedded.bias())
    forces = resultant_forces(tree, motions, external_forces)
    if loops:
        rows = all_rows(model, joints, motions, q, v, k, method)
    else:
        rows = constraint_rows(model, joints, motions, k, method)
    ends = np.cumsum([0, *(len(r.k) for r in rows)])
    spans = [slice(int(a), int(b)) for a, b in pairwise(ends)]
    if embedded is None:
        return Problem(tree, passages_of(tree, joints), link_inertias(tree), forces, tau, rows, spans)
    nodes = assemble_nodes(embedded, motions, forces)
    independent = (embedded.reduce_force(tau) if tau_y is None else tau_y) + _joined(nodes.tau)
    return Problem(
        embedded.tree, nodes.passages, nodes.inertias, nodes.forces, independent, embedded.rows(rows), spans, embedded
    )


def result(
    problem: Problem,
    qdd: Array,
    a: list[Array],
    lam: list[Array],
    soft: bool = False,
    iterations: Scalar = 0.0,
    growth: Scalar = 1.0,
) -> ConstrainedDynamicsResult:
    """Forces (minus the multipliers) and residuals in the declared basis, and the status that follows from them.

    growth: how much smaller than they usually are the pivots were that rows were eliminated with. Rounding grows with
    it, and what the rows' residual means for the accelerations with its root.
    """
    rows = problem.rows
    status: Scalar = Status.OK
    with stage("result"):
        residuals = [r.residual(a) for r in rows]
        if rows and not soft:
            status = proved(rows, residuals, a, growth)
    return result_with_status(problem, qdd, lam, residuals, iterations, status)


def result_with_status(
    problem: Problem, qdd: Array, lam: list[Array], residuals: list[Array], iterations: Scalar, status: Scalar
) -> ConstrainedDynamicsResult:
    """Forces and residuals in the declared basis, where it is known whether rows are met and momentum balances."""
    with stage("result"):
        status = if_finite(status, qdd, *lam)
    qdd, status = spanning(problem, qdd, status)
    with stage("result"):
        forces = [r.declared_force(-x) for r, x in zip(problem.rows, lam, strict=True)]
        declared = [r.declared_residual(x) for r, x in zip(problem.rows, residuals, strict=True)]
        return ConstrainedDynamicsResult(
            qdd,
            _joined(forces),
            _joined(declared),
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


def _joined(parts: list[Array]) -> Array:
    return np.concatenate(parts) if parts else np.zeros(0)
