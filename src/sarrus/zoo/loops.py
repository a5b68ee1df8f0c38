"""Mechanisms with closed loops. All numbers are made up, and plausible; every loop is closed where q is neutral."""

from __future__ import annotations

import numpy as np

from sarrus.errors import ModelError
from sarrus.model.bodies import WORLD_NAME
from sarrus.model.model import Model
from sarrus.spatial.arrays import Array
from sarrus.zoo.sketch import Sketch

X, Y, Z = np.eye(3)


def four_bar(joint: str = "revolute") -> Model:
    """A planar crank-rocker whose coupler and rocker are joined by a cut joint.

    joint: "revolute" (5 rows of rank 2: three are redundant), "connect" (3 rows of rank 2) or "weld", which jams it
    """
    A, D = 0.0 * X, 0.4 * X
    B = A + 0.15 * _in_plane(70.0)
    C = _meet(B, 0.35, D, 0.3)
    return _four_bar("four_bar", A, B, C, D, joint)


def flat_four_bar(joint: str = "revolute") -> Model:
    """A parallelogram four-bar folded flat: where q is neutral two assembly branches cross and rank is lost."""
    return _four_bar("flat_four_bar", 0.0 * X, 0.2 * X, 0.6 * X, 0.4 * X, joint)


def _four_bar(name: str, A: Array, B: Array, C: Array, D: Array, joint: str) -> Model:
    sketch = Sketch(name)
    sketch.rod("crank", WORLD_NAME, A, B)
    sketch.rod("coupler", "crank", B, C)
    sketch.rod("rocker", WORLD_NAME, D, C)
    sketch.close("coupler_rocker", "coupler", "rocker", C, joint, Y)
    return sketch.build()


def slider_crank(joint: str = "revolute") -> Model:
    """An engine: crank, connecting rod and a piston that slides along x; a revolute cut joint (5 rows of rank 2)."""
    sketch = Sketch("slider_crank")
    pin = 0.1 * _in_plane(60.0)
    wrist = _meet_line(pin, 0.3)
    sketch.rod("crank", WORLD_NAME, 0.0 * X, pin)
    sketch.rod("rod", "crank", pin, wrist)
    sketch.box("piston", WORLD_NAME, wrist, (0.06, 0.06, 0.06), 0.4, "prismatic", axis=X)
    sketch.close("rod_piston", "rod", "piston", wrist, joint, Y)
    return sketch.build()


def five_bar(joint: str = "revolute") -> Model:
    """A planar five-bar: two cranks 0.2 m apart move the point where their forearms meet (mobility 2)."""
    sketch = Sketch("five_bar")
    left, right = -0.1 * X, 0.1 * X
    elbows = [left + 0.2 * _in_plane(115.0), right + 0.2 * _in_plane(55.0)]
    tip = _meet(elbows[0], 0.3, elbows[1], 0.3)
    for side, root, elbow in (("left", left, elbows[0]), ("right", right, elbows[1])):
        sketch.rod(f"{side}_crank", WORLD_NAME, root, elbow)
        sketch.rod(f"{side}_forearm", f"{side}_crank", elbow, tip)
    sketch.close("tip", "left_forearm", "right_forearm", tip, joint, Y)
    sketch.frame("tool", "left_forearm", tip)
    return sketch.build()


def sarrus_linkage() -> Model:
    """The Sarrus linkage: two pairs of hinged plates at right angles let a platform move on a straight line, upwards.

    Over-constrained: six hinges in space should not move (Gruebler: 6 - 6 = 0), these do. The 5 rows of its cut hinge
    have rank 4.
    """
    sketch = Sketch("sarrus_linkage")
    bottom, top, out = 0.0, 0.3, 0.25
    for name, direction, axis in (("x", X, Y), ("y", Y, X)):
        foot, head = 0.1 * direction + bottom * Z, 0.1 * direction + top * Z
        knee = (0.1 + out) * direction + 0.5 * (bottom + top) * Z
        sketch.rod(f"lower_{name}", WORLD_NAME, foot, knee, axis=axis)
        sketch.rod(f"upper_{name}", f"lower_{name}", knee, head, axis=axis)
        if name == "x":
            sketch.box("platform", "upper_x", head, (0.25, 0.25, 0.02), 1.5, "revolute", axis=axis)
        else:
            sketch.close("platform_hinge", "platform", "upper_y", head, "revolute", axis)
    return sketch.build()


