"""Which geometries of a model may touch each other, and with what friction: MuJoCo's rules, and one for loops.

Two geometries may meet if a category of one is among what the other collides with, unless they are on the same body,
both on the world, on two bodies that a joint connects, or on links that are excluded. A joint that closes a loop counts
as one of the tree does; MuJoCo lets what it connects meet. The world is nobody's neighbour: what hangs on it may meet
what is fixed to it. A declared pair may meet whatever categories, neighbours and exclusions say.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

from sarrus.model.bodies import WORLD
from sarrus.model.geometries import Friction, Geometry, GeometryPair
from sarrus.model.model import Model
from sarrus.model.per_model import per_model
from sarrus.model.robots import neighbours


@dataclass(frozen=True)
class MeetingPair:
    """Two geometries, by their number in `model.geometries`, and what holds where they touch.

    a is on a body; b may be on the world, and is the one that is a plane or a height field.
    """

    a: int
    b: int
    friction: Friction
    dimensions: int
    margin: float


@per_model
def meeting_pairs(model: Model) -> tuple[MeetingPair, ...]:
    """All pairs that may meet, in depth-first order of a's body, then of b's, the world last."""
    order = depth_first(model)
    found: dict[frozenset[int], GeometryPair | None] = dict.fromkeys(_by_category(model))
    number = {geometry.name: k for k, geometry in enumerate(model.geometries)}
    for declared in model.geometry_pairs:
        a, b = number[declared.a], number[declared.b]
        if model.geometries[a].body != model.geometries[b].body:
            found[frozenset((a, b))] = declared
    pairs = []
    for members, declared in found.items():
        a, b = sorted(members, key=lambda k: (order[model.geometries[k].body], k))
        pairs.append(_combined(a, b, model.geometries[a], model.geometries[b], declared))
    places = [order[geometry.body] for geometry in model.geometries]
    return tuple(sorted(pairs, key=lambda pair: (places[pair.a], places[pair.b], pair.a, pair.b)))


def depth_first(model: Model) -> dict[int, int]:
    """The place of every body in a depth-first walk; the world comes last."""
    return {body: k for k, body in enumerate(depth_first_order(model.parents))} | {WORLD: model.nb}


def depth_first_order(parents: Sequence[int]) -> list[int]:
    """Numbers of bodies, each followed by all that hang on it, children in the order of their numbers."""
    children: dict[int, list[int]] = {}
    for body, parent in enumerate(parents):
        children.setdefault(parent, []).append(body)
    order, stack = [], children.get(WORLD, [])[::-1]
    while stack:
        body = stack.pop()
        order.append(body)
        stack += children.get(body, [])[::-1]
    return order


def _by_category(model: Model) -> Iterator[frozenset[int]]:
    excluded = {frozenset(pair) for pair in model.excluded_pairs}
    connected = neighbours(model)
    for (i, a), (j, b) in combinations(enumerate(model.geometries), 2):
        if not (a.category & b.collides_with or b.category & a.collides_with):
            continue
        related = a.body == b.body or frozenset((a.body, b.body)) in connected
        if not related and frozenset((a.link, b.link)) not in excluded:
            yield frozenset((i, j))


def _combined(i: int, j: int, a: Geometry, b: Geometry, declared: GeometryPair | None) -> MeetingPair:
    """The geometry of higher priority gives friction and dimensions; else the larger numbers hold. Margins add up."""
    if a.priority == b.priority:
        friction = Friction(
            max(a.friction.sliding, b.friction.sliding),
            max(a.friction.torsional, b.friction.torsional),
            max(a.friction.rolling, b.friction.rolling),
        )
        dimensions = max(a.dimensions, b.dimensions)
    else:
        higher = a if a.priority > b.priority else b
        friction, dimensions = higher.friction, higher.dimensions
    margin = a.margin + b.margin
    if declared is not None:
        friction = friction if declared.friction is None else declared.friction
        dimensions = dimensions if declared.dimensions is None else declared.dimensions
        margin = margin if declared.margin is None else declared.margin
    return MeetingPair(i, j, friction, dimensions, margin)
