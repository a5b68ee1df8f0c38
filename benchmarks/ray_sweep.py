"""A million states over two workers of Ray, beside two plain processes: `python -m benchmarks.ray_sweep [--write]`.

A million four-bars, each a rollout of its own with its own torques, first and last state kept; in pieces, by Ray with
two workers, and in two processes of half a million each, in turns. Then again with a worker killed in the middle.
--write puts the table into docs/hooks/ray.md.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np

import sarrus
from benchmarks.written_figures import measured, write_figures

STEPS = 50


def simulation() -> sarrus.Simulation:
    return sarrus.Simulation(
        sarrus.zoo.four_bar(), 1e-3, record=("status",), record_every=STEPS, project_every=None, threads=1
    )


def half(states: tuple[np.ndarray, np.ndarray, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """What a plain process does."""
    q, v, tau = states
    motion = simulation().rollout(q, v, tau[:, None], steps=STEPS)
    return motion.q, motion.v


def kill_a_worker(done: int, of: int) -> None:
    if done == of // 3:
        os.kill(own_workers()[0], signal.SIGKILL)
        print(f"killed a worker after {done} of {of} pieces")


def own_workers() -> list[int]:
    """Processes that work on a piece for this one: Ray's own process is its child, and they are that one's."""
    listed = subprocess.run(["ps", "-eo", "pid,ppid,args"], capture_output=True, text=True, check=True).stdout
    rows = [line.split(None, 2) for line in listed.splitlines()[1:]]
    parent = {pid: ppid for pid, ppid, *_ in rows}
    found = [row[0] for row in rows if row[2:] and row[2].startswith("ray::_piece")]
    return [int(pid) for pid in found if parent.get(parent[pid]) == str(os.getpid())]


def main() -> None:
    import ray

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--states", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    model, rng = sarrus.zoo.four_bar(), np.random.default_rng(0)
    few = sarrus.random_state(model, rng=0, batch=1000)
    q, v = (np.tile(x, (given.states // 1000, 1)) for x in few)
    tau = 0.1 * rng.normal(size=(len(q), model.nv))
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, object_store_memory=2 * 2**30)

    def by_ray(progress=None) -> dict[str, np.ndarray]:
        return sarrus.ray.rollout(simulation(), q, v, tau[:, None], steps=STEPS, piece=25_000, progress=progress)

    with ProcessPoolExecutor(2, get_context("spawn")) as pool:
        middle = len(q) // 2
        parts = [tuple(x[:middle] for x in (q, v, tau)), tuple(x[middle:] for x in (q, v, tau))]
        by_ray(), list(pool.map(half, parts))  # workers load their kernels
        plain, rays = [], []
        for _ in range(given.rounds):
            began = time.perf_counter()
            halves = list(pool.map(half, parts))
            plain.append(time.perf_counter() - began)
            began = time.perf_counter()
            found = by_ray()
            rays.append(time.perf_counter() - began)
    expected = [np.concatenate(x) for x in zip(*halves, strict=True)]
    same = all(np.array_equal(a, found[name]) for a, name in zip(expected, ("q", "v"), strict=True))
    after = by_ray(kill_a_worker)
    survived = all(np.array_equal(a, after[name]) for a, name in zip(expected, ("q", "v"), strict=True))
    efficiency = np.median(np.array(plain) / np.array(rays))
    lines = [
        f"{len(q):,} states, {STEPS} steps each: two plain processes take {np.median(plain):.1f} s, Ray with two "
        f"workers {np.median(rays):.1f} s: an efficiency of {efficiency:.2f}.",
        f"The bits are {'equal' if same else 'DIFFERENT'}; with a worker killed halfway, they are "
        f"{'equal as well' if survived else 'DIFFERENT'}.",
    ]
    print("\n".join(lines))
    if given.write:
        write_figures("hooks/ray.md", "ray", "\n".join([measured("ray_sweep", "two cores"), "", *lines]))
    ray.shutdown()


if __name__ == "__main__":
    main()
