"""How bodies move: the joints at a state, and the bias motion with the forces that it takes.

All dynamics here are written about the *bias motion*: the motion at the given q, v with joint accelerations zero and
the base accelerating against gravity. Its forces come from one outward Newton-Euler sweep in point accelerations (no
spatial velocities, no velocity-product terms in the inward sweep); what remains is linear, `a` being the spatial
acceleration in excess of the bias motion. See docs/op_counts.md for what this saves.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sarrus.model.tree import Kinematics, Tree
from sarrus.spatial.arrays import Array, matrix
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
