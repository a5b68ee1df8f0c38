"""Clusters: bodies that embedded constraints make one node of the tree.

A constraint between bodies closes a loop: those bodies, from where it acts up to (not including) where its branches
meet, move as one *cluster joint* relative to the body they all hang on, the cluster's output body. Loops that share a
body, nested or parallel, share a cluster. A cluster whose bodies would hang on several bodies grows until they hang on
one, so that every cluster has a single output body (constraint-embedding paper, section II-D and its footnote 2).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sarrus.errors import UnsupportedError
from sarrus.model.constraints import Constraint
from sarrus.model.embedding import Cluster
from sarrus.model.model import Model
from sarrus.model.tree import Tree, tree_of


def bodies_of(model: Model, constraint: Constraint) -> Iterable[int]:
    """The bodies that a constraint's rows act on: where it names none, as for the centre of mass, all."""
    joints = _coupled(model, constraint)
    return [*joints, *(model.bodies[i].parent for i in joints), *held_bodies(model, constraint)] or range(model.nb)


def _coupled(model: Model, constraint: Constraint) -> list[int]:
    return [model.joint_index(name) for name in constraint.joints]


def held_bodies(model: Model, constraint: Constraint) -> list[int]:
    return [model.frame(name).body for name in constraint.frames]


Group = tuple[set[int], list[str]]  # bodies, and the constraints that make them move as one


def find_clusters(model: Model, constraints: Sequence[Constraint]) -> list[Cluster]:
    """The smallest clusters that these constraints make, without their coordinates."""
    tree = tree_of(model)
    groups: list[Group] = []
    for constraint in constraints:
        if not constraint.kind.embeddable:
            raise UnsupportedError(
                f"constraint {constraint.name!r} is a {type(constraint).__name__}, which holds a body against the "
                f"world and makes no cluster: leave it to a method for constraints (lcaba, pv, ...). Valid: loop "
                f"closures, distances, couplings"
            )
        joints, held = _coupled(model, constraint), held_bodies(model, constraint)
        meet = tree.common_ancestor([*(tree.parents[i] for i in joints), *held])
        bodies = tree.support([*joints, *held]) - tree.support([meet])
        if not bodies:
            raise UnsupportedError(
                f"constraint {constraint.name!r} cannot be embedded: both of its frames are on one body, which nothing "
                f"moves against itself"
            )
        _join(groups, bodies, [constraint.name])
    while _grow(tree, groups):
        pass
    order = [constraint.name for constraint in constraints]
    found = []
    for bodies, names in sorted(groups, key=lambda group: min(group[0])):
        (output,) = {tree.parents[i] for i in bodies} - bodies
        found.append(Cluster(tuple(sorted(bodies)), output, tuple(sorted(names, key=order.index))))
    return found


def check_clusters(model: Model, clusters: Sequence[Cluster]) -> None:
    """UnsupportedError for clusters of another model: plans hand them on as options, with numbers of bodies in them."""
    embedded = {name for cluster in clusters for name in cluster.constraints}
    mine = [c for c in model.active_constraints if c.name in embedded]
    made = {cluster.constraints: cluster for cluster in find_clusters(model, mine)}
    for cluster in clusters:
        expected = made.get(cluster.constraints)
        velocities = sorted((*cluster.independent, *cluster.dependent))
        fits = expected is not None and (cluster.bodies, cluster.output) == (expected.bodies, expected.output)
        if not fits or velocities != [x for i in cluster.bodies for x in range(model.nv)[model.layout.v[i]]]:
            raise UnsupportedError(
                f"{model.name!r} has no cluster like that of {', '.join(cluster.constraints)}: these clusters "
                "are of another model. Use `sarrus.plan(model)` for those of this one"
            )


def _grow(tree: Tree, groups: list[Group]) -> bool:
    """Let a group that hangs on several bodies reach to where these meet; False if there is no such group."""
    for group in groups:
        bodies, names = group
        outputs = {tree.parents[i] for i in bodies} - bodies
        if len(outputs) > 1:
            groups.remove(group)
            _join(groups, bodies | tree.support(outputs) - tree.support([tree.common_ancestor(outputs)]), names)
            return True
    return False


def _join(groups: list[Group], bodies: set[int], names: list[str]) -> None:
    """Add a group; those that share a body with it become one with it."""
    for group in [group for group in groups if group[0] & bodies]:
        groups.remove(group)
        bodies, names = bodies | group[0], group[1] + names
    groups.append((bodies, names))
