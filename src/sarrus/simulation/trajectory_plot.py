"""A trajectory as a figure."""

from __future__ import annotations

from collections.abc import Sized
from os import PathLike
from typing import Any, NamedTuple

import numpy as np

from sarrus.errors import StateError, UnsupportedError, optional_package
from sarrus.model.joints import AbstractJointType
from sarrus.spatial.arrays import Array
from sarrus.status import Status

Trajectory = Any  # its module imports this one

_MOST_LINES = 10  # per panel: more cannot be told apart
_MOST_POINTS = 2000  # per line
_STILL = 1e-6  # range below which a coordinate among several is left out
_WINDOWS = 100  # of time, in each of which the largest closure error is drawn: projection makes it jump up and down
_SAME = 0.01  # of a panel's range: two lines that are never farther apart look like one
_STYLES = ("-", (0, (4, 4)), (0, (1, 3)))  # of a line, and of those that would hide it
_LENGTHS = ("prismatic", "translation")
_ENDS = {Status.DIVERGED: "diverged", Status.STEP_TOO_SMALL: "steps became too small"}
_COORDINATES = {  # of joints with several: of q, of v
    "cylindrical": ("angle distance", "angle distance"),
    "universal": ("first second", "first second"),
    "planar": ("x y angle", "vx vy wz"),
    "translation": ("x y z", "vx vy vz"),
    "spherical": ("qx qy qz qw", "wx wy wz"),
    "free": ("x y z qx qy qz qw", "vx vy vz wx wy wz"),
}


class Panel(NamedTuple):
    """Lines over time, by their labels."""

    quantity: str  # with its unit
    lines: dict[str, Array]
    note: str = ""  # what the lines leave out, or are measured from
    has_legend: bool = True
    errors_at: Array | None = None  # times of errors, which are drawn by their order of magnitude


