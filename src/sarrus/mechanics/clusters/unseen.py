"""The bodies of a cluster that nothing else sees: rotors, rods and cranks.

They have no place in the node's acceleration. What they weigh is left in three terms, by one inward sweep over the
cluster: an inertia of the independent velocities themselves (A), one that couples them with the acceleration of the
output body (C), and one that rides on it, or on a seen body.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sarrus.mechanics.bodies.motion import Motion
from sarrus.mechanics.clusters.embedded import Embedded
from sarrus.mechanics.clusters.motion import ClusterMotion
from sarrus.model.bodies import WORLD
from sarrus.model.cluster_tree import ClusterNode
from sarrus.model.tree import Node
from sarrus.spatial.arrays import Array, Scalar
from sarrus.spatial.inertia import Inertia
from sarrus.spatial.linear_algebra import symmetric_product
from sarrus.spatial.rotations import cross
from sarrus.spatial.stacked import by_column, columns_T
from sarrus.spatial.sums import add_to


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
