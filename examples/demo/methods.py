"""All methods on the same states of the demo: what they cost, how long they take, whether they agree."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import sarrus
from examples.demo.motion import Robots
from examples.demo.pinocchio_peer import pinocchio_methods
from sarrus.cli.bench import Timing, interleaved, ratio

BATCH, ROUNDS = 4096, 5
STATES = 128  # different ones
PEER_STATES = 64
METHODS = (
    # name, loops embedded, method
    ("lcaba", False, "lcaba"),
    ("prox_bbo", False, "prox_bbo"),
    ("prox_ltl", False, "prox_ltl"),
    ("embedding + lcaba", True, "lcaba"),
    ("embedding + pv_early", True, "pv_early"),
)


class Measured(NamedTuple):
    name: str
    rows: int
    operations: int | None
    us: float  # per state, one thread
    slower: float  # than the fastest: median of the ratios within rounds
    difference: float  # of accelerations, relative to the first method


def kernels(robots: Robots) -> dict[str, sarrus.Kernel]:
    return {name: sarrus.compile(model(robots, embedded), method) for name, embedded, method in METHODS}


def model(robots: Robots, embedded: bool) -> sarrus.Model:
    return robots.embedded if embedded else robots.rows


def measure(robots: Robots, found: dict[str, sarrus.Kernel], trajectory: sarrus.Trajectory) -> list[Measured]:
    """On states of the trajectory, again and again, with the motors' torques of those moments.

    They are projected onto the constraints first: methods need not agree where loops are open by a micrometre.
    """
    assert trajectory.tau is not None
    pick = np.random.default_rng(0).integers(0, len(trajectory), STATES)
    closed = sarrus.project(robots.rows, trajectory.q[pick], trajectory.v[pick])
    arrays = [np.tile(x, (BATCH // STATES, 1)) for x in (closed.q, closed.v, trajectory.tau[pick])]
    cases: dict[str, Any] = {}
    results: dict[str, np.ndarray] = {}
    states: dict[str, int] = {}
    for name, kernel in found.items():
        results[name] = kernel(*arrays).qdd
        out = tuple(np.empty((BATCH, *p.shape)) for p in kernel.tape.outputs)
        cases[name], states[name] = lambda k=kernel, o=out: k(*arrays, out=o, threads=1), BATCH
    for name, peer in pinocchio_methods(robots.rows, [x[:PEER_STATES] for x in arrays]).items():
        results[name] = peer.solve()
        cases[name], states[name] = peer.timed, PEER_STATES
    timed = interleaved(cases, ROUNDS, round_seconds=0.04)
    times = {name: Timing([x / states[name] for x in timing.seconds]) for name, timing in timed.items()}
    fastest = min(times.values(), key=lambda timing: timing.median)
    reference = next(iter(results.values()))
    rows = {name: model(robots, embedded).n_rows for name, embedded, _ in METHODS}
    return [
        Measured(
            name, rows.get(name, robots.rows.n_rows), found[name].op_count.total if name in found else None,
            1e6 * times[name].median,
            ratio(times[name], fastest),
            float(np.abs(results[name] - reference[: len(results[name])]).max() / np.abs(reference).max()),
        )
        for name in cases
    ]  # fmt: skip


def draw(measured: list[Measured], path: Path) -> None:
    """Microseconds per state as bars, on a logarithmic axis."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.0, 0.45 * len(measured) + 1.0), layout="constrained")
    axes = figure.add_subplot()
    names = [m.name for m in measured][::-1]
    values = [m.us for m in measured][::-1]
    colors = ["#b0b7c3" if n.startswith("pin ") else "#2f6db5" if "embedding" in n else "#7fa8d9" for n in names]
    bars = axes.barh(names, values, color=colors, height=0.62)
    axes.bar_label(bars, [f"{x:.2g} us" for x in values], padding=4, fontsize=9)
    axes.set_xscale("log")
    axes.set_xlim(0.6 * min(values), 2.5 * max(values))
    axes.set_xlabel("microseconds per state, one thread")
    axes.set_title("Forward dynamics of the biped (40 dof, 6 loops, 2 feet); pin: Pinocchio", loc="left", fontsize=10)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    figure.savefig(path, dpi=150)
