"""The Jacobian of a frame."""

from __future__ import annotations

import numpy as np

from sarrus.errors import unknown_name
from sarrus.mechanics.bodies import joint_kinematics
from sarrus.model.bodies import WORLD, Frame
from sarrus.model.joints import Kinematics
from sarrus.model.model import Model
from sarrus.model.tree import frames_of, tree_of
from sarrus.registry.table import algorithm
from sarrus.spatial.arrays import Array
from sarrus.spatial.rotations import cross
from sarrus.spatial.stages import stage

REFERENCES = ("local", "world", "local_world_aligned")


@algorithm(outputs="J", cost="O(d)", references=("featherstone2008",))
def frame_jacobian(model: Model, q: Array, frame: str, reference: str = "local") -> Array:
    """The Jacobian J (6, nv) of a frame: J v is its velocity [linear; angular].

    reference "local": at the frame's origin, in the frame's axes; "local_world_aligned": at the frame's origin, in
    the world's axes; "world": the spatial velocity at the world's origin, in the world's axes (Pinocchio's three).
    """
    check_reference(reference)
    found = model.frame(frame)
    joints = joint_kinematics(tree_of(model), q)
    J, R, p = local_jacobian(model, joints, found)
    if reference == "local" or found.body == WORLD:
        return J
    with stage("reference"):
        linear, angular = R @ J[:3], R @ J[3:]
        if reference == "world":
            linear = np.stack([column + cross(p, angular[:, k]) for k, column in enumerate(linear.T)], axis=1)
    return np.concatenate([linear, angular])


def check_reference(reference: str) -> None:
    if reference not in REFERENCES:
        raise unknown_name("reference", reference, REFERENCES)


def local_jacobian(model: Model, joints: list[Kinematics], frame: Frame) -> tuple[Array, Array, Array]:
    """J in the frame's own axes, and the frame's pose (R, p) in the world, walking from the frame to the root."""
    nodes = tree_of(model).nodes
    T = frames_of(model)[frame.name].X
    R, p = T.R, T.p  # of the frame, in the node reached
    columns: dict[int, Array] = {}
    with stage("jacobian"):
        i = frame.body
        while i != WORLD:
            S = joints[i].S
            for k, s in enumerate(S.T):
                velocity = s[:3] + cross(s[3:], p)
                columns[nodes[i].v.start + k] = np.concatenate([R.T @ velocity, R.T @ s[3:]])
            X = joints[i].X
            p = X.point(p)
            R = np.stack([X.rotate(axis) for axis in R.T], axis=1)
            i = nodes[i].parent
    J = np.zeros((6, model.nv), dtype=np.result_type(R, p))
    for k, column in columns.items():
        J[:, k] = column
    return J, R, p
