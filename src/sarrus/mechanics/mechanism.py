"""A mechanism at a state: nodes, each a body or a cluster of bodies with one joint, as the linear dynamics see them.

All dynamics are written about the *bias motion*: the motion at the given q and v with joint accelerations zero and the
base accelerating against gravity (`bodies.py`). What remains is linear: with `a` the spatial acceleration of a
node in excess of the bias motion,

    a = X a_parent + S qdd        and the node costs        a^T H a / 2 - f^T a  +  qdd^T A qdd / 2 - tau^T qdd

A is armature; of a cluster also what its bodies weigh that nothing else sees (rotors, rods), which leave in addition a
coupling qdd^T E^T X a_parent.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from sarrus.mechanics.bodies import Motion, joint_kinematics, outward_motion, resultant_forces
from sarrus.mechanics.clusters.embedded import SINGULAR, Embedded, embedded_at
from sarrus.mechanics.clusters.nodes import assemble_nodes
from sarrus.mechanics.constraints.link_rows import row_matrices
from sarrus.mechanics.constraints.rows import Block, Rows, constraint_rows
from sarrus.model.joints import Kinematics
from sarrus.model.model import Model
from sarrus.model.topology import AbstractTree
from sarrus.model.tree import Tree, tree_of
from sarrus.spatial.arrays import Array, Scalar
from sarrus.spatial.choice import choose
from sarrus.spatial.inertia import Inertia
from sarrus.spatial.linear_algebra import Ldl, ldl, ldl_solve
from sarrus.spatial.stacked import StackedTransform
from sarrus.spatial.stages import stage
from sarrus.spatial.transforms import Transform
from sarrus.status import Status


class Node(NamedTuple):
    """A body or a cluster with its joint, at a state. s: six numbers per body that others see; n: its velocities."""

    parent: int  # -1: the world
    v: slice  # where its velocities lie among all
    X: Transform | StackedTransform
    S: Array  # (s, n)
    A: Array  # (n, n)
    E: Array  # (s, n)
    C: Array  # (s_parent, n) X^T E
    bodies: tuple[Inertia, ...]  # what it weighs: the bodies that others see, and what is fixed to them
    H: Array  # (s, s) the same as a matrix
    f: Array  # (s,) external forces less those that the bias motion takes
    tau: Array  # (n,)


class Mechanism(NamedTuple):
    """A model at a state; its tree is one of bodies, or of clusters where constraints are embedded."""

    model: Model
    tree: AbstractTree
    nodes: list[Node]
    joints: list[Kinematics]  # of all bodies
    bias: list[Motion]  # likewise
    q: Array
    v: Array
    embedded: Embedded | None


def mechanism(
    model: Model,
    q: Array,
    v: Array | None = None,
    tau: Array | None = None,
    external_forces: Array | None = None,
    yd: Array | None = None,
    tau_y: Array | None = None,
    spanning: bool = False,
) -> Mechanism:
    """The mechanism at q and v (None: at rest). Without tau it has no forces, and no bias motion.

    yd, tau_y  with embedded constraints, in place of v and tau: those of the independent velocities
    spanning   every body is a node, although constraints are embedded
    """
    free = tau is None and tau_y is None
    tau = np.zeros(model.nv) if tau is None else tau
    dtype = np.result_type(q, float)
    if model.embedding is None or spanning:
        tree, v = tree_of(model), np.zeros(model.nv) if v is None else v
        joints = joint_kinematics(tree, q, v)
        bias, forces = ([], _none(tree)) if free else _bias(tree, joints, None, external_forces)
        nodes = []
        for b, j, f in zip(tree.nodes, joints, forces, strict=True):
            A, none, H = np.diag(b.armature), np.zeros(j.S.shape), _matrix((b.inertia,), dtype)
            nodes.append(Node(b.parent, b.v, j.X, j.S, A, none, none, (b.inertia,), H, f, tau[b.v]))
        return Mechanism(model, tree, nodes, joints, bias, q, v, None)
    e = embedded_at(model, q, v, yd, loaded=external_forces is not None)
    bias, forces = ([], _none(e.bodies)) if free else _bias(e.bodies, e.joints, e.bias(), external_forces)
    on_joints = e.reduce_force(tau) if tau_y is None else tau_y
    nodes = []
    for n, c in zip(e.tree.nodes, assemble_nodes(e, bias, forces), strict=True):
        H = _matrix(c.bodies, dtype)
        nodes.append(Node(n.parent, n.v, c.X, c.S, c.A, c.E, c.C, c.bodies, H, c.f, on_joints[n.v] + c.tau))
    return Mechanism(model, e.tree, nodes, e.joints, bias, q, e.v, e)


def _bias(
    tree: Tree, joints: list[Kinematics], a: Array | None, external_forces: Array | None
) -> tuple[list[Motion], list[Array]]:
    """The bias motion, in which joints accelerate by `a`, and the forces that are left."""
    bias = outward_motion(tree, joints, a)
    return bias, resultant_forces(tree, bias, external_forces)


def _none(tree: Tree) -> list[Array]:
    return [np.zeros(6)] * len(tree.nodes)


def _matrix(bodies: tuple[Inertia, ...], dtype: np.dtype) -> Array:
    """H of several bodies, block diagonal. In an array of symbols numbers are constants of the robot."""
    H = np.zeros((6 * len(bodies), 6 * len(bodies)), dtype=np.result_type(dtype, *(b.matrix() for b in bodies)))
    for k, body in enumerate(bodies):
        H[6 * k : 6 * k + 6, 6 * k : 6 * k + 6] = body.matrix()
    return H


def rows_of(at: Mechanism, k: Array | None, method: str, declared: bool = False) -> list[Rows]:
    """Of all active constraints, in order of declaration.

    declared: rows of links as they were declared, which costs more; least squares of rows in conflict are then those
    """
    rows = constraint_rows(at.model, at.joints, at.bias, at.q, at.v, k, method)
    if at.embedded is not None:
        rows = at.embedded.rows(rows)
    elif declared:
        rows = [r.declared() for r in rows]
    return numbered(rows)


def rows_of_links(at: Mechanism, method: str) -> list[Rows]:
    """The matrices K of constraints of links against the world, all that their Delassus matrix needs; k is zero."""
    found = row_matrices(at.model)
    rows = [Rows((Block(body, K),), np.zeros(len(K))) for body, K in found]
    return numbered(rows if at.embedded is None else at.embedded.rows(rows))


def numbered(rows: Sequence[Rows]) -> list[Rows]:
    """Rows that know where they lie among all."""
    out, start = [], 0
    for r in rows:
        out.append(r._replace(span=slice(start, start + len(r.k))))
        start += len(r.k)
    return out


class Eliminated(NamedTuple):
    """A joint that was eliminated."""

    D: Ldl  # S^T H S + A, factored
    U: Array  # (s, n) H S + E
    UD: Array  # (s, n) U D^-1


def eliminate(node: Node, H: Array) -> Eliminated:
    """The joint of a node whose articulated inertia is H."""
    HS = H @ node.S
    D, U = ldl(node.S.T @ HS + node.A), HS + node.E
    return Eliminated(D, U, ldl_solve(D, U.T).T)


def node_accelerations(nodes: list[Node], qdd: Array) -> list[Array]:
    """Of every node, in excess of the bias motion."""
    a: list[Array] = []
    for node in nodes:
        own = node.S @ qdd[node.v]
        a.append(own if node.parent < 0 else node.X.apply(a[node.parent]) + own)
    return a


def spanning(at: Mechanism, ydd: Array) -> Array:
    """Accelerations of all joints from those of the tree."""
    if at.embedded is None:
        return ydd
    with stage("clusters"):
        return at.embedded.expand(ydd, bias=True)


def if_regular(status: Scalar, at: Mechanism) -> Scalar:
    """The status, unless an embedded cluster is singular at this state."""
    if at.embedded is None:
        return status
    with stage("clusters"):
        return choose(SINGULAR, at.embedded.regularity(), status, Status.CLUSTER_SINGULAR)
