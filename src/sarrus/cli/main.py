"""`sarrus`: the command line."""

from __future__ import annotations

import sys
from typing import Annotated

import typer
from rich.console import Console

import sarrus
from sarrus.cli.bench import bench
from sarrus.cli.cache import cache
from sarrus.cli.check import check
from sarrus.cli.codegen import codegen
from sarrus.cli.info import info
from sarrus.cli.paper import paper
from sarrus.cli.plan import plan
from sarrus.cli.simulate import simulate
from sarrus.cli.view import view
from sarrus.errors import SarrusError

app = typer.Typer(
    name="sarrus",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    help="""Constrained rigid-body dynamics, compiled for your robot.

    Describe a robot, and what computing its dynamics costs:

        [bold]sarrus info robot.urdf --floating-base[/bold]
        [bold]sarrus info zoo:chain:7[/bold]            a mechanism that comes with Sarrus
        [bold]sarrus info example:talos_full_v2[/bold]  a robot from the package example-robot-data

    Check whether its loops close, and what they leave free to move:

        [bold]sarrus check cassie.xml[/bold]

    Find the best way to compute its dynamics:

        [bold]sarrus plan cassie.xml --draw cassie.svg[/bold]

    View it in the browser; simulate it:

        [bold]sarrus view zoo:stewart[/bold]
        [bold]sarrus simulate zoo:four_bar --duration 10 --save swing.npz --view[/bold]

    Compile its dynamics to native code, validate and time them, or write C:

        [bold]sarrus bench example:go1 --floating-base --method aba[/bold]
        [bold]sarrus codegen robot.urdf --method rnea -o generated[/bold]

    In Python: import sarrus; help(sarrus)
    """,
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"sarrus {sarrus.__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


for command in (info, check, plan, simulate, bench, codegen, view, paper):
    app.command()(command)
app.add_typer(cache, name="cache")


@app.command()
def cite(methods: Annotated[list[str], typer.Argument(help="Algorithms, e.g. pv efpa.")]) -> None:
    """BibTeX entries of the publications behind algorithms."""
    typer.echo(sarrus.cite(*methods))


def main() -> None:
    """Run the command line; errors of the user's input are one line and exit code 2."""
    try:
        app()
    except (SarrusError, OSError) as error:  # the latter: files that cannot be written
        Console(stderr=True).print(f"[bold red]error:[/bold red] {type(error).__name__}:", end=" ")
        Console(stderr=True, markup=False, highlight=False, soft_wrap=True).print(str(error))
        sys.exit(2)


if __name__ == "__main__":
    main()
