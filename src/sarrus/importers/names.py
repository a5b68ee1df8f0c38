"""Names that are not taken yet."""

from __future__ import annotations

from collections.abc import Callable

from sarrus.model.builder import ModelBuilder


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
