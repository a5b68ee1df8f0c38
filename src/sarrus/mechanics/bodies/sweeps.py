"""The sweeps that algorithms share, on nodes.

All dynamics here are written about the *bias motion*: the motion at the given q, v with joint accelerations zero and
the base accelerating against gravity. Its forces come from one outward Newton-Euler sweep in point accelerations (no
spatial velocities, no velocity-product terms in the inward sweep); what remains is linear, `a` being the spatial
acceleration in excess of the bias motion. See docs/op_counts.md for what this saves.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from sarrus.mechanics.bodies.node_inertia import NodeInertia
from sarrus.mechanics.bodies.passage import Passage, eliminate_inertia
from sarrus.model.topology import AbstractTree
from sarrus.model.tree import Kinematics, Tree
from sarrus.spatial.arrays import Array, Scalar, matrix
from sarrus.spatial.linear_algebra import Ldl, ldl_solve
from sarrus.spatial.rotations import cross
from sarrus.spatial.stages import stage

_ZERO = np.zeros(3)


class Motion(NamedTuple):
    """How a node's frame moves, in its own axes."""

    w: Array  # (3,) angular velocity
    alpha: Array  # (3,) angular acceleration
    a: Array  # (3,) acceleration of the origin (a point at rest in a turning body has one)
    Gamma: Array  # (3, 3) alpha x + w x w x: the acceleration of the point r is a + Gamma r


def joint_kinematics(tree: Tree, q: Array, v: Array | None = None) -> list[Kinematics]:
    with stage("joints"):
        return [node.kinematics(q, v) for node in tree.nodes]


def gamma(alpha: Array, w: Array) -> Array:
    """alpha x + w x w x, each product once."""
    xx, yy, zz = w[0] * w[0], w[1] * w[1], w[2] * w[2]
    xy, xz, yz = w[0] * w[1], w[0] * w[2], w[1] * w[2]
    return matrix(
        [
            [-(yy + zz), xy - alpha[2], xz + alpha[1]],
            [xy + alpha[2], -(xx + zz), yz - alpha[0]],
            [xz - alpha[1], yz + alpha[0], -(xx + yy)],
        ]
    )


def outward_motion(tree: Tree, joints: list[Kinematics], a: Array | None = None, gravity: bool = True) -> list[Motion]:
    """Motion of every node; joint accelerations `a` (None: zero), the base accelerating against gravity."""
    base = -tree.gravity if gravity else _ZERO
    ground = Motion(_ZERO, _ZERO, base, np.zeros((3, 3)))
    motions: list[Motion] = []
    with stage("outward motion"):
        for node, (X, S, vJ, cJ) in zip(tree.nodes, joints, strict=True):
            parent = ground if node.parent < 0 else motions[node.parent]
            aJ = cJ if a is None else cJ + S @ a[node.v]
            w_parent = X.rotate_T(parent.w)
            w = w_parent + vJ[3:]
            alpha = X.rotate_T(parent.alpha) + cross(w_parent, vJ[3:]) + aJ[3:]
            # The parent's point under this origin, Coriolis' term, and the joint's own acceleration.
            origin = X.rotate_T(parent.a + parent.Gamma @ X.p) + cross(w_parent + w, vJ[:3]) + aJ[:3]
            motions.append(Motion(w, alpha, origin, gamma(alpha, w)))
    return motions


def resultant_forces(tree: Tree, motions: list[Motion], external_forces: Array | None) -> list[Array]:
    """f per node: external forces (given in body frames) minus the forces that the motion takes."""
    with stage("forces"):
        forces = [-node.inertia.force(m.Gamma, m.a) for node, m in zip(tree.nodes, motions, strict=True)]
        if external_forces is not None:
            forces = [
                f + node.body.apply_T(external_forces[i])
                for i, (node, f) in enumerate(zip(tree.nodes, forces, strict=True))
            ]
    return forces


def link_inertias(tree: Tree) -> list[NodeInertia]:
    """Of a tree of bodies."""
    return [NodeInertia((node.inertia,)) for node in tree.nodes]


class Articulated(NamedTuple):
    """What the inward sweep leaves at a node for the outward one."""

    D: Ldl  # S^T H S + armature, factored
    UD: Array  # (6, n) U D^-1
    u: Array  # (n,) tau + S^T f
    kept: Scalar | None  # `Passage.kept`


def pivots_of(parts: Sequence[Articulated]) -> dict[int, Array]:
    """The inverse pivots of every joint's D, by node."""
    return {i: part.D.d_inv for i, part in enumerate(parts)}


def eliminate_joint(p: Passage, H: Array, f: Array, tau: Array) -> tuple[Articulated, Array, Array]:
    """Eliminate the joint of a node: D, u and the articulated Ha, fa beyond it."""
    part, Ha = eliminate_inertia(p, H)
    u = tau + p.S.T @ f
    return Articulated(part.D, part.UD, u, part.kept), Ha, p.beyond(f, part.UD @ u, tau, part.kept)


def inward_articulated(
    tree: AbstractTree, passages: list[Passage], inertias: list[Array], forces: list[Array], tau: Array
) -> list[Articulated]:
    """Articulated inertias H and forces f from the leaves to the roots."""
    H, f = list(inertias), list(forces)
    parts: list[Articulated | None] = [None] * len(H)
    with stage("inward"):
        for i in range(len(H) - 1, -1, -1):
            node, p = tree.nodes[i], passages[i]
            parts[i], Ha, fa = eliminate_joint(p, H[i], f[i], tau[node.v])
            if node.parent >= 0:
                H[node.parent] = H[node.parent] + p.congruence(Ha)
                f[node.parent] = f[node.parent] + p.apply_T(fa)
    return [part for part in parts if part is not None]


def outward_acceleration(
    tree: AbstractTree, passages: list[Passage], parts: list[Articulated], held: dict[int, Array] | None = None
) -> tuple[Array, list[Array]]:
    """Joint accelerations, from the roots to the leaves, and those of the nodes in excess of the bias motion.

    held: joint forces that constraints take away from u, by node.
    """
    qdd: list[Array] = []
    a: list[Array] = []
    with stage("outward acceleration"):
        for i, (node, p, part) in enumerate(zip(tree.nodes, passages, parts, strict=True)):
            u = part.u if held is None or i not in held else part.u - held[i]
            own = ldl_solve(part.D, u)
            if node.parent < 0:
                qdd.append(own)
                a.append(p.S @ own)
            else:
                felt = p.felt(a[node.parent])
                qdd.append(own - part.UD.T @ felt)
                a.append(p.acceleration(a[node.parent], felt, qdd[-1]))
    return (np.concatenate(qdd) if qdd else np.zeros(0)), a
