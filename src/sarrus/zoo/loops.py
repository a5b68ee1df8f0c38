"""Families of loops that grow, and hands that hold a cube. Every loop is closed where q is neutral."""

from __future__ import annotations

import itertools

import numpy as np

from sarrus.model.bodies import WORLD_NAME
from sarrus.model.model import Model
from sarrus.spatial.arrays import Array
from sarrus.zoo.sketch import Sketch, X, Y, Z, around, at_least


def cycle(n: int) -> Model:
    """A floating ring of n links, the last welded to the first (LCABA paper, Fig. 6): 6 rows, n - 1 revolute joints.

    n        how many links
    returns  a `Model`
    errors   `ModelError`: n is less than 3

    >>> robot = sarrus.zoo.cycle(7)
    >>> robot.nv, robot.n_rows
    (12, 6)
    """
    at_least(3, n=n)
    sketch = Sketch(f"cycle_{n}")
    radius = 0.15 / np.sin(np.pi / n)
    corners = [radius * around(360.0 * k / n) + 0.05 * (-1) ** k * Z for k in range(n)]
    sketch.rod("link_0", WORLD_NAME, corners[0], corners[1], "free", None)
    for k in range(1, n):
        sketch.rod(f"link_{k}", f"link_{k - 1}", corners[k], corners[(k + 1) % n], axis=(X, Y, Z)[k % 3])
    sketch.close("ring", f"link_{n - 1}", "link_0", corners[0], "weld")
    return sketch.build()


def chain_of_loops(m: int) -> Model:
    """A floating chain of m loops of seven links (LCABA paper, Fig. 7): neighbours share a link, a weld closes each.

    m        how many loops
    returns  a `Model`
    errors   `ModelError`: m is less than 1

    >>> robot = sarrus.zoo.chain_of_loops(2)
    >>> robot.nv, robot.n_rows
    (20, 12)
    """
    at_least(1, m=m)
    sketch = Sketch(f"chain_of_loops_{m}")
    width, height = 0.6, 0.15
    root = sketch.rod("bar_0", WORLD_NAME, height * Z, -height * Z, "free", None)
    for k in range(m):
        x = width * k * X
        above = [x + height * Z, x + 0.3 * X + 1.6 * height * Z + 0.07 * Y, x + width * X + height * Z]
        below = [
            x - height * Z,
            x + 0.2 * X - 1.5 * height * Z - 0.05 * Y,
            x + 0.4 * X - 1.7 * height * Z,
            x + width * X - height * Z,
        ]
        over = sketch.rods(f"over_{k}", root, above, (X, Y))
        bar = sketch.rod(f"bar_{k + 1}", over, above[2], below[3], axis=Z)
        under = sketch.rods(f"under_{k}", root, below, (Y, Z, X))
        half = sketch.rod(f"half_{k}", under, below[3], 0.5 * (below[3] + above[2]), axis=Y)
        sketch.close(f"loop_{k}", half, bar, below[3], "weld")
        root = bar
    return sketch.build()


def coupled_loops(m: int) -> Model:
    """A floating chain with m welds across its middle: every loop shares joints with every other (LCABA paper, Fig. 8).

    Link 4 i on one side of the middle is welded to link 4 p(i) on the other, p a permutation without order: no order of
    elimination keeps the links' neighbours few, and every method is cubic.

    m        how many welds
    returns  a `Model`
    errors   `ModelError`: m is less than 1

    >>> robot = sarrus.zoo.coupled_loops(2)
    >>> robot.nv, robot.n_rows
    (22, 12)
    """
    at_least(1, m=m)
    sketch = Sketch(f"coupled_loops_{m}")
    between = 4  # joints from weld to weld: four give each loop two freedoms more than its weld takes
    step = 0.1
    sketch.rod("middle", WORLD_NAME, 0.0 * X, step * X, "free", None)
    ends = {}
    for side, sign in (("left", -1.0), ("right", 1.0)):
        points = [0.5 * step * (1.0 + sign) * X]
        for k in range(between * m):
            bend = 0.4 * np.sin(1.3 * k + sign) * Y + 0.4 * np.cos(1.7 * k) * Z
            points.append(points[-1] + step * (sign * X + bend))
            ends[f"{side}_{k}"] = points[-1]
        sketch.rods(side, "middle", points, itertools.cycle((X, Y, Z)))
    stride = next(s for s in range(max(1, round(0.618 * m)), m + 1) if np.gcd(s, m) == 1)
    for i in range(m):
        left = f"left_{between * (i + 1) - 1}"
        right = f"right_{between * ((i * stride + m // 2) % m + 1) - 1}"
        sketch.close(f"weld_{i}", left, right, 0.5 * (ends[left] + ends[right]), "weld")
    return sketch.build()


