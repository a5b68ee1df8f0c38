"""Where the rows of a constraint end: the node, or the world, at which its multipliers are eliminated."""

from __future__ import annotations

from sarrus.mechanics.constraints.rows import Rows
from sarrus.model.bodies import WORLD
from sarrus.model.topology import AbstractTree


def loop_roots(tree: AbstractTree, rows: list[Rows]) -> list[int]:
    """`loop_root` per constraint."""
    return [loop_root(tree, r) for r in rows]


def loop_root(tree: AbstractTree, r: Rows) -> int:
    """The node at which all blocks of a constraint have met; rows on a single link, and those of the
    centre of mass, are against the world.

    A relation between joints has met at the nearest common ancestor of their parents.
    """
    nodes = {tree.nodes[i].parent for i, _ in r.relation} or {block.node for block in r.blocks}
    if r.against_world or (len(nodes) == 1 and not r.relation):
        return WORLD
    return max(set.intersection(*(set(tree.paths[i]) for i in nodes)), default=WORLD)


def early_roots(tree: AbstractTree, rows: list[Rows]) -> list[int]:
    """As `loop_roots`, but rows against the world end as soon as the joints that they passed can absorb them.

    That is at the first node beyond which the joints under constraints have at least as many degrees of freedom as
    those constraints have rows. There L has, in general, full rank; where it has not (a stretched leg), 1 / mu keeps it
    regular. The legs of a robot are then not coupled with each other through its trunk.
    """
    n = len(tree.nodes)
    loaded = [{i for b in r.blocks for i in tree.paths[b.node]} for r in rows]
    under_load = set().union(*loaded)
    dof = [tree.nodes[i].m if i in under_load else 0 for i in range(n)]
    for i in range(n - 1, -1, -1):
        if tree.nodes[i].parent >= 0:
            dof[tree.nodes[i].parent] += dof[i]
    load = [sum(len(r.k) for r, nodes in zip(rows, loaded, strict=True) if i in nodes) for i in range(n)]
    return [
        _first_free(tree, r.blocks[0].node, dof, load) if root == WORLD and len(r.blocks) == 1 else root
        for r, root in zip(rows, loop_roots(tree, rows), strict=True)
    ]


def _first_free(tree: AbstractTree, i: int, dof: list[int], load: list[int]) -> int:
    while i != WORLD and dof[i] < load[i]:
        i = tree.nodes[i].parent
    return WORLD if i == WORLD else tree.nodes[i].parent
