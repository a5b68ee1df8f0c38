"""Clusters: bodies that embedded constraints make one node of the tree.

A constraint between bodies closes a loop: those bodies, from where it acts up to (not including) where its branches
meet, move as one *cluster joint* relative to the body they all hang on, the cluster's output body. Loops that share a
body, nested or parallel, share a cluster. A cluster whose bodies would hang on several bodies grows until they hang on
one, so that every cluster has a single output body (constraint-embedding paper, section II-D and its footnote 2).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from sarrus.errors import UnsupportedError
from sarrus.model.constraints import Constraint
from sarrus.spatial.arrays import Array, is_numeric

if TYPE_CHECKING:
    from sarrus.model.model import Model
    from sarrus.model.tree import Node

WORLD = -1
_EPS = 64 * np.finfo(float).eps


@dataclass(frozen=True)
class Cluster:
    """Bodies that move as one: which of their velocities are independent, and which rows say what the others do.

    The rows are numbered through all rows of its constraints, in order. They determine the dependent velocities block
    by block: a block needs only those before it.
    """

    bodies: tuple[int, ...]  # ascending, so parents first
    output: int  # the body that its base bodies hang on; -1: the world
    constraints: tuple[str, ...]
    independent: tuple[int, ...] = ()  # velocities, as numbered in v
    dependent: tuple[int, ...] = ()
    blocks: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...] = ()  # (rows, dependent velocities)
    lengths: tuple[tuple[float, ...], ...] = ()  # per block: squared lengths that its rows usually have, about


@dataclass(frozen=True, eq=False)
class Embedding:
    """What of a model is embedded."""

    clusters: tuple[Cluster, ...]
    samples: tuple[Array, ...] = ()  # configurations on the constraints, of which independent velocities were chosen

    @cached_property
    def constraints(self) -> frozenset[str]:
        """Names of the constraints that hold by construction."""
        return frozenset(name for cluster in self.clusters for name in cluster.constraints)


@dataclass(frozen=True, eq=False)
class ClusterNode:
    """A node of a cluster tree: a body, or a cluster. Only those of its bodies that others see have a place in it."""

    name: str
    parent: int  # node
    at: int  # which of the parent's ports it hangs on
    v: slice  # of the tree's velocities
    ports: tuple[int, ...]  # bodies that children hang on or constraints act on
    cluster: Cluster | None

    @property
    def m(self) -> int:
        return self.v.stop - self.v.start

    @property
    def size(self) -> int:
        """How many numbers its acceleration has."""
        return 6 * len(self.ports)


@dataclass(frozen=True, eq=False)
class ClusterTree:
    """Nodes, parents first. It answers what a `Tree` of bodies answers."""

    nodes: tuple[ClusterNode, ...]
    node_of: dict[int, int]  # by body
    nv: int

    @property
    def parents(self) -> tuple[int, ...]:
        return tuple(node.parent for node in self.nodes)

    def children(self, i: int) -> list[int]:
        return [k for k, node in enumerate(self.nodes) if node.parent == i]

    def port(self, body: int) -> tuple[int, int]:
        """The node that a body is in, and which of its ports the body is."""
        node = self.node_of[body]
        return node, self.nodes[node].ports.index(body)


def cluster_tree(model: Model) -> ClusterTree:
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
        nodes.append(ClusterNode(name, parent, at, slice(nv, nv + n), ports, cluster))
        node_of |= dict.fromkeys(bodies, len(nodes) - 1)
        nv += n
    return ClusterTree(tuple(nodes), node_of, nv)


def _heaviest(model: Model, bodies: tuple[int, ...]) -> int:
    """Of a cluster that nobody sees: the body that is worth a place in the node's acceleration."""
    masses = [model.bodies[b].inertia.mass for b in bodies]
    return bodies[0] if not model.is_numeric else bodies[int(max(range(len(bodies)), key=lambda x: masses[x]))]


def _seen_bodies(model: Model, of: dict[int, Cluster]) -> set[int]:
    """Bodies that other nodes hang on, or that constraints which are not embedded act on."""
    seen = {body for body in range(model.nb) if body not in of}
    seen |= {body.parent for i, body in enumerate(model.bodies) if of.get(i) is None or of[i].output == body.parent}
    for constraint in model.active_constraints:
        seen |= set(_bodies_of(model, constraint))
    return seen


def _bodies_of(model: Model, constraint: Constraint) -> Iterable[int]:
    """The bodies that a constraint's rows act on: where it names none, as for the centre of mass, all."""
    joints, held = _coupled(model, constraint), _held(model, constraint)
    return [*joints, *(model.bodies[i].parent for i in joints), *held] or range(model.nb)


