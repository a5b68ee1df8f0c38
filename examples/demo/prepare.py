"""Compilation in two processes; what they leave in the cache is loaded by the one that asked."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import sarrus
from examples.demo import methods, motion


def prepare() -> None:
    """Every kernel of the demo, the slowest first."""
    names = ["step", *sorted((name for name, *_ in methods.METHODS), key=lambda name: "embedding" in name)]
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        for job in [pool.submit(_compile, name) for name in names]:
            job.result()


def _compile(name: str) -> None:
    robots = motion.robots()
    if name == "step":
        simulation, start = motion.simulation(robots)
        simulation.run(start, duration=0.0)
        return
    embedded, method = next((e, m) for n, e, m in methods.METHODS if n == name)
    sarrus.compile(methods.model(robots, embedded), method)
