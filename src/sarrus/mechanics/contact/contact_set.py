"""Which pairs of shapes may touch, placed in the frames in which a robot is computed: what a step with contacts takes.

Which of all these touch is known only at run time. Those that touch when the robot stands (`usual`) are looked at in
every step, with rows whose zeros are known. All others are looked at where something else comes near, or more than
that: then the nearest of all, as many as there are `slots`, with rows that may depend on everything.
"""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sarrus.mechanics.contact.broad_phase import bounding_sphere
from sarrus.mechanics.contact.contact_rows import Bend, Poses, Twist
from sarrus.mechanics.contact.narrow_phase import touch_count, touches
from sarrus.model.bodies import WORLD, Placement
from sarrus.model.geometries import ContactShape, Geometry, Plane
from sarrus.model.meeting_pairs import MeetingPair, depth_first
from sarrus.model.model import Model
from sarrus.model.tree import tree_of
from sarrus.once import cached_property
from sarrus.spatial.arrays import Array, Scalar, is_numeric
from sarrus.spatial.choice import choose
from sarrus.spatial.norms import root
from sarrus.spatial.stages import stage

_LONGEST = 100.0  # metres: coefficients of twisting and rolling over that of sliding
_TINY = 1e-12  # metres: balls with one centre have no direction between them


class PlacedShape(NamedTuple):
    """A shape on a node, or on the world (-1)."""

    node: int
    R: Array
    p: Array
    shape: ContactShape

    @property
    def is_numeric(self) -> bool:
        return is_numeric(self.R) and is_numeric(self.p)

    def pose(self, poses: Poses) -> tuple[Array, Array]:
        """In the world."""
        if self.node == WORLD:
            return self.R, self.p
        R, p = poses[self.node]
        return R @ self.R, p + R @ self.p


class PlacedPair(NamedTuple):
    """Two shapes that may touch; b may be on the world."""

    a: PlacedShape
    b: PlacedShape
    friction: float
    names: tuple[str, str]
    lengths: tuple[float, float] = (0.0, 0.0)  # coefficients of twisting and rolling over that of sliding, metres


class Candidate(NamedTuple):
    """A place where two shapes may touch, at a state."""

    number: int  # among all
    a: int  # nodes
    b: int
    point: Array  # (3,) in the world
    normal: Array  # (3,) from b to a
    gap: Scalar
    friction: float
    lengths: tuple[float, float] = (0.0, 0.0)  # see `PlacedPair`

    def closing(self, twists: Sequence[Twist]) -> Scalar:
        """The rate at which the gap opens; negative: it closes."""
        velocity = twists[self.a].at(self.point)
        if self.b != WORLD:
            velocity = velocity - twists[self.b].at(self.point)
        return self.normal @ velocity

    def bending(self, bends: Sequence[Bend]) -> Scalar:
        """The acceleration with which the points that touch here part, where joint velocities stay as they are."""
        acceleration = bends[self.a].at(self.point)
        if self.b != WORLD:
            acceleration = acceleration - bends[self.b].at(self.point)
        return self.normal @ acceleration


def of_same_nodes(candidates: Sequence[Candidate]) -> dict[tuple[int, int], list[int]]:
    """Which of the candidates, counted from 0, two nodes have together: a and b."""
    found: dict[tuple[int, int], list[int]] = {}
    for k, c in enumerate(candidates):
        found.setdefault((c.a, c.b), []).append(k)
    return found


class Bound(NamedTuple):
    """A distance that is not greater than the true one, the rate at which it opens, and whose it is."""

    distance: Scalar
    rate: Scalar
    node: int

    def after(self, dt: Scalar) -> Scalar:
        """The distance after a step, if it closes."""
        return self.distance + dt * choose(self.rate, 0.0, self.rate, 0.0)


def turns_of(lengths: tuple[float, float]) -> int:
    """How many rows it takes to resist spinning (1), and rolling, too (3)."""
    return 3 if lengths[1] > 0.0 else int(lengths[0] > 0.0)


