"""Names that are not taken yet, and lists of names."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sarrus.model.builder import ModelBuilder

_SHOWN = 4  # names in a line of a report


def free_name(builder: ModelBuilder, name: str) -> str:
    """`name`, or the first of name_2, name_3, ... that no body or frame has."""
    return first_free(name, builder.has_name)


def first_free(name: str, taken: Callable[[str], bool]) -> str:
    """`name`, or the first of name_2, name_3, ... that is not taken."""
    candidate, k = name, 1
    while taken(candidate):
        k += 1
        candidate = f"{name}_{k}"
    return candidate


def some(names: Sequence[str]) -> str:
    """The first few of them, and how many more there are."""
    more = len(names) - _SHOWN
    return ", ".join(names[:_SHOWN]) + (f" and {more} more" if more > 0 else "")
