"""The demo's robot and what it does: a humanoid with loops in its legs lands on the ground, squats and walks."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

import sarrus
from examples import biped_on_the_ground as walk

DT, SECONDS = walk.DT, walk.SECONDS
SQUAT = (0.8, 2.6)  # seconds: both soles are where they stood at first


class Robots(NamedTuple):
    """The same robot three times."""

    ground: sarrus.Model  # on the ground, held by nothing; loops as constraint rows
    rows: sarrus.Model  # soles welded; loops as constraint rows
    embedded: sarrus.Model  # soles welded, loops embedded: only the feet are rows


def robots() -> Robots:
    welded = sarrus.zoo.biped(contacts=True)
    return Robots(sarrus.zoo.biped().with_ground(friction=walk.FRICTION), welded, sarrus.embed(welded))


def simulation(robots: Robots) -> tuple[sarrus.Simulation, np.ndarray]:
    """Of the robot on the ground, loops embedded; and where it starts, in the air."""
    return walk.on_the_ground(robots.ground)


def squatting(trajectory: sarrus.Trajectory) -> sarrus.Trajectory:
    """The part in which the robot with welded soles could do the same."""
    begin, end = (round(t / DT) for t in SQUAT)
    return trajectory[begin:end]


def loads(trajectory: sarrus.Trajectory) -> dict[str, np.ndarray]:
    """Normal force (T,) on each sole."""
    contacts = trajectory.contacts
    assert contacts is not None
    found = {}
    for side in ("left", "right"):
        of_side = np.array([a.startswith(side) for a, _ in contacts.names] + [False])  # the last: empty slots
        found[side] = np.sum(contacts.normal_forces * of_side[contacts.numbers], axis=-1)
    return found


def saved(robots: Robots, trajectory: sarrus.Trajectory, every: int) -> sarrus.Trajectory:
    """Fewer states, of the robot as the zoo has it."""
    part = trajectory[::every]
    kept: dict[str, Any] = {n: x for n, x in part.arrays.items() if n not in ("forces", "residual")}
    return sarrus.Trajectory(robots.ground, part.time, settings=part.settings, **kept)
