"""A model with embedded constraints, at a state: between spanning velocities v, of all joints, and independent ones.

Constraint-embedding paper, eqs (2) to (6): the rows K qd = 0, K qdd = k of a cluster's constraints determine its
dependent velocities. K and k are those of the cluster alone, its output body at rest, since a loop does not feel how it
is carried. The dependent velocities follow block by block (`Cluster.blocks`); rows beyond those are redundant.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from sarrus.mechanics.bodies import joint_kinematics, outward_motion, spatial_velocities
from sarrus.mechanics.constraints.loop_rows import point_seen_from_b
from sarrus.mechanics.constraints.rows import AT_REST, Block, KinematicState, Rows, merged, rows_at
from sarrus.model.bodies import WORLD
from sarrus.model.cluster_tree import ClusterTree, cluster_tree_of, spinning_tree_of
from sarrus.model.constraints import LoopClosure
from sarrus.model.embedding import Cluster
from sarrus.model.joints import Kinematics
from sarrus.model.model import Model
from sarrus.model.tree import Tree, tree_of
from sarrus.spatial.arrays import Array, Scalar, add_to
from sarrus.spatial.choice import choose
from sarrus.spatial.product import product
from sarrus.spatial.square import solve_square
from sarrus.spatial.stacked import rows_T
from sarrus.spatial.stages import stage

SINGULAR = 1e-12  # regularity (`spatial/square.py`) below which a cluster counts as singular: an angle of 1e-6


class Embedded(NamedTuple):
    """v = G yd and qdd = G ydd + g, cluster by cluster; other joints are as they are."""

    model: Model
    bodies: Tree
    joints: list[Kinematics]
    motions: dict[int, ClusterMotion]  # by node
    v: Array

    @property
    def tree(self) -> ClusterTree:
        return cluster_tree_of(self.model)

    def expand(self, y: Array, bias: bool = False) -> Array:
        """G y, on spanning velocities; with `bias`, + g."""
        out = np.zeros(self.model.nv, dtype=np.result_type(y, *(m.G for m in self.motions.values())))
        for number, node in enumerate(self.tree.nodes):
            if number in self.motions:
                motion = self.motions[number]
                moved = motion.G @ y[node.v]
                out[list(motion.velocities)] = moved + motion.g if bias else moved
            else:
                out[self.model.layout.v[node.ports[0]]] = y[node.v]
        return out

    def bias(self) -> Array:
        """g: what dependent joints do while the independent ones do not accelerate."""
        out = np.zeros(self.model.nv, dtype=np.result_type(*(m.g for m in self.motions.values()), float))
        for motion in self.motions.values():
            out[list(motion.velocities)] = motion.g
        return out

    def reduce_force(self, tau: Array) -> Array:
        """G^T tau: forces on all joints as forces on the independent velocities."""
        parts = []
        for number, node in enumerate(self.tree.nodes):
            if number in self.motions:
                motion = self.motions[number]
                parts.append(motion.G.T @ tau[list(motion.velocities)])
            else:
                parts.append(tau[self.model.layout.v[node.ports[0]]])
        return np.concatenate(parts)

    def regularity(self) -> Scalar:
        """That of the least regular cluster."""
        least: Scalar = 1.0
        for motion in self.motions.values():
            least = choose(motion.regularity, least, motion.regularity, least)
        return least

    def rows(self, rows: list[Rows]) -> list[Rows]:
        """Rows on bodies as rows on nodes."""
        return [self._row(r) for r in rows]

    def place(self, body: int, K: Array) -> tuple[int, Array]:
        """Rows on a body as rows on its node's acceleration."""
        node, port = self.tree.port(body)
        ports = len(self.tree.nodes[node].ports)
        zero = np.zeros(K.shape)
        return node, K if ports == 1 else np.concatenate([K if k == port else zero for k in range(ports)], axis=1)

    def _row(self, r: Rows) -> Rows:
        placed = [(b, *self.place(b.node, b.K)) for b in r.blocks]
        blocks = merged([Block(node, K, b.gram if K is b.K else None) for b, node, K in placed])
        k, relation = r.k, dict[int, Array]()
        for i, s in r.relation:
            node = self.tree.node_of[i]
            if node in self.motions:
                motion = self.motions[node]
                mine = motion.rows_of(self.model.layout.v[i])
                k, s = k - s @ motion.g[mine], s @ motion.G[mine]
            relation[node] = relation[node] + s if node in relation else s
        return r._replace(blocks=blocks, k=k, relation=tuple(relation.items()))


