"""Names that are not taken yet."""

from __future__ import annotations

from collections.abc import Callable, Iterable


class Names:
    """Names that are taken."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._taken = set(taken)

    def claim(self, name: str) -> str:
        """`name`, or the first of name_2, name_3, ... that is free. It is taken then."""
        free = first_free(name, self._taken.__contains__)
        self._taken.add(free)
        return free


def first_free(name: str, taken: Callable[[str], bool]) -> str:
    """`name`, or the first of name_2, name_3, ... that is not taken."""
    candidate, k = name, 1
    while taken(candidate):
        k += 1
        candidate = f"{name}_{k}"
    return candidate
