"""A property that is computed once, and may be abstract."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from sarrus.once import cached_property

T = TypeVar("T")


class answer(cached_property[T]):  # noqa: N801 (a decorator, as the one that it is made of)
    """A `cached_property`, which would hide from `abc` that the function is abstract."""

    def __init__(self, function: Callable[[Any], T]) -> None:
        super().__init__(function)
        self.__isabstractmethod__ = getattr(function, "__isabstractmethod__", False)
