"""What of a robot could be embedded: its local loops and couplings, alone and together.

Constraints that share a cluster when all are embedded belong together; clusters that are built alike (a robot's two
legs) are one kind, of which all or none are embedded. Couplings may be embedded without the loops beside them.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

from sarrus.errors import RankWarning, SarrusError
from sarrus.model.clusters import find_clusters
from sarrus.model.constraints import Constraint, Coupling
from sarrus.model.embedding import Cluster
from sarrus.model.model import Model
from sarrus.planning.coordinates import divide
from sarrus.planning.embedding import TOLERANCE, configurations_on
from sarrus.spatial.arrays import Array

_LARGEST = 48  # velocities of a cluster: its rows are solved densely, at every state
_ALL_SUBSETS = 3  # kinds, of which every subset is tried


class Choice(NamedTuple):
    """Constraints to embed, and the clusters that they make."""

    names: tuple[str, ...]
    clusters: tuple[Cluster, ...]


NOTHING = Choice((), ())


class Choices(NamedTuple):
    """What can be embedded, nothing first; what cannot, and why; configurations on the constraints."""

    possible: list[Choice]
    ruled_out: list[tuple[tuple[str, ...], str]]
    configurations: list[Array]


def embedding_choices(model: Model) -> Choices:
    """All that are worth counting."""
    embeddable = [c for c in model.active_constraints if c.kind.embeddable]
    if model.embedding is not None or not embeddable:
        return Choices([NOTHING], [], [])
    found, ruled_out = Choices([NOTHING], [], []), list[tuple[tuple[str, ...], str]]()
    for constraint in list(embeddable):
        try:
            find_clusters(model, [constraint])
        except SarrusError as why:
            embeddable.remove(constraint)
            ruled_out.append(((constraint.name,), str(why)))
    kinds: dict[object, list[Cluster]] = {}
    alone: list[Cluster] = []  # couplings without the loops beside them
    try:
        if embeddable:
            found.configurations.extend(configurations_on(model, {c.name for c in embeddable}))
    except SarrusError as why:
        embeddable: list[Constraint] = [c for c in embeddable if isinstance(c, Coupling)]
        ruled_out.append((tuple(c.name for c in model.active_constraints if c.kind.embeddable), str(why)))
        found.configurations.extend(configurations_on(model, {c.name for c in embeddable}) if embeddable else [])
    for cluster in _divided(model, embeddable, found.configurations, ruled_out):
        kinds.setdefault(_built(model, cluster), []).append(cluster)
    couplings = [c for c in embeddable if isinstance(c, Coupling)]
    if len(couplings) < len(embeddable):
        alone = _divided(model, couplings, found.configurations, [])
    for clusters in _subsets(list(kinds.values())):
        found.possible.append(_choice(model, clusters))
    if alone and (choice := _choice(model, alone)).names not in [x.names for x in found.possible]:
        found.possible.append(choice)
    return found._replace(ruled_out=ruled_out)


def _choice(model: Model, clusters: Sequence[Cluster]) -> Choice:
    names = {name for cluster in clusters for name in cluster.constraints}
    in_order = tuple(c.name for c in model.active_constraints if c.name in names)
    return Choice(in_order, tuple(sorted(clusters, key=lambda cluster: cluster.bodies)))


def _subsets(kinds: list[list[Cluster]]) -> list[list[Cluster]]:
    """All kinds first; of many kinds, those where one makes the difference."""
    n = len(kinds)
    sizes = range(n, 0, -1) if n <= _ALL_SUBSETS else (n, n - 1, 1)
    chosen = [subset for size in sizes for subset in combinations(range(n), size)]
    return [[cluster for k in subset for cluster in kinds[k]] for subset in dict.fromkeys(chosen)]


def _divided(
    model: Model, constraints: Sequence[Constraint], at: list[Array], ruled_out: list[tuple[tuple[str, ...], str]]
) -> list[Cluster]:
    """The clusters of these constraints with their coordinates, as far as they have some."""
    found = []
    for cluster in find_clusters(model, constraints) if constraints else []:
        size = sum(model.bodies[i].joint.type.nv for i in cluster.bodies)
        if size > _LARGEST:
            ruled_out.append((cluster.constraints, f"one cluster of {size} velocities would be solved densely"))
            continue
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error", RankWarning)
                found.append(divide(model, cluster, at, set(), TOLERANCE))
        except (SarrusError, RankWarning) as why:
            ruled_out.append((cluster.constraints, str(why)))
    return found


def _built(model: Model, cluster: Cluster) -> object:
    """What two clusters share that are built alike: joints, constraints, and what hangs on them."""
    place = {body: k for k, body in enumerate(cluster.bodies)}
    bodies = [(model.bodies[i].joint.type.name, place.get(model.bodies[i].parent, -1)) for i in cluster.bodies]
    children = sorted(
        place[body.parent] for i, body in enumerate(model.bodies) if body.parent in place and i not in place
    )
    kinds = {c.name: (type(c).__name__, c.size) for c in model.active_constraints}
    return tuple(bodies), tuple(kinds[name] for name in cluster.constraints), tuple(children), cluster.output < 0