def bennett(a: float = 0.3, twist_a: float = 0.6, twist_b: float = 1.1, angle: float = 1.2) -> Model:
    """Bennett's linkage: four hinges in space, no two of them parallel, that nevertheless move.

    Opposite links are equal, and a / sin(twist_a) = b / sin(twist_b). The 5 rows of its cut hinge have rank 2.
    angle: of the first hinge, at the neutral configuration
    """
    if not (0.0 < twist_a < np.pi and 0.0 < twist_b < np.pi) or np.isclose(twist_a, twist_b) or not a > 0.0:
        raise ModelError(
            f"bennett: twists {twist_a!r}, {twist_b!r} must be different, between 0 and pi, and a {a!r} positive"
        )
    b = a * np.sin(twist_b) / np.sin(twist_a)
    other = 2.0 * np.arctan2(np.sin(0.5 * (twist_b + twist_a)), np.sin(0.5 * (twist_b - twist_a)) * np.tan(0.5 * angle))
    links = [(angle, a, twist_a), (other, b, twist_b), (-angle, a, twist_a), (-other, b, twist_b)]  # Denavit-Hartenberg
    T = np.eye(4)
    points, axes = [], []
    for theta, length, twist in links:
        points.append(T[:3, 3].copy())
        axes.append(T[:3, 2].copy())
        T = T @ _denavit_hartenberg(theta, length, twist)
    sketch = Sketch("bennett")
    parent = WORLD_NAME
    for k in range(3):
        parent = sketch.rod(f"link_{k}", parent, points[k], points[k + 1], axis=axes[k])
    sketch.close("hinge", parent, WORLD_NAME, points[3], "revolute", axes[3])
    return sketch.build()


def stewart() -> Model:
    """A Stewart platform: a free plate on six legs (universal joint, slide, ball joint); 18 rows, mobility 6."""
    sketch = Sketch("stewart")
    top = 0.6
    sketch.box("platform", WORLD_NAME, top * Z, (0.4, 0.4, 0.03), 4.0)
    for k in range(6):
        side, half = divmod(k, 2)
        low, high = 120.0 * side + (-10.0, 10.0)[half], 120.0 * side + (-50.0, 50.0)[half]
        foot, head = 0.5 * _around(low), 0.25 * _around(high) + top * Z
        u = _unit(head - foot)
        across = _unit(np.cross(u, Z))
        middle = 0.5 * (foot + head)
        universal = {"axis": across, "second_axis": np.cross(u, across)}
        sketch.rod(f"cylinder_{k}", WORLD_NAME, foot, middle, "universal", **universal)
        sketch.rod(f"piston_{k}", f"cylinder_{k}", middle, head, "prismatic", axis=u)
        sketch.close(f"leg_{k}", f"piston_{k}", "platform", head, "connect")
    return sketch.build()


def delta() -> Model:
    """A delta robot: three motors, three parallelograms of two rods, a plate that only translates; mobility 3."""
    sketch = Sketch("delta")
    plate = -0.45 * Z
    sketch.box("plate", WORLD_NAME, plate, (0.1, 0.1, 0.02), 0.3)
    for k in range(3):
        outward, tangent = _around(120.0 * k), _around(120.0 * k + 90.0)
        shoulder = 0.15 * outward
        elbow = shoulder + 0.2 * (np.cos(0.35) * outward - np.sin(0.35) * Z)
        sketch.rod(f"arm_{k}", WORLD_NAME, shoulder, elbow, axis=tangent)
        for side, shift in (("left", -0.04), ("right", 0.04)):
            start, end = elbow + shift * tangent, plate + 0.05 * outward + shift * tangent
            rod = f"rod_{k}_{side}"
            u = _unit(end - start)
            across = _unit(tangent - (tangent @ u) * u)
            universal = {"axis": across, "second_axis": np.cross(u, across)}
            sketch.rod(rod, f"arm_{k}", start, end, "universal", **universal)
            sketch.close(f"ball_{k}_{side}", rod, "plate", end, "connect")
    return sketch.build()


