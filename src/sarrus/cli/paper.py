"""`sarrus paper`: the papers' tables and figures, theirs beside ours."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Annotated

import typer

from sarrus.errors import UnsupportedError, check_name

_COMMAND = [sys.executable, "-m", "benchmarks.paper"]


def paper(
    only: Annotated[
        list[str] | None, typer.Argument(help="Tables and figures, or a paper's letter: A.table2 B")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Small sizes and few states: under five minutes.")] = False,
    again: Annotated[bool, typer.Option("--again", help="Measure again what has already been measured.")] = False,
    out: Annotated[Path, typer.Option(help="Folder for the results and the report.")] = Path("build/paper"),
) -> None:
    """Run every table and figure of the five papers, and write one report (HTML and Markdown).

    For example:

        [bold]sarrus paper --quick[/bold]
        [bold]sarrus paper E.fig4a --again[/bold]

    The benchmarks are not part of the package, so this needs a clone of the repository. An interrupted run continues.
    """
    if not Path("benchmarks/paper/__main__.py").is_file():
        raise UnsupportedError(
            "sarrus paper: there is no directory benchmarks/paper here. Run this in a clone of the repository"
        )
    valid = _names() if only else []
    for name in only or ():
        check_name("table, figure or paper", name, valid)
    flags = [*(["--quick"] if quick else []), *(["--again"] if again else []), "--out", str(out)]
    chosen = ["--only", *only] if only else []
    raise typer.Exit(subprocess.run([*_COMMAND, *flags, *chosen], check=False).returncode)


def _names() -> list[str]:
    """What may be asked for. The benchmarks are no part of the package, so they are asked."""
    return subprocess.run([*_COMMAND, "--list"], check=True, capture_output=True, text=True).stdout.split()
