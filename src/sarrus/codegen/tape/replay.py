"""A tape once more, as straight-line text of a graph: what differentiation begins with.

Repetitions are written out. What only some states need is computed for all of them, and chosen; so is one of a list. An
iteration that ends by its values is refused: what it solves has derivatives, its steps are not asked for theirs.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from sarrus.codegen.tape.graph import Graph, Op, Symbol
from sarrus.codegen.tape.tape import Loop, Tape
from sarrus.errors import UnsupportedError
from sarrus.spatial.arrays import Array, Scalar
from sarrus.spatial.stages import stage

_ARITHMETIC = {Op.ADD: operator.add, Op.SUB: operator.sub, Op.MUL: operator.mul}
_LONGEST_LIST = 64  # members of a list that is written out as choices


def iterates(tape: Tape) -> bool:
    """Whether a tape has an iteration that ends by its values."""
    return any(not loop.is_repetition and loop.limit > 1 for loop in tape.loops)


def replay(tape: Tape, graph: Graph, arrays: Sequence[Array]) -> list[Array]:
    """The tape's outputs, flat, as symbols (or numbers) of the graph; arrays: its inputs, flat."""
    if iterates(tape):
        raise UnsupportedError("an iteration that ends by its values: nothing differentiates through iterations")
    machine = _Replay(tape, graph, arrays)
    for start, stop, loop in tape.segments:
        if loop is None:
            machine.run(range(start, stop))
        else:
            machine.repeat(loop)
    return [_array([machine.values[k] for k in result.tolist()]) for result in tape.results]


def _array(elements: list[Scalar]) -> Array:
    out = np.empty(len(elements), dtype=object)
    out[:] = elements
    return out


class _Replay:
    """Values of a tape's instructions so far."""

    def __init__(self, tape: Tape, graph: Graph, arrays: Sequence[Array]) -> None:
        self.graph, self.arrays = graph, arrays
        self.values: list[Any] = [None] * len(tape)
        self.ops, self.args = tape.op.tolist(), tape.arg.tolist()
        self.stages = tape.stage
        self.constants = tape.constants.tolist()
        self.lists = [members.tolist() for members in tape.lists]
        self.collected: dict[int, list[tuple[int, int]]] = {}  # inside a loop: (application, where it is kept)
        for k in np.flatnonzero(tape.op == Op.COLLECTED).tolist():
            self.collected.setdefault(self.args[k][0], []).append((self.args[k][1], k))

    def run(self, instructions: range, application: int = 0) -> None:
        for name, same in itertools.groupby(instructions, self.stages.__getitem__):
            with stage(name):
                for k in same:
                    if self.ops[k] != Op.COLLECTED:  # which its loop has left there
                        self.values[k] = self._value(k, application)

    def repeat(self, loop: Loop) -> None:
        """Every application of a repetition; or the one that only some states make."""
        values = self.values
        for k in loop.carried:
            values[k] = values[self.args[k][0]]
        for application in range(loop.limit):
            self.run(range(loop.carried.stop, loop.stop), application)
            for k in range(loop.start, loop.stop):
                for when, place in self.collected.get(k, ()):
                    if when == application:
                        values[place] = values[k]
            updated = [values[k] for k in loop.updated]
            if loop.entry >= 0:
                enters = self.graph.binary(Op.LESS, 0.0, values[loop.entry])
                updated = [
                    self.graph.select(enters, new, values[k]) for k, new in zip(loop.carried, updated, strict=True)
                ]
            values[loop.start : loop.carried.stop] = updated

    def _value(self, k: int, application: int) -> Scalar:
        op, (a, b, c), graph = self.ops[k], self.args[k], self.graph
        if op == Op.CONST:
            return self.constants[a]
        if op == Op.INPUT:
            return self.arrays[a][b]
        if op == Op.ENTRY:
            return self.values[self.lists[b][application]]
        if op == Op.PICK:
            return self._picked(self.values[a], [self.values[x] for x in self.lists[b]])
        x = self.values[a]
        if op == Op.NEG:
            return -x
        if b < 0:
            return graph.unary(Op(op), graph.lift(x))
        y = self.values[b]
        if op in _ARITHMETIC:
            return _ARITHMETIC[Op(op)](x, y)
        if op == Op.DIV:
            with np.errstate(all="ignore"):
                return x / y if isinstance(x, Symbol) or isinstance(y, Symbol) else float(np.float64(x) / y)
        if c < 0:
            return graph.binary(Op(op), x, y)
        z = self.values[c]
        if op == Op.SELECT:
            return graph.select(x, y, z)
        return {Op.FMA: lambda: x * y + z, Op.FNMA: lambda: z - x * y, Op.FMS: lambda: x * y - z}[Op(op)]()

    def _picked(self, index: Scalar, members: list[Scalar]) -> Scalar:
        """One of a list, by halves; see `picking.pick` for what an index outside of it means."""
        if len(members) > _LONGEST_LIST:
            raise UnsupportedError(
                f"one of a list of {len(members)} values is picked by its number: lists of more than {_LONGEST_LIST} "
                f"are not differentiated"
            )
        graph = self.graph
        known = graph.select(graph.binary(Op.LESS, 0.0, index), index, 0.0)

        def among(first: int, last: int) -> Scalar:
            if last - first == 1:
                return members[first]
            middle = (first + last) // 2
            lower = graph.binary(Op.LESS, known, float(middle))
            return graph.select(lower, among(first, middle), among(middle, last))

        return among(0, len(members))
