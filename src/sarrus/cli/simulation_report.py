"""What `sarrus simulate` says about a simulation: the same as data and as a table."""

from __future__ import annotations

from typing import Any

import numpy as np
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from sarrus.cli.simulation_outcome import contacts_at_end, what_was_left_out, where_it_diverged
from sarrus.cli.simulation_start import brakes
from sarrus.codegen.tape.trace import op_count
from sarrus.model.model import Model
from sarrus.registry.table import find
from sarrus.simulation.trajectory import Trajectory

_DYNAMICS_PER_STEP = {"rk4": 4, "adaptive": 7}
_STATES = 4000  # at most so many are looked at for energies and closure errors


def report(
    trajectory: Trajectory, model: Model, controlled: bool, limits: bool, seconds: float, compile_seconds: float
) -> dict:
    """Everything that is printed. `model`: with what is embedded, as stepped; `limits`: whether joints had theirs."""
    settings = trajectory.settings
    steps, robots = int(settings["steps"]), trajectory.batch or 1
    part = _sample(trajectory)
    drift = part.drift if len(part) else None
    touches = "contact_names" in settings
    conservative = not controlled and not touches and not brakes(model)
    evaluations = _DYNAMICS_PER_STEP.get(settings["integrator"], 1)
    counted = (
        None if touches else evaluations * op_count(model, settings["method"]).total
    )  # no algorithm of the catalog
    done = steps * robots
    return {
        "robot": model.name, "nv": model.nv, "rows": model.n_rows,
        "embedded": 0 if model.embedding is None else len(model.embedding.constraints),
        "method": settings["method"], "integrator": settings["integrator"], "dt": settings["dt"],
        "project_every": settings["project_every"], "stabilization": settings["stabilization"],
        "robots": robots, "steps": steps, "simulated_seconds": steps * settings["dt"],
        "interrupted": bool(settings["interrupted"]),
        "operations_per_step": counted, "contacts": len(settings["contact_names"]) if touches else 0,
        "contacts_at_end": contacts_at_end(trajectory), "weight": float(model.mass * np.linalg.norm(model.gravity)),
        "diverged": where_it_diverged(trajectory, limits, controlled), "left_out": what_was_left_out(trajectory),
        "iterates": not touches and "tolerance" in find(settings["method"]).options,
        "compile_seconds": compile_seconds, "seconds": seconds,
        "us_per_step": 1e6 * seconds / done if done else None,
        "real_time_factor": done * settings["dt"] / seconds if done and seconds > 0.0 else None,
        "conservative": conservative,
        "energy_drift": None if drift is None or not conservative else float(np.max(drift.energy)),
        "energy_begin": None if drift is None else float(np.mean(part.energy.total[..., 0])),
        "energy_end": None if drift is None else float(np.mean(part.energy.total[..., -1])),
        "closure_error": None if drift is None else float(np.max(drift.closure)),
        "statuses": trajectory.statuses,
        "failed_robots": int(np.sum(np.any(np.atleast_2d(trajectory._recorded("status")) > 0.0, axis=1))),
    }  # fmt: skip


def _sample(trajectory: Trajectory) -> Trajectory:
    """Enough states for energies and errors: all, or some robots, or some times (not in step with projections)."""
    if trajectory.batch is not None and trajectory.batch > 16:
        arrays = {name: x[:: -(-len(x) // 16)] for name, x in trajectory.arrays.items()}
        trajectory = Trajectory(trajectory.model, trajectory.time, settings=trajectory.settings, **arrays)
    total = len(trajectory) * (trajectory.batch or 1)
    stride = -(-total // _STATES)
    return trajectory if stride <= 1 else trajectory[:: stride + 1 - stride % 2]


def show(console: Console, summary: dict[str, Any]) -> None:
    """The report as a table."""
    table = Table(show_header=False, box=None, pad_edge=False)
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    held = f", {summary['rows']} constraint rows" if summary["rows"] else ", no constraint rows"
    embedded = f", {summary['embedded']} constraints embedded" if summary["embedded"] else ""
    table.add_row("robot", f"[bold]{summary['robot']}[/bold]: {summary['nv']} dof{held}{embedded}")
    many = f"{summary['robots']:,} robots, each " if summary["robots"] > 1 else ""
    cut = " [yellow](interrupted)[/yellow]" if summary["interrupted"] else ""
    table.add_row("simulated", f"{many}{summary['simulated_seconds']:g} s in {summary['steps']:,} steps{cut}")
    table.add_row(
        "method", f"{summary['method']}, {summary['integrator']}, dt {summary['dt']:g} s{_how_closed(summary)}"
    )
    first = ", first iteration" if summary["iterates"] else ""
    if summary["operations_per_step"] is not None:
        table.add_row("operations per step", f"{summary['operations_per_step']:,} (dynamics{first})")
    if summary["contacts"]:
        table.add_row("contacts", _touching(summary))
    table.add_row("compiled in", f"{summary['compile_seconds']:.2f} s (kernels are cached)")
    if summary["us_per_step"] is not None:
        table.add_row("time per step", f"{summary['us_per_step']:.3g} us")
        table.add_row("real-time factor", f"{summary['real_time_factor']:,.0f}")
    if summary["energy_drift"] is not None:
        exchanged = "the peak kinetic energy plus the range of the potential energy"
        table.add_row("energy drift", f"{summary['energy_drift']:.1e} (relative to {exchanged})")
    elif summary["energy_begin"] is not None:
        mean = ", mean of the robots" if summary["robots"] > 1 else ""
        table.add_row(
            "energy", f"{summary['energy_begin']:.4g} J, then {summary['energy_end']:.4g} J{mean}; forces did work"
        )
    if summary["closure_error"] is not None:
        held = summary["rows"] or summary["embedded"]
        table.add_row("closure error", f"{summary['closure_error']:.1e} (m or rad, at worst)" if held else "no loops")
    for words, count in summary["statuses"].items():
        good = words == "ok"
        style = "green" if good else "bold red"
        table.add_row("status", f"[{style}]{words}[/{style}]: {count:,} recorded states")
    if summary["failed_robots"] and summary["robots"] > 1:
        table.add_row("", f"[bold red]{summary['failed_robots']:,} of {summary['robots']:,} robots failed[/bold red]")
    for line in (*summary["diverged"], *summary["left_out"]):
        table.add_row("", f"[bold red]{escape(line)}[/bold red]")
    for line in summary.get("notes", ()):
        table.add_row("note", escape(line))
    console.print(table, highlight=False)


def _touching(summary: dict[str, Any]) -> str:
    """What touches at the end, in words."""
    places = f"{summary['contacts']:,} places where something may touch"
    end = summary["contacts_at_end"]
    if end is None:
        return places
    if not end["count"]:
        return f"none at the end; {places}"
    who = escape(", ".join(end["geometries"][:4])) + (", ..." if len(end["geometries"]) > 4 else "")
    force = f"{end['normal_force']:.4g} N in all, weight {summary['weight']:.4g} N"
    return f"{end['count']} at the end ({who}), {force}; {places}"


def _how_closed(summary: dict[str, Any]) -> str:
    """How loops stay closed, in words."""
    if not summary["rows"] and not summary["embedded"]:
        return ""
    parts = []
    if summary["project_every"]:
        parts.append(f"projected every {summary['project_every']} steps")
    if summary["stabilization"]:
        parts.append(f"Baumgarte {summary['stabilization']:g} s")
    return "; " + (", ".join(parts) or "loops may drift")
