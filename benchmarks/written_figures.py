"""Figures in pages: what a benchmark measured goes between two comments of a page, so that no number is typed."""

from __future__ import annotations

import re
from pathlib import Path

DOCS = Path(__file__).parents[1] / "docs"


def write_figures(page: str, name: str, text: str) -> None:
    """Replace what is between `<!-- NAME figures -->` and `<!-- end -->` in a page of docs/."""
    path = DOCS / page
    found = path.read_text()
    marks = rf"(<!-- {name} figures -->\n).*?(<!-- end -->)"
    assert len(re.findall(marks, found, re.DOTALL)) == 1, f"{page} has no place for the figures of {name}"
    path.write_text(re.sub(marks, lambda m: f"{m[1]}{text.strip()}\n{m[2]}", found, flags=re.DOTALL))
