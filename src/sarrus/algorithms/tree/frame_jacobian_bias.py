"""What a frame's acceleration has beyond J qdd."""

from __future__ import annotations

import numpy as np

from sarrus.algorithms.tree.frame_jacobian import check_reference, local_jacobian
from sarrus.mechanics.bodies import joint_kinematics, outward_motion, spatial_velocities
from sarrus.model.bodies import WORLD
from sarrus.model.model import Model
from sarrus.model.tree import frames_of, tree_of
from sarrus.registry.table import algorithm
from sarrus.spatial.arrays import Array
from sarrus.spatial.rotations import cross


@algorithm(outputs="Jdot_v", cost="O(n)", references=("featherstone2008",))
def frame_jacobian_bias(model: Model, q: Array, v: Array, frame: str, reference: str = "local") -> Array:
    """dJ/dt v (6,), for the J of `frame_jacobian` in the same reference.

    local and world: the spatial acceleration at qdd = 0; local_world_aligned: the acceleration of the frame's origin
    as a point (the derivative of its velocity in the world's axes), and the angular acceleration.
    """
    check_reference(reference)
    found = model.frame(frame)
    if found.body == WORLD:
        return np.zeros(6)
    tree = tree_of(model)
    joints = joint_kinematics(tree, q, v)
    motion = outward_motion(tree, joints, gravity=False)[found.body]
    velocity = spatial_velocities(tree, joints)[found.body]
    T = frames_of(model)[frame].X
    spatial = T.apply(np.concatenate([motion.a - cross(velocity[3:], velocity[:3]), motion.alpha]))
    if reference == "local":
        return spatial
    at_frame = T.apply(velocity)
    _, R, p = local_jacobian(model, joints, found)
    if reference == "local_world_aligned":
        point = spatial[:3] + cross(at_frame[3:], at_frame[:3])
        return np.concatenate([R @ point, R @ spatial[3:]])
    linear, angular = R @ spatial[:3], R @ spatial[3:]
    return np.concatenate([linear + cross(p, angular), angular])
