"""In which order LCABA eliminates links: leaves first, those with the fewest neighbours before others."""

from __future__ import annotations

from collections.abc import Iterable

from sarrus.mechanics.constraints.rows import Rows
from sarrus.model.topology import AbstractTree


def nodes_of(r: Rows) -> list[int]:
    """The nodes that a constraint acts on; a relation between joints acts on those."""
    return [i for i, _ in r.relation] if r.relation else [block.node for block in r.blocks]


def minimum_degree(tree: AbstractTree, groups: Iterable[Iterable[int]]) -> list[int]:
    """All nodes, children before parents; of the leaves, the one with the fewest neighbours first (section IV-A).

    groups: nodes that a constraint couples. Eliminating a node makes its neighbours and its parent neighbours of each
    other (eqs 31, 32). Of several with the same number: the parent of the last one, so that one side of a loop is
    finished before the other is begun; else the one whose joint has the most freedoms, since less passes through it,
    but not a root, beyond which is nothing; else the one farthest from the root, since the side that goes first costs
    less (`link_elimination`); else the last.
    """
    n = len(tree.nodes)
    N: list[set[int]] = [set() for _ in range(n)]
    for group in groups:
        members = set(group)
        for i in members:
            N[i] |= members - {i}
    children = [len(tree.children[i]) for i in range(n)]
    leaves = {i for i in range(n) if children[i] == 0}
    depth = [0] * n
    for i, node in enumerate(tree.nodes):
        depth[i] = 0 if node.parent < 0 else depth[node.parent] + 1
    freedoms = [node.m if node.parent >= 0 else 0 for node in tree.nodes]
    order: list[int] = []
    while leaves:
        following = tree.nodes[order[-1]].parent if order else -1
        i = min(leaves, key=lambda leaf: (len(N[leaf]), leaf != following, -freedoms[leaf], -depth[leaf], -leaf))
        leaves.remove(i)
        order.append(i)
        parent = tree.nodes[i].parent
        clique = N[i] | ({parent} if parent >= 0 and N[i] else set())
        for j in clique:
            N[j] = (N[j] | clique) - {i, j}
        if parent >= 0:
            children[parent] -= 1
            if children[parent] == 0:
                leaves.add(parent)
    return order
