"""Robots on the ground, on one core, beside MuJoCo: standing from their keyframes under their own servos, and landing.

    python -m benchmarks.ground_mujoco [--batch 512] [--seconds 0.5] [robot ...]

Same file, same time step, same controls, contacts on. MuJoCo's models have the file's primitive shapes; shapes whose
meshes are not here are left out of both. First what comes out is compared (height of the base, force on the ground,
status), then both are timed, interleaved, the best of several rounds each.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table

import sarrus
from benchmarks.robots import shared_directory
from sarrus.importers.document import read_document
from sarrus.importers.mjcf import compile_mjcf
from sarrus.importers.mujoco_state import to_mujoco_state
from sarrus.model.model import Model
from sarrus.spatial.arrays import Array

ROBOTS = {
    "go1": "go1/scene.xml", "anymal_c": "anymal_c/scene.xml", "g1": "g1/scene_mjx.xml", "cassie": "cassie/scene.xml",
    "h1": "h1/scene.xml", "talos": "talos/scene_position.xml",
}  # fmt: skip
ROUNDS = 3
DROP = 0.05  # metres above the keyframe, for landing
MESH = 7  # mjtGeom


class Scene(NamedTuple):
    """A robot for both."""

    model: Model
    peer: Any  # mujoco.MjModel
    q: Array
    controls: Array


def load(file: str) -> Scene | None:
    """The robot at its keyframe; None without the file."""
    path = shared_directory() / "robots" / file
    if not path.is_file():
        return None
    model = sarrus.load_mjcf(path)
    peer, _ = compile_mjcf(read_document(path))
    stand_ins = peer.geom_type == MESH
    peer.geom_contype[stand_ins] = peer.geom_conaffinity[stand_ins] = 0
    keyframe = next(iter(model.keyframes.values()), None)
    q = model.home if keyframe is None else keyframe.q
    controls = np.zeros(model.nu) if keyframe is None else keyframe.controls
    assert q is not None
    if model.n_rows:  # keyframes of files are not quite on their loops
        q = sarrus.project(model, q).q
    return Scene(model, peer, q, controls)


def simulate_peer(scene: Scene, q: Array, steps: int) -> Array:
    """MuJoCo's states (B, T, ...) by its own rollout, on one thread."""
    import mujoco
    from mujoco import rollout

    qpos, qvel = to_mujoco_state(scene.model, q, np.zeros((len(q), scene.model.nv)))
    size = mujoco.mj_stateSize(scene.peer, mujoco.mjtState.mjSTATE_FULLPHYSICS)
    state = np.zeros((len(q), size))
    state[:, 1 : 1 + scene.peer.nq] = qpos
    state[:, 1 + scene.peer.nq : 1 + scene.peer.nq + scene.peer.nv] = qvel
    controls = np.broadcast_to(scene.controls, (len(q), steps, scene.peer.nu))
    found, _ = rollout.rollout(scene.peer, mujoco.MjData(scene.peer), state, controls, nstep=steps)
    return found


def rounds(scene: Scene, q: Array, steps: int) -> dict[str, Any]:
    """Microseconds a step, the best of several rounds, interleaved; and what came out."""
    dt = float(scene.peer.opt.timestep)
    simulation = sarrus.Simulation(
        scene.model, dt, record=("status", "iterations", "contacts"), record_every=steps, threads=1
    )
    began = time.perf_counter()
    simulation.run(q[:4], steps=2, controls=scene.controls)
    found: dict[str, Any] = {"first": time.perf_counter() - began, "integrator": simulation.integrator}
    ours, theirs = [], []
    peers = q[: max(4, len(q) // 16)]
    for _ in range(ROUNDS):
        began = time.perf_counter()
        trajectory = simulation.run(q, steps=steps, controls=scene.controls)
        ours.append((time.perf_counter() - began) / len(q) / steps * 1e6)
        began = time.perf_counter()
        states = simulate_peer(scene, peers, steps)
        theirs.append((time.perf_counter() - began) / len(peers) / steps * 1e6)
    found |= {"ours": min(ours), "theirs": min(theirs)}
    found["height"] = float(np.median(trajectory.q[:, -1, 2])), float(np.median(states[:, -1, 3]))
    found["ok"] = float((trajectory.status == 0).mean())
    detail = sarrus.Simulation(scene.model, dt).run(q[0], steps=steps, controls=scene.controls)
    found["newton"] = np.percentile(detail.iterations, [50, 95, 100]).astype(int).tolist()
    force = detail.contacts.total_force[-200:, 2].mean() if detail.contacts is not None else 0.0
    found["force"] = force / (scene.model.mass * 9.81)
    return found


def compared(scene: Scene, batch: int, seconds: float) -> Iterator[tuple[str, dict[str, Any]]]:
    """Standing, and landing."""
    steps = round(seconds / scene.peer.opt.timestep)
    rng = np.random.default_rng(0)
    for what, height in (("standing", 0.0), ("landing", DROP)):
        q = np.tile(scene.q, (batch, 1))
        q[:, 2] += height * rng.uniform(0.5, 1.5, len(q))
        yield what, rounds(scene, q, steps)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("robots", nargs="*", default=list(ROBOTS), metavar="robot", help=f"of {', '.join(ROBOTS)}")
    parser.add_argument("--batch", type=int, default=512)
    parser.add_argument("--seconds", type=float, default=0.5)
    given = parser.parse_args()
    console = Console(width=150)
    table = Table(title="microseconds a step, one core")
    columns = "robot,what,sarrus,mujoco,times,first call s,integrator,height (both),weight,ok,newton 50/95/100 %"
    for column in columns.split(","):
        table.add_column(column)
    for name in given.robots:
        if name not in ROBOTS:
            console.print(f"{name}: no such robot. Valid: {', '.join(ROBOTS)}")
            return 2
        scene = load(ROBOTS[name])
        if scene is None:
            console.print(f"skipped {name}: no such file")
            continue
        for what, f in compared(scene, given.batch, given.seconds):
            console.print(name, what, f, soft_wrap=True)
            table.add_row(
                name, what, f"{f['ours']:.2f}", f"{f['theirs']:.1f}", f"{f['theirs'] / f['ours']:.1f}",
                f"{f['first']:.1f}", f["integrator"], "{:.4f} {:.4f}".format(*f["height"]), f"{f['force']:.3f}",
                f"{f['ok']:.4f}", "/".join(map(str, f["newton"])),
            )  # fmt: skip
    console.print(table)
    return 0


if __name__ == "__main__":
    sys.exit(main())
