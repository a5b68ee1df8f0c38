"""The mechanism in the frames in which it is computed.

Users see the body frames of their file. Computing in them would be wasteful: a revolute joint about (0.1, 0.7, 0.7)
needs a full rotation matrix, one about z needs a cosine and a sine. So every body gets a second, *computational* frame,
fixed to it, chosen once for the robot:

1. joint axis along z: the motion subspace S is a column of the identity;
2. the frame's turn about z, and its place along z, are free: they are chosen so that the constant rotation from the
parent
   is a signed permutation (or else has one turn less) and the constant offset has as many zeros as possible;
3. what a body's inertia shares with its parent (its mass, its moments along the joint axis, ...) is moved there: the
dynamics
   do not change and the body's own inertia is left with seven numbers instead of ten.

A `Node` answers the questions that every algorithm asks. One node is one body here; a cluster of bodies will answer
the same.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from sarrus.model.bodies import Body, Placement
from sarrus.model.joints import AbstractJointType
from sarrus.model.model import Model
from sarrus.model.per_model import per_model
from sarrus.spatial.arrays import Array, Scalar, is_numeric, vector
from sarrus.spatial.inertia import Inertia
from sarrus.spatial.transforms import AbstractFactor, Dense, Shift, Transform, Turn, pose

_EPS = 8 * np.finfo(float).eps  # rounding of an element of a rotation matrix
_FAR = 8.0  # how much farther than the user's frame a computational one may lie


class Kinematics(NamedTuple):
    """What a node's joint does at (q, v)."""

    X: Transform  # this node's frame in the parent's
    S: Array  # (6, m) motion subspace
    vJ: Array  # (6,) S v
    cJ: Array  # (6,) dS/dt v, apparent in this frame


@dataclass(frozen=True, eq=False)
class Node:
    """One body in its computational frame."""

    name: str
    parent: int
    joint: AbstractJointType
    q: slice
    v: slice
    offset: Scalar  # added to the angle, for the free turn about z
    fixed: Transform  # the joint's fixed frame in the parent node
    body: Transform  # the user's body frame in this node's frame
    inertia: Inertia  # without what was moved to the parent
    armature: Array  # (m,)

    def kinematics(self, q: Array, v: Array | None = None) -> Kinematics:
        """X, S, vJ, cJ from the robot's q and v (v None: at rest)."""
        qi = vector(*q[self.q])  # a float among symbols counts as a number
        if self.offset != 0.0:
            qi = np.concatenate([qi[:1] + self.offset, qi[1:]])
        S = self.joint.subspace(qi)
        X = self.fixed @ Transform(self.joint.factors(qi))
        if v is None:
            return Kinematics(X, S, np.zeros(6), np.zeros(6))
        return Kinematics(X, S, S @ v[self.v], self.joint.bias(qi, v[self.v]))

    @property
    def m(self) -> int:
        return self.joint.nv

    @property
    def size(self) -> int:
        """How many numbers its acceleration has."""
        return 6


@dataclass(frozen=True, eq=False)
class Tree:
    """Nodes, parents first; node i is body i of the model."""

    nodes: tuple[Node, ...]
    gravity: Array  # (3,) in the world
    ground: Inertia  # what was moved to the world: counts in totals, not in motion
    spins: dict[int, float] = field(default_factory=dict)  # rotors that only spin: moment of inertia about their axis

    @property
    def nv(self) -> int:
        return sum(node.m for node in self.nodes)

    @property
    def parents(self) -> tuple[int, ...]:
        return tuple(node.parent for node in self.nodes)

    def children(self, i: int) -> list[int]:
        return [k for k, node in enumerate(self.nodes) if node.parent == i]

    @staticmethod
    def of(model: Model, rotors: Collection[int] = ()) -> Tree:
        """rotors: bodies that are round about their joint's axis and carry nothing. They ride on their parents, in
        whose inertia they are, and only spin beside that (`spins`).
        """
        nodes = _choose_frames(model)
        spins = {i: float(nodes[i].inertia.Io[2, 2]) for i in rotors}
        nodes, ground = _share_inertia(nodes, rotors)
        return Tree(tuple(nodes), model.gravity, ground, spins)


@per_model
def tree_of(model: Model) -> Tree:
    """The mechanism in the frames in which it is computed."""
    return Tree.of(model)


