"""Forces of embedded constraints, by a pass back over the bodies once the accelerations are known.

Embedded constraints hold by construction, so that no method solves for their forces. But accelerations of all joints
are known, and with them what every joint's equation lacks:

    imbalance = M qdd + c - tau - J^T forces of the other rows = K^T f        on the velocities of a cluster

with K its rows. The dependent velocities determine f, block by block, the last first. Where rows are redundant that
leaves a choice; f is then the least in the metric of the proximal methods, f = W K_d (K_d^T W K_d)^-1 imbalance, which
is what these converge to.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sarrus.mechanics.bodies import resultant_forces
from sarrus.mechanics.clusters.embedded import ClusterMotion, clusters_alone, rows_inside, rows_on_velocities
from sarrus.mechanics.constraints.rows import Rows, constraint_rows
from sarrus.mechanics.mechanism import Mechanism, numbered
from sarrus.mechanics.solvers.mobility import mobilities
from sarrus.model.bodies import WORLD
from sarrus.model.embedding import Cluster
from sarrus.spatial.arrays import Array, Scalar
from sarrus.spatial.linear_algebra import ldl, ldl_solve, symmetric_product
from sarrus.spatial.norms import size
from sarrus.spatial.rotations import cross
from sarrus.spatial.square import solve_square
from sarrus.spatial.stages import stage


class ClusterLoads(NamedTuple):
    """Of embedded constraints, by name, in the declared basis; `missed`: by how much redundant rows are not met."""

    forces: dict[str, Array]
    residual: dict[str, Array]
    missed: Scalar


def cluster_loads(
    at: Mechanism, qdd: Array, tau: Array, forces: Array, k: Array | None, external_forces: Array | None
) -> ClusterLoads:
    """at: of an embedded model; qdd, tau: of all joints; forces: of the rows that are not embedded, as declared."""
    assert at.embedded is not None
    assert at.model.embedding is not None
    with stage("cluster loads"):
        lack = imbalance(at, qdd, tau, forces, k, external_forces)
        alone = clusters_alone(at.model, at.joints, at.q, at.v)
        found = ClusterLoads({}, {}, 0.0)
        for cluster in at.model.embedding.clusters:
            rows = numbered(rows_inside(cluster, alone))
            K = np.concatenate([rows_on_velocities(at.model, cluster, at.joints, r) for r in rows])
            motion = at.embedded.motions[at.embedded.tree.node_of[cluster.bodies[0]]]
            mine = list(motion.velocities)
            f = _solve(at, cluster, motion, K, lack[mine])
            off = K @ qdd[mine] - np.concatenate([r.k for r in rows])
            for name, r in zip(cluster.constraints, rows, strict=True):
                found.forces[name] = r.declared_force(f[r.span])
                found.residual[name] = r.declared_residual(off[r.span])
            kept = {row for block, _ in cluster.blocks for row in block}
            redundant = [row for row in range(len(K)) if row not in kept]
            if redundant:
                scale = 1.0 + size(*(r.k for r in rows)) + size(qdd[mine])
                found = found._replace(missed=found.missed + size(off[redundant]) / scale)
    return found


def imbalance(
    at: Mechanism, qdd: Array, tau: Array, forces: Array, k: Array | None, external_forces: Array | None
) -> Array:
    """M qdd + c - tau - J^T forces, on the velocities of all joints."""
    assert at.embedded is not None
    tree, joints, beyond_bias = at.embedded.bodies, at.joints, qdd - at.embedded.bias()
    rows = numbered(constraint_rows(at.model, joints, at.bias, at.q, at.v, k, "cluster_loads"))
    a: list[Array] = []  # in excess of the bias motion
    for i, node in enumerate(tree.nodes):
        own = joints[i].S @ beyond_bias[node.v]
        a.append(own if node.parent == WORLD else joints[i].X.apply(a[node.parent]) + own)
    given = resultant_forces(tree, at.bias, external_forces)
    F = [node.inertia.momentum(a[i]) - given[i] for i, node in enumerate(tree.nodes)]
    out = np.zeros(at.model.nv, dtype=np.result_type(qdd, tau, *F))
    out[:] = np.concatenate([node.armature for node in tree.nodes]) * qdd - tau
    _subtract_rows(at, rows, forces, F, out)
    for i, node in reversed(list(enumerate(tree.nodes))):
        if i in tree.spins:
            out[node.v] = out[node.v] + _spin(at, i, a, qdd, F)
        out[node.v] = out[node.v] + joints[i].S.T @ F[i]
        if node.parent != WORLD:
            F[node.parent] = F[node.parent] + joints[i].X.apply_T(F[i])
    return out


def _subtract_rows(at: Mechanism, rows: list[Rows], forces: Array, F: list[Array], out: Array) -> None:
    """What the rows that are not embedded do to bodies and joints."""
    for r in rows:
        f = r.force_of_declared(forces[r.span])
        if r.relation:
            for i, E in r.relation:
                v = at.model.layout.v[i]
                out[v] = out[v] - E.T @ f
        else:
            for block in r.blocks:
                F[block.node] = F[block.node] - block.K.T @ f


def _spin(at: Mechanism, i: int, a: list[Array], qdd: Array, F: list[Array]) -> Scalar:
    """The moment that a rotor takes which only spins (`_spinning` in `clusters/nodes.py`); its carrier feels it."""
    assert at.embedded is not None
    node, J = at.embedded.bodies.nodes[i], at.embedded.bodies.spins[i]
    e = node.fixed.rotate(np.array([0.0, 0.0, 1.0]))
    spin, change = at.v[node.v][0], qdd[node.v][0]
    if node.parent == WORLD:
        return J * change
    carrier = at.bias[node.parent]
    w, alpha = carrier.w, carrier.alpha + a[node.parent][3:]
    moment = cross(w, (J * spin) * e) + (J * change) * e
    F[node.parent] = F[node.parent] + np.concatenate([np.zeros(3), moment])
    return J * (e @ alpha + change)


def _solve(at: Mechanism, cluster: Cluster, motion: ClusterMotion, K: Array, lack: Array) -> Array:
    """f with K^T f = lack on the dependent velocities."""
    column = {v: x for x, v in enumerate(motion.velocities)}
    if len(K) > len(cluster.dependent):
        d = [column[v] for v in cluster.dependent]
        W = _weights(at, cluster)
        WK = (K[:, d].T * W).T
        return WK @ ldl_solve(ldl(symmetric_product(K[:, d].T, WK)), lack[d])
    f = np.zeros(len(K), dtype=np.result_type(K, lack))
    rest = lack.copy()
    for rows, dependent in reversed(cluster.blocks):
        mine = [column[v] for v in dependent]
        block = K[np.ix_(rows, mine)]
        solved, _ = solve_square(block.T, rest[mine][:, None])
        f[list(rows)] = solved[:, 0]
        rest = rest - K[list(rows)].T @ solved[:, 0]
    return f


def _weights(at: Mechanism, cluster: Cluster) -> Array:
    """W of a cluster's rows: one over their typical mobility, as the penalties of proximal methods."""
    spanning = at.model.spanning
    of = {c.name: w for c, w in zip(spanning.active_constraints, mobilities(spanning), strict=True)}
    return 1.0 / np.concatenate([of[name] for name in cluster.constraints])
