"""The mechanism as the linear dynamics see it at a configuration, without forces: what the Delassus matrix needs."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sarrus.mechanics.bodies.node_inertia import NodeInertia
from sarrus.mechanics.bodies.passage import Passage, passages_of
from sarrus.mechanics.bodies.sweeps import joint_kinematics, link_inertias
from sarrus.mechanics.clusters.embedded import Embedded, embedded_at
from sarrus.mechanics.clusters.nodes import assemble_nodes
from sarrus.model.model import Model
from sarrus.model.topology import AbstractTree
from sarrus.model.tree import tree_of
from sarrus.spatial.arrays import Array


class Linkage(NamedTuple):
    """Nodes, how each follows its parent, and what it weighs."""

    tree: AbstractTree
    passages: list[Passage]
    inertias: list[NodeInertia]
    embedded: Embedded | None = None

    @property
    def H(self) -> list[Array]:
        return [inertia.matrix() for inertia in self.inertias]

    def rows(self, rows: list[tuple[int, Array]]) -> list[tuple[int, Array]]:
        """(body, K) as (node, K)."""
        return rows if self.embedded is None else [self.embedded.place(body, K) for body, K in rows]


def linkage(model: Model, q: Array) -> Linkage:
    tree = tree_of(model)
    if model.embedding is None:
        return Linkage(tree, passages_of(tree, joint_kinematics(tree, q)), link_inertias(tree))
    embedded = embedded_at(model, q, None, loaded=False)
    nodes = assemble_nodes(embedded, None, [np.zeros(6)] * model.nb)
    return Linkage(embedded.tree, nodes.passages, nodes.inertias, embedded)
