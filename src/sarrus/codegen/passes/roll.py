"""Pieces of straight-line code that are alike as repetitions: a robot's limbs become one limb and a table.

Straight-line code runs as fast as it arrives, and a large kernel arrives from far. Where pieces are alike
(`alike.py`), they are one piece of code that is applied to the values of each, when all that they need is there
(`order_of_pieces.py`). The operations and their operands are the same; only multiply-adds across the ends of a piece
are not fused. The compiler asks for it where there are repetitions already, such as columns of derivatives.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from sarrus.codegen.passes.alike import Alike, Straight, pieces_alike
from sarrus.codegen.passes.order_of_pieces import OrderOfPieces
from sarrus.codegen.passes.rewrite import wanted
from sarrus.codegen.tape.graph import Op
from sarrus.codegen.tape.tape import ARITY, COMMUTES, LISTED, Loop, Tape

LARGE = 45_000  # instructions from which on it pays: shorter code stays in the caches by itself


def rolled(tape: Tape, large: int = LARGE) -> Tape:
    """The tape with repetitions for pieces that are alike, if it is large."""
    if tape.guards or not all(loop.is_repetition for loop in tape.loops):
        return tape
    constants = np.flatnonzero(tape.op == Op.CONST)
    positive = constants[tape.constants[tape.arg[constants, 0]] > 0.0]
    if len(tape) < large or not len(positive):
        return tape
    straight = Straight(tape)
    groups = pieces_alike(straight)
    return _Rolled(tape, straight, groups).tape(int(positive[0])) if groups else tape


class _Rolled:
    """A tape under construction."""

    def __init__(self, tape: Tape, straight: Straight, groups: Sequence[Alike]) -> None:
        self._old, self._straight, self._groups = tape, straight, groups
        self._loop_of = np.arange(len(tape))
        for loop in tape.loops:
            self._loop_of[loop.start : loop.stop] = loop.start
        collected = np.flatnonzero(tape.op == Op.COLLECTED)
        self._loop_of[collected] = self._loop_of[tape.arg[collected, 0]]
        self._op: list[int] = []
        self._arg: list[tuple[int, int, int]] = []
        self._stage: list[str] = []
        self._loops: list[Loop] = []
        self._lists: list[np.ndarray] = []
        self._number = np.full(len(tape), -1, dtype=np.int64)  # of instructions, in the new tape

    def tape(self, condition: int) -> Tape:
        """condition: a constant that is positive, as that of a loop which never stops early must be"""
        old = self._old
        self._copy(np.flatnonzero(np.isin(old.op, (Op.CONST, Op.INPUT))))
        self._condition = int(self._number[condition])
        loops = {loop.start: loop for loop in old.loops}
        collected: dict[int, list[int]] = {}  # by loop
        for k in np.flatnonzero(old.op == Op.COLLECTED).tolist():
            collected.setdefault(int(self._loop_of[k]), []).append(k)
        items = list(OrderOfPieces(old, self._straight, self._groups, self._loop_of))
        item = self._loop_of.copy()
        for pieces in items:
            if len(pieces) > 1:
                for instructions in pieces:
                    item[instructions] = instructions[0]
        used, user = old.uses
        self._is_used_elsewhere = np.zeros(len(old), bool)
        self._is_used_elsewhere[used[item[used] != item[user]]] = True
        self._is_used_elsewhere[list(wanted(old))] = True
        straight: list[int] = []
        for pieces in items:
            first = pieces[0][0]
            if len(pieces) == 1 and first not in loops:
                straight.append(first)
                continue
            self._copy(np.array(straight, dtype=int))
            straight.clear()
            if len(pieces) > 1:
                self._repetition([np.array(instructions) for instructions in pieces])
            else:
                self._loop(loops[first], collected.get(first, []))
        self._copy(np.array(straight, dtype=int))
        return replace(
            old,
            op=np.array(self._op, dtype=np.uint8),
            arg=np.array(self._arg, dtype=np.int32).reshape(-1, 3),
            stage=tuple(self._stage),
            results=tuple(self._number[result].astype(np.int32) for result in old.results),
            loops=tuple(self._loops),
            lists=tuple(self._lists),
        )

    def _write(self, op: int, arg: tuple[int, int, int], stage: str) -> int:
        self._op.append(int(op))
        self._arg.append(arg)
        self._stage.append(stage)
        return len(self._op) - 1

    def _copy(self, instructions: np.ndarray) -> None:
        """As they were."""
        old, first = self._old, len(self._op)
        self._number[instructions] = np.arange(first, first + len(instructions))
        is_value = ARITY[old.op[instructions]][:, None] > np.arange(3)
        arg = old.arg[instructions]
        arg = np.where(is_value, self._number[arg], arg)
        self._op += old.op[instructions].tolist()
        self._arg += [tuple(row) for row in arg.tolist()]
        self._stage += [old.stage[k] for k in instructions.tolist()]

    def _list(self, members: np.ndarray) -> int:
        self._lists.append(members.astype(np.int32))
        return len(self._lists) - 1

    def _loop(self, loop: Loop, collected: Sequence[int]) -> None:
        """A loop as it was, and what is collected of it."""
        old, start = self._old, len(self._op)
        mine = np.arange(loop.start, loop.stop)
        after = np.array(collected, dtype=int)
        self._number[after] = np.arange(start + len(mine), start + len(mine) + len(after))  # entries may be among them
        self._copy(mine)
        for k in np.flatnonzero(np.isin(old.op[mine], LISTED)).tolist():
            a, number, c = self._arg[start + k]
            self._arg[start + k] = a, self._list(self._number[old.lists[number]]), c
        self._copy(after)
        updated, condition = self._number[list(loop.updated)].tolist(), int(self._number[loop.condition])
        stop = start + len(mine)
        self._loops.append(replace(loop, start=start, stop=stop, updated=tuple(updated), condition=condition))

    def _repetition(self, pieces: Sequence[np.ndarray]) -> None:
        """One loop for pieces that are alike."""
        old, start = self._old, len(self._op)
        model, length = pieces[0], len(pieces[0])
        place = {int(k): t for t, k in enumerate(model)}
        pairs = list(zip(*(old.arg[piece].tolist() for piece in pieces), strict=True))
        counts, commutes = ARITY[old.op[model]].tolist(), COMMUTES[old.op[model]].tolist()
        own = [{int(k) for k in piece} for piece in pieces]
        rows: list[list[tuple[int, ...]]] = []  # per instruction and operand: the values of all pieces
        entries: dict[tuple[int, ...], int] = {}
        for t in range(length):
            columns = [tuple(row[j] for row in pairs[t]) for j in range(counts[t])]
            if commutes[t]:
                columns[:2] = self._matched(columns[:2], own, place, entries)
            for column in columns:
                if column[0] not in place and len(set(column)) > 1:
                    entries.setdefault(column, len(entries))
            rows.append(columns)
        stage = old.stage[int(model[0])]
        first_list = len(self._lists)
        for column in entries:
            self._write(Op.ENTRY, (-1, self._list(np.array(column)), -1), stage)
        begin = len(self._op)
        for k, columns in zip(model.tolist(), rows, strict=True):
            found = [-1, -1, -1]
            for j, column in enumerate(columns):
                if column[0] in place:
                    found[j] = begin + place[column[0]]
                elif column in entries:
                    found[j] = start + entries[column]
                else:
                    found[j] = int(self._number[column[0]])
            self._write(int(old.op[k]), (found[0], found[1], found[2]), old.stage[k])
        self._loops.append(Loop(start, len(self._op), (), self._condition, len(pieces), is_repetition=True))
        for t in self._wanted(pieces):
            for r, piece in enumerate(pieces):
                k = int(piece[t])
                self._number[k] = self._write(Op.COLLECTED, (begin + t, r, -1), stage)
        for number in range(first_list, len(self._lists)):  # also of what was just collected
            self._lists[number] = self._number[self._lists[number]].astype(np.int32)

    def _wanted(self, pieces: Sequence[np.ndarray]) -> list[int]:
        """Which of their values others need."""
        found: set[int] = set()
        for piece in pieces:
            found.update(np.flatnonzero(self._is_used_elsewhere[piece]).tolist())
        return sorted(found)

    @staticmethod
    def _matched(
        columns: list[tuple[int, ...]], own: list[set[int]], place: dict[int, int], entries: dict[tuple[int, ...], int]
    ) -> list[tuple[int, ...]]:
        """Two operands that may change places, in each piece so that they correspond."""
        first, second = [columns[0][0]], [columns[1][0]]
        for r in range(1, len(columns[0])):
            a, b = columns[0][r], columns[1][r]
            is_inside = columns[0][0] in place, columns[1][0] in place
            if is_inside[0] != is_inside[1]:
                swap = (a in own[r]) != is_inside[0]
            elif is_inside[0]:
                swap = False  # nobody asks for those of other pieces
            else:
                swap = (*first, b) in entries or (*second, a) in entries or columns[0][0] == b or columns[1][0] == a
            first.append(b if swap else a)
            second.append(a if swap else b)
        return [tuple(first), tuple(second)]
