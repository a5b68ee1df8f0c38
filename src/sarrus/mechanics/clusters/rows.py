"""The rows of a cluster's constraints on its velocities: K qd = 0, K qdd = k, its output body at rest."""

from __future__ import annotations

import numpy as np

from sarrus.mechanics.bodies.frames import frame_in_node
from sarrus.mechanics.bodies.motion import Motion, joint_kinematics
from sarrus.mechanics.bodies.relative_motion import Relative, Side, relative
from sarrus.mechanics.constraints.closure_rows import closure_rows
from sarrus.mechanics.constraints.coupling_rows import distance_rows, relation
from sarrus.mechanics.constraints.rows import Rows
from sarrus.model.constraints import Coupling, Distance, LoopClosure
from sarrus.model.embedding import Cluster
from sarrus.model.model import Model
from sarrus.model.tree import Kinematics, tree_of
from sarrus.spatial.arrays import Array, vector
from sarrus.spatial.stacked import rows_T

AT_REST = Motion(np.zeros(3), np.zeros(3), np.zeros(3), np.zeros((3, 3)))


def rows_of_cluster(model: Model, cluster: Cluster, q: Array) -> Array:
    """K of a cluster at rest, before its coordinates are chosen."""
    rest = np.zeros(model.nv)
    joints = joint_kinematics(tree_of(model), q, rest)
    still = [AT_REST] * model.nb, [np.zeros(6)] * model.nb
    return cluster_rows(model, cluster, joints, *still, q, rest)[0]


def velocities_of(model: Model, cluster: Cluster) -> tuple[int, ...]:
    spans = [model.layout.v[i] for i in cluster.bodies]
    return tuple(k for span in spans for k in range(span.start, span.stop))


def cluster_rows(
    model: Model,
    cluster: Cluster,
    joints: list[Kinematics],
    motions: list[Motion],
    moving: list[Array],
    q: Array,
    v: Array,
) -> tuple[Array, Array]:
    """K (m, n) on the cluster's velocities, and k (m,)."""
    column = {v: x for x, v in enumerate(velocities_of(model, cluster))}
    declared = {constraint.name: constraint for constraint in model.constraints}
    K_parts: list[Array] = []
    k_parts: list[Array] = []
    for name in cluster.constraints:
        constraint = declared[name]
        if isinstance(constraint, Coupling):
            r = relation(constraint, model, q, v)
            row = np.zeros((1, len(column)), dtype=vector(*r.speeds.values()).dtype)
            for joint, speed in r.speeds.items():
                row[0, column[model.layout.v_of(joint).start]] = speed
            T = constraint.stabilization
            feedback = 0.0 if T is None else (2.0 / T) * r.rate + (1.0 / T**2) * r.error
            K_parts.append(row)
            k_parts.append(vector(r.curvature - feedback))
            continue
        assert isinstance(constraint, (LoopClosure, Distance))
        x = _between(model, cluster, constraint, joints, motions, moving)
        rows = closure_rows(constraint, x) if isinstance(constraint, LoopClosure) else distance_rows(constraint, x)
        K_parts.append(rows_on_velocities(model, cluster, joints, rows))
        k_parts.append(rows.k)
    return np.concatenate(K_parts), np.concatenate(k_parts)


def _between(
    model: Model,
    cluster: Cluster,
    constraint: LoopClosure | Distance,
    joints: list[Kinematics],
    motions: list[Motion],
    moving: list[Array],
) -> Relative:
    """Frame b seen from frame a, where the cluster's output body rests."""
    sides = []
    for name in (constraint.frame_a, constraint.frame_b):
        frame = model.frame(name)
        X = frame_in_node(tree_of(model), frame)
        rests = frame.body not in cluster.bodies  # on the output body
        velocity, motion = (np.zeros(6), AT_REST) if rests else (moving[frame.body], motions[frame.body])
        sides.append(Side(frame.body, X.p, X.R, velocity, motion))
    return relative(tree_of(model), joints, *sides)


def rows_on_velocities(model: Model, cluster: Cluster, joints: list[Kinematics], rows: Rows) -> Array:
    """Rows on bodies as rows on the cluster's velocities."""
    column = {v: x for x, v in enumerate(velocities_of(model, cluster))}
    pending: dict[int, Array] = {block.node: block.K for block in rows.blocks}
    dtype = np.result_type(*(block.K for block in rows.blocks))
    K = np.zeros((len(rows.k), len(column)), dtype=dtype)
    for i in reversed(cluster.bodies):
        if i not in pending:
            continue
        node, mine = tree_of(model).nodes[i], pending.pop(i)
        K[:, [column[v] for v in range(node.v.start, node.v.stop)]] = mine @ joints[i].S
        if node.parent in cluster.bodies:
            carried = rows_T(joints[i].X, mine)
            pending[node.parent] = pending[node.parent] + carried if node.parent in pending else carried
    return K
