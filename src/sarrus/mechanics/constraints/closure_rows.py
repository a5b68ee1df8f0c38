"""Rows of loop closures: any joint type as the cut joint.

A closure is primitive conditions between frame a and frame b (`conditions.py`):

- coincidence of the origins, in the axes of node a (3 rows);
- a coordinate of b's origin as seen from a, `d . r = 0` with d fixed in a;
- a direction of b that stays perpendicular to one of a, `t . n = 0`;
- no relative rotation (3 rows).
"""

from __future__ import annotations

import numpy as np

from sarrus.errors import unknown_name
from sarrus.mechanics.bodies.relative_motion import Relative
from sarrus.mechanics.constraints.conditions import (
    Condition,
    E,
    across,
    coincide,
    coordinate,
    joined,
    no_rotation,
    perpendicular,
    screw,
)
from sarrus.mechanics.constraints.rows import Block, Rows, merged
from sarrus.model.bodies import WORLD
from sarrus.model.constraints import LoopClosure
from sarrus.spatial.arrays import Array
from sarrus.spatial.rotations import skew

# Where a closure's rows are vectors in the axes of node a: coincidences, and rotations about all axes.
VECTORS = {
    "weld": (0, 3), "connect": (0,), "spherical": (0,), "revolute": (0,), "universal": (0,), "prismatic": (2,),
}  # fmt: skip


def closure_condition(closure: LoopClosure, x: Relative) -> Condition:
    """The conditions of one closure, in order."""
    found = _conditions(closure, x)
    return found.at_rest if x.a.node == x.b.node else found


def _conditions(closure: LoopClosure, x: Relative) -> Condition:
    u = np.array(closure.axis if closure.axis is not None else (0.0, 0.0, 1.0), dtype=float)
    u = u / np.linalg.norm(u)
    t1, t2 = across(u)
    aligned = [perpendicular(x, t1, u), perpendicular(x, t2, u)]
    on_axis = [coordinate(x, t1), coordinate(x, t2)]
    if closure.joint == "universal":  # u of frame a stays perpendicular to the second axis, of frame b
        second = t1 if closure.second_axis is None else np.array(closure.second_axis, float)
        return joined([coincide(x), perpendicular(x, u, second)])
    table = {
        "weld": lambda: [coincide(x), no_rotation(x)],
        "connect": lambda: [coincide(x)],
        "spherical": lambda: [coincide(x)],
        "revolute": lambda: [coincide(x), *aligned],
        "prismatic": lambda: [*on_axis, no_rotation(x)],
        "cylindrical": lambda: [*on_axis, *aligned],
        "planar": lambda: [coordinate(x, u), *aligned],
        "helical": lambda: [*on_axis, *aligned, screw(x, u, t1, closure.pitch)],
    }
    if closure.joint not in table:
        raise unknown_name(f"joint of loop closure {closure.name!r}:", closure.joint, [*table, "universal"])
    return joined(table[closure.joint]())


def closure_rows(closure: LoopClosure, x: Relative) -> Rows:
    """Rows of a closure, with Baumgarte's feedback in k."""
    c = closure_condition(closure, x)
    T = closure.stabilization
    feedback = 0.0 if T is None else (2.0 / T) * c.rate + (1.0 / T**2) * c.error
    k = -c.bias - feedback
    whole = closure.joint in ("weld", "connect", "spherical")  # then K^T K is constant on both sides: R is a rotation
    blocks = [
        Block(side.node, K, _gram(side.p, closure.joint) if whole and x.a.node != x.b.node else None)
        for side, K in ((x.a, c.K_a), (x.b, c.K_b))
        if side.node != WORLD
    ]
    return Rows(merged(blocks), k, axes=x.a.axes, vectors=VECTORS.get(closure.joint, ()))


def _gram(p: Array, joint: str) -> Array:
    C = np.concatenate([E, -skew(p)], axis=1)
    spin = np.diag([0.0, 0.0, 0.0, 1.0, 1.0, 1.0])
    return C.T @ C + (spin if joint == "weld" else 0.0)
