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

from sarrus.mechanics.bodies import Motion
from sarrus.mechanics.clusters.embedded import ClusterMotion, Embedded
from sarrus.model.bodies import WORLD
from sarrus.model.cluster_tree import ClusterNode, ClusterTree
from sarrus.model.joints import Kinematics
from sarrus.model.tree import Node, Tree
from sarrus.spatial.arrays import Array, Scalar, add_to
from sarrus.spatial.inertia import Inertia
from sarrus.spatial.linear_algebra import symmetric_product
from sarrus.spatial.rotations import cross
from sarrus.spatial.stacked import StackedTransform, by_column, columns_T
from sarrus.spatial.stages import stage
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


class Unseen(NamedTuple):
    """What the bodies of a cluster that nothing else sees leave behind."""

    A: Array  # (n, n)
    C: Array  # (6, n) on the output body
    riders: dict[int, Inertia]  # by body that is seen, or the output body
    forces: dict[int, Array]  # (6,) likewise
    tau: Array  # (n,)


def unseen_bodies(
    node: ClusterNode,
    embedded: Embedded,
    motion: ClusterMotion,
    steps: dict[int, Array],
    bias: list[Motion],
    forces: list[Array],
) -> Unseen:
    """One inward sweep. At body i, with a its acceleration and s ydd that of its joint, the unseen bodies from there on
    cost a^T H a / 2 + a^T F ydd + ydd^T A ydd / 2 - f^T a - tau^T ydd; and a = X a_parent + s ydd.
    """
    assert node.cluster is not None
    tree, joints = embedded.bodies, embedded.joints
    n, output = node.m, node.cluster.output
    riders: dict[int, Inertia] = {}
    riding: dict[int, Array] = {}
    A, tau = np.zeros((n, n)), np.zeros(n)
    H: dict[int, Inertia] = {}
    F: dict[int, Array] = {}
    f: dict[int, Array] = {}
    for i in reversed(node.cluster.bodies):
        X, s, parent = joints[i].X, steps[i], tree.nodes[i].parent
        if i in tree.spins:
            carrier = None if not bias or parent == WORLD else bias[parent]
            row = motion.rows_of(tree.nodes[i].v)[0]
            spin = _spinning(tree.nodes[i], tree.spins[i], carrier, motion.G[row], motion.g[row], embedded.v)
            A, tau = A + spin.A, tau + spin.tau
            add_to(F, parent, spin.C)
            if carrier is not None:
                add_to(f, parent, spin.forces[parent])
            continue
        if i in node.ports:  # what it carries rides on it
            riders |= {i: H.pop(i)} if i in H else {}
            riding |= {i: f.pop(i)} if i in f else {}
        else:
            add_to(H, i, tree.nodes[i].inertia)
            add_to(f, i, forces[i])
        if i in H:
            Hs = by_column(H[i].momentum, s)
            A = A + symmetric_product(s.T, Hs)
            add_to(H, parent, H[i].transformed(X))
            add_to(F, parent, columns_T(X, Hs))
        if i in F:
            A = A + (s.T @ F[i] + F[i].T @ s)
            add_to(F, parent, columns_T(X, F[i]))
        if i in f:
            tau = tau + s.T @ f[i]
            add_to(f, parent, X.apply_T(f[i]))
    if output != WORLD:
        riders |= {output: H[output]} if output in H else {}
        riding |= {output: f[output]} if output in f else {}
    return Unseen(A, F.get(output, np.zeros((6, n))), riders, riding, tau)


def _spinning(rotor: Node, J: float, carrier: Motion | None, G: Array, g: Scalar, v: Array) -> Unseen:
    """A rotor that rides on its carrier spins beside that: its momentum J (e . w + G yd) along its axis e.

    The carrier feels J d/dt (e G yd), the rotor's coordinate J (e . alpha + d/dt G yd).
    """
    e = rotor.fixed.rotate(np.array([0.0, 0.0, 1.0]))
    C = np.concatenate([np.zeros((3, len(G))), np.outer(e, J * G)])
    A = J * np.outer(G, G)
    if carrier is None:
        return Unseen(A, C, {}, {}, -(J * g) * G)
    moment = cross(carrier.w, (J * v[rotor.v][0]) * e) + (J * g) * e
    force = {rotor.parent: np.concatenate([np.zeros(3), -moment])}
    return Unseen(A, C, {}, force, -(J * (e @ carrier.alpha + g)) * G)
