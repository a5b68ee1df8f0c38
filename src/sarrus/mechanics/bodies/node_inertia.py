"""What a node of the tree weighs, be it a body or a cluster."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sarrus.spatial.arrays import Array
from sarrus.spatial.inertia import Inertia
from sarrus.spatial.stacked import by_column


class NodeInertia(NamedTuple):
    """What a node weighs: the bodies of it that others see, and what is fixed to them."""

    bodies: tuple[Inertia, ...]

    def matrix(self) -> Array:
        """H, block diagonal."""
        if len(self.bodies) == 1:
            return self.bodies[0].matrix()
        blocks = [body.matrix() for body in self.bodies]
        H = np.zeros((6 * len(blocks), 6 * len(blocks)), dtype=np.result_type(*blocks))
        for k, block in enumerate(blocks):
            H[6 * k : 6 * k + 6, 6 * k : 6 * k + 6] = block
        return H

    def momentum(self, S: Array) -> Array:
        """H S, column by column."""
        return np.concatenate([by_column(body.momentum, S[6 * k : 6 * k + 6]) for k, body in enumerate(self.bodies)])
