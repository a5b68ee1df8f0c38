"""`sarrus simulate`: a robot over time, or a batch of them."""

from __future__ import annotations

import importlib.util
import json
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeRemainingColumn

import sarrus
from sarrus.cli import arguments
from sarrus.cli.cluster import simulate_on_cluster
from sarrus.cli.console import print_plain
from sarrus.cli.simulation_report import report, show
from sarrus.cli.simulation_start import above_ground, initial_state, integrator_for, outside_limits
from sarrus.cli.view import show_until_closed
from sarrus.errors import MissingDependencyError, StateError
from sarrus.model.model import Model
from sarrus.simulation.time_loop import row_bytes
from sarrus.simulation.trajectory import Trajectory
from sarrus.simulation.trajectory_files import FIELDS, SUFFIXES
from sarrus.viewer import Viewer

NOT_CONVERGED, INTERRUPTED = 1, 130  # exit codes
_MOST_BYTES = 4e9  # of a trajectory in memory
_PICTURES = (".png", ".pdf", ".svg")
_DT = 1e-3  # seconds, where the file does not say
_BATCH_RECORDS = 100  # states of each robot of a batch that are kept, unless --every says otherwise


def simulate(
    robot: arguments.Robot,
    duration: Annotated[float, typer.Option("--duration", "-d", help="Seconds.")] = 5.0,
    dt: Annotated[float | None, typer.Option(help="Seconds per step. Default: that of the file, or 0.001.")] = None,
    integrator: Annotated[
        str | None,
        typer.Option(
            help="semi_implicit_euler, implicit, rk4 or adaptive (the last two without contacts). Default: as in the "
            "file; implicit if joints are stiff, rk4 or adaptive without contacts and damping, otherwise the first."
        ),
    ] = None,
    method: Annotated[
        str | None,
        typer.Option("--method", "-m", help="Method of forward dynamics, e.g. lcaba. Default: chosen for the robot."),
    ] = None,
    controller: arguments.Controller = "none",
    kp: Annotated[
        float | None, typer.Option(help="Proportional gain of the PD controller. Default: 100, less for light joints.")
    ] = None,
    kd: Annotated[
        float | None, typer.Option(help="Derivative gain of the PD controller. Default: 10, less for light joints.")
    ] = None,
    batch: Annotated[
        int | None, typer.Option(min=1, help="Simulate this many robots at once, from random states.")
    ] = None,
    q: Annotated[
        str | None,
        typer.Option(
            "--q",
            help="Start: home (the pose in the file), neutral, random, or numbers. Default: home; random with --batch.",
        ),
    ] = None,
    keyframe: Annotated[
        str | None,
        typer.Option(
            help="Start at a keyframe of the file, under its controls unless there is a controller (see `sarrus info`)."
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the random numbers.")] = 0,
    contacts: Annotated[
        bool, typer.Option("--contacts/--no-contacts", help="Whether geometries that can meet are in contact.")
    ] = True,
    restitution: Annotated[
        float, typer.Option(help="Coefficient of restitution: rebound speed over impact speed, 0 to 1.")
    ] = 0.0,
    stiffness: Annotated[float | None, typer.Option(help="N/m of contacts that give way. Default: rigid.")] = None,
    damping: Annotated[float, typer.Option(help="N s/m of contacts that give way.")] = 0.0,
    self_collision: Annotated[
        bool, typer.Option("--self-collision", help="Let bodies of the same robot touch each other.")
    ] = False,
    turning: Annotated[
        bool, typer.Option("--turning", help="Let contacts resist spinning and rolling where the file says so.")
    ] = False,
    exact_friction: Annotated[
        bool,
        typer.Option("--exact-friction", help="Let dry joint friction stick and slip without a step's delay (slower)."),
    ] = False,
    limits: Annotated[bool, typer.Option("--limits/--no-limits", help="Whether joint limits are enforced.")] = True,
    effort: Annotated[bool, typer.Option("--effort/--no-effort", help="Whether effort limits cut motors.")] = True,
    slots: Annotated[
        int | None, typer.Option(min=1, help="How many contacts there may be at a time. Default: an estimate.")
    ] = None,
    limit_slots: Annotated[
        int | None, typer.Option(min=1, help="How many joint limits may be reached at a time. Default: an estimate.")
    ] = None,
    ground: arguments.Ground = False,
    embed: Annotated[
        bool, typer.Option("--embed", help="Embed loops and couplings: they hold by construction and cost no rows.")
    ] = False,
    project_every: Annotated[
        int | None, typer.Option(min=0, help="Steps between projections onto the constraints; 0: never. Default: 10.")
    ] = None,
    stabilization: Annotated[
        float | None, typer.Option(help="Time constant of Baumgarte stabilization in seconds, instead of projections.")
    ] = None,
    every: Annotated[
        int | None, typer.Option(min=1, help="Record every K-th step. Default: 1; with --batch, about 100 states.")
    ] = None,
    save: Annotated[
        Path | None,
        typer.Option(
            help="Write the trajectory to FILE.npz or FILE.parquet, or stream it to a directory with bounded memory."
        ),
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Continue from what is in the directory of --save.")] = False,
    cluster: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="With --batch: run on the workers of a Ray cluster at HOST:PORT, auto or local (needs ray).",
        ),
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(help="Plot the motion to FILE.png, .pdf or .svg (needs matplotlib).")
    ] = None,
    view: Annotated[bool, typer.Option("--view", help="Play it in the browser (needs viser).")] = False,
    extended: arguments.Extended = None,
    floating_base: arguments.FloatingBase = None,
    allow_outside: arguments.AllowOutside = False,
    as_json: arguments.AsJson = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print nothing but errors.")] = False,
) -> None:
    """Simulate a robot from an initial state, with or without a controller, alone or in a batch.

    A four-bar that swings for ten seconds, saved, plotted and played:

        [bold]sarrus simulate zoo:four_bar -d 10 --integrator rk4 --save swing.npz --plot swing.png --view[/bold]

    A robot on the floor of its file, starting at a keyframe and held by its servos; a ball that bounces; a robot in
    free fall:

        [bold]sarrus simulate go1/scene.xml --keyframe home --view[/bold]
        [bold]sarrus simulate ball.xml --restitution 0.8[/bold]
        [bold]sarrus simulate go1/scene.xml --no-contacts[/bold]

    A quadruped from the zoo on a floor, held by PD control; a humanoid with welded soles; a thousand Stewart platforms:

        [bold]sarrus simulate zoo:geared_quadruped --ground -c pd[/bold]
        [bold]sarrus simulate zoo:biped:True --controller pd --kp 400 --kd 20[/bold]
        [bold]sarrus simulate zoo:stewart --batch 1000 -d 1[/bold]

    A hundred thousand of them on a Ray cluster, one file per piece; after Ctrl-C, --resume computes what is missing:

        [bold]sarrus simulate zoo:stewart --batch 100000 -d 1 --cluster auto --save sweep[/bold]

    Geometries that can meet are in contact, with friction; joint limits and loops are solved together with them. What
    was decided and what does not happen is said as notes: implicit steps because joints are stiff, shapes that never
    touch, no floor.

    Ctrl-C ends it early and keeps what was computed.

    Exit codes: 0 success, 1 states did not converge or diverged, 2 bad usage, 130 Ctrl-C.
    """
    if not (np.isfinite(duration) and duration >= 0.0):
        raise StateError(f"--duration {duration:g}: expected a number of seconds, zero or more")
    if dt is not None and not (np.isfinite(dt) and dt > 0.0):
        raise StateError(f"--dt {dt:g}: expected a positive number of seconds")
    if q is not None and keyframe is not None:
        raise StateError("--q and --keyframe both set the initial configuration: give only one of them")
    if (restitution or stiffness or damping or self_collision or turning or exact_friction) and not contacts:
        raise StateError(
            "--restitution, --stiffness, --damping, --self-collision, --turning and --exact-friction are about "
            "contacts: "
            "they cannot be combined with --no-contacts"
        )
    if cluster is not None and batch is None:
        raise StateError("--cluster runs many robots: give --batch N, too")
    _check_outputs(save, resume, plot, view)
    console = Console(quiet=quiet or as_json)
    bar = Progress(
        SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn(), transient=True,
        console=Console(stderr=True), disable=quiet or as_json or not sys.stderr.isatty(),
    )  # fmt: skip
    try:
        with bar:
            task = bar.add_task("loading", total=None)
            loaded = arguments.robot_from(robot, floating_base, extended, allow_outside)
            loaded = arguments.with_floor(loaded, ground)
            key = None if keyframe is None else loaded.keyframes[keyframe]
            wanted = q or ("home" if batch is None else "random")
            start = initial_state(loaded, wanted if key is None else (key, keyframe or ""), batch, seed)
            if contacts:
                start = above_ground(loaded, start, lift=ground and q is None and key is None)
            q0, v0 = start.q, start.v
            model = sarrus.embed(loaded) if embed else loaded
            dt = dt or loaded.time_step or _DT
            if 0.0 < duration < dt * (1.0 - 1e-9):
                raise StateError(f"--duration {duration:g} is shorter than one step of {dt:g} s, so nothing would move")
            chosen = arguments.controller_from(controller, model, q0, kp, kd, dt)
            touching = sarrus.ContactOptions(
                restitution=restitution,
                self_collision=self_collision,
                slots=slots,
                limit_slots=limit_slots,
                turning=turning,
                exact_friction=exact_friction,
                stiffness=stiffness,
                damping=damping,
            )
            options = touching if contacts else False
            integrator, notes = integrator_for(model, integrator, options, dt, chosen is not None)
            simulation = sarrus.Simulation(
                model, dt, integrator, method, controller=chosen, stabilization=stabilization, contacts=options,
                joint_forces=sarrus.JointForces(limits=limits, effort=effort),
                project_every="auto" if project_every is None else project_every or None,
                record=FIELDS if batch is None else ("q", "v", "status"),
                record_every=every or (1 if batch is None else max(1, round(duration / dt) // _BATCH_RECORDS)),
            )  # fmt: skip
            notes = [*start.notes, *(outside_limits(loaded, q0) if limits else ()), *notes, *simulation.notes]
            if keyframe is None and len(loaded.keyframes):
                notes.append(f"the file has keyframes, with controls: --keyframe {' or '.join(loaded.keyframes)}")
            streamed = {"save": save, "resume": resume} if save is not None and save.suffix == "" else {}
            if not streamed or cluster is not None:
                _check_memory(simulation, duration, batch or 1)
            bar.update(task, description="compiling")
            began = time.perf_counter()
            controls = None if key is None or chosen is not None or not loaded.nu else key.controls
            simulation.run(q0, v0, 0.0, controls=controls)
            compiled = time.perf_counter() - began
            bar.update(task, description="simulating", total=1.0)
            clock = Clock(lambda done, total: bar.update(task, completed=done / max(total, 1)))
            if cluster is None:
                trajectory = simulation.run(q0, v0, duration, controls=controls, progress=clock.tick, **streamed)
            else:
                steps = round(duration / dt)
                trajectory = simulate_on_cluster(cluster, simulation, q0, v0, steps, controls, clock.tick, save, resume)
            clock.stop()
            bar.update(task, description="looking at it", total=None)
            # A file is read with the robot as it is loaded: without feedback added, without anything embedded.
            kept = _of_model(trajectory, loaded)
            acts = chosen is not None or controls is not None
            summary = report(kept, trajectory.model, acts, limits, clock.seconds, compiled) | {"notes": notes}
    except KeyboardInterrupt:
        kept_pieces = cluster is not None and save is not None and save.suffix == ""
        words = f"the pieces in {save} are kept: --resume goes on" if kept_pieces else "there is nothing to keep"
        Console(stderr=True).print(
            f"interrupted: {words}" if cluster else f"interrupted before the first step: {words}"
        )
        raise typer.Exit(INTERRUPTED) from None
    _deliver(console, kept, summary, robot + ground * " --ground", save, plot, as_json)
    if view and not summary["interrupted"]:
        show_until_closed(console, Viewer(kept.model, trajectory=kept))
    if summary["interrupted"]:
        raise typer.Exit(INTERRUPTED)
    if set(summary["statuses"]) - {"ok"}:
        raise typer.Exit(NOT_CONVERGED)


@dataclass
class Clock:
    """How long the steps of a simulation take: `seconds`, without preparations."""

    progress: Callable[[int, int], None]
    ticks: list[tuple[int, float]] = field(default_factory=list)
    began: float = field(default_factory=time.perf_counter)
    seconds: float = 0.0

    def tick(self, done: int, total: int) -> None:
        self.ticks.append((done, time.perf_counter()))
        self.progress(done, total)

    def stop(self) -> None:
        self.seconds = time.perf_counter() - self.began
        if len(self.ticks) > 1 and self.ticks[-1][0] > self.ticks[0][0]:  # the first piece has the preparations in it
            (first, start), (last, end) = self.ticks[0], self.ticks[-1]
            self.seconds = (end - start) * last / (last - first)


def _check_memory(simulation: sarrus.Simulation, duration: float, robots: int) -> None:
    steps = round(duration / simulation.dt)
    size = robots * (steps // simulation.record_every + 1) * row_bytes(simulation.model)
    if size > _MOST_BYTES:
        raise StateError(
            f"{steps:,} steps of {robots:,} robots would fill {size / 1e9:.3g} GB. Record fewer with --every K, or "
            "stream them to a directory with --save DIRECTORY"
        )


def _check_outputs(save: Path | None, resume: bool, plot: Path | None, view: bool) -> None:
    """Before anything is computed: that what comes out of it can be kept."""
    for option, path in (("--save", save), ("--plot", plot)):
        if path is not None and not path.absolute().parent.is_dir():
            raise StateError(f"{option} {path}: there is no directory {path.absolute().parent}")
    if save is not None and save.suffix not in ("", *SUFFIXES):
        raise StateError(
            f"--save {save}: a trajectory's file ends with {' or '.join(SUFFIXES)}, a directory with nothing"
        )
    if plot is not None and plot.suffix not in _PICTURES:
        raise StateError(f"--plot {plot}: a picture's file ends with {', '.join(_PICTURES)}")
    if resume and (save is None or save.suffix != ""):
        raise StateError("--resume continues a recording: name its directory with --save DIRECTORY")
    for wanted, package, extra in ((plot is not None, "matplotlib", "plots"), (view, "viser", "viewer")):
        if wanted and importlib.util.find_spec(package) is None:
            raise MissingDependencyError(f'this needs {package}: pip install "sarrus[{extra}]"')


def _of_model(trajectory: Trajectory, model: Model) -> Trajectory:
    """The same trajectory, of the robot as it was loaded."""
    same = trajectory.model.n_rows == model.n_rows
    arrays = {n: x for n, x in trajectory.arrays.items() if same or n not in ("forces", "residual")}
    return Trajectory(model, trajectory.time, settings=trajectory.settings, **arrays)


def _deliver(
    console: Console, trajectory: Trajectory, summary: dict, robot: str, save: Path | None, plot: Path | None,
    as_json: bool,
) -> None:  # fmt: skip
    """Print the summary; save and draw what is asked for."""
    show(console, summary)
    if save is not None:
        if save.suffix != "":  # a directory has it already
            trajectory.save(save)
        summary["saved"] = str(save)
        pieces = (save / "pieces.json").is_file()  # of a cluster: a trajectory of so many robots is not for a viewer
        played = "sarrus.ray.read reads it" if pieces else f"play it: sarrus view {robot} --trajectory {save}"
        print_plain(console, f"saved {save}; {played}")
    if plot is not None:
        trajectory.plot(plot)
        summary["plot"] = str(plot)
        print_plain(console, f"drew {plot}")
    if as_json:
        typer.echo(json.dumps(summary, indent=2))
