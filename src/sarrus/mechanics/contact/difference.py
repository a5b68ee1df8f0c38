"""What two shapes made of segments and discs are of each other: one of them, too."""

from __future__ import annotations

from typing import NamedTuple

from sarrus.spatial.arrays import Array, Scalar
from sarrus.spatial.norms import dot, root, total
from sarrus.spatial.rotations import cross


class Discs(NamedTuple):
    """Unit vectors and radii."""

    axes: list[Array]
    radii: list[float]


class Difference(NamedTuple):
    """The offset from b to a, and what both are made of."""

    x: Array  # (3,)
    segments: list[Array]  # half of each
    discs: Discs

    def separation(self, n: Array) -> Scalar:
        of_segments = [abs(dot(s, n)) for s in self.segments]
        of_discs = [r * _length(cross(z, n)) for z, r in zip(*self.discs, strict=True)]
        return dot(self.x, n) - total([*of_segments, *of_discs])


def _length(x: Array) -> Scalar:
    return root(dot(x, x))