@dataclass(frozen=True, eq=False, repr=False)
class ContactSet:
    """All pairs, in an order in which the nodes that hang on a node come after it without a gap."""

    pairs: tuple[PlacedPair, ...]
    usual: tuple[int, ...]  # numbers of candidates
    slots: int
    closely: tuple[int, ...] = ()  # nodes that are near the ground where the robot stands: a ball is not good enough

    @cached_property
    def digest(self) -> str:
        """A hash of all that it holds."""
        content = [(pair.a, pair.b, (pair.friction, *pair.lengths)) for pair in self.pairs]
        plain = [
            [(x.node, _numbers(x.R), _numbers(x.p), _content(x.shape)) for x in (a, b)] + [f] for a, b, f in content
        ]
        return hashlib.sha256(pickle.dumps((plain, self.usual, self.slots, self.closely), protocol=4)).hexdigest()

    def __repr__(self) -> str:
        return f"<ContactSet {self.digest}>"

    @cached_property
    def first_of_pair(self) -> tuple[int, ...]:
        """The number of every pair's first candidate, and how many there are in all."""
        counts = [touch_count(pair.a.shape, pair.b.shape) for pair in self.pairs]
        return tuple(np.cumsum([0, *counts]).tolist())

    @property
    def turns(self) -> int:
        """How many rows contacts have beside three."""
        return max((turns_of(pair.lengths) for pair in self.pairs), default=0)

    @property
    def width(self) -> int:
        """How many rows a slot has."""
        return 3 + self.turns

    @property
    def count(self) -> int:
        """How many candidates there are."""
        return self.first_of_pair[-1]

    def pair_of(self, number: int) -> PlacedPair:
        """That a candidate belongs to."""
        return self.pair_and_touch(number)[0]

    def pair_and_touch(self, number: int) -> tuple[PlacedPair, int]:
        """That a candidate belongs to, and which of its touches it is."""
        pair = int(np.searchsorted(self.first_of_pair, number, side="right")) - 1
        return self.pairs[pair], number - self.first_of_pair[pair]

    def candidates(self, poses: Poses, wanted: Sequence[int] | None = None) -> list[Candidate]:
        """All candidates, or those wanted, at a state."""
        found = []
        numbers = None if wanted is None else set(wanted)
        with stage("narrow phase"):
            for pair, first in zip(self.pairs, self.first_of_pair, strict=False):
                count = touch_count(pair.a.shape, pair.b.shape)
                if numbers is not None and numbers.isdisjoint(range(first, first + count)):
                    continue
                met = touches(pair.a.shape, pair.a.pose(poses), pair.b.shape, pair.b.pose(poses))
                for number, touch in enumerate(met, start=first):
                    if numbers is None or number in numbers:
                        found.append(Candidate(number, pair.a.node, pair.b.node, *touch, pair.friction, pair.lengths))
        return found

    def bounds(self, poses: Poses, twists: Sequence[Twist]) -> list[Bound]:
        """How near everything that may touch is, but the usual candidates.

        Of nodes that are looked at closely, and of shapes whose place varies with symbols, all candidates; else a ball
        around all shapes of a node has to do.
        """
        usual = set(self.usual)
        around: dict[tuple, list[PlacedPair]] = {}
        exact: list[int] = []
        for pair, first in zip(self.pairs, self.first_of_pair, strict=False):
            looked_at_closely = pair.a.node in self.closely and pair.b.node == WORLD
            if looked_at_closely or not (pair.a.is_numeric and pair.b.is_numeric):
                numbers = range(first, first + touch_count(pair.a.shape, pair.b.shape))
                exact += [number for number in numbers if number not in usual]
            else:
                around.setdefault((pair.a.node, id(pair.b) if pair.b.node == WORLD else pair.b.node), []).append(pair)
        found = [Bound(c.gap, c.closing(twists), c.a) for c in self.candidates(poses, exact)]
        return found + [_bound(pairs, poses, twists) for pairs in around.values()]