def embedded_at(model: Model, q: Array, v: Array | None, yd: Array | None = None, loaded: bool = True) -> Embedded:
    """The clusters at a state, of which either all velocities or the independent ones are given.

    loaded: whether forces may act on any body; else rotors that nothing sees only spin (`Tree.spins`).
    """
    tree = tree_of(model) if loaded else spinning_tree_of(model)
    at_rest = np.zeros(model.nv)
    if yd is not None:
        v = _embedded(model, tree, q, at_rest).expand(yd)
    return _embedded(model, tree, q, at_rest if v is None else v)


def _embedded(model: Model, tree: Tree, q: Array, v: Array) -> Embedded:
    joints = joint_kinematics(tree, q, v)
    motions = cluster_motions(model, joints, q, v)
    assert model.embedding is not None
    nodes = [cluster_tree_of(model).node_of[cluster.bodies[0]] for cluster in model.embedding.clusters]
    return Embedded(model, tree, joints, dict(zip(nodes, motions, strict=True)), v)


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
    with stage("clusters"):
        at = clusters_alone(model, joints, q, v)
        return [_motion(model, cluster, *cluster_rows(cluster, at)) for cluster in clusters]


def clusters_alone(model: Model, joints: list[Kinematics], q: Array, v: Array) -> KinematicState:
    """How the bodies of clusters move while all output bodies are at rest."""
    assert model.embedding is not None
    tree = _detached(tree_of(model), model.embedding.clusters)
    motions = outward_motion(tree, joints, gravity=False)
    return KinematicState(model, joints, motions, spatial_velocities(tree, joints), AT_REST, q, v)


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
        moved = product(K[np.ix_(rows, known)], motion[known])
        rhs = np.concatenate([-moved[:, :ny], k[list(rows), None] - moved[:, ny:]], axis=1)
        motion[mine], regular = solve_square(K[np.ix_(rows, mine)], rhs, usual)
        regularity = regular if regularity == 1.0 else choose(regular, regularity, regular, regularity)
        known += mine
    return ClusterMotion(velocities, motion[:, :ny], motion[:, ny], regularity)


def at_rest(model: Model, q: Array) -> KinematicState:
    """The bodies at a configuration; nothing moves."""
    rest = np.zeros(model.nv)
    joints = joint_kinematics(tree_of(model), q, rest)
    return KinematicState(model, joints, [AT_REST] * model.nb, [np.zeros(6)] * model.nb, AT_REST, q, rest)


def rows_of_cluster(model: Model, cluster: Cluster, q: Array) -> Array:
    """K of a cluster at rest, before its coordinates are chosen."""
    return cluster_rows(cluster, at_rest(model, q))[0]


def velocities_of(model: Model, cluster: Cluster) -> tuple[int, ...]:
    return tuple(k for i in cluster.bodies for k in range(model.nv)[model.layout.v[i]])


def cluster_rows(cluster: Cluster, at: KinematicState) -> tuple[Array, Array]:
    """K (m, n) on the cluster's velocities, and k (m,); at: where all base bodies of clusters hang on the world."""
    rows = rows_inside(cluster, at)
    K = [rows_on_velocities(at.model, cluster, at.joints, r) for r in rows]
    return np.concatenate(K), np.concatenate([r.k for r in rows])


def rows_inside(cluster: Cluster, at: KinematicState) -> list[Rows]:
    """The rows of its constraints, on bodies; what else they hold is the output body."""
    mine = [i in cluster.bodies for i in range(at.model.nb)]
    motions = [x if moves else AT_REST for x, moves in zip(at.motions, mine, strict=True)]
    velocities = [x if moves else np.zeros(6) for x, moves in zip(at.velocities, mine, strict=True)]
    declared = {constraint.name: constraint for constraint in at.model.constraints}
    alone = replace(at, motions=motions, velocities=velocities)
    found = []
    for constraint in (declared[name] for name in cluster.constraints):
        if isinstance(constraint, LoopClosure) and constraint.name in cluster.seen_from_b:
            found.append(point_seen_from_b(constraint, alone))
        else:
            found += rows_at(alone, [constraint])
    return found


def rows_on_velocities(model: Model, cluster: Cluster, joints: list[Kinematics], rows: Rows) -> Array:
    """Rows on bodies, or on joints, as rows on the cluster's velocities."""
    parts = dict(rows.relation)
    pending: dict[int, Array] = {} if parts else {block.node: block.K for block in rows.blocks}
    for i in reversed(cluster.bodies):
        if i in pending:
            parts[i] = pending[i] @ joints[i].S  # symbols, perhaps, where the rows are numbers
            add_to(pending, tree_of(model).nodes[i].parent, rows_T(joints[i].X, pending[i]))
    K = np.zeros((len(rows.k), model.nv), dtype=np.result_type(float, *parts.values()))
    for i, part in parts.items():
        K[:, model.layout.v[i]] = part
    return np.take(K, velocities_of(model, cluster), axis=1)
