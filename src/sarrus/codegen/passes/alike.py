"""Which pieces of straight-line code are alike: the same operations on other values, as limbs of a robot are.

Code is recorded limb by limb, so that pieces which are alike are runs of instructions. The longest are found first (by
sorting all suffixes of the tape), and cut where their values do not come from corresponding places.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from sarrus.codegen.tape.graph import APART
from sarrus.codegen.tape.tape import ARITY, COMMUTES, IDLE, Tape

SHORTEST = 100  # instructions of a piece that are worth a loop
LONGEST = 1500  # fused, they must fit one chunk
_NEAR = 8  # operands that are so few instructions before are compared while looking for pieces


class Alike(NamedTuple):
    """Pieces that are alike: the number of the first instruction of each, among those of `Straight`."""

    firsts: list[int]
    length: int


class Straight:
    """The instructions of a tape that pieces may be made of, in order, numbered by their places here."""

    def __init__(self, tape: Tape) -> None:
        inside = np.zeros(len(tape), bool)
        segment = np.zeros(len(tape), int)
        for number, (start, stop, loop) in enumerate(tape.segments):
            inside[start:stop] = loop is not None
            segment[start:stop] = number
        self.instructions = np.flatnonzero(~inside & ~np.isin(tape.op, list(IDLE)))
        self.op = tape.op[self.instructions].astype(np.int64)
        self.is_apart = np.isin(self.op, list(APART))
        self.segment = segment[self.instructions]
        place = np.full(len(tape), -1)
        place[self.instructions] = np.arange(len(self.instructions))
        is_value = ARITY[self.op][:, None] > np.arange(3)
        arg = np.where(is_value, tape.arg[self.instructions], -1)
        self.arg = arg
        self.operands = np.where(arg >= 0, place[arg], -1)  # their places here; -1: there is none, or it is elsewhere

    def tokens(self) -> np.ndarray:
        """Equal numbers where instructions may correspond."""
        here = np.arange(len(self.op))
        distance = np.where(self.operands >= 0, here[:, None] - self.operands, 0)
        distance[distance > _NEAR] = 0
        both = np.sort(distance[:, :2], axis=1)
        distance[:, :2] = np.where(COMMUTES[self.op][:, None], both, distance[:, :2])
        words = self.op
        for column in distance.T:
            words = words * (_NEAR + 1) + column
        # What no piece may have in it differs from everything else.
        return np.where(self.is_apart, -1 - here, words)


def pieces_alike(straight: Straight) -> list[Alike]:
    """Longest first, where possible; no instruction is in two of them."""
    if len(straight.op) < 2 * SHORTEST:
        return []
    waiting = _repeated_runs(straight)
    taken = straight.is_apart.copy()
    before = np.concatenate([[0], np.cumsum(taken)])  # how many are taken before each
    found: list[Alike] = []
    while waiting:
        _, firsts, length = heapq.heappop(waiting)
        free = _apart(firsts, length, before)
        if len(free) < 2:
            for first, other in pairwise(firsts):
                within = min(length, other - first)
                if 2 * within - (before[[first + within, other + within]] - before[[first, other]]).sum() < SHORTEST:
                    continue
                is_free = ~(taken[first : first + within] | taken[other : other + within])
                start, stop = longest_run(is_free)
                _wait(waiting, (first + start, other + start), stop - start)
            continue
        start, stop = _corresponding(straight, free, length)
        if stop <= start:
            continue
        found.append(Alike([first + start for first in free], stop - start))
        for first in free:
            taken[first + start : first + stop] = True
        before = np.concatenate([[0], np.cumsum(taken)])
        _wait(waiting, firsts, start)
        _wait(waiting, tuple(first + stop for first in firsts), length - stop)
    return found


def _wait(waiting: list[tuple[int, tuple[int, ...], int]], firsts: tuple[int, ...], length: int) -> None:
    if length >= SHORTEST:
        heapq.heappush(waiting, (-length, firsts, length))


def _repeated_runs(straight: Straight) -> list[tuple[int, tuple[int, ...], int]]:
    """A heap of runs of tokens that there are several times, none of which is longer than it is said to be."""
    tokens = straight.tokens()
    order, common = _suffixes(tokens, straight.segment)
    first, second = order[:-1], order[1:]
    goes_on = (first > 0) & (second > 0) & (tokens[first - 1] == tokens[second - 1])
    goes_on &= (straight.segment[first - 1] == straight.segment[first]) & (common < LONGEST)
    goes_on &= straight.segment[second - 1] == straight.segment[second]
    begins, ends = _alike_rows(common)
    rows = np.flatnonzero((common >= SHORTEST) & ~goes_on)
    runs = {(begins[row], ends[row], int(common[row])) for row in rows.tolist()}
    return sorted((-length, tuple(sorted(order[begin:end].tolist())), length) for begin, end, length in runs)


def _alike_rows(common: np.ndarray) -> tuple[list[int], list[int]]:
    """Per pair of neighbours in the order of suffixes: from where to where all have as much in common as these two."""
    begins, ends = [0] * len(common), [len(common) + 1] * len(common)
    open_rows: list[int] = []  # whose ends are not known yet, with ever more in common
    many = common.tolist()
    for row, length in enumerate(many):
        begins[row] = row
        while open_rows and many[open_rows[-1]] >= length:
            last = open_rows[-1]
            begins[row] = begins[last]
            if many[last] == length:
                break  # which ends where this one does
            ends[last] = row + 1
            open_rows.pop()
        open_rows.append(row)
    return begins, ends


def _suffixes(tokens: np.ndarray, segment: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """All places in the order of what follows from there, and how much each has in common with the next one.

    Nothing is common beyond the end of a segment.
    """
    count = len(tokens)
    rank = np.unique(tokens, return_inverse=True)[1].astype(np.int64)
    ends = np.searchsorted(segment, segment, side="right")  # per place: where its segment ends
    width, ranks = 1, [rank]
    while width < LONGEST and rank.max() + 1 < count:
        here = np.arange(count)
        after = np.where(here + width < ends, rank[np.minimum(here + width, count - 1)] + 1, 0)
        rank = np.unique(rank * (count + 1) + after, return_inverse=True)[1].astype(np.int64)
        ranks.append(rank)
        width *= 2
    order = np.argsort(rank, kind="stable")
    first, second = order[:-1].copy(), order[1:].copy()
    first_end, second_end = ends[first], ends[second]
    common = np.zeros(count - 1, dtype=np.int64)
    # Ranks of width w are equal where w tokens are: as many as fit, the widest first.
    for level in range(len(ranks) - 1, -1, -1):
        width, of = 1 << level, np.append(ranks[level], -1)
        is_same = (first + width <= first_end) & (second + width <= second_end)
        is_same &= of[np.minimum(first, count)] == of[np.minimum(second, count)]
        first, second, common = (x + np.where(is_same, width, 0) for x in (first, second, common))
    return order, np.minimum(common, LONGEST)


def _apart(firsts: Sequence[int], length: int, before: np.ndarray) -> list[int]:
    """Of pieces, those that overlap neither each other nor what is taken."""
    found, end = [], -1
    for first in firsts:
        if first >= end and before[first + length] == before[first]:
            found.append(first)
            end = first + length
    return found


def longest_run(is_free: np.ndarray) -> tuple[int, int]:
    """The longest piece in which all are True."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], is_free.astype(np.int8), [0]])))
    if not len(edges):
        return 0, 0
    starts, stops = edges[::2], edges[1::2]
    longest = int(np.argmax(stops - starts))
    return int(starts[longest]), int(stops[longest])


def _corresponding(straight: Straight, firsts: Sequence[int], length: int) -> tuple[int, int]:
    """From where to where in pieces values that are made there are used in corresponding places."""
    start, stop = 0, length
    while stop - start >= SHORTEST:
        inside = [_inside(straight, first + start, stop - start) for first in firsts]
        agree = np.ones(stop - start, bool)
        for other in inside[1:]:
            agree &= (other == inside[0]).all(axis=1)
        if agree.all():
            return start, stop
        begin, end = longest_run(agree)
        start, stop = start + begin, start + end
    return 0, 0


def _inside(straight: Straight, first: int, length: int) -> np.ndarray:
    """Of a piece, per instruction: where in it the operands are; -1: they are elsewhere."""
    operands = straight.operands[first : first + length] - first
    found = np.where((operands >= 0) & (operands < length), operands, -1)
    both = np.sort(found[:, :2], axis=1)
    commutes = COMMUTES[straight.op[first : first + length]]
    found[:, :2] = np.where(commutes[:, None], both, found[:, :2])
    return found
