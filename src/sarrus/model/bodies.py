"""What a model is made of: bodies on joints, and frames on bodies."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sarrus.model.joints import AbstractJointType
from sarrus.spatial.arrays import Array
from sarrus.spatial.inertia import Inertia
from sarrus.spatial.product import product
from sarrus.spatial.transforms import Transform, pose

WORLD = -1  # the parent of a root
WORLD_NAME = "world"


@dataclass(frozen=True, eq=False)
class Placement:
    """A fixed pose: R the axes (columns) and p the origin, in the frame it is placed in."""

    R: Array  # (3, 3)
    p: Array  # (3,)

    @property
    def transform(self) -> Transform:
        return pose(self.R, self.p)

    @property
    def inverse(self) -> Placement:
        """The pose of that frame in this one."""
        return Placement(self.R.T, -product(self.R.T, self.p))

    def __matmul__(self, other: Placement) -> Placement:
        return Placement(product(self.R, other.R), self.p + product(self.R, other.p))

    @staticmethod
    def identity() -> Placement:
        return Placement(np.eye(3), np.zeros(3))


def freeze(*arrays: Array) -> None:
    """Make arrays read-only: a model is immutable, its arrays included."""
    for array in arrays:
        array.flags.writeable = False


@dataclass(frozen=True, eq=False)
class Joint:
    """A joint as declared: its type, its axes in the joint frame, and its other properties.

    `lower` and `upper` have one number per element of q (infinite where there is no limit, and always for quaternions);
    the other arrays have one per velocity.

    >>> sarrus.zoo.chain(2).bodies[0].joint.type.name
    'revolute'
    """

    name: str  # unique in the model
    type: AbstractJointType  # revolute, prismatic, free, ...
    axes: tuple[Array, ...]  # unit vectors
    armature: Array  # (nv,) rotor inertia seen at the joint, exact in the mass matrix
    damping: Array  # (nv,) N m s/rad, N s/m
    friction: Array  # (nv,) dry friction: N m, N
    stiffness: Array  # (nv,) N m/rad, N/m
    rest: Array  # (nq,) where the spring is slack
    lower: Array  # (nq,) rad, m
    upper: Array  # (nq,) rad, m
    velocity_limit: Array  # (nv,) rad/s, m/s
    effort_limit: Array  # (nv,) N m, N
    effort_lower: Array | None = None  # (nv,) the least effort, where that is not -effort_limit
    independent: bool | None = None  # URDF+: whether the file calls this coordinate independent


@dataclass(frozen=True, eq=False)
class Body:
    """A moving body. `placement` is its joint frame in the parent body; the body frame coincides with it at q =
    neutral.

    >>> sarrus.zoo.chain(2).bodies[1].parent
    0
    """

    name: str  # unique in the model
    parent: int  # number of a body before it; -1: the world
    joint: Joint  # between the parent and this body
    placement: Placement  # of the joint frame in the parent body
    inertia: Inertia  # in the body frame

    def __post_init__(self) -> None:
        freeze(self.placement.R, self.placement.p, self.inertia.h, self.inertia.Sigma)


@dataclass(frozen=True, eq=False)
class Frame:
    """A named pose on a body (or on the world, body = -1).

    >>> sarrus.zoo.chain(2).frames[-1].name
    'tip'
    """

    name: str  # unique in the model
    body: int  # number of the body; -1: the world
    placement: Placement  # in the body frame

    def __post_init__(self) -> None:
        freeze(self.placement.R, self.placement.p)
