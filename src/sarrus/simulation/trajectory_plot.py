"""A trajectory as a figure."""

from __future__ import annotations

from collections.abc import Callable
from os import PathLike
from typing import Any

import numpy as np

from sarrus.errors import MissingDependencyError, StateError
from sarrus.model.bodies import Joint
from sarrus.spatial.arrays import Array

Trajectory = Any  # its module imports this one

_MOST_LINES = 10  # per panel: more cannot be told apart
_MOST_POINTS = 2000  # per line
_STILL = 1e-6  # range below which a coordinate among several is left out
_WINDOWS = 100  # of time, in each of which the largest closure error is drawn: projection makes it jump up and down
_LENGTHS = ("prismatic", "translation")
_COORDINATES = {  # of joints with several: of q, of v
    "cylindrical": ("angle distance", "angle distance"),
    "universal": ("first second", "first second"),
    "planar": ("x y angle", "vx vy wz"),
    "translation": ("x y z", "vx vy vz"),
    "spherical": ("qx qy qz qw", "wx wy wz"),
    "free": ("x y z qx qy qz qw", "vx vy vz wx wy wz"),
}


def plot(trajectory: Trajectory, path: str | PathLike[str] | None, joints: list[str] | None) -> Any:
    """See `Trajectory.plot`. Of a batch, the first robot."""
    if not len(trajectory):
        raise StateError("plot: the trajectory is empty")
    whole = trajectory if trajectory.batch is None else trajectory.robot(0)
    shown = whole[:: max(1, -(-len(whole) // _MOST_POINTS))]
    names = _chosen(shown, joints)
    panels = [_positions, _velocities, _energy]
    if shown.constraint_names:
        panels.append(_closure)
    if shown.forces is not None and shown.constraint_names:
        panels.append(_forces)
    figure = _figure(len(panels))
    for axes, panel in zip(figure.axes, panels, strict=False):
        panel(axes, shown, names)
        axes.grid(alpha=0.25, linewidth=0.6)
        for side in ("top", "right"):
            axes.spines[side].set_visible(False)
    for axes in figure.axes[len(panels) :]:
        axes.remove()
    for axes in figure.axes[-2:]:
        axes.set_xlabel("time [s]")
        axes.tick_params(labelbottom=True)
    of = "" if trajectory.batch is None else f", robot 0 of {trajectory.batch}"
    figure.suptitle(f"{trajectory.model.name}{of}", fontsize=11)
    if path is not None:
        figure.savefig(path, dpi=150)
    return figure


def _figure(panels: int) -> Any:
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingDependencyError("plots need matplotlib: pip install 'sarrus[plots]'") from None
    rows = -(-panels // 2)
    figure = Figure(figsize=(11.0, 2.7 * rows + 0.6), layout="constrained")  # no global state, no window
    figure.subplots(rows, 2, sharex=True)
    return figure


def _chosen(trajectory: Trajectory, joints: list[str] | None) -> list[str]:
    """The joints to draw: those asked for, or those with few coordinates that move most."""
    model = trajectory.model
    if joints is not None:
        for name in joints:
            model.joint_index(name)
        return list(joints)
    speed = {b.joint.name: float(np.nanmax(np.abs(trajectory.v[:, s]), initial=0.0))
             for b, s in zip(model.bodies, model.layout.v, strict=True) if s.stop > s.start}  # fmt: skip
    most = sorted(speed, key=lambda name: -speed[name])[:_MOST_LINES]
    return [name for name in model.joint_names if name in most]


def _lines(axes: Any, trajectory: Trajectory, names: list[str], values: Callable[[str], Array], of: int) -> None:
    """A line per coordinate; of: 0 for positions, 1 for velocities."""
    drawn = 0
    for name in names:
        joint: Joint = trajectory.model.bodies[trajectory.model.joint_index(name)].joint
        x = values(name)
        several = x.ndim == 2
        columns = x if several else x[:, None]
        moving = [k for k in range(columns.shape[1]) if not several or np.ptp(columns[:, k]) > _STILL]
        for k in moving:
            if drawn == _MOST_LINES:
                return
            label = f"{name} {_COORDINATES[joint.type.name][of].split()[k]}" if several else name
            axes.plot(trajectory.time, columns[:, k], label=label, lw=1.1)
            drawn += 1


def _legend(axes: Any) -> None:
    if axes.get_legend_handles_labels()[0]:
        axes.legend(fontsize=7, framealpha=0.75, edgecolor="none", ncols=2, loc="best", handlelength=1.2)


def _unit(trajectory: Trajectory, names: list[str]) -> str:
    kinds = {trajectory.model.bodies[trajectory.model.joint_index(n)].joint.type for n in names}
    lengths = {kind.name in _LENGTHS for kind in kinds}
    return (
        "m" if lengths == {True} else "rad" if all(k.nq == k.nv == 1 for k in kinds) and len(lengths) == 1 else "rad, m"
    )


def _positions(axes: Any, trajectory: Trajectory, names: list[str]) -> None:
    _lines(axes, trajectory, names, lambda name: trajectory[name], 0)
    axes.set_ylabel(f"position [{_unit(trajectory, names)}]")
    _legend(axes)


def _velocities(axes: Any, trajectory: Trajectory, names: list[str]) -> None:
    _lines(axes, trajectory, names, trajectory.velocity, 1)
    per_second = ", ".join(f"{unit}/s" for unit in _unit(trajectory, names).split(", "))
    axes.set_ylabel(f"velocity [{per_second}]")
    if any(trajectory[name].ndim == 2 for name in names):  # other lines than those of positions
        _legend(axes)


def _energy(axes: Any, trajectory: Trajectory, names: list[str]) -> None:
    energy = trajectory.energy
    lowest = float(np.nanmin(energy.potential))
    shown = {"total": energy.total - lowest, "kinetic": energy.kinetic, "potential": energy.potential - lowest}
    if np.any(energy.elastic):
        shown["elastic"] = energy.elastic
    for name, x in shown.items():
        axes.plot(trajectory.time, x, label=name, lw=1.6 if name == "total" else 1.1)
    axes.set_ylabel("energy [J]")
    _legend(axes)


def _closure(axes: Any, trajectory: Trajectory, names: list[str]) -> None:
    starts = np.arange(0, len(trajectory), max(1, len(trajectory) // _WINDOWS))
    largest = np.maximum.reduceat(trajectory.closure_error, starts)
    axes.semilogy(trajectory.time[starts], np.maximum(largest, 1e-17), lw=1.1, color="tab:red")
    axes.set_ylabel("closure error [m, rad]")


def _forces(axes: Any, trajectory: Trajectory, names: list[str]) -> None:
    """The size of every constraint's forces: metres and radians of its rows are not told apart."""
    sizes = {name: np.linalg.norm(trajectory.force(name), axis=-1) for name in trajectory.constraint_names}
    strongest = sorted(sizes, key=lambda name: -np.nanmax(sizes[name]))[:_MOST_LINES]
    for name in (n for n in sizes if n in strongest):
        axes.plot(trajectory.time, sizes[name], label=name, lw=1.1)
    axes.set_ylabel("constraint forces [N, Nm]")
    _legend(axes)