# --- frames ------------------------------------------------------------------------------------------


def _choose_frames(model: Model) -> list[Node]:
    children: list[list[int]] = [[] for _ in model.bodies]
    for i, body in enumerate(model.bodies):
        if body.parent >= 0:
            children[body.parent].append(i)
    weight = [1] * len(model.bodies)
    for i in range(len(model.bodies) - 1, -1, -1):
        if model.bodies[i].parent >= 0:
            weight[model.bodies[i].parent] += weight[i]
    # A (R, p): the computational frame in the body frame.
    chosen: list[Placement] = []
    nodes: list[Node] = []
    for i, body in enumerate(model.bodies):
        on_parent = body.placement if body.parent < 0 else _inverse(chosen[body.parent]) @ body.placement
        heirs = [model.bodies[k] for k in sorted(children[i], key=lambda k: -weight[k])]
        frame, offset, fixed = _frame_of(body, on_parent, heirs)
        frame = replace(frame, R=_clean(frame.R))
        chosen.append(frame)
        body_in_node = _inverse(frame)
        joint = body.joint
        nodes.append(
            Node(
                name=body.name,
                parent=body.parent,
                joint=joint.type,
                q=model.layout.q[i],
                v=model.layout.v[i],
                offset=offset,
                fixed=fixed,
                body=body_in_node.transform,
                inertia=_without_noise(body.inertia.transformed(body_in_node.transform)),
                armature=joint.armature,
            )
        )
    return nodes


def _frame_of(body: Body, on_parent: Placement, heirs: list[Body]) -> tuple[Placement, Scalar, Transform]:
    """The computational frame in the body frame, the angle offset, and the joint's fixed frame in the parent node."""
    joint = body.joint.type
    if joint.n_axes == 0:
        return Placement.identity(), 0.0, _factored(on_parent.R, on_parent.p)
    if joint.n_axes == 2:
        x, y = body.joint.axes
        A = np.column_stack([x, y, np.cross(x, y)])
        return Placement(A, np.zeros(3)), 0.0, _factored(_clean(on_parent.R @ A), on_parent.p)
    axis = body.joint.axes[0]
    if not joint.free_about_axis or not is_numeric(on_parent.R):
        A = _frame_with_z(axis)
        return Placement(A, np.zeros(3)), 0.0, _factored(_clean(on_parent.R @ A), on_parent.p)

    u = _clean(on_parent.R @ axis)
    turns, A0 = _turn_to(u)  # the zero frame in the parent, sparse
    A = on_parent.R.T @ A0  # ... and in the body
    if not is_numeric(on_parent.p):
        return Placement(A, np.zeros(3)), 0.0, Transform((Shift(on_parent.p), *turns))
    if joint.name == "prismatic":
        # Translation commutes with translation: put the origin onto the parent's.
        return Placement(A, -(on_parent.R.T @ on_parent.p)), 0.0, Transform(tuple(turns))
    slide, p = _sparsest_on_axis(on_parent.p, u)
    offset = 0.0
    origin = slide * axis
    if joint.name in ("revolute", "continuous"):
        offset = _turn_for_children(body, Placement(A, origin), heirs)
    if offset != 0.0:
        c, s = np.cos(offset), np.sin(offset)
        A = A @ np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
    shift = (Shift(p),) if p.any() else ()
    return Placement(A, origin), offset, Transform((*shift, *turns))


def _turn_to(u: Array) -> tuple[list[AbstractFactor], Array]:
    """Factors and matrix of a sparse rotation that takes z to the unit vector u."""
    nonzero = np.flatnonzero(u)
    if len(nonzero) == 1:
        R = np.zeros((3, 3))
        k = int(nonzero[0])
        R[k, 2] = np.sign(u[k])
        R[(k + 1) % 3, 0] = 1.0
        R[:, 1] = np.cross(R[:, 2], R[:, 0])
        return ([] if np.array_equal(R, np.eye(3)) else [Dense(R)]), R
    c, s = float(u[2]), float(np.hypot(u[0], u[1]))
    if u[0] == 0.0:  # in the yz plane: one turn about x (z goes to (0, -sin, cos))
        return _matrix_of([Turn(0, c, -float(u[1]))])
    if u[1] == 0.0:  # in the xz plane: one turn about y
        return _matrix_of([Turn(1, c, float(u[0]))])
    about_z = Turn(2, float(u[0]) / s, float(u[1]) / s)
    if u[2] == 0.0:
        return _matrix_of([about_z, Dense(np.array([[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]]))])
    return _matrix_of([about_z, Turn(1, c, s)])


