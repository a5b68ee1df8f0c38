"""The mechanism in the frames in which it is computed (`computational_frames.py`), one node per body.

What a body's inertia shares with its parent (its mass, its moments along the joint axis, ...) is moved there: the
dynamics do not change, and the body's own inertia is left with seven numbers instead of ten.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from sarrus.model.answer import answer
from sarrus.model.bodies import WORLD
from sarrus.model.computational_frames import choose_frames, without_noise
from sarrus.model.joints import AbstractJointType
from sarrus.model.model import Model
from sarrus.model.per_model import per_model
from sarrus.model.topology import AbstractNode, AbstractTree
from sarrus.spatial.arrays import Array, Scalar
from sarrus.spatial.inertia import Inertia
from sarrus.spatial.transforms import Transform


@dataclass(frozen=True, eq=False)
class Node(AbstractNode):
    """One body in its computational frame."""

    joint: AbstractJointType
    q: slice
    offset: Scalar  # added to the angle, for the free turn about z
    fixed: Transform  # the joint's fixed frame in the parent node
    body: Transform  # the user's body frame in this node's frame
    inertia: Inertia  # without what was moved to the parent
    armature: Array  # (m,)

    @answer
    def size(self) -> int:
        return 6


@dataclass(frozen=True, eq=False)
class Tree(AbstractTree):
    """Node i is body i of the model."""

    nodes: tuple[Node, ...]
    gravity: Array  # (3,) in the world
    ground: Inertia  # what was moved to the world: counts in totals, not in motion
    spins: dict[int, float] = field(default_factory=dict)  # rotors that only spin: moment of inertia about their axis


class PlacedFrame(NamedTuple):
    """A frame in the computational frame of its body; in the world, for one on the world."""

    node: int
    X: Transform


@per_model
def frames_of(model: Model) -> dict[str, PlacedFrame]:
    """All frames by name."""
    nodes, found = tree_of(model).nodes, {}
    for frame in model.frames:
        on_body = frame.placement.transform
        X = on_body if frame.body == WORLD else nodes[frame.body].body @ on_body
        found[frame.name] = PlacedFrame(frame.body, X)
    return found


@per_model
def tree_of(model: Model) -> Tree:
    """The mechanism in the frames in which it is computed."""
    return tree_with_rotors(model)


def tree_with_rotors(model: Model, rotors: Collection[int] = ()) -> Tree:
    """A tree in which some bodies, the rotors, ride on their parents, in whose inertia they are, and only spin.

    A rotor is round about its joint's axis and carries nothing.
    """
    nodes, layout = [], model.layout
    for body, frame, q, v in zip(model.bodies, choose_frames(model.bodies), layout.q, layout.v, strict=True):
        X = frame.in_body.inverse.transform
        inertia = without_noise(body.inertia.transformed(X))
        joint, armature = body.joint.type, body.joint.armature
        nodes.append(Node(body.name, body.parent, v, joint, q, frame.offset, frame.fixed, X, inertia, armature))
    spins = {i: float(nodes[i].inertia.Io[2, 2]) for i in rotors}
    ground = _share_inertia(nodes, rotors)
    return Tree(tuple(nodes), model.gravity, ground, spins)


def _share_inertia(nodes: list[Node], rotors: Collection[int]) -> Inertia:
    """Move inwards, from the leaves, whatever a body's inertia shares with its parent; of a rotor, all of it.

    Returns what gets to the world.
    """
    ground = Inertia.zero()
    for i in reversed(range(len(nodes))):
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
    return ground
