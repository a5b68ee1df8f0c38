"""The publications behind the algorithms: `references.bib`, by the keys that `@algorithm(references=...)` uses."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from sarrus.registry.table import find


@cache
def bibliography() -> dict[str, str]:
    """BibTeX by key."""
    entries = Path(__file__).with_name("references.bib").read_text(encoding="utf-8").strip().split("\n\n")
    return {entry.partition("{")[2].partition(",")[0]: entry for entry in entries}


def cite(*methods: str) -> str:
    """BibTeX of the publications behind these algorithms, each once.

    >>> print(sarrus.cite("pv", "efpa"))
    """
    keys = dict.fromkeys(key for method in methods for key in find(method).references)
    return "\n\n".join(bibliography()[key] for key in keys)
