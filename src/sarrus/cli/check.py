"""`sarrus check`: do the loops close, and what do the constraints leave free?"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn
from rich.table import Table

import sarrus
from sarrus.cli.robot_argument import HELP, AllowOutside, robot_from
from sarrus.errors import StateError
from sarrus.model.model import Model

AT_FAULT = 1  # exit code: loops that do not close, or constraints that contradict each other


def check(
    robot: Annotated[str, typer.Argument(help=HELP, metavar="ROBOT")],
    q: Annotated[
        str | None,
        typer.Option(
            "--q", help="A configuration: numbers, separated by commas or spaces. Default: the file's pose, or neutral."
        ),
    ] = None,
    extended: Annotated[
        Path | None, typer.Option(help="A YAML file of example-parallel-robots: which frames of the URDF close loops.")
    ] = None,
    floating_base: Annotated[
        bool | None, typer.Option("--floating-base/--fixed-base", help="Put the root on a free joint.")
    ] = None,
    allow_outside: AllowOutside = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON object instead of words.")] = False,
) -> None:
    """Closure error, rank, redundant and conflicting constraints by name, mobility, conditioning, suggested mu.

    For example:

        [bold]sarrus check zoo:sarrus_linkage[/bold]                 a redundant row, and it moves
        [bold]sarrus check robot.urdf --extended robot.yaml[/bold]   loops of example-parallel-robots

    Where loops are open at the given configuration, a near one is searched at which they are closed. Exit code 1: there
    is none, or constraints contradict each other. Redundant rows are no fault.
    """
    with Progress(SpinnerColumn(), TextColumn("{task.description}"), transient=True, disable=as_json) as progress:
        progress.add_task("loading and checking")
        model = robot_from(robot, floating_base, extended, allow_outside)
        found = sarrus.diagnose(model, None if q is None else configuration(model, q))
    if as_json:
        typer.echo(json.dumps(found.as_dict(), indent=2))
    else:
        _show(Console(), found)
    if not found.ok:
        raise typer.Exit(AT_FAULT)


def configuration(model: Model, text: str) -> np.ndarray:
    """The numbers of `--q`."""
    try:
        return np.array([float(word) for word in text.replace(",", " ").split()])
    except ValueError:
        raise StateError(f"--q {text!r}: expected {model.nq} numbers, separated by commas or spaces") from None


def _show(console: Console, found: sarrus.Diagnosis) -> None:
    first, *rest = found.lines()
    console.print(first, style="bold", highlight=False, markup=False, soft_wrap=True)
    if found.constraints:
        table = Table()
        for column in ("constraint", "kind", "between", "error", "rows", "rank alone", "redundant"):
            table.add_column(
                column, overflow="fold", justify="left" if column in ("constraint", "kind", "between") else "right"
            )
        for c in found.constraints:
            table.add_row(c.name, c.kind, c.between, f"{c.error:.1e}", str(c.rows), str(c.rank), str(c.redundant or ""))
        console.print(table)
    for line in rest:
        style = "yellow" if line.startswith(("singular", "conflict")) or "not assembled" in line else None
        console.print(line, style=style, highlight=False, markup=False, soft_wrap=True)
