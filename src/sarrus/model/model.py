"""What a robot is. A `Model` is immutable; `ModelBuilder` makes one."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from sarrus.errors import unknown_name
from sarrus.model.constraints import Constraint
from sarrus.model.joints import AbstractJointType
from sarrus.spatial.arrays import Array, Scalar, is_numeric, vector
from sarrus.spatial.inertia import Inertia
from sarrus.spatial.transforms import Transform, pose

if TYPE_CHECKING:
    from sarrus.model.state import StateLayout
    from sarrus.model.tree import Tree

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

    def __matmul__(self, other: Placement) -> Placement:
        return Placement(self.R @ other.R, self.p + self.R @ other.p)

    @staticmethod
    def identity() -> Placement:
        return Placement(np.eye(3), np.zeros(3))


@dataclass(frozen=True, eq=False)
class Joint:
    """A joint as declared: its type, its axes in the joint frame, and what is carried along.

    `lower` and `upper` have one number per element of q (infinite where unlimited, quaternions always);
    the other arrays have one per velocity.
    """

    name: str
    type: AbstractJointType
    axes: tuple[Array, ...]  # unit vectors
    armature: Array  # (nv,) rotor inertia seen at the joint, exact in the mass matrix
    damping: Array  # (nv,)
    friction: Array  # (nv,) dry friction
    stiffness: Array  # (nv,)
    rest: Array  # (nq,) where the spring is slack
    lower: Array  # (nq,)
    upper: Array  # (nq,)
    velocity_limit: Array  # (nv,)
    effort_limit: Array  # (nv,)
    independent: bool | None = None  # URDF+: whether the file calls this coordinate independent


@dataclass(frozen=True, eq=False)
class Body:
    """A moving body: `placement` is the joint frame in the parent body; at q = neutral the body frame lies on it."""

    name: str
    parent: int
    joint: Joint
    placement: Placement
    inertia: Inertia  # in the body frame


@dataclass(frozen=True, eq=False)
class Frame:
    """A named pose on a body (or on the world, body = -1)."""

    name: str
    body: int
    placement: Placement


@dataclass(frozen=True, eq=False)
class Model:
    """A robot: bodies in an order in which parents come first, frames, declared constraints.

    Every body is also a frame of that name, and so is every link that a fixed joint merged into a body.
    """

    name: str
    bodies: tuple[Body, ...]
    frames: tuple[Frame, ...]
    constraints: tuple[Constraint, ...] = ()
    gravity: Array = field(default_factory=lambda: np.array([0.0, 0.0, -9.81]))
    import_report: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"<Model {self.name!r}: {self.nb} bodies, nq {self.nq}, nv {self.nv}>"

    @property
    def nb(self) -> int:
        return len(self.bodies)

    @cached_property
    def nq(self) -> int:
        return sum(body.joint.type.nq for body in self.bodies)

    @cached_property
    def nv(self) -> int:
        return sum(body.joint.type.nv for body in self.bodies)

    @cached_property
    def mass(self) -> Scalar:
        """The mass that moves."""
        return sum((body.inertia.mass for body in self.bodies), 0.0)

    @cached_property
    def parents(self) -> tuple[int, ...]:
        return tuple(body.parent for body in self.bodies)

    @property
    def body_names(self) -> tuple[str, ...]:
        return tuple(body.name for body in self.bodies)

    @property
    def joint_names(self) -> tuple[str, ...]:
        return tuple(body.joint.name for body in self.bodies)

    @property
    def frame_names(self) -> tuple[str, ...]:
        return tuple(frame.name for frame in self.frames)

    @cached_property
    def _body_index(self) -> dict[str, int]:
        return {body.name: i for i, body in enumerate(self.bodies)}

    @cached_property
    def _joint_index(self) -> dict[str, int]:
        return {body.joint.name: i for i, body in enumerate(self.bodies)}

    @cached_property
    def _frame_index(self) -> dict[str, int]:
        return {frame.name: i for i, frame in enumerate(self.frames)}

    def body_index(self, name: str) -> int:
        """The number of a body; the error for an unknown name lists the valid ones."""
        try:
            return self._body_index[name]
        except KeyError:
            raise unknown_name("body", name, self.body_names) from None

    def joint_index(self, name: str) -> int:
        """The number of a joint, which is that of the body it moves."""
        try:
            return self._joint_index[name]
        except KeyError:
            raise unknown_name("joint", name, self.joint_names) from None

    def frame(self, name: str) -> Frame:
        try:
            return self.frames[self._frame_index[name]]
        except KeyError:
            raise unknown_name("frame", name, self.frame_names) from None

    @cached_property
    def layout(self) -> StateLayout:
        """Where each joint's numbers lie in q and v."""
        from sarrus.model.state import StateLayout

        return StateLayout(self)

    @cached_property
    def tree(self) -> Tree:
        """The mechanism in the frames in which it is computed."""
        from sarrus.model.tree import Tree

        return Tree.of(self)

    @cached_property
    def is_numeric(self) -> bool:
        """Whether no field is a symbol."""
        fields = (
            x
            for body in self.bodies
            for x in (
                body.inertia.h, body.inertia.Sigma, body.placement.R, body.placement.p, body.joint.armature,
                vector(body.inertia.mass, *body.joint.type.constants),
            )
        )  # fmt: skip
        placed = (x for frame in self.frames for x in (frame.placement.R, frame.placement.p))
        return all(is_numeric(x) for x in (*fields, *placed))

    def with_gravity(self, gravity: Array) -> Model:
        """The same robot in another gravitational field (a vector in the world frame)."""
        return replace(self, gravity=np.asarray(gravity, dtype=float).reshape(3))
