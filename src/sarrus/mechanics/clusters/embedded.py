"""A model with embedded constraints, at a state: between spanning velocities v, of all joints, and independent ones."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sarrus.mechanics.bodies.motion import joint_kinematics
from sarrus.mechanics.clusters.motion import ClusterMotion, cluster_motions
from sarrus.mechanics.constraints.rows import Block, Rows, merged
from sarrus.model.cluster_tree import ClusterTree, cluster_tree_of, spinning_tree_of
from sarrus.model.model import Model
from sarrus.model.tree import Kinematics, Tree, tree_of
from sarrus.spatial.arrays import Array, Scalar
from sarrus.spatial.choice import choose

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
