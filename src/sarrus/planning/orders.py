"""In which order LCABA should eliminate a robot's links: a few rules, and a local search by a structural estimate.

The estimate follows the sizes of what couples links, not their numbers, and takes microseconds where tracing takes
seconds. It only proposes: what it proposes is traced and counted before anything is chosen.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from sarrus.mechanics.mechanism import mechanism, rows_of
from sarrus.mechanics.solvers.elimination_order import minimum_degree, minimum_fill, nodes_of, plain_minimum_degree
from sarrus.model.model import Model
from sarrus.model.state import home_or_neutral
from sarrus.model.topology import AbstractTree

DEFAULT = "minimum degree"
_ROUNDS = 400  # of the local search
_TOLERATED = 1.02  # of the default's estimate: what it is worth to count
_BETTER = 0.999  # of the least estimate so far: a search that does not get there found the same in other words
_WHOLE = 6  # rows of a link's whole acceleration


def proposed_orders(model: Model, search: bool = True) -> dict[str, tuple[int, ...]]:
    """Orders by name, the default first, each only once, and none that is estimated to cost more than the default."""
    tree, groups, rows = coupled_links(model)
    found = {DEFAULT: tuple(minimum_degree(tree, groups))}
    rules = {"plain minimum degree": plain_minimum_degree, "minimum fill": minimum_fill}
    for name, rule in rules.items():
        order = tuple(rule(tree, groups))
        if order not in found.values():
            found[name] = order
    costs = {order: estimate(tree, groups, rows, order) for order in found.values()}
    if search and any(len(set(group)) > 1 for group in groups):
        for number, order in enumerate(local_search(tree, groups, rows, list(costs)), start=1):
            costs[order] = estimate(tree, groups, rows, order)
            if costs[order] < _BETTER * min(costs[x] for x in found.values()):
                found[f"local search {number}"] = order
    usual = _TOLERATED * costs[found[DEFAULT]]
    return {name: order for name, order in found.items() if name == DEFAULT or costs[order] <= usual}


def coupled_links(model: Model) -> tuple[AbstractTree, list[list[int]], list[int]]:
    """The tree, the nodes that each constraint couples, and how many rows each has."""
    at = mechanism(model, home_or_neutral(model), np.zeros(model.nv), np.zeros(model.nv))
    rows = rows_of(at, np.zeros(model.n_input_rows), "plan")
    return at.tree, [list(dict.fromkeys(nodes_of(r))) for r in rows], [len(r.k) for r in rows]


def estimate(tree: AbstractTree, groups: Iterable[Sequence[int]], rows: Sequence[int], order: Sequence[int]) -> float:
    """About the operations that coupled links cost in this order.

    Each link sees images of others, with so many rows; eliminating it couples all that it sees, and its parent.
    """
    seen: list[dict[int, int]] = [{} for _ in tree.nodes]  # per node: how many rows of each neighbour it sees
    for group, m in zip(groups, rows, strict=True):
        for i in group:
            for j in group:
                if i != j:
                    seen[i][j] = min(_WHOLE, seen[i].get(j, 0) + m)
    cost = 0.0
    for i in order:
        node = tree.nodes[i]
        mine, n, parent = seen[i], node.m, node.parent
        R = sum(mine.values())
        if R:
            cost += n * R * (2 * _WHOLE + R) + (R * (2 * _WHOLE * n + 24) if parent >= 0 else 0)
        clique = dict(mine)
        if parent >= 0 and mine:
            clique[parent] = _WHOLE
        for j in clique:
            seen[j].pop(i, None)
            for other, m in clique.items():
                if other != j and (j != parent or other != parent):
                    seen[j][other] = max(seen[j].get(other, 0), m)
    return cost


def local_search(
    tree: AbstractTree, groups: list[list[int]], rows: list[int], starts: list[tuple[int, ...]]
) -> list[tuple[int, ...]]:
    """The best two orders found by moving one link at a time, from the given ones on; always the same."""
    rng = np.random.default_rng(0)
    best: dict[tuple[int, ...], float] = {}
    involved = sorted({j for group in groups for i in group for j in tree.paths[i]})
    for start in starts:
        order, cost = list(start), estimate(tree, groups, rows, start)
        for _ in range(_ROUNDS // len(starts)):
            moved = _move(tree, order, int(rng.choice(involved)), int(rng.integers(len(order))))
            if moved != order and (new := estimate(tree, groups, rows, moved)) <= cost:
                order, cost = moved, new
        best[tuple(order)] = cost
    return sorted(best, key=lambda order: best[order])[:2]


def _move(tree: AbstractTree, order: list[int], i: int, place: int) -> list[int]:
    """Link i as near to that place as its children and its parent allow."""
    rest = [x for x in order if x != i]
    first = max((rest.index(child) + 1 for child in tree.children[i]), default=0)
    last = rest.index(tree.parents[i]) if tree.parents[i] >= 0 else len(rest)
    at = min(max(place, first), last)
    return [*rest[:at], i, *rest[at:]]
