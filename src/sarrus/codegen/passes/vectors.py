"""Where values must lie so that a repetition finds them without copying them: side by side, in vectors.

The values that a repetition takes, and those that it makes, are columns: one value per application. Columns are one
vector if their values can have the same distance in memory in every application; then one address says where all of
them are. Columns are taken in their order, each beside the one before it. What cannot lie there, because it has its
place elsewhere already (another repetition wants it there, it is an input, a constant), is copied to there before the
loop; if that would be most of a column, the column begins a vector of its own. Columns of constants lie among the
constants.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from sarrus.codegen.passes.blocks import Blocks
from sarrus.codegen.passes.steps import DISTANCES, Vector, in_vector
from sarrus.codegen.tape.graph import Op
from sarrus.codegen.tape.tape import Loop, Tape

# (Names of an enumeration are slow to look up.)
_CONST, _CARRIED, _ENTRY = int(Op.CONST), int(Op.CARRIED), int(Op.ENTRY)
_COPIES = 0.5  # of a column, at most: a copy costs about as much as finding one more vector in one application


@dataclass
class InPlace:
    """How one repetition finds its values."""

    entries: list[int]
    collected: list[int]
    vectors: list[Vector] = field(default_factory=list)
    copies: list[tuple[int, int]] = field(default_factory=list)  # values, and the places that they are copied to
    unwanted: list[int] = field(default_factory=list)  # places of results that nobody needs
    places: set[int] = field(default_factory=set)  # all that it uses, also those of copies that were there before


@dataclass(frozen=True)
class Layout:
    """Of all repetitions that work in place, by where they begin."""

    loops: dict[int, InPlace]
    blocks: list[dict[int, int]]  # values that must have slots side by side, by their places from 0 on
    slot: dict[int, int]  # of values inside the repetitions: `steps.in_vector`
    places: int  # how many there are beside the tape's own values, and numbered after them
    constants: list[int]  # that follow the tape's own


def lay_out(tape: Tape, loops: Sequence[Loop], fixed: dict[int, int]) -> Layout:
    """The vectors of these repetitions. `fixed`: values (inputs and outputs) by slots that they have already."""
    return _Layout(tape, fixed).of(loops)


@dataclass
class _Vector:
    """One under construction: its first column, and the distances of all of them from there."""

    column: list[int]  # where the values of the first column are
    columns: dict[int, list[int]]  # by their distances from there: what lies there
    distances: dict[int, int]  # by value inside the loop


class _Layout:
    def __init__(self, tape: Tape, fixed: dict[int, int]) -> None:
        self._tape, self._op = tape, tape.op.tolist()
        self._collected = np.flatnonzero(tape.op == Op.COLLECTED)
        self._source = tape.arg[self._collected, 0]
        self._blocks = Blocks()
        self._blocks.add(dict(fixed), is_closed=True)
        self._top = len(tape)
        self._slot: dict[int, int] = {}
        self._constants: list[int] = []
        self._rows: dict[tuple[int, ...], int] = {}  # constants side by side: where they begin
        self._copied: dict[int, int] = {}  # places that exist: what is copied to there
        self._copies: dict[int, list[int]] = {}  # the other way round

    def of(self, loops: Sequence[Loop]) -> Layout:
        found = {loop.start: self._in_place(loop) for loop in loops}
        blocks = []
        for number, members in enumerate(self._blocks.members):
            if number and len(members) > 1:
                least = min(members)
                blocks.append({place - least: value for place, value in members.items()})
        return Layout(found, blocks, self._slot, self._top - len(self._tape), self._constants)

    def _in_place(self, loop: Loop) -> InPlace:
        tape = self._tape
        inside = range(loop.start, loop.stop)
        entries = [k for k in inside if self._op[k] == _ENTRY]
        collected = self._collected[(self._source >= loop.start) & (self._source < loop.stop)].tolist()
        mine = InPlace(entries, collected)
        results: dict[int, list[int]] = {}
        for k, (value, application, _) in zip(collected, tape.arg[collected].tolist(), strict=True):
            results.setdefault(value, [-1] * loop.limit)[application] = k
        for column in results.values():
            for r in [r for r, k in enumerate(column) if k < 0]:
                column[r] = self._new_place()
                mine.unwanted.append(column[r])
        vectors: list[_Vector] = []
        for value, column in results.items():
            self._place_column(value, column, vectors, column)
        columns = {k: tape.lists[tape.arg[k, 1]].tolist() for k in entries}
        constants = {k: x for k, x in columns.items() if (tape.op[x] == Op.CONST).all()}
        others = [(k, x) for k, x in columns.items() if k not in constants]
        of_entries: list[_Vector] = []
        for (k, column), (_, following) in pairwise([*others, *others[-1:]]):
            self._place_column(k, column, of_entries, following, mine.copies, frozenset(collected))
        for vector in (*vectors, *of_entries):
            self._finish(vector, mine)
        if constants:
            for number, k in enumerate(constants):
                self._slot[k] = in_vector(len(mine.vectors), number)
            rows = list(zip(*(tape.arg[x, 0].tolist() for x in constants.values()), strict=True))
            mine.vectors.append(Vector([self._row(row) for row in rows], is_constant=True))
        if any(guard.start <= loop.start < guard.stop for guard in tape.guards):
            for value, place in mine.copies:  # they may be skipped, so nobody else may use them
                del self._copied[place]
                self._copies[value].remove(place)
        return mine

    def _new_place(self) -> int:
        self._top += 1
        return self._top - 1

    def _row(self, row: tuple[int, ...]) -> int:
        """Where these constants are side by side."""
        if len(row) == 1:
            return row[0]
        if row not in self._rows:
            self._rows[row] = len(self._tape.constants) + len(self._constants)
            self._constants += row
        return self._rows[row]

    def _place_column(
        self,
        value: int,
        column: list[int],
        vectors: list[_Vector],
        following: list[int],
        copies: list[tuple[int, int]] | None = None,
        later: frozenset[int] = frozenset(),
    ) -> None:
        """Find a vector for a column, which `value` is inside the loop, or begin one with it.

        following  the next column
        copies     where copies are noted; None: there can be none
        later      values that do not exist yet when the loop begins, so that they cannot be copied
        """
        blocks = self._blocks
        for x in column:
            if x not in blocks:
                code = self._op[x] if x < len(self._op) else -1
                if code != _CONST:
                    blocks.add({0: x}, is_closed=code == _CARRIED)
        for vector in reversed(vectors):
            distance = blocks.distance(vector.column[0], column[0])
            if distance is not None and self._allows(vector, distance):
                pairs = zip(vector.column, column, strict=True)
                if all(blocks.distance(a, b) == distance for a, b in pairs):
                    vector.distances[value], vector.columns[distance] = distance, column
                    return
        if vectors:
            vector = vectors[-1]
            pairs = zip(vector.column, column, strict=True)
            known = Counter(d for d in (blocks.distance(a, b) for a, b in pairs) if d is not None)
            for distance in (*(d for d, _ in known.most_common(1)), max(vector.distances.values()) + 1):
                if self._allows(vector, distance) and self._attach(vector, distance, column, copies, later):
                    vector.distances[value] = distance
                    return
        # A constant is copied once for all applications in which it is followed by the same value.
        pairs = list(zip(column, following, strict=True))
        constants = {pair: self._new_place() for pair in dict.fromkeys(pairs) if pair[0] not in blocks}
        for (x, _), place in constants.items():
            blocks.add({0: place})
            self._note(copies, x, place)
        vectors.append(_Vector([constants.get(pair, pair[0]) for pair in pairs], {0: column}, {value: 0}))

    def _note(self, copies: list[tuple[int, int]] | None, value: int, place: int) -> None:
        if copies is not None:
            copies.append((value, place))
            self._copied[place] = value
            self._copies.setdefault(value, []).append(place)

    def _allows(self, vector: _Vector, distance: int) -> bool:
        """Whether one more column can be that far from the first one."""
        places = *vector.distances.values(), distance
        return distance not in vector.distances.values() and max(places) - min(places) < DISTANCES

    def _attach(
        self,
        vector: _Vector,
        distance: int,
        column: list[int],
        copies: list[tuple[int, int]] | None,
        later: frozenset[int],
    ) -> bool:
        """Let a column be so far from the first one of a vector, if that takes few copies."""
        blocks, mark, top = self._blocks, self._blocks.mark, self._top
        first, copied, mine = list(vector.column), dict(self._copied), list[tuple[int, int]]()
        allowed = _COPIES * len(column)
        # Blocks become one if that is so in most applications; else it is by chance, and in the way of other columns.
        may_join = 2 * sum(blocks.joins(x, at) for at, x in zip(first, column, strict=True)) >= len(column)

        def copy(x: int) -> int:
            place = self._new_place()
            mine.append((x, place))
            copied[place] = x
            return place

        for r, (at, x) in enumerate(zip(vector.column, column, strict=True)):
            if copied.get(blocks.at(at, distance)) == x:  # it is there already
                continue
            if x in blocks:
                if (may_join or not blocks.joins(x, at)) and blocks.put(x, distance, at):
                    continue
                allowed -= 1
            row = {d: values[r] for d, values in vector.columns.items()} | {distance: x}
            elsewhere = self._copy_of_row(row)
            if elsewhere >= 0:
                first[r] = elsewhere
                continue
            if copies is not None and allowed >= 0 and x not in later:
                if blocks.at(at, distance) < 0 and not blocks.is_closed(at):
                    place = copy(x)
                    blocks.add({0: place})
                    blocks.put(place, distance, at)
                    continue
                allowed -= len(row) - 1
                if allowed >= 0 and later.isdisjoint(row.values()):  # another value is there: a row of its own
                    places = {d: copy(value) for d, value in row.items()}
                    blocks.add(places)
                    first[r] = places[0]
                    continue
            blocks.undo(mark)
            self._top = top
            return False
        vector.column[:] = first
        vector.columns[distance] = column
        for x, place in mine:
            self._note(copies, x, place)
        return True

    def _copy_of_row(self, row: dict[int, int]) -> int:
        """The place of the first value of a row (values by distances) that has been copied; -1: it has not."""
        for place in self._copies.get(row[0], ()):
            found = ((self._blocks.at(place, d), x) for d, x in row.items())
            if all(y == x or self._copied.get(y) == x for y, x in found):
                return place
        return -1

    def _finish(self, vector: _Vector, mine: InPlace) -> None:
        """Count distances from the least, and say which value is there in each application."""
        least = min(vector.distances.values())
        for value, distance in vector.distances.items():
            self._slot[value] = in_vector(len(mine.vectors), distance - least)
        mine.vectors.append(Vector([self._blocks.at(x, least) for x in vector.column]))
        found = {self._blocks.at(x, d) for d in vector.distances.values() for x in vector.column}
        mine.places.update(x for x in found if x >= len(self._tape))
