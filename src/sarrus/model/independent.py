"""Where the independent coordinates of an embedded model lie in q and v, in the order of its cluster tree."""

from __future__ import annotations

from sarrus.errors import UnsupportedError
from sarrus.model.cluster_tree import cluster_tree_of
from sarrus.model.model import Model
from sarrus.model.per_model import per_model


@per_model
def independent_velocities(model: Model) -> tuple[int, ...]:
    """Numbers of the independent velocities in v."""
    if model.embedding is None:
        return tuple(range(model.nv))
    return tuple(k for joints in _by_node(model) for k in joints)


@per_model
def independent_positions(model: Model) -> tuple[int, ...]:
    """Numbers of the independent coordinates in q; an error where they are only part of a joint's."""
    free = set(independent_velocities(model))
    out: list[int] = []
    for i in _joints_in_order(model):
        q, v = model.layout.q[i], model.layout.v[i]
        mine = free & set(range(v.start, v.stop))
        if mine and len(mine) < v.stop - v.start and q.stop - q.start != v.stop - v.start:
            raise UnsupportedError(
                f"joint {model.bodies[i].joint.name!r} has {len(mine)} independent of {v.stop - v.start} velocities: "
                f"they have no coordinates of their own. Name other joints as `independent` when embedding"
            )
        if q.stop - q.start == v.stop - v.start:
            out += [q.start + k - v.start for k in sorted(mine)]
        elif mine:
            out += range(q.start, q.stop)
    return tuple(out)


def _by_node(model: Model) -> list[list[int]]:
    """Independent velocities per node."""
    out = []
    for node in cluster_tree_of(model).nodes:
        span = model.layout.v[node.ports[0]]
        out.append(list(range(span.start, span.stop)) if node.cluster is None else list(node.cluster.independent))
    return out


def _joints_in_order(model: Model) -> list[int]:
    if model.embedding is None:
        return list(range(model.nb))
    return [
        i
        for node in cluster_tree_of(model).nodes
        for i in (node.ports if node.cluster is None else node.cluster.bodies)
    ]
