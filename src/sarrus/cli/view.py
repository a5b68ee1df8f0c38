"""`sarrus view`: a robot, or what it did, in the browser."""

from __future__ import annotations

import webbrowser
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from sarrus.cli import arguments
from sarrus.cli.console import print_plain, spinner
from sarrus.viewer import Viewer


def view(
    robot: arguments.Robot,
    trajectory: Annotated[
        Path | None,
        typer.Option("--trajectory", "-t", help="Play this: a file saved by `sarrus simulate` or `Trajectory.save`."),
    ] = None,
    q: arguments.Configuration = None,
    ground: arguments.Ground = False,
    extended: arguments.Extended = None,
    floating_base: arguments.FloatingBase = None,
    allow_outside: arguments.AllowOutside = False,
    port: Annotated[int, typer.Option(help="Port of the web page; if it is taken, the next free one.")] = 8080,
    host: Annotated[str, typer.Option(help="0.0.0.0 makes it visible to other machines.")] = "127.0.0.1",
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the page in a browser.")] = True,
) -> None:
    """View a robot in the browser: its shapes, joints that move with their loops closed, forces, trajectories.

    For example:

        [bold]sarrus view cassie.xml[/bold]
        [bold]sarrus view zoo:biped --ground --trajectory demo_output/biped.npz[/bold]

    For a robot on the ground, contacts and their forces are drawn during playback; contacts that slip are orange.

    If a file has no shapes, or their meshes are missing, capsules are drawn from the kinematics. Ctrl-C ends it. Needs
    viser: pip install "sarrus\\[viewer]"
    """
    console = Console()
    with spinner("loading and compiling"):
        loaded = arguments.robot_from(robot, floating_base, extended, allow_outside)
        model = arguments.with_floor(loaded, ground)
        wanted = None if q is None else arguments.configuration(model, q)
        viewer = Viewer(model, wanted, trajectory, port=port, host=host)
    for line in viewer.notes:
        print_plain(console, line)
    show_until_closed(console, viewer, browser)


def show_until_closed(console: Console, viewer: Viewer, browser: bool = True) -> None:
    """Say where the page is, open it, and wait for Ctrl-C."""
    console.print(f"{viewer.model.name} is at [bold]{viewer.url}[/bold] (Ctrl-C ends)")
    if browser:
        webbrowser.open(viewer.url)
    viewer.wait()
