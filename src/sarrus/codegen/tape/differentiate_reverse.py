"""Reverse differentiation of a graph: how a weighted sum of outputs varies with every input, in one sweep.

Where a value is chosen between two, the other one may be anything, infinite or not a number, and zero times that is not
zero. So what flows back out of a branch is cut off where the branch was not taken: at its edge, where a value of the
branch uses one that others use, too.
"""

from __future__ import annotations

from collections.abc import Sequence

from sarrus.codegen.tape.graph import Graph, Op, Symbol
from sarrus.codegen.tape.partials import CHOICES, between, cases, operands, partials
from sarrus.spatial.arrays import Scalar
from sarrus.spatial.stages import stage

Branches = frozenset[tuple[int, bool]]  # conditions (nodes), and whether they must hold, for a value to matter


def reverse(
    graph: Graph, outputs: Sequence[Scalar], weights: Sequence[Scalar], inputs: Sequence[int]
) -> dict[int, Scalar]:
    """Of every input (a node): the derivative of the weighted sum of the outputs with respect to it."""
    order = between(graph, inputs, outputs)[::-1]
    varying = set(order)
    matters = _branches(graph, order, outputs, inputs)
    adjoint: dict[int, Scalar] = {}
    with stage("adjoints"):
        for x, weight in zip(outputs, weights, strict=True):
            if isinstance(x, Symbol) and x.index in varying:
                adjoint[x.index] = adjoint.get(x.index, 0.0) + weight
        for k in order:
            if k not in adjoint or _is_zero(adjoint[k]):
                continue
            flows = _to_branches(graph, k, adjoint[k]) if graph.op[k] in CHOICES else _to_operands(graph, k, adjoint[k])
            for x, flow in flows:
                if x in varying:
                    for condition, holds in matters[k] - matters[x]:
                        yes, no = (flow, 0.0) if holds else (0.0, flow)
                        flow = graph.select(graph.symbol(condition), yes, no)
                    adjoint[x] = adjoint.get(x, 0.0) + flow
    return {k: adjoint.get(k, 0.0) for k in inputs}


def _to_operands(graph: Graph, k: int, adjoint: Scalar) -> list[tuple[int, Scalar]]:
    return [(x, adjoint * partial) for x, partial in partials(graph, k)]


def _to_branches(graph: Graph, k: int, adjoint: Scalar) -> list[tuple[int, Scalar]]:
    condition, (yes, sign), (no, _) = cases(graph, k)
    if yes == no:  # an absolute value
        return [(yes, graph.select(condition, adjoint * sign, adjoint))]
    return [(yes, graph.select(condition, adjoint, 0.0)), (no, graph.select(condition, 0.0, adjoint))]


def _branches(graph: Graph, order: list[int], outputs: Sequence[Scalar], inputs: Sequence[int]) -> dict[int, Branches]:
    """Per node: the conditions under which alone it matters to the outputs."""
    none: Branches = frozenset()
    found: dict[int, Branches] = {x.index: none for x in outputs if isinstance(x, Symbol)}
    found |= dict.fromkeys(inputs, none)  # whose derivatives leave the sweep
    for k in order:
        if k not in found:  # only comparisons look at it
            continue
        mine = found[k]
        if graph.op[k] == Op.SELECT:
            condition, yes, no = operands(graph, k)
            uses = [(yes, mine | {(condition, True)}), (no, mine | {(condition, False)})] if yes != no else []
        else:
            uses = [(x, mine) for x in operands(graph, k)]
        for x, where in uses:
            found[x] = found[x] & where if x in found else where
    return found


def _is_zero(x: Scalar) -> bool:
    return not isinstance(x, Symbol) and x == 0.0
