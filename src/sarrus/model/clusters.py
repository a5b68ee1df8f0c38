"""Clusters: bodies that embedded constraints make one node of the tree.

A constraint between bodies closes a loop: those bodies, from where it acts up to (not including) where its branches
meet, move as one *cluster joint* relative to the body they all hang on, the cluster's output body. Loops that share a
body, nested or parallel, share a cluster. A cluster whose bodies would hang on several bodies grows until they hang on
one, so that every cluster has a single output body (constraint-embedding paper, section II-D and its footnote 2).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sarrus.errors import UnsupportedError
from sarrus.model.bodies import WORLD
from sarrus.model.constraints import Constraint, Coupling, Distance, LinkConstraint, LoopClosure
from sarrus.model.embedding import Cluster
from sarrus.model.model import Model


def bodies_of(model: Model, constraint: Constraint) -> Iterable[int]:
    """The bodies that a constraint's rows act on."""
    if isinstance(constraint, LinkConstraint):
        return [model.frame(constraint.frame).body]
    if isinstance(constraint, (LoopClosure, Distance)):
        return [model.frame(name).body for name in (constraint.frame_a, constraint.frame_b)]
    if isinstance(constraint, Coupling):
        joints = _coupled(model, constraint)
        return [*joints, *(model.bodies[i].parent for i in joints)]
    return range(model.nb)


def _coupled(model: Model, constraint: Coupling) -> list[int]:
    driver = [] if constraint.driver is None else [constraint.driver]
    return [model.joint_index(name) for name in (*(name for name, _ in constraint.ratios), *driver)]


def find_clusters(model: Model, constraints: Sequence[Constraint]) -> list[Cluster]:
    """The smallest clusters that these constraints make, without their coordinates."""
    groups: list[tuple[set[int], list[str]]] = []
    for constraint in constraints:
        if isinstance(constraint, Coupling):
            joints = _coupled(model, constraint)
            meet = _common_ancestor(model, [model.bodies[i].parent for i in joints])
            bodies = _between(model, joints, meet)
        elif isinstance(constraint, (LoopClosure, Distance)):
            ends = list(bodies_of(model, constraint))
            bodies = _between(model, ends, _common_ancestor(model, ends))
        else:
            raise UnsupportedError(
                f"constraint {constraint.name!r} is a {type(constraint).__name__}, which holds a body against the "
                f"world and makes no cluster: leave it to a method for constraints (lcaba, pv, ...). Valid: loop "
                f"closures, distances, couplings"
            )
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
