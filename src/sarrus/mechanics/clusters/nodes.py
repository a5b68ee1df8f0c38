"""The nodes of a cluster tree as the linear dynamics see them.

Constraint-embedding paper, eqs (13) to (20): a cluster's motion subspace S has the rows S_i G_i of its joints, carried
outward. Only bodies that others see (`ClusterNode.ports`) have a place in the node's acceleration. The others, rotors
above all, leave what they weigh in three terms, by one inward sweep over the cluster: an inertia of the coordinates
themselves (A), one that couples them with the parent's acceleration (C), and one that rides on the parent. For a rotor
on a fixed axis all three are constants.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np

from sarrus.mechanics.bodies.node_inertia import NodeInertia
from sarrus.mechanics.bodies.passage import Passage, passage_of, unit_rows
from sarrus.mechanics.bodies.sweeps import Motion
from sarrus.mechanics.clusters.embedded import Embedded
from sarrus.mechanics.clusters.unseen import unseen_bodies
from sarrus.model.cluster_tree import ClusterNode, ClusterTree
from sarrus.model.tree import Kinematics, Tree
from sarrus.spatial.arrays import Array
from sarrus.spatial.choice import AbstractScalar
from sarrus.spatial.inertia import Inertia
from sarrus.spatial.linear_algebra import symmetric_product
from sarrus.spatial.rotations import cross
from sarrus.spatial.stacked import StackedTransform, by_column
from sarrus.spatial.stages import stage
from sarrus.spatial.sums import add_to
from sarrus.spatial.transforms import Transform


class Assembled(NamedTuple):
    """A cluster tree at a state."""

    passages: list[Passage]
    inertias: list[NodeInertia]
    forces: list[Array]  # resultants per node
    tau: list[Array]  # forces of unseen bodies on each node's velocities


def assemble_nodes(embedded: Embedded, bias: list[Motion] | None, forces: list[Array]) -> Assembled:
    """Passages, inertias and forces of a cluster tree from those of its bodies; `bias`: the bias motion, if any."""
    clusters, tree, joints = embedded.tree, embedded.bodies, embedded.joints
    riders: dict[int, Inertia] = {}  # by body: what rides on it
    extra: dict[int, Array] = {}  # by body: the force of that
    passages: list[Passage] = []
    tau: list[Array] = []
    with stage("clusters"):
        for number, node in enumerate(clusters.nodes):
            if node.cluster is None:
                (body,) = node.ports
                plain = passage_of(tree.nodes[body], joints[body])
                passages.append(plain._replace(X=_stacked((joints[body].X,), node, clusters)))
                tau.append(np.zeros(node.m))
                continue
            motion = embedded.motions[number]
            steps = {i: joints[i].S @ motion.G[motion.rows_of(tree.nodes[i].v)] for i in node.cluster.bodies}
            unseen = unseen_bodies(node, embedded, motion, steps, bias, forces)
            for body, inertia in unseen.riders.items():
                add_to(riders, body, inertia)
            for body, force in unseen.forces.items():
                add_to(extra, body, force)
            X, S = _ports(node, tree, joints, steps)
            armature = np.concatenate([tree.nodes[i].armature for i in node.cluster.bodies])
            A = symmetric_product(motion.G.T * armature, motion.G) + unseen.A
            passages.append(_passage(X, S, A, unseen.C, node, clusters))
            tau.append(unseen.tau - motion.G.T @ (armature * motion.g))
    bodies = [
        [tree.nodes[b].inertia + riders[b] if b in riders else tree.nodes[b].inertia for b in n.ports]
        for n in clusters.nodes
    ]
    total = [[forces[b] + extra[b] if b in extra else forces[b] for b in n.ports] for n in clusters.nodes]
    return Assembled(passages, [NodeInertia(tuple(x)) for x in bodies], [np.concatenate(f) for f in total], tau)


def _ports(
    node: ClusterNode, tree: Tree, joints: list[Kinematics], steps: dict[int, Array]
) -> tuple[tuple[Transform, ...], Array]:
    """Poses of the seen bodies in the output body, and S: eqs (13) to (15)."""
    assert node.cluster is not None
    X: dict[int, Transform] = {}
    S: dict[int, Array] = {}
    wanted = set()
    for i in node.ports:
        while i in node.cluster.bodies:
            wanted.add(i)
            i = tree.nodes[i].parent
    for i in node.cluster.bodies:
        if i not in wanted:
            continue
        parent = tree.nodes[i].parent
        X[i], S[i] = joints[i].X, steps[i]
        if parent in X:
            X[i] = X[parent] @ X[i]
            S[i] = by_column(joints[i].X.apply, S[parent]) + S[i]
    return tuple(X[i] for i in node.ports), np.concatenate([S[i] for i in node.ports])


def _passage(X: tuple[Transform, ...], S: Array, A: Array, C: Array, node: ClusterNode, tree: ClusterTree) -> Passage:
    stacked = _stacked(X, node, tree)
    if isinstance(stacked, Transform):
        E = by_column(partial(_onto, stacked), C)
        if all(not isinstance(x, AbstractScalar) for x in E.flat) and len(X) == 1 and len(S.T) == 1:
            return Passage(stacked, S, A, _along(S, E), None, E.astype(float))
    of = 1 if node.parent < 0 else len(tree.nodes[node.parent].ports)
    placed = C if of == 1 else np.concatenate([C if k == node.at else np.zeros(C.shape) for k in range(of)])
    return Passage(stacked, S, A, (), placed)


def _along(S: Array, E: Array) -> tuple[int, ...]:
    """The unit rows of S, if the coupling E lies in them too."""
    rows = unit_rows(S)
    return rows if not np.delete(E, rows, axis=0).any() else ()


def _onto(X: Transform, f: Array) -> Array:
    """A force on the parent as one on the node: X^-T f."""
    return np.concatenate([X.rotate_T(f[:3]), X.rotate_T(f[3:] - cross(X.p, f[:3]))])


def _stacked(X: tuple[Transform, ...], node: ClusterNode, tree: ClusterTree) -> Transform | StackedTransform:
    of = 1 if node.parent < 0 else len(tree.nodes[node.parent].ports)
    return X[0] if len(X) == of == 1 else StackedTransform(X, node.at, of)
