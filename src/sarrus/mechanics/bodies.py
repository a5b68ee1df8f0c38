"""How bodies move: joints at a state, the bias motion and the forces that it takes, frames, one body seen from another.

All dynamics here are written about the *bias motion*: the motion at the given q, v with joint accelerations zero and
the base accelerating against gravity. Its forces come from one outward Newton-Euler sweep in point accelerations (no
spatial velocities, no velocity-product terms in the inward sweep); what remains is linear, `a` being the spatial
acceleration in excess of the bias motion. See docs/op_counts.md for what this saves.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from sarrus.errors import UnsupportedError
from sarrus.model.joints import Kinematics
from sarrus.model.model import Model
from sarrus.model.tree import Tree, tree_of
from sarrus.spatial.arrays import Array, matrix
from sarrus.spatial.product import product
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
        return [n.joint.kinematics(n.fixed, n.offset, q[n.q], None if v is None else v[n.v]) for n in tree.nodes]


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


def outward_motion(
    tree: Tree,
    joints: list[Kinematics],
    a: Array | None = None,
    gravity: bool = True,
    on: Motion | None = None,
) -> list[Motion]:
    """Motion of every node; joint accelerations `a` (None: zero), the base accelerating against gravity.

    on  how that moves which the tree stands on; default: the world
    """
    base = -tree.gravity if gravity else _ZERO
    ground = Motion(_ZERO, _ZERO, base, np.zeros((3, 3)))
    if on is not None:
        ground = on
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


def world_poses(tree: Tree, joints: list[Kinematics]) -> list[tuple[Array, Array]]:
    """(R, p) of every node in the world."""
    poses: list[tuple[Array, Array]] = []
    with stage("poses"):
        for node, (X, _, _, _) in zip(tree.nodes, joints, strict=True):
            if node.parent < 0:
                poses.append((X.R, X.p))
            else:
                R, p = poses[node.parent]
                # Rows of R turn like directions seen from the child: R_child = R X.R
                poses.append((np.stack([X.rotate_T(row) for row in R]), p + R @ X.p))
    return poses


def spatial_velocities(tree: Tree, joints: list[Kinematics]) -> list[Array]:
    """[v; w] of every node, in its own frame."""
    velocities: list[Array] = []
    with stage("velocities"):
        for node, (X, _, vJ, _) in zip(tree.nodes, joints, strict=True):
            velocities.append(vJ if node.parent < 0 else X.apply(velocities[node.parent]) + vJ)
    return velocities


class Side(NamedTuple):
    """One of the two nodes (or the world) that a closure connects, with the closure's frame on it."""

    node: int
    p: Array  # (3,) the frame's origin in the node
    axes: Array  # (3, 3) the frame's axes in the node, as columns
    velocity: Array  # (6,) of the node
    motion: Motion  # of the node, in the bias motion

    def point_velocity(self, p: Array) -> Array:
        """Of the node's point p."""
        return self.velocity[:3] + cross(self.velocity[3:], p)

    def point_acceleration(self, p: Array) -> Array:
        return self.motion.a + self.motion.Gamma @ p


class Relative(NamedTuple):
    """Side b seen from side a; everything in the axes of node a."""

    a: Side
    b: Side
    R: Array  # (3, 3) node b's axes in node a
    s: Array  # (3,) b's frame origin in node a

    @property
    def offset(self) -> Array:
        """From a's frame origin to b's."""
        return self.s - self.a.p

    @property
    def w(self) -> Array:
        """Relative angular velocity."""
        return self.R @ self.b.velocity[3:] - self.a.velocity[3:]

    @property
    def alpha(self) -> Array:
        """Relative angular acceleration of the bias motion, as seen in the turning node a."""
        w = self.w
        return self.R @ self.b.motion.alpha - self.a.motion.alpha - cross(self.a.velocity[3:], w)

    @property
    def v(self) -> Array:
        """Velocity of b's origin as seen from node a."""
        return self.R @ self.b.point_velocity(self.b.p) - self.a.point_velocity(self.s)

    @property
    def acceleration(self) -> Array:
        """Acceleration of b's origin in the bias motion, as seen from node a."""
        coriolis = 2.0 * cross(self.a.velocity[3:], self.v)
        return self.R @ self.b.point_acceleration(self.b.p) - self.a.point_acceleration(self.s) - coriolis

    def turned(self, direction: Array) -> Array:
        """A direction fixed in b's frame, in the axes of node a."""
        return product(self.R, product(self.b.axes, direction))


def relative(tree: Tree, joints: list[Kinematics], a: Side, b: Side) -> Relative:
    """Pose of b in a, by way of their nearest common ancestor only."""
    path_a, path_b = tree.paths[a.node], tree.paths[b.node]
    while path_a and path_b and path_a[-1] == path_b[-1]:
        path_a, path_b = path_a[:-1], path_b[:-1]
    R_b, p_b = _pose(joints, path_b, b.p)
    R_a, origin_a = _pose(joints, path_a, np.zeros(3))
    return Relative(a, b, product(R_a.T, R_b), product(R_a.T, p_b - origin_a))


def _pose(joints: list[Kinematics], path: Sequence[int], p: Array) -> tuple[Array, Array]:
    """Axes of the first node of the path, and its point p, in the parent of the last."""
    R = np.eye(3)
    for i in path:
        X = joints[i].X
        R = np.stack([X.rotate(axis) for axis in R.T], axis=1)
        p = X.point(p)
    return R, p


def center(model: Model, poses: list[tuple[Array, Array]]) -> Array:
    """The centre of mass in the world, from the poses of the nodes."""
    if model.is_numeric and model.mass == 0.0:
        raise UnsupportedError(f"model {model.name!r} has no mass, so it has no centre of mass")
    return total_first_moment(tree_of(model), poses) * (1.0 / model.mass)


def total_first_moment(tree: Tree, poses: list[tuple[Array, Array]]) -> Array:
    """Sum of m c over all bodies, in the world; with what the first joints share with the ground."""
    h = tree.ground.h
    with stage("first moment"):
        for node, (R, p) in zip(tree.nodes, poses, strict=True):
            h = h + R @ node.inertia.h + node.inertia.mass * p
    return h
