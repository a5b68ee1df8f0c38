"""Joint types: how many numbers, which motion, how to step along it.

A joint type is written in its *canonical frame*: the axis of a revolute, prismatic, helical, cylindrical or
planar joint is z; a universal joint turns about x, then about the moved y. `computational_frames.py` chooses body
frames in which that is true, so the motion subspace S is made of zeros and ones.

| type               | q                   | v                                            |
|--------------------|---------------------|----------------------------------------------|
| revolute, continuous | angle             | its rate                                     |
| prismatic          | distance            | its rate                                     |
| helical            | angle               | its rate; advances `pitch` metres per radian |
| cylindrical        | angle, distance     | their rates                                  |
| universal          | two angles          | their rates                                  |
| planar             | x, y, angle         | vx, vy, wz in the body frame                 |
| translation        | x, y, z             | their rates                                  |
| spherical          | quaternion xyzw     | angular velocity in the body frame           |
| free               | x y z, quaternion   | [linear; angular] velocity in the body frame |
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sarrus.spatial.arrays import Array, Scalar, each, matrix, vector
from sarrus.spatial.inertia import Inertia
from sarrus.spatial.rotations import (
    conjugate,
    displacement_screw,
    exp_quaternion,
    log_quaternion,
    multiply_quaternions,
    quaternion_rates,
    rotate_by_quaternion,
    rotation_from_quaternion,
    screw_displacement,
    sinc,
    unit,
)
from sarrus.spatial.transforms import AbstractFactor, Dense, Shift, Transform, Turn


class Kinematics(NamedTuple):
    """What a joint does at (q, v), between a node and its parent."""

    X: Transform  # this node's frame in the parent's
    S: Array  # (6, m) motion subspace
    vJ: Array  # (6,) S v
    cJ: Array  # (6,) dS/dt v, apparent in this frame


class AbstractJointType(ABC):
    """What every joint type answers. Motion methods run on floats and symbols; state methods on float batches
    (`integrate` and `difference` on symbols, too)."""

    name: str
    nq: int
    nv: int
    n_axes = 0  # how many axis vectors a user gives
    quaternion_at: int | None = None  # where in q a unit quaternion starts
    moves: tuple[int, ...] = ()  # which components of the spatial velocity v is, where S is constant
    angles: tuple[int, ...] = ()  # which elements of q are angles
    free_about_axis = True  # may the body frame be turned about z, and slid along it, without changing q's meaning?

    @property
    def constants(self) -> tuple[Scalar, ...]:
        """What else the type depends on, such as a pitch."""
        return ()

    @abstractmethod
    def factors(self, q: Array) -> tuple[AbstractFactor, ...]:
        """The pose of the moved frame in the joint's fixed frame."""

    def subspace(self, q: Array) -> Array:
        """S (6, nv): joint velocity to spatial velocity, in the moved frame."""
        return np.eye(6)[:, self.moves]

    def bias(self, q: Array, v: Array) -> Array:
        """cJ (6,): dS/dt v, in the moved frame. Zero where S is constant."""
        return np.zeros(6)

    def changes_of_subspace(self, q: Array, v: Array) -> list[tuple[Array, Array, Array]] | None:
        """Where S depends on q (None: it does not), per freedom: how S (6, nv) and cJ (6,) vary with its position, and
        cJ with its rate.
        """
        return None

    def kinematics(self, fixed: Transform, offset: Scalar, q: Array, v: Array | None = None) -> Kinematics:
        """X, S, vJ, cJ (v None: at rest). fixed: the joint's fixed frame in the parent; offset: added to the angle."""
        q = vector(*q)  # a float among symbols counts as a number
        if offset != 0.0:
            q = np.concatenate([q[:1] + offset, q[1:]])
        X, S = fixed @ Transform(self.factors(q)), self.subspace(q)
        if v is None:
            return Kinematics(X, S, np.zeros(6), np.zeros(6))
        return Kinematics(X, S, S @ v, self.bias(q, v))

    def shareable(self, inertia: Inertia) -> Inertia:
        """The part of a body's inertia that feels the joint's motion as little as the parent does.

        It can be moved to the parent without changing the dynamics (the base parameters of identification),
        which leaves zeros in this body's inertia.
        """
        return Inertia.zero()

    # --- states: arrays (..., nq) and (..., nv) of floats -----------------------------------------------

    def neutral(self) -> Array:
        """Zeros, and the quaternion of no rotation."""
        return np.zeros(self.nq) if self.quaternion_at is None else np.eye(self.nq)[-1]

    def random(self, rng: np.random.Generator, lower: Array, upper: Array, size: tuple[int, ...]) -> Array:
        """Uniform within limits, and over rotations."""
        n = self.nq if self.quaternion_at is None else self.quaternion_at
        q = rng.uniform(lower[:n], upper[:n], size=(*size, n))
        if self.quaternion_at is None:
            return q
        quaternion = rng.normal(size=(*size, 4))
        return np.concatenate([q, quaternion / np.linalg.norm(quaternion, axis=-1, keepdims=True)], axis=-1)

    def integrate(self, q: Array, v: Array) -> Array:
        return q + v

    def rate_map(self, q: Array) -> Array:
        """N (nq, nv) with dq/dt = N v, of one state: how q changes along `integrate`. Floats or symbols."""
        return np.eye(self.nq)

    def difference(self, q0: Array, q1: Array) -> Array:
        return q1 - q0

    def normalize(self, q: Array) -> Array:
        """q with a quaternion of length one."""
        at = self.quaternion_at
        return q if at is None else np.concatenate([q[..., :at], unit(q[..., at:])], axis=-1)


