"""Poses and velocities of bodies, and frames on them."""

from __future__ import annotations

import numpy as np

from sarrus.model.bodies import WORLD, Frame
from sarrus.model.tree import Kinematics, Tree
from sarrus.spatial.arrays import Array
from sarrus.spatial.stages import stage
from sarrus.spatial.transforms import Transform


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


def frame_in_node(model_tree: Tree, frame: Frame) -> Transform:
    """A frame's pose in the computational frame of its body (in the world, for a frame on the world)."""
    on_body = frame.placement.transform
    return on_body if frame.body == WORLD else model_tree.nodes[frame.body].body @ on_body
