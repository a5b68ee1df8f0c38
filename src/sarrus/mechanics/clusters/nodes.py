"""The nodes of a cluster tree as the linear dynamics see them.

Constraint-embedding paper, eqs (13) to (20): a cluster's motion subspace S has the rows S_i G_i of its joints, carried
outward. Only bodies that others see (`ClusterNode.ports`) have a place in the node's acceleration. The others, rotors
above all, leave what they weigh in three terms, by one inward sweep over the cluster: an inertia of the coordinates
themselves (A), one that couples them with the parent's acceleration (E), and one that rides on the parent. For a rotor
on a fixed axis all three are constants.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np

from sarrus.mechanics.bodies.motion import Motion
from sarrus.mechanics.clusters.embedded import Embedded
from sarrus.mechanics.clusters.unseen import unseen_bodies
from sarrus.model.cluster_tree import ClusterNode, ClusterTree
from sarrus.model.tree import Kinematics, Tree
from sarrus.spatial.arrays import Array
from sarrus.spatial.inertia import Inertia
from sarrus.spatial.linear_algebra import symmetric_product
from sarrus.spatial.rotations import cross
from sarrus.spatial.stacked import StackedTransform, by_column
from sarrus.spatial.stages import stage
from sarrus.spatial.sums import add_to
from sarrus.spatial.transforms import Transform


class ClusterJoint(NamedTuple):
    """A node of a cluster tree at a state; the letters are those of `mechanism.Node`."""

    X: Transform | StackedTransform
    S: Array
    A: Array
    E: Array
    C: Array
    bodies: tuple[Inertia, ...]
    f: Array
    tau: Array  # (n,) forces of unseen bodies on its velocities


def assemble_nodes(embedded: Embedded, bias: list[Motion], forces: list[Array]) -> list[ClusterJoint]:
    """The nodes of a cluster tree from its bodies, their bias motion and the resultant forces on them."""
    clusters, tree, joints = embedded.tree, embedded.bodies, embedded.joints
    riders: dict[int, Inertia] = {}  # by body: what rides on it
    extra: dict[int, Array] = {}  # by body: the force of that
    found: list[tuple[Transform | StackedTransform, Array, Array, Array, Array, Array]] = []
    with stage("clusters"):
        for number, node in enumerate(clusters.nodes):
            if node.cluster is None:
                (body,) = node.ports
                S, A = joints[body].S, np.diag(tree.nodes[body].armature)
                X = _stacked((joints[body].X,), node, clusters)
                found.append(
                    (X, S, A, np.zeros(S.shape), np.zeros((_parent_size(node, clusters), node.m)), np.zeros(node.m))
                )
                continue
            motion = embedded.motions[number]
            steps = {i: joints[i].S @ motion.G[motion.rows_of(tree.nodes[i].v)] for i in node.cluster.bodies}
            unseen = unseen_bodies(node, embedded, motion, steps, bias, forces)
            for body, inertia in unseen.riders.items():
                add_to(riders, body, inertia)
            for body, force in unseen.forces.items():
                add_to(extra, body, force)
            poses, S = _ports(node, tree, joints, steps)
            armature = np.concatenate([tree.nodes[i].armature for i in node.cluster.bodies])
            A = symmetric_product(motion.G.T * armature, motion.G) + unseen.A
            on_first = by_column(partial(_onto, poses[0]), unseen.C)
            E = np.concatenate([on_first, np.zeros((len(S) - 6, node.m))])
            tau = unseen.tau - motion.G.T @ (armature * motion.g)
            C = np.zeros((_parent_size(node, clusters), node.m), dtype=unseen.C.dtype)
            C[6 * node.at : 6 * node.at + 6] = unseen.C
            found.append((_stacked(poses, node, clusters), S, A, E, C, tau))
    nodes = []
    for node, (X, S, A, E, C, tau) in zip(clusters.nodes, found, strict=True):
        bodies = tuple(tree.nodes[b].inertia + riders[b] if b in riders else tree.nodes[b].inertia for b in node.ports)
        f = np.concatenate([forces[b] + extra[b] if b in extra else forces[b] for b in node.ports])
        nodes.append(ClusterJoint(X, S, A, E, C, bodies, f, tau))
    return nodes


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


def _onto(X: Transform, f: Array) -> Array:
    """A force on the parent as one on the node: X^-T f."""
    return np.concatenate([X.rotate_T(f[:3]), X.rotate_T(f[3:] - cross(X.p, f[:3]))])


def _stacked(X: tuple[Transform, ...], node: ClusterNode, tree: ClusterTree) -> Transform | StackedTransform:
    of = _parent_size(node, tree) // 6
    return X[0] if len(X) == of == 1 else StackedTransform(X, node.at, of)


def _parent_size(node: ClusterNode, tree: ClusterTree) -> int:
    return 6 if node.parent < 0 else tree.nodes[node.parent].size