def star_pairs(m: int, length: int = 4) -> Model:
    """A floating hub with 2 m branches of `length` links, their tips welded in pairs (LCABA paper, Fig. 9).

    m        how many pairs of branches
    length   how many links of a branch
    returns  a `Model`
    errors   `ModelError`: a number is too small

    >>> robot = sarrus.zoo.star_pairs(2)
    >>> robot.nv, robot.n_rows
    (22, 12)
    """
    at_least(1, m=m, length=length)
    sketch = Sketch(f"star_pairs_{m}_{length}")
    sketch.box("hub", WORLD_NAME, 0.0 * X, (0.2, 0.2, 0.1), 3.0)
    for b in range(m):
        angle = 360.0 * b / m
        tip = 0.2 * length * around(angle) + 0.1 * Z
        ends = []
        for side, sign in (("left", 1.0), ("right", -1.0)):
            start = 0.1 * around(angle) + 0.05 * sign * Z
            points = _bow(start, tip, 0.15 * (0.3 * Z + sign * around(angle + 90.0)), length)
            axes = itertools.cycle(np.roll([X, Y, Z], b - (sign < 0.0), axis=0))
            ends.append(sketch.rods(f"{side}_{b}", "hub", points, axes))
        sketch.close(f"pair_{b}", ends[0], ends[1], tip, "weld")
    return sketch.build()


def star_to_one(m: int, length: int = 6) -> Model:
    """A floating hub with m branches of `length` links that bow out and meet above it, their tips all welded to that of
    the first: every loop shares a branch with every other (LCABA paper, Fig. 9; in `star_pairs` none does).

    m        how many branches
    length   how many links of a branch
    returns  a `Model`
    errors   `ModelError`: a number is too small

    >>> robot = sarrus.zoo.star_to_one(3)
    >>> robot.nv, robot.n_rows
    (24, 12)
    """
    at_least(2, m=m)
    at_least(1, length=length)
    sketch = Sketch(f"star_to_one_{m}_{length}")
    sketch.box("hub", WORLD_NAME, 0.0 * X, (0.2, 0.2, 0.1), 3.0)
    tip, ends = 0.15 * length * Z, []
    for b in range(m):
        angle = 360.0 * b / m
        points = _bow(0.1 * around(angle), tip, 0.4 * around(angle + 20.0), length)
        ends.append(sketch.rods(f"branch_{b}", "hub", points, itertools.cycle(np.roll([X, Y, Z], -b, axis=0))))
    for b in range(1, m):
        sketch.close(f"weld_{b}", ends[0], ends[b], tip, "weld")
    return sketch.build()


def _bow(start: Array, tip: Array, bow: Array, n: int) -> list[Array]:
    """The ends of n rods on a parabola from start to tip that bows out to one side."""
    return [start + s * (tip - start) + 4.0 * s * (1.0 - s) * bow for s in np.linspace(0.0, 1.0, n + 1)]


def hand_cube() -> Model:
    """A hand on the ground whose four fingers of four joints hold a free cube, point contacts: 22 freedoms, 12 rows.

    >>> robot = sarrus.zoo.hand_cube()
    >>> robot.nv, robot.n_rows
    (22, 12)
    """
    return _grasp("hand_cube", ("left",))


def two_hands_cube() -> Model:
    """Two such hands holding one cube from both sides: 38 freedoms, 24 rows (as in the LCABA paper's Table II).

    >>> robot = sarrus.zoo.two_hands_cube()
    >>> robot.nv, robot.n_rows
    (38, 24)
    """
    return _grasp("two_hands_cube", ("left", "right"))


def _grasp(name: str, hands: tuple[str, ...]) -> Model:
    sketch = Sketch(name)
    side, middle = 0.1, 0.4 * Z
    sketch.box("cube", WORLD_NAME, middle, (side, side, side), 0.5)
    for hand in hands:
        towards = X if hand == "left" else -X
        palm = middle - 0.18 * towards
        fingers = {"index": (0.03, 0.05), "middle": (0.0, 0.05), "ring": (-0.03, 0.05), "thumb": (0.01, -0.05)}
        for finger, (across, up) in fingers.items():
            sign = np.sign(up)
            root = palm + across * Y + up * Z
            # on the cube's upper or lower face
            tip = middle - 0.01 * towards + 0.8 * across * Y + 0.5 * sign * side * Z
            knuckle = root + 0.01 * towards + 0.005 * sign * Z
            bend, last = knuckle + 0.055 * towards + 0.05 * sign * Z, tip - 0.035 * towards + 0.03 * sign * Z
            axes = (Z if finger != "thumb" else X, Y, Y, Y)  # spread (or turn), then bend
            end = sketch.rods(f"{hand}_{finger}", WORLD_NAME, [root, knuckle, bend, last, tip], axes)
            sketch.close(f"{hand}_{finger}_tip", end, "cube", tip, "connect")
    return sketch.build()
