"""`sarrus plan`: how a robot's forward dynamics are best computed, and why."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

import sarrus
from sarrus.cli import arguments
from sarrus.cli.console import print_plain, spinner
from sarrus.errors import IllPosedError, UnsupportedError


def plan(
    robot: arguments.Robot,
    contact: Annotated[
        list[str] | None, typer.Option(help="A frame to weld to the world; `FRAME:3` holds only its origin.")
    ] = None,
    single: Annotated[bool, typer.Option("--single", help="Plan for single states instead of batches.")] = False,
    draw: Annotated[
        Path | None,
        typer.Option(help="Draw the mechanism and the plan to FILE.svg, or .png, .pdf with matplotlib."),
    ] = None,
    recuts: Annotated[bool, typer.Option("--recuts", help="Report what cutting loops elsewhere would save.")] = False,
    extended: arguments.Extended = None,
    floating_base: arguments.FloatingBase = None,
    allow_outside: arguments.AllowOutside = False,
    no_cache: Annotated[bool, typer.Option("--no-cache", help="Plan again, even if there is a plan on disk.")] = False,
    as_json: arguments.AsJson = False,
) -> None:
    """How to compute the dynamics: candidates with exact counts, which one was chosen, and why the others were not.

    For example:

        [bold]sarrus plan zoo:geared_quadruped --draw quadruped.svg[/bold]
        [bold]sarrus plan digit.xml --contact left-foot --contact right-foot[/bold]

    The plan is kept on disk; `sarrus.forward_dynamics`, `sarrus.compile(model)` and `sarrus simulate` follow it.
    """
    with spinner("loading and planning", as_json):
        model = arguments.robot_from(robot, floating_base, extended, allow_outside)
        held = [(name.removesuffix(":3"), 3 if name.endswith(":3") else 6) for name in contact or ()]
        model = model.with_constraints(*(sarrus.contact(name, rows) for name, rows in held))
        if model.ill_posed:  # no way to compute what is not defined
            raise IllPosedError(model.ill_posed)
        found = sarrus.plan(model, batch=not single, cache=not no_cache, recuts=recuts)
    if draw is not None and draw.suffix in ("", ".svg"):
        draw.write_text(found.draw(model), encoding="utf-8")
    elif draw is not None:
        _plotted(found.plot(model), draw)
    if as_json:
        typer.echo(found.to_json())
        return
    print_plain(Console(), found.explain())
    contacts = sarrus.Simulation(model).contact_operators if model.geometries else []
    for line in ["", "  on the ground:", *(f"    {line}" for line in contacts)] if contacts else []:
        print_plain(Console(), line)
    if draw is not None:
        print_plain(Console(), f"  drawn: {draw}")


def _plotted(axes: Any, file: Path) -> None:
    """A figure of matplotlib in a file of any format that it knows."""
    try:
        axes.figure.savefig(file, dpi=144)
    except ValueError as error:  # it lists what it knows
        raise UnsupportedError(f"--draw {file}: {error}") from None
