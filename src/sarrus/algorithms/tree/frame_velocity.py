"""How fast a frame moves."""

from __future__ import annotations

import numpy as np

from sarrus.algorithms.tree.forward_kinematics import forward_kinematics
from sarrus.algorithms.tree.frame_jacobian import check_reference
from sarrus.model.model import Model
from sarrus.registry.table import algorithm
from sarrus.spatial.arrays import Array
from sarrus.spatial.rotations import cross


@algorithm(outputs="velocity", cost="O(n)", references=("featherstone2008",))
def frame_velocity(model: Model, q: Array, v: Array, frame: str, reference: str = "local") -> Array:
    """The velocity (6,) of a frame, [linear; angular] in m/s and rad/s: J v with the J of `frame_jacobian`.

    frame      the name of a body or frame
    reference  "local": of the frame's origin, in the frame's axes; "local_world_aligned": of its origin, in the
               world's axes; "world": the spatial velocity at the world's origin, in the world's axes
    """
    check_reference(reference)
    at = forward_kinematics.text(model, q, v, frames=(frame,))
    return in_reference(reference, at.rotation[0], at.position[0], at.velocity[0])


def in_reference(reference: str, R: Array, p: Array, motion: Array) -> Array:
    """A spatial vector of motion, given in the frame whose pose is (R, p), at another place and in other axes."""
    if reference == "local":
        return motion
    linear, angular = R @ motion[:3], R @ motion[3:]
    return np.concatenate([linear + cross(p, angular) if reference == "world" else linear, angular])
