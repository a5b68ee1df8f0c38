"""How the bodies of a cluster move with its independent velocities: qd = G yd, qdd = G ydd + g.

Constraint-embedding paper, eqs (2) to (6): the rows K qd = 0, K qdd = k of a cluster's constraints determine its
dependent velocities. K and k are those of the cluster alone, its output body at rest, since a loop does not feel how it
is carried. The dependent velocities follow block by block (`Cluster.blocks`); rows beyond those are redundant.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from sarrus.mechanics.bodies.frames import spatial_velocities
from sarrus.mechanics.bodies.motion import outward_motion
from sarrus.mechanics.clusters.rows import cluster_rows, velocities_of
from sarrus.model.bodies import WORLD
from sarrus.model.embedding import Cluster
from sarrus.model.model import Model
from sarrus.model.tree import Kinematics, Tree, tree_of
from sarrus.spatial.arrays import Array, Scalar
from sarrus.spatial.choice import choose
from sarrus.spatial.square import solve_square
from sarrus.spatial.stages import stage


class ClusterMotion(NamedTuple):
    """Of the cluster's velocities, in the order of v."""

    velocities: tuple[int, ...]  # as numbered in v
    G: Array  # (n, ny)
    g: Array  # (n,)
    regularity: Scalar  # 0 where the constraints do not determine the dependent velocities, else about 1

    def rows_of(self, span: slice) -> list[int]:
        """Which rows of G belong to a joint's velocities."""
        return [self.velocities.index(k) for k in range(span.start, span.stop)]


def cluster_motions(model: Model, joints: list[Kinematics], q: Array, v: Array) -> list[ClusterMotion]:
    """Of every cluster of an embedded model."""
    assert model.embedding is not None
    clusters = model.embedding.clusters
    tree = _detached(tree_of(model), clusters)
    with stage("clusters"):
        motions = outward_motion(tree, joints, gravity=False)
        moving = spatial_velocities(tree, joints)
        return [
            _motion(model, cluster, *cluster_rows(model, cluster, joints, motions, moving, q, v))
            for cluster in clusters
        ]


def _detached(tree: Tree, clusters: tuple[Cluster, ...]) -> Tree:
    """Every cluster's output body at rest: its base bodies hang on the world."""
    bases = {i for cluster in clusters for i in cluster.bodies if tree.nodes[i].parent == cluster.output}
    nodes = tuple(replace(node, parent=WORLD) if i in bases else node for i, node in enumerate(tree.nodes))
    return replace(tree, nodes=nodes)


def _motion(model: Model, cluster: Cluster, K: Array, k: Array) -> ClusterMotion:
    """G and g by the implicit function theorem, block by block."""
    velocities = velocities_of(model, cluster)
    ny = len(cluster.independent)
    column = {v: x for x, v in enumerate(velocities)}
    free = [column[v] for v in cluster.independent]
    dtype = np.result_type(K, k)
    motion = np.zeros((len(velocities), ny + 1), dtype=dtype)  # [G g]
    motion[free, range(ny)] = 1.0
    known = list(free)
    regularity: Scalar = 1.0
    for (rows, dependent), usual in zip(cluster.blocks, cluster.lengths, strict=True):
        mine = [column[v] for v in dependent]
        moved = K[np.ix_(rows, known)] @ motion[known]
        rhs = np.concatenate([-moved[:, :ny], k[list(rows), None] - moved[:, ny:]], axis=1)
        motion[mine], regular = solve_square(K[np.ix_(rows, mine)], rhs, usual)
        regularity = regular if regularity == 1.0 else choose(regular, regularity, regular, regularity)
        known += mine
    return ClusterMotion(velocities, motion[:, :ny], motion[:, ny], regularity)
