"""Classical linkages and parallel robots. All numbers are made up, and plausible; every loop is closed at neutral q."""

from __future__ import annotations

import numpy as np

from sarrus.errors import ModelError
from sarrus.model.bodies import WORLD_NAME
from sarrus.model.model import Model
from sarrus.spatial.arrays import Array
from sarrus.spatial.product import direction, product
from sarrus.zoo.sketch import Sketch, X, Y, Z, around, universal


def four_bar(joint: str = "revolute") -> Model:
    """A planar crank-rocker whose coupler and rocker are joined by a cut joint.

    joint    "revolute" (5 rows of rank 2: three are redundant), "connect" (3 rows of rank 2) or "weld", which jams it
    returns  a `Model`
    errors   `UnknownNameError`: no such joint

    >>> robot = sarrus.zoo.four_bar()
    >>> robot.nv, robot.n_rows
    (3, 5)
    """
    A, D = 0.0 * X, 0.4 * X
    B = A + 0.15 * _in_plane(70.0)
    C = _meet(B, 0.35, D, 0.3)
    return _four_bar("four_bar", A, B, C, D, joint)


def flat_four_bar(joint: str = "revolute") -> Model:
    """A parallelogram four-bar folded flat: where q is neutral two assembly branches cross and rank is lost.

    joint    as in `four_bar`
    returns  a `Model`
    errors   `UnknownNameError`: no such joint

    >>> robot = sarrus.zoo.flat_four_bar()
    >>> robot.nv, robot.n_rows
    (3, 5)
    """
    return _four_bar("flat_four_bar", 0.0 * X, 0.2 * X, 0.6 * X, 0.4 * X, joint)


def _four_bar(name: str, A: Array, B: Array, C: Array, D: Array, joint: str) -> Model:
    sketch = Sketch(name)
    sketch.rod("crank", WORLD_NAME, A, B)
    sketch.rod("coupler", "crank", B, C)
    sketch.rod("rocker", WORLD_NAME, D, C)
    sketch.close("coupler_rocker", "coupler", "rocker", C, joint, Y)
    return sketch.build()


def slider_crank(joint: str = "revolute") -> Model:
    """An engine: crank, connecting rod and a piston that slides along x; a revolute cut joint (5 rows of rank 2).

    joint    the cut joint: "revolute", "connect" (3 rows) or "weld" (6)
    returns  a `Model`
    errors   `UnknownNameError`: no such joint

    >>> robot = sarrus.zoo.slider_crank()
    >>> robot.nv, robot.n_rows
    (3, 5)
    """
    sketch = Sketch("slider_crank")
    pin = 0.1 * _in_plane(60.0)
    wrist = (pin[0] + np.sqrt(0.3**2 - pin[2] ** 2)) * X  # where the rod meets the x axis
    sketch.rod("crank", WORLD_NAME, 0.0 * X, pin)
    sketch.rod("rod", "crank", pin, wrist)
    sketch.box("piston", WORLD_NAME, wrist, (0.06, 0.06, 0.06), 0.4, "prismatic", axis=X)
    sketch.close("rod_piston", "rod", "piston", wrist, joint, Y)
    return sketch.build()


