"""The rows of a cluster's constraints on its velocities: K qd = 0, K qdd = k, its output body at rest."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sarrus.mechanics.bodies.motion import joint_kinematics
from sarrus.mechanics.constraints.equations import rows_at
from sarrus.mechanics.constraints.kinematic_state import AT_REST, KinematicState
from sarrus.mechanics.constraints.rows import Rows
from sarrus.model.embedding import Cluster
from sarrus.model.model import Model
from sarrus.model.tree import Kinematics, tree_of
from sarrus.spatial.arrays import Array
from sarrus.spatial.stacked import rows_T
from sarrus.spatial.sums import add_to


def rows_of_cluster(model: Model, cluster: Cluster, q: Array) -> Array:
    """K of a cluster at rest, before its coordinates are chosen."""
    rest = np.zeros(model.nv)
    joints = joint_kinematics(tree_of(model), q, rest)
    still = KinematicState(model, joints, [AT_REST] * model.nb, [np.zeros(6)] * model.nb, AT_REST, q, rest)
    return cluster_rows(cluster, still)[0]


def velocities_of(model: Model, cluster: Cluster) -> tuple[int, ...]:
    return tuple(k for i in cluster.bodies for k in range(model.nv)[model.layout.v[i]])


def cluster_rows(cluster: Cluster, at: KinematicState) -> tuple[Array, Array]:
    """K (m, n) on the cluster's velocities, and k (m,); at: where all base bodies of clusters hang on the world."""
    mine = [i in cluster.bodies for i in range(at.model.nb)]  # what else its constraints hold is the output body
    motions = [x if moves else AT_REST for x, moves in zip(at.motions, mine, strict=True)]
    velocities = [x if moves else np.zeros(6) for x, moves in zip(at.velocities, mine, strict=True)]
    declared = {constraint.name: constraint for constraint in at.model.constraints}
    rows = rows_at(
        replace(at, motions=motions, velocities=velocities), [declared[name] for name in cluster.constraints]
    )
    K = [rows_on_velocities(at.model, cluster, at.joints, r) for r in rows]
    return np.concatenate(K), np.concatenate([r.k for r in rows])


def rows_on_velocities(model: Model, cluster: Cluster, joints: list[Kinematics], rows: Rows) -> Array:
    """Rows on bodies, or on joints, as rows on the cluster's velocities."""
    parts = [E for _, E in rows.relation] or [block.K for block in rows.blocks]
    K = np.zeros((len(rows.k), model.nv), dtype=np.result_type(*parts))
    for i, E in rows.relation:
        K[:, model.layout.v[i]] = E
    pending: dict[int, Array] = {} if rows.relation else {block.node: block.K for block in rows.blocks}
    for i in reversed(cluster.bodies):
        if i in pending:
            K[:, model.layout.v[i]] = pending[i] @ joints[i].S
            add_to(pending, tree_of(model).nodes[i].parent, rows_T(joints[i].X, pending[i]))
    return np.take(K, velocities_of(model, cluster), axis=1)
