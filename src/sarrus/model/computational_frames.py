"""The frames in which a robot is computed.

Users see the body frames of their file. Computing in them would be wasteful: a revolute joint about (0.1, 0.7, 0.7)
needs a full rotation matrix, one about z needs a cosine and a sine. So every body gets a second, *computational* frame,
fixed to it, chosen once for the robot:

1. joint axis along z: the motion subspace S is a column of the identity;
2. the frame's turn about z, and its place along z, are free: they are chosen so that the constant rotation from the
   parent is a signed permutation (or else has one turn less) and the constant offset has as many zeros as possible.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from sarrus.model.bodies import WORLD, Body, Placement
from sarrus.spatial.arrays import Array, Scalar, is_numeric
from sarrus.spatial.inertia import Inertia
from sarrus.spatial.product import product
from sarrus.spatial.transforms import Dense, Transform, Turn, pose

_EPS = 8 * np.finfo(float).eps  # rounding of an element of a rotation matrix
_FAR = 8.0  # how much farther than the user's frame a computational one may lie


class ComputationalFrame(NamedTuple):
    """Of one body."""

    in_body: Placement  # in the frame that the user sees
    offset: Scalar  # added to the joint's angle
    fixed: Transform  # the joint's fixed frame in the parent's computational frame


def choose_frames(bodies: Sequence[Body]) -> list[ComputationalFrame]:
    """The computational frame of every body."""
    children: list[list[int]] = [[] for _ in bodies]
    weight = [1] * len(bodies)  # how many bodies it carries, itself included
    for i in reversed(range(len(bodies))):
        parent = bodies[i].parent
        if parent != WORLD:
            children[parent].insert(0, i)
            weight[parent] += weight[i]
    frames: list[ComputationalFrame] = []
    for i, body in enumerate(bodies):
        on_parent = body.placement
        if body.parent != WORLD:
            on_parent = frames[body.parent].in_body.inverse @ on_parent
        heaviest_first = sorted(children[i], key=lambda k: -weight[k])
        frames.append(_frame_of(body, on_parent, [bodies[k] for k in heaviest_first]))
    return frames


def _frame_of(body: Body, on_parent: Placement, children: list[Body]) -> ComputationalFrame:
    """on_parent: the joint's frame in the parent's computational one. children: those that carry most come first."""
    joint, origin, offset = body.joint.type, np.zeros(3), 0.0
    if joint.n_axes != 1 or not joint.free_about_axis or not is_numeric(on_parent.R):
        A = canonical_axes(body)
        fixed = pose(_clean(product(on_parent.R, A)), on_parent.p)
        return ComputationalFrame(Placement(_clean(A), origin), offset, fixed)
    axis = body.joint.axes[0]
    u = _clean(product(on_parent.R, axis))
    turn = _turn_to(u)  # the zero frame in the parent, sparse
    A = product(on_parent.R.T, turn.R)  # ... and in the body
    p = on_parent.p
    if is_numeric(p) and joint.name == "prismatic":
        # Translation commutes with translation: put the origin onto the parent's.
        origin, p = -product(on_parent.R.T, p), np.zeros(3)
    elif is_numeric(p):
        slide, p = _sparsest_on_axis(p, u)
        origin = slide * axis
        if joint.name in ("revolute", "continuous"):
            offset = _turn_for_children(body, Placement(A, origin), children)
            c, s = np.cos(offset), np.sin(offset)
            A = product(A, np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]]))
    return ComputationalFrame(Placement(_clean(A), origin), offset, pose(np.eye(3), p) @ turn)


def canonical_axes(body: Body) -> Array:
    """Axes in which the joint is written: two axes are x and y, a single one is z."""
    axes = body.joint.axes
    if len(axes) == 2:
        return np.column_stack([*axes, np.cross(*axes)])
    return _turn_to(_clean(axes[0])).R if axes else np.eye(3)


def _turn_to(u: Array) -> Transform:
    """A sparse rotation that takes z to the unit vector u; the identity for z."""
    nonzero = np.flatnonzero(u)
    if len(nonzero) == 1:
        R = np.zeros((3, 3))
        k = int(nonzero[0])
        R[k, 2] = np.sign(u[k])
        R[(k + 1) % 3, 0] = 1.0
        R[:, 1] = np.cross(R[:, 2], R[:, 0])
        return pose(R, np.zeros(3))
    c, s = float(u[2]), float(np.hypot(u[0], u[1]))
    if u[0] == 0.0:  # in the yz plane: one turn about x (z goes to (0, -sin, cos))
        return Transform((Turn(0, c, -float(u[1])),))
    if u[1] == 0.0:  # in the xz plane: one turn about y
        return Transform((Turn(1, c, float(u[0])),))
    about_z = Turn(2, float(u[0]) / s, float(u[1]) / s)
    if u[2] == 0.0:
        return Transform((about_z, Dense(np.array([[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]]))))
    return Transform((about_z, Turn(1, c, s)))


def _turn_for_children(body: Body, frame: Placement, children: list[Body]) -> float:
    """The turn about z that saves most: of an oblique child axis into the xz plane, or a leaf's centre of mass to x."""
    for child in children:
        joint = child.joint.type
        if joint.n_axes == 1 and joint.free_about_axis and is_numeric(child.placement.R):
            x, y, _ = _clean(product(frame.R.T, product(child.placement.R, child.joint.axes[0])))
            return float(np.arctan2(y, x)) if x != 0.0 and y != 0.0 else 0.0
    if children or not is_numeric(body.inertia.h):
        return 0.0
    x, y, _ = product(frame.R.T, body.inertia.h)
    return 0.0 if abs(x) <= _EPS * abs(y) or abs(y) <= _EPS * abs(x) else float(np.arctan2(y, x))


def _sparsest_on_axis(p: Array, u: Array) -> tuple[float, Array]:
    """The point p + slide u with the most zeros (the nearest to the origin among equals).

    Not one far away: an axis that almost misses a coordinate axis meets it at a distance that costs as many digits.
    """
    scale = float(np.abs(p).max())
    if scale == 0.0:
        return 0.0, p
    found = []
    for slide in [0.0, *(float(-p[k] / u[k]) for k in range(3) if u[k] != 0.0)]:
        point = p + slide * u
        point[np.abs(point) <= _EPS * scale] = 0.0
        distance = float(np.linalg.norm(point))
        if distance <= _FAR * scale:
            found.append((np.count_nonzero(point), distance, slide, point))
    _, _, slide, point = min(found, key=lambda x: x[:2])
    return slide, point


def _clean(rotation: Array) -> Array:
    """Elements of a rotation (or unit vector) that differ by rounding from 0, from +-1 or, but for the sign, from each
    other become exactly that.
    """
    if not is_numeric(rotation):
        return rotation
    sizes = np.abs(rotation)
    levels = [0.0]
    for size in np.sort(sizes, axis=None):
        if size - levels[-1] > _EPS:
            levels.append(1.0 if abs(size - 1.0) <= _EPS else float(size))
    nearest = np.array(levels)[np.abs(sizes[..., None] - levels).argmin(axis=-1)]
    return np.copysign(nearest, rotation) + 0.0


def without_noise(inertia: Inertia) -> Inertia:
    """A first moment whose direction is right to rounding has the zeros that the choice of frame gave it."""
    h = inertia.h
    if not is_numeric(h):
        return inertia
    return replace(inertia, h=np.where(np.abs(h) <= _EPS * np.abs(h).max(), 0.0, h))
