"""Contacts as rows on joint velocities.

A contact is a point of the world in which body a touches body b, and three directions: two tangents and the normal,
which points from b to a. Its rows are the velocity of a's point less that of b's, along those directions. One that
resists spinning and rolling has rows between the tangents and the normal: a's angular velocity less b's, along vectors.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from sarrus.mechanics.mechanism import Mechanism
from sarrus.model.topology import AbstractTree
from sarrus.model.tree import tree_of
from sarrus.model.unconstrained import flying_bodies
from sarrus.spatial.arrays import Array, Scalar, is_numeric, vector
from sarrus.spatial.choice import choose
from sarrus.spatial.rotations import cross
from sarrus.spatial.stages import stage

Poses = Sequence[tuple[Array, Array]]  # (R, p) of every body's node in the world


class ContactPoint(NamedTuple):
    """Where two bodies touch, in the world, and how much every body's joint moves it.

    moves  per node: 1 where its joint moves a's point, -1 where it moves b's, 0 where it moves both or none
    body   a, where that is known while tracing and b is the world
    turns  (0, 1 or 3; 3) vectors: directions times the length that makes a velocity of an angular velocity
    on     per body that may be a: 1 where it is, else 0; where b is always the world
    """

    point: Array  # (3,)
    directions: Array  # (3, 3) rows: two tangents and the normal
    moves: Sequence[Scalar]
    body: int | None = None
    turns: Sequence[Array] = ()
    on: Mapping[int, Scalar] | None = None

    @property
    def size(self) -> int:
        """How many rows it has."""
        return 3 + len(self.turns)


class Twist(NamedTuple):
    """How a node moves, in the world's axes."""

    linear: Array  # (3,) of its origin
    angular: Array  # (3,)
    origin: Array  # (3,)

    def at(self, point: Array) -> Array:
        """The velocity of a point that moves with it."""
        return self.linear + cross(self.angular, point - self.origin)

    def about(self, point: Array) -> Array:
        """(6,) the velocity of that point, if it moved with it, and the angular velocity."""
        return np.concatenate([self.at(point), self.angular])


def node_twists(at: Mechanism, poses: Poses, v: Array) -> list[Twist]:
    """Of every body's node, where joints move with velocities v."""
    tree, twists = tree_of(at.model), list[Twist]()
    with stage("velocities"):
        for node, (R, p), joint, span in zip(tree.nodes, poses, at.joints, at.model.layout.v, strict=True):
            moved = joint.S @ v[span]
            linear, angular = R @ moved[:3], R @ moved[3:]
            if node.parent >= 0:
                parent = twists[node.parent]
                linear, angular = parent.at(p) + linear, parent.angular + angular
            twists.append(Twist(linear, angular, p))
    return twists


class Bend(NamedTuple):
    """How a node's motion bends where joint velocities stay as they are, in the world's axes."""

    linear: Array  # (3,) acceleration of its origin
    angular: Array  # (3,)
    twist: Twist

    def at(self, point: Array) -> Array:
        """The acceleration of a point that moves with it."""
        arm = point - self.twist.origin
        turning = cross(self.twist.angular, cross(self.twist.angular, arm))
        return self.linear + cross(self.angular, arm) + turning


def node_bends(at: Mechanism, poses: Poses, v: Array, twists: Sequence[Twist]) -> list[Bend]:
    """Of every body's node. A joint's own motion is taken as straight, or about an axis that its parent moves; of a
    body that flies by itself, that of its centre of mass.
    """
    tree, bends, flying = tree_of(at.model), list[Bend](), flying_bodies(at.model)
    with stage("velocities"):
        for k, (node, (R, p), joint, span, twist) in enumerate(
            zip(tree.nodes, poses, at.joints, at.model.layout.v, twists, strict=True)
        ):
            linear, angular = np.zeros(3), np.zeros(3)
            if k in flying:
                linear = -cross(twist.angular, cross(twist.angular, R @ flying[k]))
            elif node.parent >= 0:
                parent, moved = bends[node.parent], joint.S @ v[span]
                linear = parent.at(p) + 2.0 * cross(parent.twist.angular, R @ moved[:3])
                angular = parent.angular + cross(parent.twist.angular, R @ moved[3:])
            bends.append(Bend(linear, angular, twist))
    return bends


