"""Results whose names are known only when they are asked for, such as derivatives: NamedTuples that can be pickled."""

from __future__ import annotations

from collections import namedtuple
from functools import cache
from typing import Any


@cache
def named_result(name: str, fields: tuple[str, ...]) -> type[tuple[Any, ...]]:
    """The NamedTuple with these fields; the same one every time."""
    plain = namedtuple(name, fields)
    return type(name, (plain,), {"__slots__": (), "__reduce__": lambda self: (_made, (name, fields, tuple(self)))})


def _made(name: str, fields: tuple[str, ...], values: tuple[Any, ...]) -> Any:
    return named_result(name, fields)(*values)
