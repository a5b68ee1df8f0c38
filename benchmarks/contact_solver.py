"""How many Newton steps the contact solver takes in the loop, with its own warm start, and what is left to others.

    python -m benchmarks.contact_solver [--seconds 0.3] [--batch 8] [scene ...]

Robots from their keyframes under their own servos, standing and landing, and things of our own: a box, stacks of five
whose masses grow upwards by the ratio from the lowest to the highest. The solver's numbers were chosen on robots that
stand and land, and on ANYmal C and Talos thrown at random; scenes below the line were not looked at for that. All are
simulated by `sarrus.Simulation` itself.
Percentiles are over all steps of all states after the first step, which has nothing to start from.

`fallback` is the part of problems that Newton's method gave up, `unsolved` the part whose status is not ok at last.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table

import sarrus
from benchmarks.ground_mujoco import DROP, ROBOTS, load
from sarrus.mechanics.contact.solve import MOST_NEWTON
from sarrus.model.geometries import Plane
from sarrus.model.model import Model
from sarrus.model.visuals import Box
from sarrus.spatial.arrays import Array

PERCENTILES = (50, 95, 99.9, 100)
SIZE = 0.1  # metres: the edge of a box


class Scene(NamedTuple):
    """States to begin with, and what acts on them."""

    model: Model
    dt: float
    q: Array  # (B, nq)
    v: Array  # (B, nv)
    controls: Array | None


Make = Callable[[int, np.random.Generator], Scene | None]


def robot(name: str, height: float, embedded: bool = False) -> Make:
    """A robot of the shared files in the pose of its keyframe, on the ground, or about this much above it.

    Some keyframes are in the air, or some millimetres in the ground, from where a robot is thrown out.
    """

    def make(batch: int, rng: np.random.Generator) -> Scene | None:
        found = load(ROBOTS[name])
        if found is None:
            return None
        model = sarrus.embed(found.model) if embedded else found.model
        q = np.tile(sarrus.put_down(found.model, found.q), (batch, 1))
        q[:, 2] += height * rng.uniform(0.5, 1.5, batch)
        return Scene(model, float(found.peer.opt.timestep), q, np.zeros((batch, model.nv)), found.controls)

    return make


def boxes(count: int, ratio: float, speed: float = 0.0) -> Make:
    """Boxes on each other, the highest of which is heavier than the lowest by the ratio; pushed at up to this speed."""

    def make(batch: int, rng: np.random.Generator) -> Scene:
        builder = sarrus.ModelBuilder("boxes")
        builder.add_geometry("world", Plane(), name="ground", friction=0.6)
        for k in range(count):
            mass = ratio ** (k / max(1, count - 1))
            inertia = mass * SIZE**2 / 6.0 * np.eye(3)
            builder.add_body(f"box{k}", joint="free", mass=mass, inertia=inertia)
            builder.add_geometry(f"box{k}", Box((SIZE, SIZE, SIZE)), name=f"shape{k}", friction=0.6)
        model = builder.build()
        one = [np.array([0.0, 0.0, SIZE * (k + 0.5), 0.0, 0.0, 0.0, 1.0]) for k in range(count)]
        q = np.tile(np.concatenate(one), (batch, 1))
        return Scene(model, 1e-3, q, speed * rng.uniform(-1.0, 1.0, (batch, model.nv)), None)

    return make


TUNED: dict[str, Make] = {
    f"{name} {what}": robot(name, height)
    for name in ("go1", "g1", "h1", "talos", "cassie")
    for what, height in (("standing", 0.0), ("landing", DROP))
}
HELD_OUT: dict[str, Make] = {
    "anymal_c standing": robot("anymal_c", 0.0),
    "anymal_c landing": robot("anymal_c", DROP),
    "cassie, embedded, landing": robot("cassie", DROP, embedded=True),
    "box": boxes(1, 1.0),
    "box pushed": boxes(1, 1.0, speed=1.0),
    "stack of 5, ratio 1": boxes(5, 1.0),
    "stack of 5, ratio 100": boxes(5, 100.0),
    "stack of 5, ratio 1000": boxes(5, 1000.0),
}


def statistics(scene: Scene, seconds: float) -> tuple[Array, float, float]:
    """Percentiles of Newton steps; parts of problems that took the fallback, and that were not solved."""
    simulation = sarrus.Simulation(scene.model, scene.dt, record=("status", "iterations"), threads=1)
    found = simulation.run(scene.q, scene.v, steps=round(seconds / scene.dt), controls=scene.controls)
    steps, status = np.asarray(found.iterations)[:, 1:], np.asarray(found.status)[:, 1:]
    return np.percentile(steps, PERCENTILES), float((steps >= MOST_NEWTON).mean()), float((status != 0).mean())


def main() -> int:
    scenes = TUNED | HELD_OUT
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scenes", nargs="*", default=list(scenes), metavar="scene", help="beginning of a scene's name")
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=0.3)
    given = parser.parse_args()
    console = Console(width=120)
    table = Table(title="Newton steps, warm, in the loop")
    for column in ("scene", *(f"{p:g} %" for p in PERCENTILES), "fallback", "unsolved"):
        table.add_column(column)
    for name, make in scenes.items():
        if not any(name.startswith(wanted) for wanted in given.scenes):
            continue
        if name == next(iter(HELD_OUT)):
            table.add_section()
        scene = make(given.batch, np.random.default_rng(0))
        if scene is None:
            console.print(f"skipped {name}: no such file")
            continue
        counts, fallback, unsolved = statistics(scene, given.seconds)
        table.add_row(name, *(f"{x:.0f}" for x in counts), f"{fallback:.2%}", f"{unsolved:.2%}")
        console.print(name, counts, fallback, unsolved)
    console.print(table)
    return 0


if __name__ == "__main__":
    sys.exit(main())
