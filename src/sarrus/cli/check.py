"""`sarrus check`: do the loops close, and what do the constraints leave free?"""

from __future__ import annotations

import json

import typer
from rich.console import Console

import sarrus
from sarrus.cli import arguments
from sarrus.cli.console import print_plain, print_table, spinner, table

AT_FAULT = 1  # exit code: loops that do not close, or constraints that contradict each other


def check(
    robot: arguments.Robot,
    q: arguments.Configuration = None,
    extended: arguments.Extended = None,
    floating_base: arguments.FloatingBase = None,
    allow_outside: arguments.AllowOutside = False,
    as_json: arguments.AsJson = False,
) -> None:
    """Closure error, rank, redundant and conflicting constraints by name, mobility, conditioning, suggested mu.

    For example:

        [bold]sarrus check zoo:sarrus_linkage[/bold]                 a redundant row, and it moves
        [bold]sarrus check robot.urdf --extended robot.yaml[/bold]   loops of example-parallel-robots

    If loops are open at the given configuration, a nearby one at which they are closed is searched for. Exit code 1:
    there is none, or constraints contradict each other. Redundant rows are not an error.
    """
    with spinner("loading and checking", as_json):
        model = arguments.robot_from(robot, floating_base, extended, allow_outside)
        found = sarrus.diagnose(model, None if q is None else arguments.configuration(model, q))
    if as_json:
        typer.echo(json.dumps(found.as_dict(), indent=2))
    else:
        _show(Console(), found)
    if not found.ok:
        raise typer.Exit(AT_FAULT)


def _show(console: Console, found: sarrus.Diagnosis) -> None:
    first, *rest = found.lines()
    print_plain(console, first, "bold")
    if found.constraints:
        numbers = ("error", "rows", "rank alone", "redundant")
        rows = [
            (c.name, c.kind, c.between, f"{c.error:.1e}", str(c.rows), str(c.rank), str(c.redundant or ""))
            for c in found.constraints
        ]
        print_table(console, table(("constraint", "kind", "between", *numbers), rows, numbers))
    for line in rest:
        print_plain(
            console, line, "yellow" if line.startswith(("singular", "conflict")) or "not assembled" in line else ""
        )
