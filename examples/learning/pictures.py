"""What was learned, as pictures: a film of the motion, and how rewards grew."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import sarrus
from sarrus.errors import optional_package

LEGS = ("front_left", "front_right", "hind_left", "hind_right")
LINES = [("trunk", *(f"{leg}_{part}" for part in ("hip_roll", "hip_pitch", "knee", "foot"))) for leg in LEGS]
COLORS = ("tab:blue", "tab:orange", "tab:green", "tab:red")
EVERY = 5  # actions from one picture of the film to the next
PICTURES = 12
FIRST = 200  # action of the first: when it is under way


def draw_film(motion: sarrus.Trajectory, path: Path) -> None:
    """The robot from the side, a tenth of a second from picture to picture; below, heights of feet and its speed."""
    plt = optional_package("matplotlib.pyplot", "pictures need matplotlib", "'sarrus[plots]'")
    names = tuple(dict.fromkeys(name for line in LINES for name in line))
    placed = sarrus.forward_kinematics(motion.model, motion.q, motion.v, frames=names)
    at = {name: placed.position[:, k] for k, name in enumerate(names)}
    figure = plt.figure(figsize=(18, 6), layout="constrained")
    film, heights, speeds = figure.subplots(3, 1, height_ratios=(1.2, 1, 1))
    for number in range(PICTURES):
        action, shift = FIRST + EVERY * number, 0.75 * number
        x0 = at["trunk"][action, 0] - shift
        for line, color in zip(LINES, COLORS, strict=True):
            points = np.array([at[name][action] for name in line])
            film.plot(points[:, 0] - x0, points[:, 2], color=color, lw=2)
            film.plot(points[-1, 0] - x0, points[-1, 2], "o", color=color, ms=5)
        film.text(shift, 0.44, f"{motion.time[action]:.1f} s", ha="center")
    film.axhline(0.0, color="black")
    film.set(
        aspect="equal",
        ylim=(-0.03, 0.5),
        title="What was learned, from the side, every 0.1 s",
        xticks=[],
        ylabel="height [m]",
    )
    for leg, color in zip(LEGS, COLORS, strict=True):
        heights.plot(motion.time, at[f"{leg}_foot"][:, 2], color=color, label=leg)
    heights.set(ylabel="height of the feet [m]")
    speeds.plot(motion.time, motion.v[:, 0], label="forward velocity [m/s]")
    speeds.plot(motion.time, motion.q[:, 2], label="height of the trunk [m]")
    speeds.set(xlabel="time [s]", ylabel="trunk [m/s, m]")
    for axes in (heights, speeds):  # beside the curves
        axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False)
    figure.savefig(path, dpi=70)
    plt.close(figure)


def draw_curves(output: Path) -> None:
    """Rewards over time, of all seeds whose curves are there."""
    plt = optional_package("matplotlib.pyplot", "pictures need matplotlib", "'sarrus[plots]'")
    figure, panels = plt.subplots(1, 2, figsize=(12, 4), layout="constrained")
    for file in sorted(output.glob("curve_*_*.csv")):
        seconds, steps, reward, _ = np.loadtxt(file, delimiter=",", ndmin=2).T
        for panel, x in zip(panels, (seconds, steps / 1e6), strict=True):
            panel.plot(x, reward, label=file.stem.removeprefix("curve_"))
    panels[0].set(xlabel="time [s]", ylabel="reward per action [-]")
    panels[1].set(xlabel="millions of actions")
    panels[1].legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False, title="task, seed")
    figure.suptitle("Learning: rewards over time and over actions")
    figure.savefig(output / "curves.png", dpi=80)
    plt.close(figure)
