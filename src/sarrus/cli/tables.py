"""Tables of words and numbers on the console."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from rich.table import Table


def table(
    columns: Sequence[str], rows: Iterable[Sequence[str]], numbers: Collection[str] = (), title: str = ""
) -> Table:
    """Rows under named columns; those of `numbers` are justified to the right."""
    made = Table(title=title or None, title_justify="left")
    for column in columns:
        made.add_column(column, justify="right" if column in numbers else "left", overflow="fold")
    for row in rows:
        made.add_row(*row)
    return made
