"""Numbers as files write them: plain decimal ones. Python's `float` also takes 1_000, nan and the digits of all
alphabets, which no other reader of robot files does.
"""

from __future__ import annotations

import re

_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_INFINITE = re.compile(r"[+-]?inf(?:inity)?", re.IGNORECASE)
_SPACE = re.compile(r"[ \t\r\n]+")


def plain_numbers(text: str | None, count: int, *, infinite: bool = False) -> tuple[float, ...] | None:
    """So many finite numbers, separated by spaces; None: the text is something else. infinite: they may be that."""
    words = [word for word in _SPACE.split(text or "") if word]
    if len(words) != count:
        return None
    values = []
    for word in words:
        if not _NUMBER.fullmatch(word) and not (infinite and _INFINITE.fullmatch(word)):
            return None
        values.append(float(word))
    if not infinite and any(abs(x) == float("inf") for x in values):  # 1e999
        return None
    return tuple(values)


def expected(count: int) -> str:
    return "a number" if count == 1 else f"{count} numbers"
