"""How many Newton steps the contact solver takes in the loop, with its own warm start, and what is left to others.

    python -m benchmarks.contact_solver [--seconds 0.3] [--batch 8] [scene ...]

Robots from their keyframes under their own servos, standing and landing, with the dry friction of their joints, or
with contacts alone; limp ones that come to lie at their limits; a gripper that lifts a cube, and things of our own: a
box, stacks of five whose masses grow upwards by the ratio from the lowest to the highest. The solver's numbers were
chosen on these and on robots thrown at random. Scenes below the line were not looked at for that: robots of
example-robot-data, held in the pose of their files by weak servos and dropped by 5 cm, or limp. All are simulated by
`sarrus.Simulation` itself. Percentiles are over all steps of all states after the first step, which has nothing to
start from.

Columns: the parts of problems that took more than 12 and than 48 Newton steps; `fallback`, the part that Newton's
method gave up, which is after 252 steps; `unsolved`, the part whose status is not ok at last.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table

import sarrus
from benchmarks.ground_mujoco import DROP, ROBOTS, load
from examples import grasp_cube
from sarrus.importers.load import example_robots
from sarrus.mechanics.contact.solve import MOST_NEWTON
from sarrus.model.geometries import Plane
from sarrus.model.model import Model
from sarrus.model.state import home_or_neutral, limits
from sarrus.model.visuals import Box
from sarrus.spatial.arrays import Array

PERCENTILES = (50, 95, 99.9, 100)
MANY = (12, 48)  # Newton steps: problems that take more are counted
HELD = (
    20.0,
    0.2,
)  # N m/rad and N m s/rad of servos, per 10 kg: weak enough for effort limits, behind which they are explicit
UNSEEN = ("b1", "hyq_no_sensors", "laikago", "solo12", "bolt")
SIZE = 0.1  # metres: the edge of a box


class Scene(NamedTuple):
    """States to begin with, and what acts on them."""

    model: Model
    dt: float
    q: Array  # (B, nq)
    v: Array  # (B, nv)
    controls: Array | None
    options: dict[str, Any]  # of the simulation


Make = Callable[[int, np.random.Generator], Scene | None]


def robot(name: str, height: float, embedded: bool = False, limp: bool = False, **options: Any) -> Make:
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
        controls = None if limp else found.controls
        return Scene(model, float(found.peer.opt.timestep), q, np.zeros((batch, model.nv)), controls, options)

    return make


def unseen(name: str, held: bool) -> Make:
    """A robot of example-robot-data that is dropped, held by weak servos or limp."""

    def make(batch: int, rng: np.random.Generator) -> Scene | None:
        path = example_robots().get(name)
        if path is None:
            return None
        model = sarrus.load(path, floating_base=True).with_ground(friction=0.7)
        low, high = limits(model)
        q = np.clip(home_or_neutral(model), low, high)
        kp, kd = (np.full(model.nv, 0.1 * model.mass * gain) for gain in HELD)
        kp[:6] = kd[:6] = 0.0
        options = {"controller": sarrus.pd(kp, kd, q)} if held else {}
        states = np.tile(sarrus.put_down(model, q), (batch, 1))
        states[:, 2] += DROP * rng.uniform(0.5, 1.5, batch)
        return Scene(model, 1e-3, states, 0.1 * rng.normal(size=(batch, model.nv)), None, options)

    return make


def gripper(batch: int, rng: np.random.Generator) -> Scene:
    """That of the example: it closes, lifts a cube and loosens its grip."""
    model = grasp_cube.gripper_and_cube()
    tips = [g.name for g in model.geometries if "tip" in g.name]
    pairs = (*((tip, "cube") for tip in tips), ("cube", "ground"))
    kp, kd = np.zeros(model.nv), np.zeros(model.nv)
    kp[:3], kd[:3] = np.array([50.0, 1.0, 1.0]) * grasp_cube.STIFFNESS, (500.0, 20.0, 20.0)
    target = grasp_cube.targets(model)[500]  # closed, and on its way up
    q = np.tile(home_or_neutral(model), (batch, 1))
    options = {"controller": sarrus.pd(kp, kd, target), "contacts": sarrus.ContactOptions(pairs=pairs)}
    return Scene(model, 1e-3, q, 0.02 * rng.normal(size=(batch, model.nv)), None, options)


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
        return Scene(model, 1e-3, q, speed * rng.uniform(-1.0, 1.0, (batch, model.nv)), None, {})

    return make


ALONE = {"joint_forces": sarrus.JointForces(friction=False)}
TUNED: dict[str, Make] = {
    **{
        f"{name} {what}": robot(name, height)
        for name in ("go1", "anymal_c", "g1", "h1", "talos", "cassie")
        for what, height in (("standing", 0.0), ("landing", DROP))
    },
    **{
        f"{name} {what}, contacts alone": robot(name, height, **ALONE)
        for name in ("go1", "anymal_c")
        for what, height in (("standing", 0.0), ("landing", DROP))
    },
    "go1, limp: limits and dry friction": robot("go1", DROP, limp=True),
    "cassie, embedded, landing": robot("cassie", DROP, embedded=True),
    "hand: gripper with a cube": gripper,
    "box": boxes(1, 1.0),
    "box pushed": boxes(1, 1.0, speed=1.0),
    "stack of 5, ratio 1": boxes(5, 1.0),
    "stack of 5, ratio 100": boxes(5, 100.0),
    "stack of 5, ratio 1000": boxes(5, 1000.0),
}
HELD_OUT: dict[str, Make] = {
    f"{name}, {what}": unseen(name, held) for name in UNSEEN for what, held in (("held", True), ("limp", False))
}


def statistics(scene: Scene, seconds: float) -> tuple[Array, list[float]]:
    """Percentiles of Newton steps; parts of problems that took many, the fallback, and that were not solved."""
    simulation = sarrus.Simulation(scene.model, scene.dt, record=("status", "iterations"), threads=1, **scene.options)
    found = simulation.run(scene.q, scene.v, steps=round(seconds / scene.dt), controls=scene.controls)
    steps, status = np.asarray(found.iterations)[:, 1:], np.asarray(found.status)[:, 1:]
    parts = [steps > count for count in MANY] + [steps >= MOST_NEWTON, status != 0]
    return np.percentile(steps, PERCENTILES), [float(part.mean()) for part in parts]


def main() -> int:
    scenes = TUNED | HELD_OUT
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scenes", nargs="*", default=list(scenes), metavar="scene", help="beginning of a scene's name")
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=0.3)
    given = parser.parse_args()
    console = Console(width=120)
    table = Table(title="Newton steps, warm, in the loop")
    for column in (
        "scene",
        *(f"{p:g} %" for p in PERCENTILES),
        *(f"> {count}" for count in MANY),
        "fallback",
        "unsolved",
    ):
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
        counts, parts = statistics(scene, given.seconds)
        table.add_row(name, *(f"{x:.0f}" for x in counts), *(f"{part:.2%}" for part in parts))
        console.print(name, counts, parts)
    console.print(table)
    return 0


if __name__ == "__main__":
    sys.exit(main())
