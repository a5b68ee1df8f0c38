"""How momenta vary with positions: all that is beyond a joint rides along with it, and what moves it does not.

With V' the velocity of the link before a joint, seen from the node, velocities beyond it vary by u = V' x S per
position, in axes that ride along, as if everything beyond were one body: their momentum h varies by H u, H being its
inertia, and in axes that stay where they are by H u + S x* h.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np

from sarrus.mechanics.bodies import joint_kinematics, spatial_velocities, world_poses
from sarrus.mechanics.derivatives.frame_variation import motion_cross
from sarrus.mechanics.derivatives.variation import twist_on_force
from sarrus.model.tree import Tree
from sarrus.spatial.arrays import Array
from sarrus.spatial.inertia import Inertia
from sarrus.spatial.stacked import by_column
from sarrus.spatial.stages import stage


class MomentumVariation(NamedTuple):
    """All that is beyond a joint, in the frame of its node, n being its freedoms."""

    R: Array  # (3, 3) axes in the world
    p: Array  # (3,) origin in the world
    v: slice
    S: Array  # (6, n)
    u: Array  # (6, n) how velocities vary with the joint's position
    H: Inertia
    h: Array  # (6,) momentum

    @property
    def by_v(self) -> Array:
        """(6, n) of the momentum, per velocity; its linear part is that of the first moment, per position."""
        return by_column(self.H.momentum, self.S)

    @property
    def by_q(self) -> Array:
        """(6, n) of the momentum, per position, in axes that stay."""
        return by_column(self.H.momentum, self.u) + by_column(lambda s: twist_on_force(s, self.h), self.S)


def momentum_variations(tree: Tree, q: Array, v: Array) -> list[MomentumVariation]:
    """Of every joint."""
    joints = joint_kinematics(tree, q, v)
    velocities, poses = spatial_velocities(tree, joints), world_poses(tree, joints)
    H = [node.inertia for node in tree.nodes]
    h = [inertia.momentum(velocity) for inertia, velocity in zip(H, velocities, strict=True)]
    found = []
    with stage("variation of momenta"):
        for i, (node, (X, S, _, _)) in reversed(list(enumerate(zip(tree.nodes, joints, strict=True)))):
            if node.parent >= 0:
                H[node.parent] = H[node.parent] + H[i].transformed(X)
                h[node.parent] = h[node.parent] + X.apply_T(h[i])
            changes = node.joint.changes_of_subspace(q[node.q], v[node.v])
            before = np.zeros(6) if node.parent < 0 else X.apply(velocities[node.parent])
            u = by_column(partial(motion_cross, before), S)
            if changes is not None:
                u = u + np.stack([dS @ v[node.v] for dS, _, _ in changes], axis=1)
            found.append(MomentumVariation(*poses[i], node.v, S, u, H[i], h[i]))
    return found[::-1]
