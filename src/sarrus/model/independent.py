"""Where the independent coordinates of an embedded model lie in q and v, in the order of its cluster tree, and where
the rows that are left lie among those of all constraints.
"""

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
    found: list[int] = []
    for node in cluster_tree_of(model).nodes:
        span = model.layout.v[node.bodies[0]]
        found += range(span.start, span.stop) if node.cluster is None else node.cluster.independent
    return tuple(found)


@per_model
def independent_positions(model: Model) -> tuple[int, ...]:
    """Numbers of the independent coordinates in q; an error where they are only part of a joint's."""
    free = set(independent_velocities(model))
    joints = range(model.nb)
    if model.embedding is not None:
        joints = [i for node in cluster_tree_of(model).nodes for i in node.bodies]
    out: list[int] = []
    for i in joints:
        q, v = model.layout.q[i], model.layout.v[i]
        nq, nv = q.stop - q.start, v.stop - v.start
        mine = sorted(free & set(range(v.start, v.stop)))
        if nq == nv:
            out += [q.start + k - v.start for k in mine]
        elif len(mine) == nv:
            out += range(q.start, q.stop)
        elif mine:
            raise UnsupportedError(
                f"joint {model.bodies[i].joint.name!r} has {len(mine)} independent of {nv} velocities: "
                f"they have no coordinates of their own. Name other joints as `independent` when embedding"
            )
    return tuple(out)


@per_model
def reported_rows(model: Model) -> tuple[int, ...]:
    """Of the rows of all constraints, those that are not embedded: of these there are forces."""
    whole = model.spanning
    spans = zip(whole.active_constraints, whole.row_spans, strict=True)
    return tuple(i for c, span in spans if c in model.active_constraints for i in range(span.start, span.stop))
