"""Conservative mechanisms over 10 s at 1 ms with rk4 and projection, and a four-bar over one hour.

    python -m benchmarks.simulation_energy [--hours 1]

Bars: energy drift <= 1e-6 (relative to the energy turned over), closure error <= 1e-9, the hour without leaving the
manifold.
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import replace

import numpy as np
from rich.console import Console
from rich.table import Table

import sarrus

ENERGY, CLOSURE = 1e-6, 1e-9


def mechanisms() -> dict[str, sarrus.Model]:
    still = np.zeros(3)
    linkage = sarrus.zoo.sarrus_linkage()  # on springs: it would fall flat, where its mobility changes
    bodies = tuple(replace(b, joint=replace(b.joint, stiffness=np.full(1, 20.0))) for b in linkage.bodies)
    return {
        "double pendulum": sarrus.zoo.chain(2),
        "four-bar": sarrus.zoo.four_bar(),
        "Sarrus linkage on springs": replace(linkage, bodies=bodies),
        "Bennett": sarrus.zoo.bennett(),
        "floating ring of 8": sarrus.zoo.cycle(8).with_gravity(still),
        "floating chain of 2 loops": sarrus.zoo.chain_of_loops(2).with_gravity(still),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--hours", type=float, default=1.0)
    hours = parser.parse_args().hours
    console = Console(width=130)
    table = Table(title="10 s at 1 ms, rk4, projected every step")
    for title in ("mechanism", "energy", "closure", "linear momentum", "angular momentum", "us a step", "compiled in"):
        table.add_column(title, justify="left" if title == "mechanism" else "right")
    failed = 0
    for name, model in mechanisms().items():
        q = sarrus.neutral(model)
        v = 0.5 * np.random.default_rng(0).normal(size=model.nv)
        if model.active_constraints:
            v = sarrus.project(model, q, v).v

        def run(model: sarrus.Model = model, q: np.ndarray = q, v: np.ndarray = v) -> sarrus.Trajectory:
            return sarrus.simulate(model, q, v, duration=10.0, integrator="rk4", project_every=1)

        times = [time.perf_counter()]
        for _ in range(2):
            found = run()
            times.append(time.perf_counter())
        first, second = np.diff(times)
        drift = found.drift
        failed += not (drift.energy <= ENERGY and drift.closure <= CLOSURE and set(found.statuses) == {"ok"})
        momenta = [
            f"{x:.1e}" if not model.gravity.any() else "-" for x in (drift.linear_momentum, drift.angular_momentum)
        ]
        cells = (
            f"{drift.energy:.1e}",
            f"{drift.closure:.1e}",
            *momenta,
            f"{1e2 * second:.2f}",
            f"{first - second:.1f} s",
        )
        table.add_row(name, *cells)
    console.print(table)
    console.print(f"{'FAIL' if failed else 'PASS'}  energy <= {ENERGY:g}, closure <= {CLOSURE:g}: {failed} failed")
    model, began = sarrus.zoo.four_bar(), time.perf_counter()
    found = sarrus.simulate(
        model, duration=3600.0 * hours, integrator="rk4", project_every=1, record_every=1000, record=("status",)
    )
    seconds, drift = time.perf_counter() - began, found.drift
    good = drift.closure <= CLOSURE and set(found.statuses) == {"ok"}
    console.print(
        f"{'PASS' if good else 'FAIL'}  four-bar, {hours:g} h simulated in {seconds:.1f} s "
        f"({3600 * hours / seconds:,.0f} times real time): closure {drift.closure:.1e}, energy {drift.energy:.1e}"
    )
    return 1 if failed or not good else 0


if __name__ == "__main__":
    sys.exit(main())
