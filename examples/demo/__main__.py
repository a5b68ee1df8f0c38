"""`make demo`: a humanoid with closed loops is compiled, lands on the ground, squats and walks, and is measured.

python -m examples.demo [--output DIRECTORY]
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.panel import Panel
from rich.table import Table

import sarrus
from examples.demo import methods, motion, picture
from examples.demo.prepare import prepare

ROBOT = "zoo:biped --ground"


def main(output: Path = Path("demo_output")) -> None:
    began = time.perf_counter()
    console = Console(highlight=False)
    console.print(Panel("[bold]Sarrus[/bold]  constrained rigid-body dynamics, compiled for your robot", expand=False))
    output.mkdir(exist_ok=True)
    robots = motion.robots()
    introduce(console, robots)

    with console.status("compiling on all cores (kernels are cached: the next time this takes no time)"):
        prepare()
        found = methods.kernels(robots)
        simulation, start = motion.simulation(robots)
        simulation.run(start, duration=0.0)
    console.print(f"  compiled six kernels in {time.perf_counter() - began:.1f} s\n")

    ticks: list[tuple[int, float]] = []
    trajectory = simulation.run(
        start, duration=motion.SECONDS, progress=lambda done, _: ticks.append((done, time.perf_counter()))
    )
    (first, then), (last, end) = ticks[0], ticks[-1]
    what_it_did(console, robots, simulation, trajectory, (end - then) / (last - first))

    measured = methods.measure(robots, found, motion.squatting(trajectory))
    compare(console, measured)

    motion.saved(robots, trajectory, every=10).save(output / "biped.npz")
    files = [str(output / "biped.npz")]
    try:
        picture.draw(robots, trajectory, output / "ground.png")
        methods.draw(measured, output / "methods.png")
        files += [str(output / "ground.png"), str(output / "methods.png")]
    except (sarrus.errors.MissingDependencyError, ImportError) as error:
        console.print(f"no plots: {error}")
    console.print(
        f"[bold]4  saved[/bold] {', '.join(files)}; {time.perf_counter() - began:.0f} s in all", soft_wrap=True
    )
    console.print("   watch it in the browser:", style="bold")
    console.print(f"   [bold green]{program()} view {ROBOT} --trajectory {files[0]}[/bold green]", soft_wrap=True)


def introduce(console: Console, robots: motion.Robots) -> None:
    robot, found = robots.ground, sarrus.diagnose(robots.ground)
    motors = sum(np.isfinite(b.joint.effort_limit).any() for b in robot.bodies)
    console.print(f"[bold]1  the robot[/bold] {ROBOT}: a humanoid of {float(robot.mass):.0f} kg with closed loops")
    console.print("  four-bars as knees, two rods in space at each ankle; it stands on the ground by itself")
    console.print(
        f"  {robot.nv} dof, {motors} motors; {found.rows} rows of loops, "
        f"{found.rows - found.rank} of them redundant; mobility {found.mobility}"
    )


def what_it_did(
    console: Console,
    robots: motion.Robots,
    simulation: sarrus.Simulation,
    trajectory: sarrus.Trajectory,
    seconds: float,
) -> None:
    """How it was solved, how fast, how well."""
    contacts, loads = trajectory.contacts, motion.loads(trajectory)
    assert contacts is not None
    assert trajectory.iterations is not None
    weight, landed = 9.81 * float(robots.ground.mass), trajectory.time > 0.6
    table = Table(show_header=False, box=None, padding=(0, 2))
    table.add_column(style="dim")
    table.add_column()
    table.add_row(
        "method",
        f"loops embedded, contacts solved in every step, PD controller compiled in, {simulation.integrator} steps",
    )
    table.add_row("time per step", f"[bold]{1e6 * seconds:.1f} us[/bold], one robot on one core")
    table.add_row("real-time factor", f"[bold]{motion.DT / seconds:,.0f}[/bold]")
    steps = trajectory.iterations[landed]
    table.add_row("contacts", f"{steps.mean():.1f} Newton steps on average, {steps.max():.0f} at most (after landing)")
    table.add_row("penetration", f"{-1e3 * contacts.gaps[contacts.touching].min():.2f} mm at most")
    table.add_row("loops", f"closed to {trajectory[::7].closure_error.max():.0e} m or rad")
    table.add_row(
        "torso",
        f"squats {-1e3 * trajectory.q[:, 2].min():.0f} mm, sways {1e3 * np.ptp(trajectory.q[:, 1]):.0f} mm, "
        f"walks {1e3 * trajectory.q[-1, 0]:.0f} mm in three steps",
    )
    alone = [np.mean(loads[side][landed] == 0.0) for side in ("left", "right")]
    table.add_row(
        "feet",
        f"carry {sum(loads.values())[landed].mean():.1f} N on average; weight {weight:.1f} N",
    )
    table.add_row("in the air", f"left foot {alone[0]:.0%}, right foot {alone[1]:.0%} of the time")
    table.add_row("status", ", ".join(f"{words}: {count:,} states" for words, count in trajectory.statuses.items()))
    console.print(f"[bold]2  simulated[/bold] {motion.SECONDS:g} s in {len(trajectory) - 1:,} steps of 1 ms")
    console.print(table)
    console.print()


def compare(console: Console, measured: list[methods.Measured]) -> None:
    table = Table(box=SIMPLE_HEAD, padding=(0, 1))
    for column in ("method", "rows", "operations", "us/state", "slower", "differs"):
        table.add_column(column, justify="left" if column == "method" else "right", no_wrap=True)
    best = min(m.us for m in measured)
    for m in measured:
        style = "bold" if m.us == best else "dim" if m.operations is None else None
        count = "" if m.operations is None else f"{m.operations:,}"
        table.add_row(
            m.name,
            str(m.rows),
            count,
            f"{m.us:.2f}",
            f"{m.slower:.1f}x",
            f"{m.difference:.0e}" if m.difference else "-",
            style=style,
        )
    console.print(f"[bold]3  all methods[/bold] on {methods.BATCH} states of the squat, soles welded; one core")
    console.print(table)
    if any(m.operations is None for m in measured):
        console.print("  pin: Pinocchio, from the same declared data")
    else:
        console.print("  Pinocchio is not installed and was not compared (pip install pin)")
    console.print()


def program() -> str:
    """The `sarrus` command that belongs to this Python."""
    found = Path(sys.executable).parent / "sarrus"
    here = Path.cwd()
    return str(found.relative_to(here)) if found.is_relative_to(here) else str(found)


if __name__ == "__main__":
    main(Path(sys.argv[2]) if sys.argv[1:2] == ["--output"] else Path("demo_output"))