def cycle(n: int) -> Model:
    """A floating ring of n links, the last welded to the first (LCABA paper, Fig. 6): 6 rows, n - 1 revolute joints."""
    _at_least(3, n=n)
    sketch = Sketch(f"cycle_{n}")
    radius = 0.15 / np.sin(np.pi / n)
    corners = [radius * _around(360.0 * k / n) + 0.05 * (-1) ** k * Z for k in range(n)]
    sketch.rod("link_0", WORLD_NAME, corners[0], corners[1], "free", None)
    for k in range(1, n):
        sketch.rod(f"link_{k}", f"link_{k - 1}", corners[k], corners[(k + 1) % n], axis=(X, Y, Z)[k % 3])
    sketch.close("ring", f"link_{n - 1}", "link_0", corners[0], "weld")
    return sketch.build()


def chain_of_loops(m: int) -> Model:
    """A floating chain of m loops of seven links (LCABA paper, Fig. 7): neighbours share a link, a weld closes each."""
    _at_least(1, m=m)
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
        over, under = root, root
        for j in range(2):
            over = sketch.rod(f"over_{k}_{j}", over, above[j], above[j + 1], axis=(X, Y)[j])
        bar = sketch.rod(f"bar_{k + 1}", over, above[2], below[3], axis=Z)
        for j in range(3):
            under = sketch.rod(f"under_{k}_{j}", under, below[j], below[j + 1], axis=(Y, Z, X)[j])
        half = sketch.rod(f"half_{k}", under, below[3], 0.5 * (below[3] + above[2]), axis=Y)
        sketch.close(f"loop_{k}", half, bar, below[3], "weld")
        root = bar
    return sketch.build()


def coupled_loops(m: int) -> Model:
    """A floating chain with m welds across its middle: every loop shares joints with every other (LCABA paper, Fig. 8).

    Link 4 i on one side of the middle is welded to link 4 p(i) on the other, p a permutation without order: no order of
    elimination keeps the links' neighbours few, and every method is cubic.
    """
    _at_least(1, m=m)
    sketch = Sketch(f"coupled_loops_{m}")
    between = 4  # joints from weld to weld: four give each loop two freedoms more than its weld takes
    step = 0.1
    sketch.rod("middle", WORLD_NAME, 0.0 * X, step * X, "free", None)
    ends = {}
    for side, sign in (("left", -1.0), ("right", 1.0)):
        parent, at = "middle", 0.5 * step * (1.0 + sign) * X
        for k in range(between * m):
            to = at + step * (sign * X + 0.4 * np.sin(1.3 * k + sign) * Y + 0.4 * np.cos(1.7 * k) * Z)
            parent, at = sketch.rod(f"{side}_{k}", parent, at, to, axis=(X, Y, Z)[k % 3]), to
            ends[parent] = to
    stride = next(s for s in range(max(1, round(0.618 * m)), m + 1) if np.gcd(s, m) == 1)
    for i in range(m):
        left = f"left_{between * (i + 1) - 1}"
        right = f"right_{between * ((i * stride + m // 2) % m + 1) - 1}"
        sketch.close(f"weld_{i}", left, right, 0.5 * (ends[left] + ends[right]), "weld")
    return sketch.build()


def star_pairs(m: int, length: int = 4) -> Model:
    """A floating hub with 2 m branches of `length` links, their tips welded in pairs (LCABA paper, Fig. 9)."""
    _at_least(1, m=m, length=length)
    sketch = Sketch(f"star_pairs_{m}_{length}")
    sketch.box("hub", WORLD_NAME, 0.0 * X, (0.2, 0.2, 0.1), 3.0)
    for b in range(m):
        angle = 360.0 * b / m
        tip = 0.2 * length * _around(angle) + 0.1 * Z
        ends = []
        for side, sign in (("left", 1.0), ("right", -1.0)):
            start = 0.1 * _around(angle) + 0.05 * sign * Z
            bow = 0.15 * (0.3 * Z + sign * _around(angle + 90.0))
            points = [start + s * (tip - start) + 4.0 * s * (1.0 - s) * bow for s in np.linspace(0.0, 1.0, length + 1)]
            parent = "hub"
            for k in range(length):
                axis = np.roll([X, Y, Z], b, axis=0)[(k + (sign < 0.0)) % 3]
                parent = sketch.rod(f"{side}_{b}_{k}", parent, points[k], points[k + 1], axis=axis)
            ends.append(parent)
        sketch.close(f"pair_{b}", ends[0], ends[1], tip, "weld")
    return sketch.build()


