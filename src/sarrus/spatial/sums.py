"""Sums in tables."""

from __future__ import annotations

from typing import Any


def add_to(table: dict[int, Any], key: int, M: Any) -> None:
    """Of whatever can be added: matrices, inertias."""
    table[key] = table[key] + M if key in table else M
