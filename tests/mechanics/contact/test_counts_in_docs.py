"""The page on contacts shows the operation counts that there are."""

from __future__ import annotations

from pathlib import Path

from benchmarks.contact_counts import table

PAGE = Path(__file__).parents[3] / "docs" / "contact.md"


def test_the_table_of_the_page_is_up_to_date() -> None:
    assert table() in PAGE.read_text(), "print it again: python -m benchmarks.contact_counts"