def frame_of_normal(normal: Array) -> Array:
    """(3, 3) rows: two tangents and the normal (a unit vector); right-handed.

    Duff and others, "Building an orthonormal basis, revisited" (2017): no square root, and one jump, where the normal
    turns downwards.
    """
    if is_numeric(normal) and np.array_equal(normal, [0.0, 0.0, 1.0]):
        return np.eye(3)
    x, y, z = normal
    sign = choose(z, 0.0, -1.0, 1.0)
    a = -1.0 / (sign + z)
    b = x * y * a
    first = vector(1.0 + sign * x * x * a, sign * b, -sign * x)
    second = vector(b, sign + y * y * a, -y)
    return np.stack([first, second, normal])


def turning(arm: Array) -> Array:
    """(3, 3) the velocity of a point by an angular velocity about something else: omega x arm."""
    return np.stack([cross(e, arm) for e in np.eye(3)], axis=1)


def on_body(contact: ContactPoint, origin: Array) -> Array:
    """(rows, 6) of a contact on the velocity of a body's point at `origin` and its angular velocity."""
    moved = np.concatenate([contact.directions, contact.directions @ turning(contact.point - origin)], axis=1)
    turned = [np.concatenate([np.zeros(3), turn]) for turn in contact.turns]
    return np.stack([*moved[:2], *turned, moved[2]])


def turns_about(directions: Array, lengths: Sequence[Scalar], count: int) -> tuple[Array, ...]:
    """The first `count` of `ContactPoint.turns`: about the normal, then about the tangents."""
    first, second, normal = directions
    return (lengths[0] * normal, lengths[1] * first, lengths[1] * second)[:count]


def static_moves(tree: AbstractTree, a: int, b: int) -> list[float]:
    """`ContactPoint.moves` of bodies that are known while tracing."""
    on_a, on_b = (set(tree.paths[node]) if node >= 0 else set[int]() for node in (a, b))
    return [float(i in on_a) - float(i in on_b) for i in range(len(tree.nodes))]


def contact_jacobian(at: Mechanism, poses: Poses, contacts: Sequence[ContactPoint]) -> tuple[Array, list[list[int]]]:
    """J (rows of all contacts, nv) of bodies' joints, and per row the velocities that it may depend on.

    The velocity of a point x moved by a joint at p is S's linear part, and its angular part crossed with x - p.
    """
    nv = at.model.nv
    known = [*(R for R, _ in poses), *(c.point for c in contacts), *(c.directions for c in contacts)]
    known += [vector(*c.moves) for c in contacts] + [x for c in contacts for x in c.turns]
    J = np.zeros((sum(c.size for c in contacts), nv), dtype=np.result_type(float, *known))
    first = 0
    supports: list[list[int]] = []
    with stage("contact rows"):
        axes = [(R @ joint.S[:3], R @ joint.S[3:]) for (R, _), joint in zip(poses, at.joints, strict=True)]
        for contact in contacts:
            support: list[int] = []
            rows = slice(first, first + contact.size)
            first = rows.stop
            for i, factor in enumerate(contact.moves):
                if isinstance(factor, float) and factor == 0.0:
                    continue
                linear, angular = axes[i]
                arm = contact.point - poses[i][1]
                span = at.model.layout.v[i]
                for column, velocity in enumerate(range(nv)[span]):
                    moved = linear[:, column] + cross(angular[:, column], arm)
                    *across, normal = contact.directions @ moved
                    turned = [turn @ angular[:, column] for turn in contact.turns]
                    J[rows, velocity] = factor * vector(*across, *turned, normal)
                    support.append(velocity)
            supports += [support] * contact.size
    return J, supports