def _bound(pairs: Sequence[PlacedPair], poses: Poses, twists: Sequence[Twist]) -> Bound:
    """Of the shapes on two nodes, by balls around them."""
    a, b = [_ball([getattr(pair, side) for pair in pairs]) for side in ("a", "b")]
    node, other = pairs[0].a.node, pairs[0].b
    R, p = poses[node]
    center = p + R @ a[0]
    velocity = twists[node].at(center)
    if isinstance(other.shape, Plane):
        normal = other.R[:, 2]
        return Bound(normal @ (center - other.p) - a[1], normal @ velocity, node)
    if other.node == WORLD:
        middle = b[0]
    else:
        R, p = poses[other.node]
        middle = p + R @ b[0]
        velocity = velocity - twists[other.node].at(middle)
    offset = center - middle
    distance = root(offset @ offset)
    return Bound(distance - (a[1] + b[1]), (offset @ velocity) / choose(distance, _TINY, 1.0, distance), node)


def _ball(shapes: Sequence[PlacedShape]) -> tuple[Array, float]:
    """Centre and radius, in the node, of a ball around shapes."""
    balls = []
    for placed in shapes:
        ball = bounding_sphere(placed.shape)
        if ball is None:
            return np.zeros(3), np.inf
        balls.append((placed.p + placed.R @ ball[0], ball[1]))
    centers = np.array([center for center, _ in balls])
    middle = 0.5 * (centers.min(axis=0) + centers.max(axis=0))
    return middle, max(float(np.linalg.norm(center - middle)) + radius for center, radius in balls)


def _numbers(x: Array) -> list:
    """For a hash: symbols as they are written."""
    return x.tolist() if is_numeric(x) else [y if isinstance(y, float) else repr(y) for y in x.flat]


def _content(shape: ContactShape) -> tuple:
    """Its type and numbers."""
    numbers = [x.tolist() if isinstance(x, np.ndarray) else x for x in vars(shape).values()]
    return type(shape).__name__, numbers


def contact_set(
    model: Model, pairs: Sequence[MeetingPair], usual: Sequence[int], slots: int, turning: bool = True
) -> ContactSet:
    """These pairs of a model's geometries; turning: whether they resist spinning and rolling as they say."""
    rank = depth_first(model)
    placed = [
        PlacedPair(
            _placed(model, model.geometries[pair.a]), _placed(model, model.geometries[pair.b]),
            sliding, (model.geometries[pair.a].name, model.geometries[pair.b].name), lengths,
        )
        for pair, (sliding, lengths) in ((pair, _coefficients(pair, turning)) for pair in pairs)
    ]  # fmt: skip
    placed.sort(key=lambda pair: rank[pair.a.node])
    return ContactSet(tuple(placed), tuple(usual), slots)


def resistance_to_turning(pair: MeetingPair) -> tuple[float, float]:
    """Coefficients of twisting and rolling, in metres."""
    friction, dimensions = pair.friction, pair.dimensions
    return friction.torsional if dimensions >= 4 else 0.0, friction.rolling if dimensions >= 6 else 0.0


def _coefficients(pair: MeetingPair, turning: bool) -> tuple[float, tuple[float, float]]:
    """Of sliding, and the lengths of twisting and rolling. What resists turning resists sliding a little at least."""
    sliding = pair.friction.sliding if pair.dimensions > 1 else 0.0
    twisting, rolling = resistance_to_turning(pair) if turning else (0.0, 0.0)
    if not (twisting or rolling):
        return sliding, (0.0, 0.0)
    sliding = max(sliding, twisting / _LONGEST, rolling / _LONGEST)
    return sliding, (twisting / sliding, rolling / sliding)


def _placed(model: Model, geometry: Geometry) -> PlacedShape:
    """In the frame in which its body is computed."""
    where = geometry.placement
    if geometry.body != WORLD:
        X = tree_of(model).nodes[geometry.body].body
        where = Placement(X.R, X.p) @ where
    return PlacedShape(geometry.body, where.R, where.p, geometry.shape)
