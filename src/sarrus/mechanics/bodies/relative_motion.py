"""How one node moves as seen from another: what the rows of a loop closure are made of."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sarrus.mechanics.bodies.motion import Motion
from sarrus.model.bodies import WORLD
from sarrus.model.topology import AbstractTree
from sarrus.model.tree import Kinematics, Tree
from sarrus.spatial.arrays import Array
from sarrus.spatial.rotations import cross


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
        return self.R @ (self.b.axes @ direction)


def relative(tree: Tree, joints: list[Kinematics], a: Side, b: Side) -> Relative:
    """Pose of b in a, by way of their nearest common ancestor only."""
    path_a, path_b = path_to_root(tree, a.node), path_to_root(tree, b.node)
    while path_a and path_b and path_a[-1] == path_b[-1]:
        path_a.pop()
        path_b.pop()
    R_b, p_b = _pose(joints, path_b, b.p)
    R_a, origin_a = _pose(joints, path_a, np.zeros(3))
    return Relative(a, b, R_a.T @ R_b, R_a.T @ (p_b - origin_a))


def path_to_root(tree: AbstractTree, node: int) -> list[int]:
    """From a node to its root."""
    path = []
    while node != WORLD:
        path.append(node)
        node = tree.nodes[node].parent
    return path


def _pose(joints: list[Kinematics], path: list[int], p: Array) -> tuple[Array, Array]:
    """Axes of the first node of the path, and its point p, in the parent of the last."""
    R = np.eye(3)
    for i in path:
        X = joints[i].X
        R = np.stack([X.rotate(axis) for axis in R.T], axis=1)
        p = X.point(p)
    return R, p
