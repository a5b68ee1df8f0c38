"""How the velocity and the acceleration of a frame vary with positions and velocities of joints.

V and A are the spatial velocity and acceleration of the frame, V' and A' those of the link before a joint, V_j that of
the link beyond it, and J the joint's columns of the frame's Jacobian, all at the frame's origin and in its axes, which
ride along. Moving the joint is then moving all that is before it the other way:

    dV/dq = V' x J      dA/dq = A' x J + (V' x J) x (V - V')      dV/dv = dA/da = J      dA/dv = (V_j + V' - V) x J

x is the product of spatial motions. Where S depends on q, the joint's own twist and acceleration vary, too.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np

from sarrus.mechanics.bodies import joint_kinematics, outward_motion, spatial_velocities
from sarrus.model.bodies import WORLD
from sarrus.model.joints import AbstractJointType
from sarrus.model.model import Model
from sarrus.model.tree import frames_of, tree_of
from sarrus.spatial.arrays import Array
from sarrus.spatial.rotations import cross
from sarrus.spatial.stacked import by_column
from sarrus.spatial.stages import stage


class FrameVariation(NamedTuple):
    """At the frame's origin and in its axes; columns: joint velocities."""

    R: Array  # (3, 3) the frame's axes in the world
    p: Array  # (3,) and its origin
    V: Array  # (6,)
    A: Array  # (6,) without gravity
    J: Array  # (6, nv)
    V_q: Array  # (6, nv)
    A_q: Array  # (6, nv)
    A_v: Array  # (6, nv)
    J_t: Array  # (6, nv) dJ/dt


def frame_variation(model: Model, q: Array, v: Array, a: Array | None, frame: str) -> FrameVariation:
    """Of one frame, walking from it to the root. a: joint accelerations (None: zero)."""
    tree, found = tree_of(model), model.frame(frame)
    T = frames_of(model)[found.name].X
    R, p, i = T.R, T.p, found.body  # of the frame, in the node reached
    joints = joint_kinematics(tree, q, v)
    velocities = spatial_velocities(tree, joints)
    accelerations = [
        np.concatenate([m.a - cross(V[3:], V[:3]), m.alpha])
        for m, V in zip(outward_motion(tree, joints, a, gravity=False), velocities, strict=True)
    ]
    still = np.zeros(6)
    J, V_q, A_q, A_v, J_t = (np.zeros((6, model.nv), np.result_type(q, v, R, *accelerations)) for _ in range(5))
    V, A = (still, still) if i == WORLD else (_seen(R, p, x[i]) for x in (velocities, accelerations))
    V_j = V
    with stage("variation of a frame"):
        while i != WORLD:
            node, (X, S, _, _) = tree.nodes[i], joints[i]
            own = _own_motion(node.joint, q[node.q], v[node.v], None if a is None else a[node.v])
            column, twist, by_q, by_v, turning = (by_column(partial(_seen, R, p), x) for x in (S, *own))
            R, p, i = np.stack([X.rotate(axis) for axis in R.T], axis=1), X.point(p), node.parent
            V_p, A_p = (still, still) if i == WORLD else (_seen(R, p, x[i]) for x in (velocities, accelerations))
            moved, beyond = _crossed(V_p, column), V_j + V_p - V
            J[:, node.v], V_q[:, node.v] = column, moved + twist
            A_q[:, node.v] = _crossed(A_p, column) - _crossed(V - V_p, moved) + _crossed(beyond, twist) + by_q
            A_v[:, node.v] = _crossed(beyond, column) + by_v
            J_t[:, node.v] = _crossed(V_j - V, column) + turning
            V_j = V_p
    return FrameVariation(R, p, V, A, J, V_q, A_q, A_v, J_t)


def motion_cross(m: Array, n: Array) -> Array:
    """m x n of spatial motions: how n varies that rides along with m."""
    return np.concatenate([cross(m[3:], n[:3]) + cross(m[:3], n[3:]), cross(m[3:], n[3:])])


def _crossed(m: Array, columns: Array) -> Array:
    return by_column(partial(motion_cross, m), columns)


def _seen(R: Array, p: Array, m: Array) -> Array:
    """A motion of a node at a frame of it with axes R and origin p."""
    return np.concatenate([R.T @ (m[:3] + cross(m[3:], p)), R.T @ m[3:]])


def _own_motion(joint: AbstractJointType, q: Array, v: Array, a: Array | None) -> tuple[Array, Array, Array, Array]:
    """How a joint's own twist varies per position, its acceleration per position and per rate, and dS/dt: (6, n) each,
    zero where S is constant.
    """
    changes = joint.changes_of_subspace(q, v)
    if changes is None:
        zero = np.zeros((6, len(v)))
        return zero, zero, zero, zero
    of_S, of_c, of_rate = zip(*changes, strict=True)
    accelerated = of_c if a is None else [c + dS @ a for c, dS in zip(of_c, of_S, strict=True)]
    turning = sum((dS * rate for dS, rate in zip(of_S, v, strict=True)), np.zeros((6, len(v))))
    return np.stack([dS @ v for dS in of_S], axis=1), np.stack(accelerated, axis=1), np.stack(of_rate, axis=1), turning
