"""How a frame accelerates."""

from __future__ import annotations

import numpy as np

from sarrus.algorithms.tree.forward_kinematics import forward_kinematics
from sarrus.algorithms.tree.frame_jacobian import check_reference
from sarrus.algorithms.tree.frame_velocity import in_reference
from sarrus.model.model import Model
from sarrus.registry.table import algorithm
from sarrus.spatial.arrays import Array
from sarrus.spatial.rotations import cross


@algorithm(outputs="acceleration", cost="O(n)", references=("featherstone2008",))
def frame_acceleration(model: Model, q: Array, v: Array, a: Array, frame: str, reference: str = "local") -> Array:
    """The acceleration (6,) of a frame, [linear; angular]: J a + dJ/dt v with the J of `frame_jacobian`.

    frame      the name of a body or frame
    reference  "local" and "world": the spatial acceleration; "local_world_aligned": the acceleration of the frame's
               origin as a point, that is, the derivative of its velocity in the axes of the world. R^T linear is the
               same in the frame's axes (the reading of an accelerometer there, plus gravity)

    Gravity is not included: a robot at rest has zero acceleration.
    """
    check_reference(reference)
    at = forward_kinematics.text(model, q, v, a, (frame,))
    velocity, spatial = at.velocity[0], at.acceleration[0]
    if reference == "local_world_aligned":
        spatial = np.concatenate([spatial[:3] + cross(velocity[3:], velocity[:3]), spatial[3:]])
    return in_reference(reference, at.rotation[0], at.position[0], spatial)