def _axial_second_moment(inertia: Inertia) -> Inertia:
    """A mass distribution along z with the body's second moment there: no inertia about z."""
    only_zz = np.diag([0.0, 0.0, 1.0])
    return Inertia(0.0, np.zeros(3), inertia.Sigma * only_zz)


class Revolute(AbstractJointType):
    name, nq, nv, n_axes = "revolute", 1, 1, 1
    angles = (0,)
    moves = (5,)

    def factors(self, q):
        return (Turn(2, np.cos(q)[0], np.sin(q)[0]),)

    def shareable(self, inertia):
        on_axis = Inertia(inertia.mass, inertia.h * np.array([0.0, 0.0, 1.0]), np.zeros((3, 3)))
        return on_axis + _axial_second_moment(inertia)


class Continuous(Revolute):
    name = "continuous"


class Prismatic(AbstractJointType):
    name, nq, nv, n_axes = "prismatic", 1, 1, 1
    moves = (2,)

    def factors(self, q):
        return (Shift(vector(0.0, 0.0, q[0])),)

    def shareable(self, inertia):
        return Inertia(0.0, np.zeros(3), inertia.Sigma)


@dataclass(frozen=True)
class Helical(AbstractJointType):
    pitch: Scalar = 0.0
    name, nq, nv, n_axes = "helical", 1, 1, 1
    angles = (0,)

    @property
    def constants(self):
        return (self.pitch,)

    def factors(self, q):
        return (Shift(vector(0.0, 0.0, self.pitch * q[0])), Turn(2, np.cos(q)[0], np.sin(q)[0]))

    def subspace(self, q):
        return vector(0.0, 0.0, self.pitch, 0.0, 0.0, 1.0).reshape(6, 1)

    def shareable(self, inertia):
        return _axial_second_moment(inertia)


class Cylindrical(AbstractJointType):
    name, nq, nv, n_axes = "cylindrical", 2, 2, 1
    angles = (0,)
    moves = (5, 2)

    def factors(self, q):
        return (Shift(vector(0.0, 0.0, q[1])), Turn(2, np.cos(q)[0], np.sin(q)[0]))

    def shareable(self, inertia):
        return _axial_second_moment(inertia)


class Universal(AbstractJointType):
    name, nq, nv, n_axes = "universal", 2, 2, 2
    angles = (0, 1)
    free_about_axis = False

    def factors(self, q):
        c, s = np.cos(q), np.sin(q)
        return (Turn(0, c[0], s[0]), Turn(1, c[1], s[1]))

    def subspace(self, q):
        # The first axis seen from the moved frame: Ry(q1)^T ex.
        c, s = np.cos(q[1:])[0], np.sin(q[1:])[0]
        S = np.zeros((6, 2), dtype=q.dtype)
        S[3, 0], S[5, 0], S[4, 1] = c, s, 1.0
        return S

    def bias(self, q, v):
        c, s = np.cos(q[1:])[0], np.sin(q[1:])[0]
        rate = v[0] * v[1]
        return vector(0.0, 0.0, 0.0, -s * rate, 0.0, c * rate)

    def changes_of_subspace(self, q, v):
        c, s = np.cos(q[1:])[0], np.sin(q[1:])[0]
        across = vector(0.0, 0.0, 0.0, -s, 0.0, c)  # how the first axis moves with the second angle
        back = vector(0.0, 0.0, 0.0, -c, 0.0, -s)
        none = np.zeros(6)
        first = (np.stack([none, none], axis=1), none, v[1] * across)
        return [first, (np.stack([across, none], axis=1), (v[0] * v[1]) * back, v[0] * across)]

    def shareable(self, inertia):
        return Inertia(inertia.mass, np.zeros(3), np.zeros((3, 3)))


