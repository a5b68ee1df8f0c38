"""The centre of mass from the poses of bodies."""

from __future__ import annotations

from sarrus.errors import UnsupportedError
from sarrus.model.model import Model
from sarrus.model.tree import Tree, tree_of
from sarrus.spatial.arrays import Array
from sarrus.spatial.stages import stage


def center(model: Model, poses: list[tuple[Array, Array]]) -> Array:
    """The centre of mass in the world, from the poses of the nodes."""
    if model.is_numeric and model.mass == 0.0:
        raise UnsupportedError(f"model {model.name!r} has no mass, so it has no centre of mass")
    return total_first_moment(tree_of(model), poses) * (1.0 / model.mass)


def total_first_moment(tree: Tree, poses: list[tuple[Array, Array]]) -> Array:
    """Sum of m c over all bodies, in the world; with what the first joints share with the ground."""
    h = tree.ground.h
    with stage("first moment"):
        for node, (R, p) in zip(tree.nodes, poses, strict=True):
            h = h + R @ node.inertia.h + node.inertia.mass * p
    return h
