"""The demo's picture: the robot at some moments with its contact forces, and what its feet carry over time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import sarrus
from examples.demo import motion
from sarrus.model.visuals import Box, Capsule, Sphere

MOMENTS = {
    0.0: "dropped",
    0.3: "landed",
    1.8: "squats",
    3.9: "left foot steps",
    5.6: "right foot steps",
    7.3: "left foot steps",
    9.0: "stands",
}
APART = 0.85  # metres between robots in the picture
NEWTONS = 600.0  # to a metre of arrow
SKIN, EDGE, FORCE = "#c9d6e8", "#33507a", "#1a9650"
LEFT, RIGHT = "#2f6db5", "#d8702a"


def draw(robots: motion.Robots, trajectory: sarrus.Trajectory, path: Path) -> None:
    """Save the picture."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11.0, 7.0), layout="constrained")
    above, below, lowest = figure.subplots(3, 1, height_ratios=(3.0, 1.2, 1.0))
    for k, (seconds, words) in enumerate(MOMENTS.items()):
        _robot(above, robots.ground, trajectory, round(seconds / motion.DT), k * APART, words)
    above.axhspan(-0.08, 0.0, color="#b8b0a0", zorder=0)
    above.axhline(0.0, color="#6b6456", linewidth=1.0, zorder=1)
    above.set(aspect="equal", ylim=(-0.08, 1.92), xlim=(-0.5, (len(MOMENTS) - 1) * APART + 0.7), xticks=[], yticks=[])
    above.set_title(
        "A humanoid with closed loops in its legs, with nothing holding it up; green: contact forces", loc="left"
    )
    loads, weight = motion.loads(trajectory), 9.81 * float(robots.ground.mass)
    for side, color in (("left", LEFT), ("right", RIGHT)):
        below.plot(trajectory.time, loads[side], color=color, linewidth=1.0, label=f"{side} sole")
    below.axhline(weight, color="#888888", linewidth=0.8, linestyle="--", label="weight")
    below.set(ylim=(0.0, 2.0 * weight), ylabel="load [N]", xlim=(0.0, motion.SECONDS))
    below.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize=9, frameon=False)  # beside the curves
    lowest.plot(trajectory.time, 1e3 * trajectory.q[:, 2], color=EDGE, label="up")
    lowest.plot(trajectory.time, 1e3 * trajectory.q[:, 0], color=FORCE, label="forward")
    lowest.plot(trajectory.time, 1e3 * trajectory.q[:, 1], color=RIGHT, label="left")
    lowest.set(ylabel="torso [mm]", xlabel="time [s]", xlim=(0.0, motion.SECONDS))
    lowest.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize=9, frameon=False)
    for axes in (above, below, lowest):
        axes.spines[["top", "right"]].set_visible(False)
    above.spines[["left", "bottom"]].set_visible(False)
    figure.savefig(path, dpi=150)


def _robot(axes: Any, robot: sarrus.Model, trajectory: sarrus.Trajectory, row: int, aside: float, words: str) -> None:
    """From its side, its shapes and the forces on its soles at a moment."""
    from matplotlib.patches import Circle

    row = min(row, len(trajectory) - 1)
    shift = np.array([aside, 0.0])
    poses = sarrus.forward_kinematics(robot, trajectory.q[row])
    order = np.argsort([-float(poses.position[v.body][1]) for v in robot.visuals])  # the far side first
    for z, visual in enumerate(robot.visuals[k] for k in order):
        R, p = poses.rotation[visual.body], poses.position[visual.body]
        center, axes_of = p + R @ visual.placement.p, R @ visual.placement.R
        if isinstance(visual.shape, Capsule):
            half = 0.5 * visual.shape.length * axes_of[:, 2]
            ends = np.stack([center - half, center + half])[:, [0, 2]] + shift
            width = 2.0 * visual.shape.radius * _points_per_metre(axes)
            axes.plot(*ends.T, color=EDGE, linewidth=width + 1.0, solid_capstyle="round", zorder=2 + z)
            axes.plot(*ends.T, color=SKIN, linewidth=width, solid_capstyle="round", zorder=2 + z)
        elif isinstance(visual.shape, Box):
            _box(axes, center, axes_of, visual.shape.size, shift, 2 + z)
        elif isinstance(visual.shape, Sphere):
            axes.add_patch(Circle(tuple(center[[0, 2]] + shift), visual.shape.radius, fc=SKIN, ec=EDGE, zorder=2 + z))
    assert trajectory.contacts is not None
    contacts = trajectory.contacts[row]
    for point, force in zip(contacts.points[contacts.touching], contacts.forces[contacts.touching], strict=True):
        start, along = point[[0, 2]] + shift, force[[0, 2]] / NEWTONS
        arrow = {"arrowstyle": "-|>", "color": FORCE, "linewidth": 1.6, "shrinkA": 0.0, "shrinkB": 0.0}
        axes.annotate("", start + along, start, zorder=60, arrowprops=arrow)  # (shrunk, short ones turn round)
    axes.text(
        aside + trajectory.q[row, 0], 1.9, f"{trajectory.time[row]:.1f} s\n{words}", ha="center", va="top", fontsize=9
    )


def _points_per_metre(axes: Any) -> float:
    """Of line widths in this picture, about."""
    return 72.0 * axes.figure.get_figwidth() / (len(MOMENTS) * APART + 0.4)


def _box(axes: Any, center: np.ndarray, R: np.ndarray, size: Any, shift: np.ndarray, z: int) -> None:
    """A box from its side, if it is seen nearly along its y axis."""
    from matplotlib.patches import Polygon

    signs = np.array([[1, 1], [1, -1], [-1, -1], [-1, 1]])
    corners = center + 0.5 * signs[:, :1] * size[0] * R[:, 0] + 0.5 * signs[:, 1:] * size[2] * R[:, 2]
    axes.add_patch(Polygon(corners[:, [0, 2]] + shift, closed=True, fc=SKIN, ec=EDGE, zorder=z))