def _coupled(model: Model, constraint: Constraint) -> list[int]:
    return [model.joint_index(name) for name in constraint.joints]


def _held(model: Model, constraint: Constraint) -> list[int]:
    return [model.frame(name).body for name in constraint.frames]


def find_clusters(model: Model, constraints: Sequence[Constraint]) -> list[Cluster]:
    """The smallest clusters that these constraints make, without their coordinates."""
    groups: list[tuple[set[int], list[str]]] = []
    for constraint in constraints:
        if not constraint.kind.embeddable:
            raise UnsupportedError(
                f"constraint {constraint.name!r} is a {type(constraint).__name__}, which holds a body against the "
                f"world and makes no cluster: leave it to a method for constraints (lcaba, pv, ...). Valid: loop "
                f"closures, distances, couplings"
            )
        joints, held = _coupled(model, constraint), _held(model, constraint)
        meet = _common_ancestor(model, [*(model.bodies[i].parent for i in joints), *held])
        bodies = _between(model, [*joints, *held], meet)
        _join(groups, bodies, [constraint.name])
    order = [constraint.name for constraint in constraints]
    while (grown := _grow(model, groups)) is not None:
        groups = grown
    found = []
    for bodies, names in sorted(groups, key=lambda group: min(group[0])):
        output = next(model.bodies[i].parent for i in bodies if model.bodies[i].parent not in bodies)
        found.append(Cluster(tuple(sorted(bodies)), output, tuple(sorted(names, key=order.index))))
    return found


def _grow(model: Model, groups: list[tuple[set[int], list[str]]]) -> list[tuple[set[int], list[str]]] | None:
    """The groups, one of which hung on several bodies and now on fewer; None if there is no such group."""
    for bodies, names in groups:
        outputs = {model.bodies[i].parent for i in bodies} - bodies
        if len(outputs) > 1:
            more = _between(model, list(outputs), _common_ancestor(model, list(outputs)))
            merged = [group for group in groups if group[0] is not bodies]
            _join(merged, bodies | more, names)
            return merged
    return None


def _join(groups: list[tuple[set[int], list[str]]], bodies: set[int], names: list[str]) -> None:
    """Add a group; those that share a body with it become one with it."""
    for group in [group for group in groups if group[0] & bodies]:
        groups.remove(group)
        bodies, names = bodies | group[0], group[1] + names
    groups.append((bodies, names))


def _path(model: Model, body: int) -> list[int]:
    path = []
    while body != WORLD:
        path.append(body)
        body = model.bodies[body].parent
    return path


def _common_ancestor(model: Model, bodies: Sequence[int]) -> int:
    return max(set.intersection(*(set(_path(model, body)) for body in bodies)), default=WORLD)


def _between(model: Model, bodies: Sequence[int], ancestor: int) -> set[int]:
    """Those bodies and what carries them, up to an ancestor, which is not counted."""
    above = set(_path(model, ancestor))
    return {i for body in bodies for i in _path(model, body)} - above


def with_coordinates(
    cluster: Cluster,
    independent: Sequence[int],
    blocks: Sequence[tuple[Sequence[int], Sequence[int]]],
    lengths: Sequence[float],
) -> Cluster:
    """The cluster with its velocities divided; lengths: those of all its rows, squared."""
    pairs = tuple((tuple(rows), tuple(velocities)) for rows, velocities in blocks)
    dependent = tuple(sorted(v for _, velocities in pairs for v in velocities))
    usual = tuple(tuple(float(lengths[row]) for row in rows) for rows, _ in pairs)
    return replace(cluster, independent=tuple(sorted(independent)), dependent=dependent, blocks=pairs, lengths=usual)


def unseen_rotors(model: Model) -> list[int]:
    """Bodies of clusters that turn about a fixed axis, round about it, carrying nothing and part of no loop.

    Their angle makes no difference to anything.
    """
    tree, clusters = model.tree, model.cluster_tree
    used = set(tree.parents) | {b for c in model.constraints if c.active for b in _held(model, c)}
    used |= {b for node in clusters.nodes for b in node.ports}
    return [i for i, node in enumerate(tree.nodes) if i not in used and _is_round(node)]


def _is_round(node: Node) -> bool:
    """Whether turning the body about its joint's axis leaves its inertia as it is, to rounding."""
    h, Sigma = node.inertia.h, node.inertia.Sigma
    if node.joint.name not in ("revolute", "continuous") or not (is_numeric(h) and is_numeric(Sigma)):
        return False
    off = [*h[:2], Sigma[0, 1], Sigma[0, 2], Sigma[1, 2], Sigma[0, 0] - Sigma[1, 1]]
    return bool(np.all(np.abs(off) <= _EPS * np.abs(Sigma).max()))
