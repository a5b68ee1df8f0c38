"""The tree of an embedded model: its nodes are clusters of bodies, and bodies."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sarrus.model.answer import answer
from sarrus.model.bodies import WORLD
from sarrus.model.clusters import bodies_of, held_bodies
from sarrus.model.embedding import Cluster
from sarrus.model.model import Model
from sarrus.model.per_model import per_model
from sarrus.model.topology import AbstractNode, AbstractTree
from sarrus.model.tree import Node, Tree, tree_of, tree_with_rotors
from sarrus.spatial.arrays import is_numeric

_EPS = 64 * np.finfo(float).eps


@dataclass(frozen=True, eq=False)
class ClusterNode(AbstractNode):
    """A body, or a cluster. Only those of its bodies that others see have a place in it."""

    at: int  # which of the parent's ports it hangs on
    ports: tuple[int, ...]  # bodies that children hang on or constraints act on
    cluster: Cluster | None

    @property
    def bodies(self) -> tuple[int, ...]:
        return self.ports if self.cluster is None else self.cluster.bodies

    @answer
    def size(self) -> int:
        return 6 * len(self.ports)


@dataclass(frozen=True, eq=False)
class ClusterTree(AbstractTree):
    """The clusters of an embedded model, and its other bodies."""

    nodes: tuple[ClusterNode, ...]
    node_of: dict[int, int]  # by body

    def port(self, body: int) -> tuple[int, int]:
        """The node that a body is in, and which of its ports the body is."""
        node = self.node_of[body]
        return node, self.nodes[node].ports.index(body)


@per_model
def cluster_tree_of(model: Model) -> ClusterTree:
    """The tree of the clusters of an embedded model and of its other bodies."""
    assert model.embedding is not None
    of = {body: cluster for cluster in model.embedding.clusters for body in cluster.bodies}
    seen = _seen_bodies(model, of)
    nodes: list[ClusterNode] = []
    node_of: dict[int, int] = {WORLD: WORLD}
    nv = 0
    for body in range(model.nb):
        if body in node_of:
            continue
        cluster = of.get(body)
        bodies = (body,) if cluster is None else cluster.bodies
        output = model.bodies[body].parent if cluster is None else cluster.output
        ports = tuple(b for b in bodies if b in seen) or (_heaviest(model, bodies),)
        n = model.bodies[body].joint.type.nv if cluster is None else len(cluster.independent)
        parent = node_of[output]
        at = 0 if parent < 0 else nodes[parent].ports.index(output)
        name = "+".join(model.bodies[b].name for b in bodies)
        nodes.append(ClusterNode(name, parent, slice(nv, nv + n), at, ports, cluster))
        node_of |= dict.fromkeys(bodies, len(nodes) - 1)
        nv += n
    return ClusterTree(tuple(nodes), node_of)


def _heaviest(model: Model, bodies: tuple[int, ...]) -> int:
    """Of a cluster that nobody sees: the body that is worth a place in the node's acceleration."""
    return max(bodies, key=lambda b: model.bodies[b].inertia.mass) if model.is_numeric else bodies[0]


def _seen_bodies(model: Model, of: dict[int, Cluster]) -> set[int]:
    """Bodies that other nodes hang on, or that constraints which are not embedded act on."""
    seen = {body for body in range(model.nb) if body not in of}
    seen |= {body.parent for i, body in enumerate(model.bodies) if of.get(i) is None or of[i].output == body.parent}
    for constraint in model.active_constraints:
        seen |= set(bodies_of(model, constraint))
    return seen


@per_model
def spinning_tree_of(model: Model) -> Tree:
    """As `tree_of`, but rotors of clusters that nothing sees ride on their parents and only spin."""
    return tree_with_rotors(model, unseen_rotors(model))


def unseen_rotors(model: Model) -> list[int]:
    """Bodies of clusters that turn about a fixed axis, round about it, carrying nothing and part of no loop.

    Their angle makes no difference to anything.
    """
    tree, clusters = tree_of(model), cluster_tree_of(model)
    used = set(tree.parents) | {b for c in model.constraints if c.active for b in held_bodies(model, c)}
    used |= {b for node in clusters.nodes for b in node.ports}
    return [i for i, node in enumerate(tree.nodes) if i not in used and _is_round(node)]


def _is_round(node: Node) -> bool:
    """Whether turning the body about its joint's axis leaves its inertia as it is, to rounding."""
    h, Sigma = node.inertia.h, node.inertia.Sigma
    if node.joint.name not in ("revolute", "continuous") or not (is_numeric(h) and is_numeric(Sigma)):
        return False
    off = [*h[:2], Sigma[0, 1], Sigma[0, 2], Sigma[1, 2], Sigma[0, 0] - Sigma[1, 1]]
    return bool(np.all(np.abs(off) <= _EPS * np.abs(Sigma).max()))
