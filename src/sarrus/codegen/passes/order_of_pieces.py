"""The order in which a tape is done when pieces of it that are alike are done together."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np

from sarrus.codegen.passes.alike import SHORTEST, Alike, Straight, longest_run
from sarrus.codegen.tape.graph import Op
from sarrus.codegen.tape.tape import Tape

_LOOKED_AT = 4  # groups, of those that wait, in which parts other than the first are looked for


class OrderOfPieces:
    """Items (instructions, loops, pieces) in an order in which they can be done: the first in the tape first, pieces
    that are alike together.

    Pieces wait for those like them. Where all wait, because one needs what another one makes late, or makes early what
    another one needs, pieces are cut: what can be done is a piece of its own.
    """

    def __init__(self, tape: Tape, straight: Straight, groups: Sequence[Alike], loop_of: np.ndarray) -> None:
        """loop_of: per instruction of a loop, or collected from it, the first one of the loop; of others themselves"""
        is_idle = np.isin(tape.op, (Op.CONST, Op.INPUT))
        used, user = tape.uses
        pairs = np.unique((loop_of[used] * len(tape) + loop_of[user])[~is_idle[used]])
        needs = np.stack(np.divmod(pairs, len(tape)))
        needs = needs[:, needs[0] != needs[1]]
        numbers = np.arange(len(tape) + 1)
        self._users, self._begins = needs[1].tolist(), np.searchsorted(needs[0], numbers).tolist()
        needs = needs[:, np.argsort(needs[1], kind="stable")]
        self._sources, self._ends = needs[0].tolist(), np.searchsorted(needs[1], numbers).tolist()
        self._waits = np.bincount(needs[1], minlength=len(tape)).tolist()  # for how many others
        self._done = [False] * len(tape)
        self._ready: list[int] = []
        self._piece = [-1] * len(tape)  # of an instruction: the number of its piece
        self._pieces: list[list[int]] = []  # their instructions
        self._of_piece: list[int] = []  # the number of its group
        self._open: list[int] = []  # how much each needs that is not done, but for what others like it make
        self._groups: dict[int, list[int]] = {}  # pieces of groups that are not done
        self._missing: dict[int, int] = {}  # per group: how many of its pieces have to wait for something
        self._full: list[int] = []  # groups that have to wait for nothing
        self._next = 0
        for group in groups:
            self._add([straight.instructions[x : x + group.length].tolist() for x in group.firsts])
        for x in np.unique(loop_of[~is_idle]).tolist():
            self._let(x)

    def __iter__(self) -> Iterator[list[list[int]]]:
        """Items as lists of their instructions (of a loop, the first); several at once are alike."""
        while self._ready or self._groups:
            full = self._full.pop() if self._full else -1
            if full >= 0:
                pieces = [self._pieces[x] for x in self._groups[full]]
                if self._is_possible(full):
                    yield pieces
                    for instructions in pieces:
                        for k in instructions:
                            self._finish(k)
                    del self._groups[full]
                else:
                    self._cut(full, [])
            elif self._ready:
                x = heapq.heappop(self._ready)
                yield [[x]]
                self._finish(x)
            else:
                self._resolve()

    def _add(self, pieces: list[list[int]]) -> None:
        """A new group. No instruction of it is done."""
        mine = range(len(self._pieces), len(self._pieces) + len(pieces))
        self._groups[self._next] = list(mine)
        for x, instructions in zip(mine, pieces, strict=True):
            self._pieces.append(instructions)
            self._of_piece.append(self._next)
            self._open.append(0)
            for k in instructions:
                self._piece[k] = x
        for x in mine:
            self._open[x] = sum([self._is_open(a, x) for k in self._pieces[x] for a in self._sources_of(k)])
        self._missing[self._next] = sum([self._open[x] > 0 for x in mine])
        if not self._missing[self._next]:
            self._full.append(self._next)
        self._next += 1

    def _sources_of(self, k: int) -> list[int]:
        return self._sources[self._ends[k] : self._ends[k + 1]]

    def _is_open(self, a: int, piece: int) -> bool:
        """Whether a piece has to wait for value a."""
        other = self._piece[a]
        return not self._done[a] and (other < 0 or self._of_piece[other] != self._of_piece[piece])

    def _let(self, x: int) -> None:
        if self._piece[x] < 0 and not self._waits[x] and not self._done[x]:
            heapq.heappush(self._ready, x)

    def _finish(self, x: int) -> None:
        self._done[x] = True
        mine = self._piece[x]
        for y in self._users[self._begins[x] : self._begins[x + 1]]:
            self._waits[y] -= 1
            other = self._piece[y]
            if other < 0:
                self._let(y)
            elif mine < 0 or self._of_piece[mine] != self._of_piece[other]:
                self._open[other] -= 1
                if not self._open[other]:
                    group = self._of_piece[other]
                    self._missing[group] -= 1
                    if not self._missing[group]:
                        self._full.append(group)

    def _is_possible(self, number: int) -> bool:
        """Whether every piece needs only those like it that are before it."""
        pieces = set(self._groups[number])
        used = ((self._piece[a], x) for x in pieces for k in self._pieces[x] for a in self._sources_of(k))
        return not any(other in pieces and other > x for other, x in used)

    def _resolve(self) -> None:
        """All wait for each other: cut pieces where that helps; else the shortest are none any more."""
        begin = {number: self._pieces[mine[0]][0] for number, mine in self._groups.items()}
        ready = [self._pieces[x][0] for mine in self._groups.values() for x in mine if not self._open[x]]
        front = max(ready or begin.values())
        near = [number for number in self._groups if begin[number] <= front]
        near.sort(key=lambda number: len(self._pieces[self._groups[number][0]]))
        for number in near:
            stop = min([self._first_open(x) for x in self._groups[number]])
            if stop >= SHORTEST:
                self._cut(number, [0, stop])
                return
        for number in near[:_LOOKED_AT]:
            start, stop = longest_run(~self._blocked(number))
            if stop - start >= SHORTEST:
                self._cut(number, [start, stop])
                return
        self._cut(near[0], [])

    def _first_open(self, x: int) -> int:
        """How many instructions of a piece, from the first on, have to wait for nothing."""
        for t, k in enumerate(self._pieces[x]):
            for a in self._sources_of(k):
                if self._piece[a] != x and self._is_open(a, x):
                    return t
        return len(self._pieces[x])

    def _blocked(self, number: int) -> np.ndarray:
        """Per instruction of a piece: whether one like it has to wait for others."""
        found = np.zeros(len(self._pieces[self._groups[number][0]]), bool)
        for x in self._groups[number]:
            place = {k: t for t, k in enumerate(self._pieces[x])}
            for t, k in enumerate(self._pieces[x]):
                mine = self._sources_of(k)
                if any(found[place[a]] if a in place else self._is_open(a, x) for a in mine):
                    found[t] = True
        return found

    def _cut(self, number: int, at: list[int]) -> None:
        """Pieces cut in several places; parts that are too short, and all if there is none, are instructions again."""
        pieces = [self._pieces[x] for x in self._groups.pop(number)]
        for instructions in pieces:
            for k in instructions:
                self._piece[k] = -1
        cuts = [0, *at, len(pieces[0])] if at else [0]
        for start, stop in pairwise(cuts):
            if stop - start >= SHORTEST:
                self._add([instructions[start:stop] for instructions in pieces])
        for instructions in pieces:
            for k in instructions:
                self._let(k)
