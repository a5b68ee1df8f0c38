"""Values whose distances in memory are settled, before it is settled where they are."""

from __future__ import annotations


class Blocks:
    """Blocks of slots. Two of them become one when a value of one gets its place beside a value of the other.

    What is closed stays as it is: nothing comes into it, and it is not moved.
    """

    def __init__(self) -> None:
        self.members: list[dict[int, int]] = []  # per block: values by their places
        self._block: dict[int, int] = {}
        self._place: dict[int, int] = {}
        self._is_closed: list[bool] = []
        self._joined: list[tuple[int, int, int, list[int]]] = []  # what `undo` takes back

    def __contains__(self, value: int) -> bool:
        return value in self._block

    def add(self, values: dict[int, int], is_closed: bool = False) -> None:
        """A new block: values by their places."""
        for place, value in values.items():
            self._block[value], self._place[value] = len(self.members), place
        self.members.append(values)
        self._is_closed.append(is_closed)

    def distance(self, first: int, second: int) -> int | None:
        """From the first value to the second; None where that is not settled."""
        block = self._block.get(first)
        if block is None or block != self._block.get(second):
            return None
        return self._place[second] - self._place[first]

    def at(self, value: int, distance: int) -> int:
        """The value so far from this one; -1 if there is none."""
        return self.members[self._block[value]].get(self._place[value] + distance, -1)

    def is_closed(self, value: int) -> bool:
        """Whether the block of this value is."""
        return self._is_closed[self._block[value]]

    def joins(self, value: int, other: int) -> bool:
        """Whether these are in two blocks of which the first has more than this value."""
        block = self._block.get(value)
        return block is not None and block != self._block[other] and len(self.members[block]) > 1

    def put(self, value: int, distance: int, other: int) -> bool:
        """Let a value be so far from another. False: that cannot be."""
        into, moved = self._block[other], self._block[value]
        shift = self._place[other] + distance - self._place[value]
        if into == moved:
            return shift == 0
        if self._is_closed[into] or self._is_closed[moved]:
            return False
        if len(self.members[moved]) > len(self.members[into]):
            into, moved, shift = moved, into, -shift
        there, here = self.members[into], self.members[moved]
        if len(here) == 1:  # which is usual
            if next(iter(here)) + shift in there:
                return False
        elif min(here) + shift <= max(there) and min(there) <= max(here) + shift:
            return False  # side by side, not into each other's gaps, which others will need
        self._joined.append((into, moved, shift, list(here.values())))
        for place, value in here.items():
            there[place + shift] = value
            self._block[value], self._place[value] = into, place + shift
        self.members[moved] = {}
        return True

    @property
    def mark(self) -> tuple[int, int]:
        """What `undo` goes back to."""
        return len(self._joined), len(self.members)

    def undo(self, mark: tuple[int, int]) -> None:
        joined, blocks = mark
        while len(self._joined) > joined:
            into, moved, shift, values = self._joined.pop()
            there, here = self.members[into], self.members[moved]
            for value in values:
                place = self._place[value]
                del there[place]
                here[place - shift] = value
                self._block[value], self._place[value] = moved, place - shift
        while len(self.members) > blocks:
            self._is_closed.pop()
            for value in self.members.pop().values():
                del self._block[value], self._place[value]
