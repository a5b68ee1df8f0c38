"""`make demo`: a humanoid with closed loops and contacts is compiled, simulated for 10 s, and measured.

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
from examples.demo import methods, motion
from examples.demo.prepare import prepare

ROBOT = "zoo:biped:True"
SHOWN = ("left_thigh", "left_knee_crank", "left_shank", "left_inner_crank", "left_outer_crank", "left_shoulder")


def main(output: Path = Path("demo_output")) -> None:
    began = time.perf_counter()
    console = Console(highlight=False)
    console.print(Panel("[bold]Sarrus[/bold]  constrained rigid-body dynamics, compiled for your robot", expand=False))
    output.mkdir(exist_ok=True)
    robots = motion.robots()
    introduce(console, robots)

    with console.status("compiling, on as many cores as there are (kernels are cached: the next time it is at once)"):
        prepare()
        found = methods.kernels(robots)
        wanted = motion.targets(robots.rows)
        motion.simulation(robots, wanted, 0.0)
    console.print(f"  compiled six kernels in {time.perf_counter() - began:.1f} s\n")

    ticks: list[tuple[int, float]] = []
    trajectory = motion.simulation(
        robots, wanted, motion.SECONDS, progress=lambda done, _: ticks.append((done, time.perf_counter()))
    )
    (first, start), (last, end) = ticks[0], ticks[-1]
    what_it_did(console, robots, trajectory, (end - start) / (last - first))

    measured = methods.measure(robots, found, trajectory)
    compare(console, measured)

    saved = motion.of_rows(robots, trajectory, found["lcaba"], every=10)
    saved.save(output / "biped.npz")
    files = [str(output / "biped.npz")]
    try:
        saved.plot(output / "motion.png", [f"{name}_joint" for name in SHOWN])
        methods.draw(measured, output / "methods.png")
        files += [str(output / "motion.png"), str(output / "methods.png")]
    except (sarrus.errors.MissingDependencyError, ImportError) as error:
        console.print(f"no plots: {error}")
    console.print(
        f"[bold]4  saved[/bold] {', '.join(files)}; {time.perf_counter() - began:.0f} s in all", soft_wrap=True
    )
    console.print("   watch it in the browser:", style="bold")
    console.print(f"   [bold green]{program()} view {ROBOT} --trajectory {files[0]}[/bold green]", soft_wrap=True)


def introduce(console: Console, robots: motion.Robots) -> None:
    robot, found = robots.rows, sarrus.diagnose(robots.rows)
    console.print(f"[bold]1  the robot[/bold] {ROBOT}: a humanoid of {float(robot.mass):.0f} kg with closed loops")
    console.print("  knees by four-bars, ankles by two rods in space each, both feet on the ground")
    console.print(
        f"  {robot.nv} dof, {robots.motors.sum():.0f} motors; {found.rows} constraint rows, "
        f"{found.rows - found.rank} of them redundant; mobility {found.mobility}"
    )
    console.print(f"  loops embedded: {robots.embedded.n_rows} rows are left, those of the feet")


def what_it_did(console: Console, robots: motion.Robots, trajectory: sarrus.Trajectory, seconds: float) -> None:
    """How it was solved, how fast, how well."""
    part = trajectory[::7]
    joules, relative, _ = motion.energy_balance(trajectory)
    ops = sarrus.op_count(robots.embedded, "lcaba").total
    soles = [trajectory.force(f"contact_{side}_sole")[:, 2] for side in ("left", "right")]
    weight = 9.81 * float(robots.rows.mass)
    height = trajectory.q[:, 2]
    table = Table(show_header=False, box=None, padding=(0, 2))
    table.add_column(style="dim")
    table.add_column()
    table.add_row("method", "loops embedded, lcaba for the feet, PD compiled in")
    table.add_row("operations per step", f"{ops:,} (dynamics, first iteration), exact")
    table.add_row("time per step", f"[bold]{1e6 * seconds:.1f} us[/bold], one robot on one core")
    table.add_row("real-time factor", f"[bold]{motion.DT / seconds:,.0f}[/bold]")
    table.add_row("loops and feet", f"closed to {part.closure_error.max():.0e} m or rad (Baumgarte, 20 ms)")
    table.add_row("energy balance", f"{joules:.2g} J missing, {relative:.0e} of what the motors turned over")
    table.add_row(
        "torso", f"{1e3 * np.ptp(height):.0f} mm up and down, {1e3 * np.ptp(trajectory.q[:, 1]):.0f} mm aside"
    )
    table.add_row("feet", f"carry {np.mean(sum(soles)):.1f} N on average; weight {weight:.1f} N")
    table.add_row("status", ", ".join(f"{words}: {count:,} states" for words, count in trajectory.statuses.items()))
    console.print(f"[bold]2  simulated[/bold] {motion.SECONDS:g} s in {len(trajectory) - 1:,} steps of 1 ms")
    console.print(table)
    console.print()


def compare(console: Console, measured: list[methods.Measured]) -> None:
    table = Table(box=SIMPLE_HEAD, padding=(0, 1))
    for column in ("method", "rows", "operations", "us/state", "", "difference"):
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
    console.print(f"[bold]3  all methods[/bold] on {methods.BATCH} states of that motion, one core, same accelerations")
    console.print(table)
    if any(m.operations is None for m in measured):
        console.print("  pin: Pinocchio, from the same declared data")
    else:
        console.print("  Pinocchio is not installed, and not compared (pip install pin)")
    console.print()


def program() -> str:
    """The `sarrus` command that belongs to this Python."""
    found = Path(sys.executable).parent / "sarrus"
    here = Path.cwd()
    return str(found.relative_to(here)) if found.is_relative_to(here) else str(found)


if __name__ == "__main__":
    main(Path(sys.argv[2]) if sys.argv[1:2] == ["--output"] else Path("demo_output"))
