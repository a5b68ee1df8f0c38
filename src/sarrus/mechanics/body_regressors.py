"""What moves a body is linear in its ten inertial parameters: the matrices, in the frame that the user sees.

Parameters are in Pinocchio's order: m, m cx, m cy, m cz, Ixx, Ixy, Iyy, Ixz, Iyz, Izz, moments about the origin of the
body's frame.
"""

from __future__ import annotations

import numpy as np

from sarrus.mechanics.bodies import Motion, gamma
from sarrus.model.tree import Node
from sarrus.spatial.arrays import Array, matrix
from sarrus.spatial.rotations import cross, skew

PARAMETERS = ("m", "mx", "my", "mz", "Ixx", "Ixy", "Iyy", "Ixz", "Iyz", "Izz")  # of a body


def in_body_frame(node: Node, motion: Motion) -> Motion:
    """The motion of the origin and in the axes of the frame that the user sees."""
    X = node.body
    w, alpha = X.rotate_T(motion.w), X.rotate_T(motion.alpha)
    return Motion(w, alpha, X.rotate_T(motion.a + motion.Gamma @ X.p), gamma(alpha, w))


def force_regressor(motion: Motion) -> Array:
    """(6, 10): [m a + Gamma h; h x a + I alpha + w x I w] = Y pi."""
    w, alpha, a, Gamma = motion
    turning = inertia_times(alpha) + np.stack([cross(w, column) for column in inertia_times(w).T], axis=1)
    force = np.concatenate([a[:, None], Gamma, np.zeros((3, 6))], axis=1)
    moment = np.concatenate([np.zeros((3, 1)), -skew(a), turning], axis=1)  # h x a = -a x h
    return np.concatenate([force, moment])


def inertia_times(w: Array) -> Array:
    """(3, 6): I w as a function of the six moments of inertia."""
    x, y, z = w
    return matrix([[x, y, 0.0, z, 0.0, 0.0], [0.0, x, y, 0.0, z, 0.0], [0.0, 0.0, 0.0, x, y, z]])