def five_bar(joint: str = "revolute") -> Model:
    """A planar five-bar: two cranks 0.2 m apart move the point where their forearms meet (mobility 2).

    joint    the cut joint: "revolute" (5 rows), "connect" (3) or "weld" (6)
    returns  a `Model`
    errors   `UnknownNameError`: no such joint

    >>> robot = sarrus.zoo.five_bar()
    >>> robot.nv, robot.n_rows
    (4, 5)
    """
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

    >>> robot = sarrus.zoo.sarrus_linkage()
    >>> robot.nv, robot.n_rows
    (5, 5)
    """
    sketch = Sketch("sarrus_linkage")
    bottom, top, out = 0.0, 0.3, 0.25
    for name, way, axis in (("x", X, Y), ("y", Y, X)):
        foot, head = 0.1 * way + bottom * Z, 0.1 * way + top * Z
        knee = (0.1 + out) * way + 0.5 * (bottom + top) * Z
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

    a        length of two opposite links: m
    twist_a  of these links, between their hinges: rad
    twist_b  of the other two: rad
    angle    of the first hinge, at the neutral configuration: rad
    returns  a `Model`
    errors   `ModelError`: twists or a length with which it cannot move

    >>> robot = sarrus.zoo.bennett()
    >>> robot.nv, robot.n_rows
    (3, 5)
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
    last = sketch.rods("link", WORLD_NAME, points, axes)
    sketch.close("hinge", last, WORLD_NAME, points[3], "revolute", axes[3])
    return sketch.build()


def stewart() -> Model:
    """A Stewart platform: a free plate on six legs (universal joint, slide, ball joint); 18 rows, mobility 6.

    >>> robot = sarrus.zoo.stewart()
    >>> robot.nv, robot.n_rows
    (24, 18)
    """
    sketch = Sketch("stewart")
    top = 0.6
    sketch.box("platform", WORLD_NAME, top * Z, (0.4, 0.4, 0.03), 4.0)
    for k in range(6):
        side, half = divmod(k, 2)
        low, high = 120.0 * side + (-10.0, 10.0)[half], 120.0 * side + (-50.0, 50.0)[half]
        foot, head = 0.5 * around(low), 0.25 * around(high) + top * Z
        u, middle = direction(head - foot), 0.5 * (foot + head)
        sketch.rod(f"cylinder_{k}", WORLD_NAME, foot, middle, "universal", **universal(u, direction(np.cross(u, Z))))
        sketch.rod(f"piston_{k}", f"cylinder_{k}", middle, head, "prismatic", axis=u)
        sketch.close(f"leg_{k}", f"piston_{k}", "platform", head, "connect")
    return sketch.build()


def delta() -> Model:
    """A delta robot: three motors, three parallelograms of two rods, a plate that only translates; mobility 3.

    >>> robot = sarrus.zoo.delta()
    >>> robot.nv, robot.n_rows
    (21, 18)
    """
    sketch = Sketch("delta")
    plate = -0.45 * Z
    sketch.box("plate", WORLD_NAME, plate, (0.1, 0.1, 0.02), 0.3)
    for k in range(3):
        outward, tangent = around(120.0 * k), around(120.0 * k + 90.0)
        shoulder = 0.15 * outward
        elbow = shoulder + 0.2 * (np.cos(0.35) * outward - np.sin(0.35) * Z)
        sketch.rod(f"arm_{k}", WORLD_NAME, shoulder, elbow, axis=tangent)
        for side, shift in (("left", -0.04), ("right", 0.04)):
            start, end = elbow + shift * tangent, plate + 0.05 * outward + shift * tangent
            rod = f"rod_{k}_{side}"
            u = direction(end - start)
            across = direction(tangent - product(tangent, u) * u)
            sketch.rod(rod, f"arm_{k}", start, end, "universal", **universal(u, across))
            sketch.close(f"ball_{k}_{side}", rod, "plate", end, "connect")
    return sketch.build()


def _in_plane(degrees: float) -> Array:
    """A unit vector of the xz plane, from x towards z."""
    return np.cos(np.radians(degrees)) * X + np.sin(np.radians(degrees)) * Z


def _meet(a: Array, from_a: float, b: Array, from_b: float) -> Array:
    """The upper point of the xz plane at these distances from a and b."""
    d = float(np.linalg.norm(b - a))
    along = (d * d + from_a**2 - from_b**2) / (2.0 * d)
    u = (b - a) / d
    return a + along * u + np.sqrt(from_a**2 - along**2) * np.cross(u, Y) * np.sign(np.cross(u, Y)[2])


def _denavit_hartenberg(theta: float, length: float, twist: float) -> Array:
    c, s, ca, sa = np.cos(theta), np.sin(theta), np.cos(twist), np.sin(twist)
    return np.array(
        [[c, -s * ca, s * sa, length * c], [s, c * ca, -c * sa, length * s], [0.0, sa, ca, 0.0], [0.0, 0.0, 0.0, 1.0]]
    )
