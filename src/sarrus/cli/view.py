"""`sarrus view`: a robot, or what it did, in the browser."""

from __future__ import annotations

import webbrowser
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn

from sarrus.cli.check import configuration
from sarrus.cli.options import AllowOutside, Robot
from sarrus.cli.robot_argument import robot_from


def view(
    robot: Robot,
    trajectory: Annotated[
        Path | None,
        typer.Option("--trajectory", "-t", help="Play this: a file saved by `sarrus simulate` or `Trajectory.save`."),
    ] = None,
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
        bool | None,
        typer.Option("--floating-base/--fixed-base", help="Put the root on a free joint (default: as the file says)."),
    ] = None,
    allow_outside: AllowOutside = False,
    port: Annotated[int, typer.Option(help="Of the web page; the next free one if it is taken.")] = 8080,
    host: Annotated[str, typer.Option(help="0.0.0.0 lets other machines look.")] = "127.0.0.1",
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open a browser on the page.")] = True,
) -> None:
    """Look at a robot in the browser: its shapes, joints that move with their loops closed, forces, trajectories.

    For example:

        [bold]sarrus view cassie.xml[/bold]
        [bold]sarrus view zoo:biped:True --trajectory demo_output/biped.npz[/bold]

    Where a file brings no shapes, or their meshes are not there, capsules are drawn from the kinematics. Ctrl-C ends
    it.
    Needs viser: pip install "sarrus\\[viewer]"
    """
    from sarrus.viewer import Viewer

    console = Console()
    with Progress(SpinnerColumn(), TextColumn("{task.description}"), transient=True) as progress:
        progress.add_task("loading and compiling")
        model = robot_from(robot, floating_base, extended, allow_outside)
        wanted = None if q is None else configuration(model, q)
        viewer = Viewer(model, wanted, trajectory, port=port, host=host)
    for line in viewer.notes:
        console.print(line, markup=False, highlight=False, soft_wrap=True)
    console.print(f"{model.name} is at [bold]{viewer.url}[/bold] (Ctrl-C ends)")
    if browser:
        webbrowser.open(viewer.url)
    viewer.wait()