def plot(trajectory: Trajectory, path: str | PathLike[str] | None, joints: list[str] | None) -> Any:
    """See `Trajectory.plot`. Of a batch, the first robot."""
    if not len(trajectory):
        raise StateError("plot: the trajectory is empty")
    whole = trajectory if trajectory.batch is None else trajectory.robot(0)
    end, how = _end(whole)
    alive = whole[: max(1, end)]
    shown = alive[:: max(1, -(-len(alive) // _MOST_POINTS))]
    panels = _panels(shown, *_chosen(shown, joints))
    figure = _figure(len(panels))
    for axes, panel in zip(figure.axes, panels, strict=False):
        _draw(axes, shown.time, panel)
    for axes in figure.axes[len(panels) :]:
        axes.remove()
    for axes in figure.axes[-2:]:
        axes.set_xlabel("time [s]")
        axes.tick_params(labelbottom=True)
    of = "" if trajectory.batch is None else f", robot 0 of {trajectory.batch}"
    length = f"{whole.time[-1] - whole.time[0]:g} s"
    what = f"{how} at {whole.time[end]:.4g} s of {length}" if how else f"motion over {length}"
    figure.suptitle(f"{trajectory.model.name}{of}: {what}", fontsize=11)
    if path is not None:
        try:
            figure.savefig(path, dpi=150)
        except ValueError as error:  # a kind of picture that matplotlib does not know: it lists those that it does
            raise UnsupportedError(f"plot {path}: {error}") from None
    return figure


def _end(trajectory: Trajectory) -> tuple[int, str]:
    """How many states there are before it stands still for good, and why it does; "" if it does not."""
    status = trajectory.arrays.get("status", np.zeros(len(trajectory)))
    firsts = {how: int(np.argmax(status == float(x))) for x, how in _ENDS.items() if np.any(status == float(x))}
    how = min(firsts, key=lambda name: firsts[name], default="")
    return firsts.get(how, len(trajectory)), how


def _figure(panels: int) -> Any:
    drawing = optional_package("matplotlib.figure", "plots need matplotlib", "'sarrus[plots]'")
    rows = -(-panels // 2)
    figure = drawing.Figure(figsize=(13.0, 2.7 * rows + 0.6), layout="constrained")  # no global state, no window
    figure.subplots(rows, 2, sharex=True)
    return figure


def _draw(axes: Any, time: Array, panel: Panel) -> None:
    for (name, x), style in zip(panel.lines.items(), _styles(list(panel.lines.values())), strict=True):
        if panel.errors_at is None:
            axes.plot(time, x, label=name, lw=1.6 if name == "total" else 1.1, ls=style)
        else:
            axes.semilogy(panel.errors_at, np.maximum(x, 1e-17), lw=1.1, color="tab:red")
    axes.set_ylabel(panel.quantity)
    axes.set_title(panel.note, fontsize=8, loc="left")
    if panel.has_legend and panel.lines:
        # Beside the curves, which it would hide.
        axes.legend(fontsize=7, frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.02), handlelength=2.2)
    axes.grid(alpha=0.25, linewidth=0.6)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def _styles(lines: list[Array]) -> list[Any]:
    """A line that lies on an earlier one, as those of two legs do, has gaps through which that is seen."""
    near = _SAME * float(np.ptp(np.concatenate(lines))) if lines else 0.0
    below = [sum(bool(np.all(np.abs(x - y) <= near)) for y in lines[:k]) for k, x in enumerate(lines)]
    return [_STYLES[min(count, len(_STYLES) - 1)] for count in below]


def _chosen(trajectory: Trajectory, joints: list[str] | None) -> tuple[list[str], str]:
    """The joints to draw: those asked for, or as many of those that move most as can be told apart, and the note."""
    model = trajectory.model
    if joints is not None:
        for name in joints:
            model.joint_index(name)
        return list(joints), ""
    speed = {b.joint.name: float(np.nanmax(np.abs(trajectory.v[:, s]), initial=0.0))
             for b, s in zip(model.bodies, model.layout.v, strict=True) if s.stop > s.start}  # fmt: skip
    chosen, lines = [], 0
    for name in sorted(speed, key=lambda name: -speed[name]):
        x = trajectory[name]
        own = 1 if x.ndim == 1 else int(np.sum(np.ptp(x, axis=0) > _STILL))
        if chosen and lines + own > _MOST_LINES:
            break
        chosen += [name] if own else []
        lines += own
    return [name for name in model.joint_names if name in chosen], _of(chosen, speed, "joints, the fastest")


def _of(shown: Sized, among: Sized, what: str) -> str:
    """A note on what is left out, if something is."""
    return f"{len(shown)} of {len(among)} {what}" if len(shown) < len(among) else ""


def _panels(trajectory: Trajectory, names: list[str], note: str) -> list[Panel]:
    joints = {name: trajectory.model.bodies[trajectory.model.joint_index(name)].joint.type for name in names}
    lengths = {kind.name in _LENGTHS for kind in joints.values()}
    all_plain = all(kind.nq == kind.nv == 1 for kind in joints.values())
    unit = "m" if lengths == {True} else "rad" if all_plain and len(lengths) == 1 else "rad, m"
    per_second = ", ".join(f"{part}/s" for part in unit.split(", "))
    positions = _coordinates(joints, {name: trajectory[name] for name in names}, 0)
    velocities = _coordinates(joints, {name: trajectory.velocity(name) for name in names}, 1)
    panels = [
        Panel(f"position [{unit}]", positions, note),
        Panel(f"velocity [{per_second}]", velocities, note),
        _energy(trajectory),
    ]
    if trajectory.contacts is not None:
        panels.append(_contacts(trajectory))
    if not trajectory.constraint_names:
        return panels
    starts = np.arange(0, len(trajectory), max(1, len(trajectory) // _WINDOWS))
    errors = np.maximum.reduceat(trajectory.closure_error, starts)
    panels.append(Panel("closure error [m, rad]", {"error": errors}, "", False, trajectory.time[starts]))
    return panels if trajectory.forces is None else [*panels, _forces(trajectory)]


def _coordinates(joints: dict[str, AbstractJointType], values: dict[str, Array], of: int) -> dict[str, Array]:
    """A line per coordinate that moves; of: 0 for positions, 1 for velocities."""
    lines = {}
    for name, x in values.items():
        if x.ndim == 1:
            lines[name] = x
        else:
            labels = _COORDINATES[joints[name].name][of].split()
            lines |= {f"{name} {label}": y for label, y in zip(labels, x.T, strict=True) if np.ptp(y) > _STILL}
    return lines


def _energy(trajectory: Trajectory) -> Panel:
    energy = trajectory.energy
    lowest = float(np.nanmin(energy.potential))
    lines = {"total": energy.total - lowest, "kinetic": energy.kinetic, "potential": energy.potential - lowest}
    note = f"potential energy above its lowest, {lowest:.4g} J"
    return Panel("energy [J]", lines | ({"elastic": energy.elastic} if np.any(energy.elastic) else {}), note)


def _contacts(trajectory: Trajectory) -> Panel:
    """Normal forces of contacts, summed over the points at which the same two shapes touch. Impacts are far above."""
    contacts = trajectory.contacts
    pairs = [" on ".join(pair) for pair in contacts.names]
    pressing = {}
    for pair in dict.fromkeys(pairs):
        is_pair = np.array([name == pair for name in pairs] + [False])  # the last: empty slots, whose number is -1
        pressing[pair] = np.sum(contacts.normal_forces * is_pair[contacts.numbers], axis=-1)
    strongest = sorted(pressing, key=lambda pair: -np.nanmean(pressing[pair]))[:_MOST_LINES]
    lines = {pair: x for pair, x in pressing.items() if pair in strongest and x.any()}
    note = _of(lines, [x for x in pressing.values() if x.any()], "pairs that touch, the strongest")
    return Panel("normal forces of contacts [N]", lines, note)


def _forces(trajectory: Trajectory) -> Panel:
    """The size of every constraint's forces: metres and radians of its rows are not told apart."""
    sizes = {name: np.linalg.norm(trajectory.force(name), axis=-1) for name in trajectory.constraint_names}
    strongest = sorted(sizes, key=lambda name: -np.nanmax(sizes[name]))[:_MOST_LINES]
    lines = {name: x for name, x in sizes.items() if name in strongest}
    return Panel("constraint forces [N, Nm]", lines, _of(lines, sizes, "constraints, the strongest"))