def _matrix_of(factors: list[AbstractFactor]) -> tuple[list[AbstractFactor], Array]:
    return factors, Transform(tuple(factors)).R


def _turn_for_children(body: Body, frame: Placement, heirs: list[Body]) -> float:
    """The turn about z that saves most: it puts an oblique child axis into the xz plane, or a leaf's centre of mass
    on x.
    """
    for child in heirs:
        if child.joint.type.n_axes != 1 or not child.joint.type.free_about_axis or not is_numeric(child.placement.R):
            continue
        u = _clean(frame.R.T @ (child.placement.R @ child.joint.axes[0]))
        if u[0] != 0.0 and u[1] != 0.0:
            return float(np.arctan2(u[1], u[0]))
        return 0.0
    if heirs or not is_numeric(body.inertia.h):
        return 0.0
    h = frame.R.T @ body.inertia.h
    if abs(h[0]) <= _EPS * abs(h[1]) or abs(h[1]) <= _EPS * abs(h[0]):
        return 0.0
    return float(np.arctan2(h[1], h[0]))


def _sparsest_on_axis(p: Array, u: Array) -> tuple[float, Array]:
    """The point p + slide u with the most zeros (the nearest to the origin among equals).

    Not one far away: an axis that almost misses a coordinate axis meets it at a distance that costs as many digits.
    """
    scale = float(np.abs(p).max())
    if scale == 0.0:
        return 0.0, p
    best: tuple[float, float, float, Array] | None = None
    for slide in [0.0, *(-p[k] / u[k] for k in range(3) if u[k] != 0.0)]:
        candidate = p + slide * u
        candidate[np.abs(candidate) <= _EPS * scale] = 0.0
        rank = (float(np.count_nonzero(candidate)), float(np.linalg.norm(candidate)))
        if rank[1] > _FAR * scale:
            continue
        if best is None or rank < best[:2]:
            best = (*rank, float(slide), candidate)
    assert best is not None
    return best[2], best[3]


def _frame_with_z(axis: Array) -> Array:
    """A rotation whose third column is the axis; the identity for z."""
    return _turn_to(_clean(axis))[1]


def _factored(R: Array, p: Array) -> Transform:
    return pose(_clean(R), p)


def _clean(rotation: Array) -> Array:
    """Elements of a rotation (or unit vector) that are rounding noise of 0 or +-1 become exactly that."""
    if not is_numeric(rotation):
        return rotation
    nearest = np.round(rotation)
    return np.where(np.abs(rotation - nearest) <= _EPS, nearest, rotation) + 0.0


def _without_noise(inertia: Inertia) -> Inertia:
    """A first moment whose direction is right to rounding has the zeros that the choice of frame gave it."""
    h = inertia.h
    if not is_numeric(h):
        return inertia
    return replace(inertia, h=np.where(np.abs(h) <= _EPS * np.abs(h).max(), 0.0, h))


def _inverse(a: Placement) -> Placement:
    return replace(a, R=a.R.T, p=-(a.R.T @ a.p))


# --- inertia -----------------------------------------------------------------------------------------


def _share_inertia(nodes: list[Node], rotors: Collection[int]) -> tuple[list[Node], Inertia]:
    """Move inwards, from the leaves, whatever a body's inertia shares with its parent; of a rotor, all of it."""
    nodes = list(nodes)
    ground = Inertia.zero()
    for i in range(len(nodes) - 1, -1, -1):
        node = nodes[i]
        shared = node.inertia if i in rotors else node.joint.shareable(node.inertia)
        if shared.is_zero:
            continue
        nodes[i] = replace(node, inertia=node.inertia - shared)
        # Any configuration gives the same: that is what makes it shareable (and a rotor round).
        moved = shared.transformed(node.fixed)
        if node.parent < 0:
            ground = ground + moved
        else:
            parent = nodes[node.parent]
            nodes[node.parent] = replace(parent, inertia=parent.inertia + moved)
    return nodes, ground
