"""Forward differentiation of a graph: how outputs vary along some directions of the inputs.

A node's derivatives are a table by direction, with entries only for those that reach it. So every direction costs what
it touches, and colouring (one sweep for directions that no output shares) would save nothing: a node that two
directions reach, and an output after it, make that output depend on both.
"""

from __future__ import annotations

from collections.abc import Sequence

from sarrus.codegen.tape.graph import Graph, Symbol
from sarrus.codegen.tape.partials import CHOICES, between, cases, partials
from sarrus.spatial.arrays import Scalar
from sarrus.spatial.stages import stage

Directions = dict[int, Scalar]  # derivatives by the number of the direction


def forward(graph: Graph, outputs: Sequence[Scalar], seeds: dict[int, Directions]) -> list[Directions]:
    """Of every output, its derivatives; seeds: of nodes that are inputs, theirs."""
    derivatives = dict(seeds)
    with stage("tangents"):
        for k in between(graph, seeds, outputs):
            if k not in seeds:
                step = _chosen if graph.op[k] in CHOICES else _summed
                derivatives[k] = step(graph, k, derivatives)
    return [derivatives.get(x.index, {}) if isinstance(x, Symbol) else {} for x in outputs]


def _summed(graph: Graph, k: int, derivatives: dict[int, Directions]) -> Directions:
    mine: Directions = {}
    for x, partial in partials(graph, k):
        for direction, d in derivatives.get(x, {}).items():
            mine[direction] = mine.get(direction, 0.0) + d * partial
    return mine


def _chosen(graph: Graph, k: int, derivatives: dict[int, Directions]) -> Directions:
    """Those of what was chosen; those of the other may be anything."""
    condition, *both = cases(graph, k)
    (yes, sign), (no, _) = both
    if yes == no:  # an absolute value
        minus = {direction: d * sign for direction, d in derivatives.get(yes, {}).items()}
        return {j: graph.select(condition, minus[j], d) for j, d in derivatives.get(no, {}).items()}
    one, other = derivatives.get(yes, {}), derivatives.get(no, {})
    return {j: graph.select(condition, one.get(j, 0.0), other.get(j, 0.0)) for j in {**one, **other}}
