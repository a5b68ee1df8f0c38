"""How far round shapes sink into a plane as they turn, beyond what the velocity of their lowest point says.

The lowest point of a ball, an ellipsoid or a rim is at the height of its center less |D R^T n|, with the radii D (of a
rim: r, r, 0), the normal n, and the axes R. As R turns, another point becomes the lowest, and that length grows by more
than its rate says: of a coin that wobbles almost flat, within a step by a large part of its tilt.
"""

from __future__ import annotations

import numpy as np

from sarrus.mechanics.contact.cone import tiny
from sarrus.mechanics.contact.contact_rows import Twist
from sarrus.model.geometries import ContactShape
from sarrus.model.visuals import Capsule, Cylinder, Ellipsoid, Sphere
from sarrus.spatial.arrays import Array, Scalar
from sarrus.spatial.choice import choose
from sarrus.spatial.norms import dot, root
from sarrus.spatial.rotations import cross

_RIMS = 2  # of the touches of a cylinder on a plane, those that are the lowest points of its rims


def radii_of_touch(shape: ContactShape, touch: int) -> Array | None:
    """(3,) along the axes of the shape, of what touches a plane; None: a point."""
    if isinstance(shape, Sphere | Capsule):
        return np.full(3, shape.radius)
    if isinstance(shape, Ellipsoid):
        return np.asarray(shape.radii, float)
    if isinstance(shape, Cylinder) and touch < _RIMS:
        return np.array([shape.radius, shape.radius, 0.0])
    return None


def sinking(radii: Array, R: Array, normal: Array, twist: Twist, dt: Scalar) -> Scalar:
    """Metres by which |D R^T n| grows in a step beyond its rate.

    With w = D R^T n before and w' after, that is |w'| less the part of w' along w. Where w turns around to the other
    side, only what is across: then it is another touch that sinks.
    """
    turned = normal + dt * cross(normal, twist.angular)
    w, after = radii * (R.T @ normal), radii * (R.T @ turned)
    along = w * (1.0 / (root(dot(w, w)) + tiny()))
    part = dot(along, after)
    across = after - part * along
    ahead = choose(0.0, part, part, 0.0)
    return dot(across, across) / (root(dot(after, after)) + ahead + tiny())
