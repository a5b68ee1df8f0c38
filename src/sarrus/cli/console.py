"""How commands answer on the console: tables, plain words, a spinner while they work."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager

from rich.console import Console
from rich.measure import Measurement
from rich.progress import Progress, SpinnerColumn, TextColumn
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


def print_table(console: Console, made: Table) -> None:
    """A table whose names are not broken, since somebody may look for them. Cells are broken between words where a
    terminal is narrow; a file or a pipe gets whole lines."""
    least, most = Measurement.get(console, console.options.update(max_width=10_000), made)
    width = max(console.width, least if console.is_terminal else most)
    Console(file=console.file, width=width, quiet=console.quiet, force_terminal=console.is_terminal).print(made)


def print_plain(console: Console, text: str, style: str = "") -> None:
    """Print words as they are: brackets in names are no markup, and lines are broken by the terminal."""
    console.print(text, style=style, markup=False, highlight=False, soft_wrap=True)


@contextmanager
def spinner(words: str, is_silent: bool = False) -> Iterator[Callable[[str], None]]:
    """Show that something is being done, and what; the function that is given changes the words."""
    with Progress(SpinnerColumn(), TextColumn("{task.description}"), transient=True, disable=is_silent) as progress:
        task = progress.add_task(words)
        yield lambda words: progress.update(task, description=words)
