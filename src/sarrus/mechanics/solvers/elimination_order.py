"""In which order LCABA eliminates links: leaves first, those with the fewest neighbours before others.

Any order in which children come before their parents is right; which one costs least depends on the mechanism. What
LCABA takes unless it is told is `minimum_degree`; the others are for those who compare (`planning/orders.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import combinations
from typing import Any

from sarrus.errors import UnsupportedError
from sarrus.mechanics.constraints.rows import Rows
from sarrus.model.topology import AbstractTree


def nodes_of(r: Rows) -> list[int]:
    """The nodes that a constraint acts on; a relation between joints acts on those."""
    return [i for i, _ in r.relation] if r.relation else [block.node for block in r.blocks]


def elimination_order(tree: AbstractTree, groups: Iterable[Iterable[int]], given: Sequence[int] | None) -> list[int]:
    """The given order, if it is one, else `minimum_degree`."""
    if given is None:
        return minimum_degree(tree, groups)
    n, position = len(tree.nodes), {i: x for x, i in enumerate(given)}
    if len(given) != n or set(position) != set(range(n)):
        raise UnsupportedError(f"order is {given!r}: expected each of the numbers 0 to {n - 1} once, or None")
    for i, parent in enumerate(tree.parents):
        if parent >= 0 and position[i] > position[parent]:
            names = tree.nodes[i].name, tree.nodes[parent].name
            raise UnsupportedError(
                f"order: {names[0]!r} ({i}) comes after its parent {names[1]!r} ({parent}); children come first"
            )
    return list(given)


def minimum_degree(tree: AbstractTree, groups: Iterable[Iterable[int]]) -> list[int]:
    """All nodes, children before parents; of the leaves, the one with the fewest neighbours first (section IV-A).

    groups: nodes that a constraint couples. Of several with the same number: the parent of the last one, so that one
    side of a loop is finished before the other is begun; else the one whose joint has the most freedoms, since less
    passes through it, but not a root, beyond which is nothing; else the one farthest from the root, since the side that
    goes first costs less (`link_elimination`); else the last.
    """
    depth = [len(tree.paths[i]) for i in range(len(tree.nodes))]
    freedoms = [node.m if node.parent >= 0 else 0 for node in tree.nodes]

    def preference(leaf: int, N: list[set[int]], last: int) -> tuple[Any, ...]:
        following = tree.nodes[last].parent if last >= 0 else -1
        return len(N[leaf]), leaf != following, -freedoms[leaf], -depth[leaf], -leaf

    return greedy_order(tree, groups, preference)


def plain_minimum_degree(tree: AbstractTree, groups: Iterable[Iterable[int]]) -> list[int]:
    """As the paper has it: of several leaves with the fewest neighbours, the last."""
    return greedy_order(tree, groups, lambda leaf, N, _: (len(N[leaf]), -leaf))


def minimum_fill(tree: AbstractTree, groups: Iterable[Iterable[int]]) -> list[int]:
    """First the leaf whose elimination makes the fewest links neighbours that were none."""

    def fill(leaf: int, N: list[set[int]], last: int) -> tuple[Any, ...]:
        parent = tree.nodes[leaf].parent
        clique = N[leaf] | ({parent} if parent >= 0 and N[leaf] else set())
        new = sum(b not in N[a] for a, b in combinations(clique, 2))
        return new, len(N[leaf]), leaf != (tree.nodes[last].parent if last >= 0 else -1), -leaf

    return greedy_order(tree, groups, fill)


def neighbours(n: int, groups: Iterable[Iterable[int]]) -> list[set[int]]:
    """Per node, those that a constraint couples it with."""
    N: list[set[int]] = [set() for _ in range(n)]
    for group in groups:
        members = set(group)
        for i in members:
            N[i] |= members - {i}
    return N


def greedy_order(
    tree: AbstractTree,
    groups: Iterable[Iterable[int]],
    preference: Callable[[int, list[set[int]], int], tuple[Any, ...]],
) -> list[int]:
    """Leaves first, among them always the one with the least `preference` of (leaf, neighbours, last one or -1).

    Eliminating a node makes its neighbours and its parent neighbours of each other (eqs 31, 32).
    """
    n = len(tree.nodes)
    N = neighbours(n, groups)
    children = [len(tree.children[i]) for i in range(n)]
    leaves = {i for i in range(n) if children[i] == 0}
    order: list[int] = []
    while leaves:
        last = order[-1] if order else -1
        i = min(leaves, key=lambda leaf: preference(leaf, N, last))
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