def star_to_one(m: int, length: int = 6) -> Model:
    """A floating hub with m branches of `length` links that bow out and meet above it, their tips all welded to that of
    the first: every loop shares a branch with every other (LCABA paper, Fig. 9; in `star_pairs` none does).
    """
    _at_least(2, m=m)
    _at_least(1, length=length)
    sketch = Sketch(f"star_to_one_{m}_{length}")
    sketch.box("hub", WORLD_NAME, 0.0 * X, (0.2, 0.2, 0.1), 3.0)
    tip, ends = 0.15 * length * Z, []
    for b in range(m):
        angle = 360.0 * b / m
        start, bow = 0.1 * _around(angle), 0.4 * _around(angle + 20.0)
        parent = "hub"
        points = [start + s * (tip - start) + 4.0 * s * (1.0 - s) * bow for s in np.linspace(0.0, 1.0, length + 1)]
        for k in range(length):
            parent = sketch.rod(f"branch_{b}_{k}", parent, points[k], points[k + 1], axis=(X, Y, Z)[(k + b) % 3])
        ends.append(parent)
    for b in range(1, m):
        sketch.close(f"weld_{b}", ends[0], ends[b], tip, "weld")
    return sketch.build()


def hand_cube() -> Model:
    """A hand on the ground whose four fingers of four joints hold a free cube, point contacts: 22 freedoms, 12 rows."""
    return _grasp("hand_cube", ("left",))


def two_hands_cube() -> Model:
    """Two such hands holding one cube from both sides: 38 freedoms, 24 rows (as in the LCABA paper's Table II)."""
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
            tip = (
                middle - 0.01 * towards + 0.8 * across * Y + 0.5 * sign * side * Z
            )  # on the cube's upper or lower face
            knuckle = root + 0.01 * towards + 0.005 * sign * Z
            points = [
                root,
                knuckle,
                knuckle + 0.055 * towards + 0.05 * sign * Z,
                tip - 0.035 * towards + 0.03 * sign * Z,
                tip,
            ]
            parent = WORLD_NAME
            for k, axis in enumerate((Z if finger != "thumb" else X, Y, Y, Y)):  # spread (or turn), then bend
                parent = sketch.rod(f"{hand}_{finger}_{k}", parent, points[k], points[k + 1], axis=axis)
            sketch.close(f"{hand}_{finger}_tip", parent, "cube", tip, "connect")
    return sketch.build()


def _at_least(minimum: int, **numbers: int) -> None:
    for name, value in numbers.items():
        if int(value) != value or value < minimum:
            raise ModelError(f"{name} is {value!r}: expected a whole number of at least {minimum}")


def _in_plane(degrees: float) -> Array:
    """A unit vector of the xz plane, from x towards z."""
    return np.cos(np.radians(degrees)) * X + np.sin(np.radians(degrees)) * Z


def _around(degrees: float) -> Array:
    """A unit vector of the xy plane."""
    return np.cos(np.radians(degrees)) * X + np.sin(np.radians(degrees)) * Y


def _unit(x: Array) -> Array:
    return x / np.linalg.norm(x)


def _meet(a: Array, from_a: float, b: Array, from_b: float) -> Array:
    """The upper point of the xz plane at these distances from a and b."""
    d = float(np.linalg.norm(b - a))
    along = (d * d + from_a**2 - from_b**2) / (2.0 * d)
    u = (b - a) / d
    return a + along * u + np.sqrt(from_a**2 - along**2) * np.cross(u, Y) * np.sign(np.cross(u, Y)[2])


def _meet_line(a: Array, length: float) -> Array:
    """The point of the x axis at that distance from a, ahead of it."""
    return (a[0] + np.sqrt(length**2 - a[2] ** 2)) * X


def _denavit_hartenberg(theta: float, length: float, twist: float) -> Array:
    c, s, ca, sa = np.cos(theta), np.sin(theta), np.cos(twist), np.sin(twist)
    return np.array(
        [[c, -s * ca, s * sa, length * c], [s, c * ca, -c * sa, length * s], [0.0, sa, ca, 0.0], [0.0, 0.0, 0.0, 1.0]]
    )
