"""Distances and depths by other means: hulls of differences, bisection, nearest points by brute force."""

from __future__ import annotations

from itertools import product

import numpy as np
from scipy.optimize import nnls
from scipy.spatial import ConvexHull

from sarrus.mechanics.contact.touch import Pose
from sarrus.model.visuals import Box, Capsule


def corners(shape: Box | Capsule, pose: Pose) -> np.ndarray:
    """Of a box, or the ends of a capsule's axis."""
    R, p = pose
    if isinstance(shape, Box):
        return p + (np.array(list(product((-0.5, 0.5), repeat=3))) * shape.size) @ R.T
    return p + np.array([[0, 0, -0.5 * shape.length], [0, 0, 0.5 * shape.length]]) @ R.T


def signed_distance(a: Box | Capsule, pose_a: Pose, b: Box | Capsule, pose_b: Pose) -> tuple[float, np.ndarray]:
    """The distance, negative: the shortest way out; and the normal from b to a. By the hull of all differences."""
    differences = (corners(a, pose_a)[:, None] - corners(b, pose_b)[None]).reshape(-1, 3)
    planes = ConvexHull(differences).equations
    radii = sum(shape.radius for shape in (a, b) if isinstance(shape, Capsule))
    if (planes[:, 3] < 0.0).all():
        least = int(np.argmax(planes[:, 3]))
        return planes[least, 3] - radii, -planes[least, :3]
    nearest = nearest_of_hull(differences)
    length = float(np.linalg.norm(nearest))
    return length - radii, nearest / length


def nearest_of_hull(points: np.ndarray) -> np.ndarray:
    """The point of their hull that is nearest to the origin: least squares with weights that are not negative."""
    scale = np.abs(points).max()
    weights, _ = nnls(np.vstack([points.T / scale, 1e3 * np.ones(len(points))]), np.array([0.0, 0.0, 0.0, 1e3]))
    chosen = points[weights > 1e-9]
    # The weight on the sum of the weights is finite: solve once more on the face that was found.
    K = np.ones((len(chosen) + 1, len(chosen) + 1))
    K[0, 0], K[1:, 1:] = 0.0, chosen @ chosen.T
    return np.linalg.lstsq(K, np.eye(len(chosen) + 1)[0], rcond=None)[0][1:] @ chosen


def distance_from_ellipsoid(x: np.ndarray, radii: np.ndarray) -> float:
    """Of a point, negative inside; by bisection."""
    squares = radii * radii
    low, high = -squares.min(), 3.0 * radii.max() * np.linalg.norm(x) + 1.0
    for _ in range(200):
        middle = 0.5 * (low + high)
        outside = middle <= low or np.sum((radii * x / (middle + squares)) ** 2) > 1.0
        low, high = (middle, high) if outside else (low, middle)
    y = squares * x / np.maximum(high + squares, 1e-300)
    least = int(np.argmin(radii))
    rest = 1.0 - sum((y[k] / radii[k]) ** 2 for k in range(3) if k != least)
    y[least] = np.copysign(radii[least] * np.sqrt(max(rest, 0.0)), x[least])
    return float(np.linalg.norm(x - y) * np.sign(np.sum((x / radii) ** 2) - 1.0))
