"""What a robot is. A `Model` is immutable; `ModelBuilder` makes one."""

from __future__ import annotations

import hashlib
import pickle
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from sarrus.errors import ModelError, NameClashError, unknown_name
from sarrus.model.constraints import Constraint, Kind
from sarrus.model.joints import AbstractJointType
from sarrus.spatial.arrays import Array, Scalar, is_numeric, vector
from sarrus.spatial.inertia import Inertia
from sarrus.spatial.transforms import Transform, pose

if TYPE_CHECKING:
    from sarrus.model.actuators import Actuator
    from sarrus.model.clusters import ClusterTree, Embedding
    from sarrus.model.state import StateLayout
    from sarrus.model.tree import Tree
    from sarrus.model.visuals import Visual

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


def _freeze(*arrays: Array) -> None:
    """A model is immutable, its arrays included."""
    for array in arrays:
        array.flags.writeable = False


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

    def __post_init__(self) -> None:
        _freeze(self.placement.R, self.placement.p, self.inertia.h, self.inertia.Sigma)


@dataclass(frozen=True, eq=False)
class Frame:
    """A named pose on a body (or on the world, body = -1)."""

    name: str
    body: int
    placement: Placement

    def __post_init__(self) -> None:
        _freeze(self.placement.R, self.placement.p)


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
    import_report: tuple[str, ...] = ()  # what the file says and the model does not represent
    lost_physics: tuple[str, ...] = ()  # the lines of the report that make it move otherwise than the file says
    ill_posed: str = ""  # why accelerations are not defined, if a file was loaded in spite of that
    embedding: Embedding | None = None  # which constraints hold by construction (`sarrus.embed`)
    home: Array | None = None  # (nq,) the configuration in which a file shows the robot; None: neutral
    visuals: tuple[Visual, ...] = ()  # what it looks like; no part of `digest`
    actuators: tuple[Actuator, ...] = ()  # what controls do; no part of `digest`

    def __post_init__(self) -> None:
        _freeze(self.gravity, *([] if self.home is None else [self.home]))

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

    @property
    def nu(self) -> int:
        """How many actuators, hence controls, there are."""
        return len(self.actuators)

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
    def digest(self) -> str:
        """A hash of everything that the model declares (not of what it looks like, nor of its actuators)."""
        declared = (self.name, self.bodies, self.frames, self.constraints, self.gravity)
        if self.embedding is not None:
            declared = (*declared, self.embedding.clusters)
        return hashlib.sha256(pickle.dumps(declared, protocol=5)).hexdigest()

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

    @property
    def active_constraints(self) -> tuple[Constraint, ...]:
        """Those that are to be solved for, in order of declaration: without those that are embedded."""
        embedded = self.embedding.constraints if self.embedding is not None else frozenset()
        return tuple(c for c in self.constraints if c.active and c.kind is not Kind.TENDON and c.name not in embedded)

    @cached_property
    def spanning(self) -> Model:
        """The same robot with nothing embedded."""
        return self if self.embedding is None else replace(self, embedding=None)

    @cached_property
    def cluster_tree(self) -> ClusterTree:
        """The tree of the clusters of an embedded model."""
        from sarrus.model.clusters import cluster_tree

        return cluster_tree(self)

    @cached_property
    def spinning_tree(self) -> Tree:
        """As `tree`, but rotors of clusters that nothing sees ride on their parents and only spin."""
        from sarrus.model.clusters import unseen_rotors
        from sarrus.model.tree import Tree

        return Tree.of(self, unseen_rotors(self))

    @property
    def ny(self) -> int:
        """How many independent velocities there are: nv where nothing is embedded."""
        return self.nv if self.embedding is None else self.cluster_tree.nv

    @property
    def n_rows(self) -> int:
        """How many rows the active constraints have."""
        return sum(c.size for c in self.active_constraints)

    @property
    def n_input_rows(self) -> int:
        """How many of them have their desired acceleration given at run time."""
        return sum(c.size for c in self.active_constraints if c.takes_input)

    def with_constraints(self, *constraints: Constraint) -> Model:
        """The same robot with these constraints declared after those that it has."""
        added = replace(self, constraints=self.constraints + tuple(constraints))
        check_constraint_names(added)
        return added

    def without_constraints(self) -> Model:
        """The same robot as a plain tree."""
        return replace(self, constraints=(), embedding=None)

    def with_gravity(self, gravity: Array) -> Model:
        """The same robot in another gravitational field (a vector in the world frame)."""
        return replace(self, gravity=as_gravity(gravity))


def as_gravity(value: Any) -> Array:
    """A gravitational field as three finite numbers."""
    try:
        gravity = np.array(value, dtype=float).reshape(3)
    except (TypeError, ValueError):
        raise ModelError(f"gravity is {value!r}: expected three numbers") from None
    if not np.isfinite(gravity).all():
        raise ModelError(f"gravity is {gravity.tolist()}: every number must be finite")
    return gravity


def check_constraint_names(model: Model) -> None:
    """Every name that a constraint uses exists, and no two constraints share theirs."""
    seen: set[str] = set()
    for constraint in model.constraints:
        if constraint.name in seen:
            raise NameClashError(f"two constraints are called {constraint.name!r}")
        seen.add(constraint.name)
    for constraint in model.constraints:
        for what, names, known in (
            ("frame", constraint.frames, model._frame_index),
            ("joint", constraint.joints, model._joint_index),
        ):
            for name in names:
                if name not in known:
                    raise unknown_name(f"{what} of constraint {constraint.name!r}:", name, known)