class Planar(AbstractJointType):
    name, nq, nv, n_axes = "planar", 3, 3, 1
    angles = (2,)
    moves = (0, 1, 5)
    free_about_axis = False

    def factors(self, q):
        return (Shift(vector(q[0], q[1], 0.0)), Turn(2, np.cos(q)[2], np.sin(q)[2]))

    def shareable(self, inertia):
        return _axial_second_moment(inertia)

    def integrate(self, q, v):
        # The exponential of SE(2): constant body velocity for unit time.
        half = 0.5 * v[..., 2:]
        c, s, shorter = each(np.cos, q[..., 2:] + half), each(np.sin, q[..., 2:] + half), sinc(half)
        dx = shorter * (c * v[..., :1] - s * v[..., 1:2])
        dy = shorter * (s * v[..., :1] + c * v[..., 1:2])
        return q + np.concatenate([dx, dy, v[..., 2:]], axis=-1)

    def rate_map(self, q):
        c, s = each(np.cos, q[2:])[0], each(np.sin, q[2:])[0]
        return matrix([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])

    def difference(self, q0, q1):
        d = q1 - q0
        x, y, half = d[..., :1], d[..., 1:2], 0.5 * d[..., 2:]
        c, s, shorter = each(np.cos, q0[..., 2:] + half), each(np.sin, q0[..., 2:] + half), sinc(half)
        return np.concatenate([(c * x + s * y) / shorter, (c * y - s * x) / shorter, d[..., 2:]], axis=-1)


class Translation(AbstractJointType):
    name, nq, nv = "translation", 3, 3
    moves = (0, 1, 2)
    free_about_axis = False

    def factors(self, q):
        return (Shift(vector(*q)),)

    def shareable(self, inertia):
        return Inertia(0.0, np.zeros(3), inertia.Sigma)


class Spherical(AbstractJointType):
    name, nq, nv = "spherical", 4, 3
    moves = (3, 4, 5)
    quaternion_at = 0
    free_about_axis = False

    def factors(self, q):
        return (Dense(rotation_from_quaternion(q)),)

    def shareable(self, inertia):
        return Inertia(inertia.mass, np.zeros(3), np.zeros((3, 3)))

    def integrate(self, q, v):
        return unit(multiply_quaternions(q, exp_quaternion(v)))

    def rate_map(self, q):
        return quaternion_rates(q)

    def difference(self, q0, q1):
        return log_quaternion(multiply_quaternions(conjugate(q0), q1))


class Free(AbstractJointType):
    name, nq, nv = "free", 7, 6
    moves = (0, 1, 2, 3, 4, 5)
    quaternion_at = 3
    free_about_axis = False

    def factors(self, q):
        return (Shift(vector(*q[:3])), Dense(rotation_from_quaternion(q[3:])))

    def integrate(self, q, v):
        # The exponential of SE(3): constant body velocity for unit time.
        p = q[..., :3] + rotate_by_quaternion(q[..., 3:], screw_displacement(v[..., :3], v[..., 3:]))
        turned = multiply_quaternions(q[..., 3:], exp_quaternion(v[..., 3:]))
        return np.concatenate([p, unit(turned)], axis=-1)

    def rate_map(self, q):
        N = np.zeros((7, 6), dtype=np.result_type(q, float))
        N[:3, :3], N[3:, 3:] = rotation_from_quaternion(q[3:]), quaternion_rates(q[3:])
        return N

    def difference(self, q0, q1):
        w = log_quaternion(multiply_quaternions(conjugate(q0[..., 3:]), q1[..., 3:]))
        displacement = rotate_by_quaternion(conjugate(q0[..., 3:]), q1[..., :3] - q0[..., :3])
        return np.concatenate([displacement_screw(displacement, w), w], axis=-1)


JOINT_TYPES: dict[str, type[AbstractJointType]] = {
    joint.name: joint
    for joint in (
        Revolute, Continuous, Prismatic, Helical, Cylindrical, Universal, Planar, Translation, Spherical, Free,
    )
}  # fmt: skip
