"""Penetrations are undone in positions: a step moves things apart beside its motion, and hardly gives them velocity.

A velocity that undoes a penetration stays after it is gone, as energy that nothing has given. So velocities do so only
gently, which decides how what rests on many points shares its load. Rows that are deeper, by d of which something is to
be undone, are moved apart by impulses y along themselves that act on positions:

    shift = M^-1 J^T y,      G y = d

by two steps of Richardson's iteration, y <- y + w C (d - G y), where C is 1 / G_ii and w about one over the largest
eigenvalue of C G that d is made of. They are exact for one row, almost exact where many points of one body ask for one
motion, and smooth in d. Of rows that ask for motions which contradict each other (G may be singular), none gets much
more than it asks for. The rest is left for the next step. C is less where d is slight: a row that ceases to be deep
ceases to count.

What opens a contact bends limbs, past their limits, too, and along a chain of joints at their limits these steps lead
nowhere. Limits are joints' own coordinates: one that is passed by far is undone there, whatever that does to contacts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from sarrus.mechanics.contact.delassus import AbstractDelassus
from sarrus.mechanics.contact.problem import ContactProblem, scaled
from sarrus.simulation.contact.free_motion import Moved
from sarrus.spatial.arrays import Array, Scalar, vector
from sarrus.spatial.choice import choose
from sarrus.spatial.extremes import larger, smaller
from sarrus.spatial.norms import dot, root
from sarrus.spatial.replacement import replace_where
from sarrus.spatial.stages import stage

PART = 0.2  # of a penetration that is undone in a step, ...
SLIGHT = 1e-5  # ... by positions less where it is not deeper than a few times this, in metres or radians
DEEP = 2e-4  # metres or radians: what is deeper is undone at once ...
FASTEST = 0.5  # ... but no faster than this, in m/s
BENT = 1e-2  # radians or metres beyond a limit that are far
GENTLE = 2e-3  # m/s: velocities that undo penetrations are no faster than this
_STIFF = 1e-3  # of a contact's mean mobility: along its normal, less than that is none
_TINY = 1e-30

Response = Callable[[Array], Moved]  # to impulses along rows


def undone(gap: Scalar, dt: Scalar, way: Scalar, active: Scalar) -> Scalar:
    """Metres by which a gap that is active is opened beside the way that it opens in the step by itself."""
    much = larger(*_parts(larger(-gap, 0.0)))
    return choose(0.5, active, larger(smaller(much, FASTEST * dt) - way, 0.0), 0.0)


def _parts(depth: Scalar) -> tuple[Scalar, Scalar]:
    """What is undone of a penetration that is not deep, and of one that is."""
    return PART * depth * depth / (depth + SLIGHT), depth - DEEP


def is_on_edge(gap: float, dt: float, way: float, near: float) -> bool:
    """Whether what is undone has another slope if the gap is another by as little as `near`."""
    slight, deep = _parts(max(-gap, 0.0))
    left = min(max(slight, deep), FASTEST * dt) - way
    bends = abs(slight - deep) <= near or abs(max(slight, deep) - FASTEST * dt) <= near
    pushed = abs(PART * gap + GENTLE * dt) <= near and way <= near
    return pushed or (bends and left > -near) or (abs(left) <= near and way > near)


class Room(NamedTuple):
    """Of a limit: by how much a step may close it beside its motion; less than zero: by how much it has to open it."""

    row: Array  # (nv,) of joints that close no loop, else zero
    room: Scalar


def moved_apart(
    wanted: Sequence[Scalar],
    posed: Callable[[], tuple[ContactProblem, Response]],
    count: int,
    rooms: Sequence[Room] = (),
) -> Array:
    """(count,) positions that open limits and contacts by what is wanted of them, in metres or radians.

    wanted  of limits, and then of contacts; of the last of these, nothing may be wanted
    posed   the problem with these, and what impulses along rows do
    rooms   what limits leave
    """
    most: Scalar = 0.0
    for x in wanted:
        most = larger(most, x)

    def shift() -> tuple[Array, ...]:
        problem, response = posed()
        with stage("penetrations"):
            p, G = scaled(problem), problem.G
            assert isinstance(G, AbstractDelassus)
            d: list[Scalar] = [0.0] * len(problem.g)
            own: list[Scalar] = [1.0] * len(problem.g)
            for row, x in zip(problem.unilateral, wanted, strict=False):
                d[row] = x
            for span, block in zip(p.contacts, p.blocks, strict=True):
                own[span.stop - 1] = larger(block[-1, -1], _STIFF)
            # 1 / G_ii, and less where little is wanted
            C = vector(*(x * x * y / ((y + SLIGHT) * z) for x, y, z in zip(p.inverse, d, own, strict=True)))
            s = C * vector(*d)
            Gs = G @ s
            w = root(dot(vector(*d), s) / larger(dot(Gs, C * Gs), _TINY))
            moved = response(G.wrenches(w * (2.0 * s - w * (C * Gs)))).velocity
            for row, room in rooms:
                moved = moved + larger(-room - dot(row, moved), 0.0) * row
            return (moved,)

    return replace_where(most, (np.zeros(count),), shift)[0]
