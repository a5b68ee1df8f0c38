"""Choosing at run time which of many candidates get one of a few slots, for floats and symbols alike."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from sarrus.mechanics.contact.contact_rows import ContactPoint, frame_of_normal, turns_about
from sarrus.mechanics.contact.contact_set import Candidate, of_same_nodes, turns_of
from sarrus.model.bodies import WORLD
from sarrus.model.meeting_pairs import depth_first_order
from sarrus.spatial.arrays import Array, Scalar, vector
from sarrus.spatial.choice import AbstractScalar, choose
from sarrus.spatial.extremes import larger, smaller
from sarrus.spatial.iteration import iterate
from sarrus.spatial.picking import pick
from sarrus.spatial.stages import stage

_SIDES = [np.array([x, y, 0.0]) for x, y in ((1.0, 0.3), (-0.3, 1.0), (-1.0, -0.3), (0.3, -1.0))]
_STEEP = 50.0  # how much farther out to a side a point must be than another that is nearer to the ground
_BEYOND = 0.1  # of the way that speed would take a point beyond the ground
# What velocities make up for of a path that bends into the ground; positions do the rest. With all of it, a limb gains
# energy whose path bends more from step to step, and with more than three quarters a thing that rolls on its rim.
BY_VELOCITIES, OF_RIMS = 0.95, 0.75
_BISECTIONS = 12  # of the reach, where more candidates are within it than there are slots


class Bent(NamedTuple):
    """By how much a step moves what touches beyond what its velocity at the beginning says, in metres."""

    closes: Scalar  # not positive: a gap
    slides: Array  # (3,) in the world
    by_velocities: float = BY_VELOCITIES  # how much of what closes

    def unless(self, condition: Scalar, otherwise: Bent) -> Bent:
        """This, and where the condition is greater than 0, the other one."""
        pairs = zip((otherwise.closes, *otherwise.slides), (self.closes, *self.slides), strict=True)
        closes, *slides = (choose(0.0, condition, x, y) for x, y in pairs)
        return Bent(closes, vector(*slides))


STRAIGHT = Bent(0.0, np.zeros(3))


class Contact(NamedTuple):
    """A candidate that is looked at: one that is known while tracing, or the one in a slot."""

    number: Scalar  # of the candidate
    active: Scalar  # 1 where it is within reach, else 0
    gap: Scalar
    friction: Scalar
    at: ContactPoint
    bend: Bent = STRAIGHT


def nearest(gaps: Sequence[Scalar], reach: Scalar, slots: int) -> tuple[list[Scalar], Scalar, Scalar]:
    """Numbers of the candidates within reach, in order, one per slot; how many slots are taken; how many candidates
    found none.

    Where more are within reach than there are slots, the nearest are taken; of those that are equally near, the first.
    A slot that is not taken holds any candidate.
    """
    with stage("slots"):
        count = _count(gaps, reach)
        near = [choose(gap, reach, 1.0, 0.0) for gap in gaps]
        if slots < len(gaps):
            low, high = _bisected(gaps, reach, slots, count)
            spare: Scalar = float(slots) - _count(gaps, low)  # slots for those between low and high, whatever is first
            for k, gap in enumerate(gaps):
                between = choose(gap, low, 0.0, choose(gap, high, 1.0, 0.0))
                taken = choose(0.5, spare, between, 0.0)
                spare = spare - taken
                near[k] = choose(gap, low, 1.0, taken)
        so_far: Scalar = 0.0
        up_to = []
        for x in near:
            so_far = so_far + x
            up_to.append(so_far)
        # The candidate in a slot comes after all those up to which no more than `slot` are taken.
        numbers = [sum((choose(x, slot + 0.5, 1.0, 0.0) for x in up_to), 0.0) for slot in range(slots)]
        return numbers, so_far, count - so_far


def _bisected(gaps: Sequence[Scalar], reach: Scalar, slots: int, count: Scalar) -> tuple[Scalar, Scalar]:
    """Distances within the first of which no more candidates are than there are slots, and within the second of which
    there are more; the reach, twice, if that is wide enough for all.
    """
    least = gaps[0]
    for gap in gaps[1:]:
        least = choose(gap, least, gap, least)

    def bisect(state: tuple) -> tuple[tuple, Scalar]:
        low, high = state[0]
        middle = 0.5 * (low + high)
        fits = choose(_count(gaps, middle), slots + 0.5, 1.0, 0.0)
        return (vector(choose(0.5, fits, middle, low), choose(0.5, fits, high, middle)),), 1.0

    too_many = count - (slots + 0.5)
    (found,), _ = iterate(bisect, (vector(least, reach),), _BISECTIONS, too_many)
    return choose(0.0, too_many, found[0], reach), choose(0.0, too_many, found[1], reach)


def _count(gaps: Sequence[Scalar], reach: Scalar) -> Scalar:
    return sum((choose(gap, reach, 1.0, 0.0) for gap in gaps), 0.0)


def held_by_slots(count: int, numbers: Sequence[Scalar], values: Sequence[Scalar]) -> list[Scalar]:
    """Of every candidate: the value of the slot that has its number, else 0."""
    held: list[Scalar] = [0.0] * count
    for number, value in zip(numbers, values, strict=True):
        held = [choose(abs(number - k), 0.5, value, x) for k, x in enumerate(held)]
    return held


def by_importance(candidates: Sequence[Candidate], ahead: Sequence[Scalar], reach: Scalar, slots: int) -> list[Scalar]:
    """Distances by which candidates compete for slots: less for those that no other one of their body can replace.

    A limb that comes down fast with many points at once would have them all, and those on which the robot rests none.
    So of each body first those come that are farthest out to each side, among those that touch after the step.
    """
    if len(candidates) <= slots:
        return list(ahead)
    with stage("slots"):
        # How deep they are counts, and how far they would not come in the step; hardly how far beyond the ground.
        levels = [larger(x, smaller(c.gap, 0.0)) for c, x in zip(candidates, ahead, strict=True)]
        bonus: list[Scalar] = [0.0] * len(candidates)
        for mine in of_same_nodes(candidates).values():
            if len(mine) <= len(_SIDES):
                for k in mine:
                    bonus[k] = 1.0
            for side in _SIDES if len(mine) > len(_SIDES) else ():
                scores = [candidates[k].point @ side - _STEEP * levels[k] for k in mine]
                highest = scores[0]
                for score in scores[1:]:
                    highest = larger(highest, score)
                for k, score in zip(mine, scores, strict=True):
                    bonus[k] = choose(score, highest, bonus[k], 1.0)
        return [
            choose(x, reach, level + _BEYOND * (x - level) - (0.5 * reach) * more, x)
            for x, level, more in zip(ahead, levels, bonus, strict=True)
        ]


def contacts_in_slots(
    candidates: Sequence[Candidate],
    ahead: Sequence[Scalar],
    bends: Sequence[Bent],
    parents: Sequence[int],
    reach: Scalar,
    slots: int,
) -> list[Contact]:
    """The candidates that are nearest, by the distances `ahead`, among those within reach; one per slot."""
    numbers, count, _ = nearest(ahead, reach, slots)
    return [
        contact_in_slot(candidates, bends, parents, number, choose(float(slot), count - 0.5, 1.0, 0.0))
        for slot, number in enumerate(numbers)
    ]


def contact_in_slot(
    candidates: Sequence[Candidate], bends: Sequence[Bent], parents: Sequence[int], number: Scalar, active: Scalar
) -> Contact:
    """The candidate of this number. Candidates are in the depth-first order of their nodes a; bends: of each."""

    def chosen(values: Sequence[Scalar]) -> Scalar:
        known = all(not isinstance(x, AbstractScalar) and x == values[0] for x in values)
        return values[0] if known else pick(values, number)

    point, normal = (
        vector(*(chosen([getattr(c, name)[k] for c in candidates]) for k in range(3))) for name in ("point", "normal")
    )
    gap, friction = (chosen([getattr(c, name) for c in candidates]) for name in ("gap", "friction"))
    moves = _moves(candidates, parents, number, chosen)
    which = chosen([float(c.number) for c in candidates])
    directions = frame_of_normal(normal)
    lengths = [chosen([c.lengths[k] for c in candidates]) for k in range(2)]
    count = max(turns_of(c.lengths) for c in candidates)
    turns = turns_about(directions, lengths, count)
    at = ContactPoint(point, directions, moves, turns=turns, on=_touching_bodies(candidates, number))
    bend = Bent(chosen([x.closes for x in bends]), vector(*(chosen([x.slides[k] for x in bends]) for k in range(3))))
    return Contact(which, active, gap, friction, at, bend)


def _moves(candidates: Sequence[Candidate], parents: Sequence[int], number: Scalar, chosen: object) -> list[Scalar]:
    """Which joints move it: in depth-first order, the nodes that hang on a node are one range of numbers, and so are
    the candidates on them.
    """
    order = depth_first_order(parents)
    rank = {node: k for k, node in enumerate(order)} | {-1: -1}
    sizes = [1] * len(parents)
    for node in reversed(range(len(parents))):
        if parents[node] >= 0:
            sizes[parents[node]] += sizes[node]
    of_a = [rank[c.a] for c in candidates]
    b = chosen([float(rank[c.b]) for c in candidates])  # type: ignore[operator]
    moves: list[Scalar] = []
    for node in range(len(parents)):
        low, high = rank[node], rank[node] + sizes[node]
        first, last = (int(np.searchsorted(of_a, x)) for x in (low, high))
        moves.append(_within(number, first, last, 0, len(of_a)) - _within(b, low, high, -1, len(order)))
    return moves


def _touching_bodies(candidates: Sequence[Candidate], number: Scalar) -> dict[int, Scalar] | None:
    """Per body that may touch the world: 1 where it is the candidate's, else 0; None where others touch each other."""
    if any(c.b != WORLD for c in candidates):
        return None
    of_a = [c.a for c in candidates]
    bodies = dict.fromkeys(of_a)  # candidates of one body are a range of numbers
    return {b: _within(number, of_a.index(b), of_a.index(b) + of_a.count(b), 0, len(of_a)) for b in bodies}


def _within(x: Scalar, low: int, high: int, least: int, beyond: int) -> Scalar:
    """1 where the whole number x is in low .. high - 1, else 0; it is known to be in least .. beyond - 1."""
    if not isinstance(x, AbstractScalar):
        return float(low <= x < high)
    if low >= high:
        return 0.0
    inside: Scalar = 1.0 if high >= beyond else choose(x, high - 0.5, 1.0, 0.0)
    return inside if low <= least else choose(x, low - 0.5, 0.0, inside)
