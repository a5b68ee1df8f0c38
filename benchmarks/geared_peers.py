"""Mini Cheetah with its rotors, exactly, against Pinocchio's ABA on the same robot without them.

    python -m benchmarks.geared_peers

Pinocchio's constraints are 3D and 6D closures: it cannot express that a rotor turns six times as fast as a joint. So
what is compared is `ce_aba` on the robot with twelve rotors and gears (30 joint velocities, 18 independent) with
Pinocchio's `abaInParallel(1, ...)` and `aba` on the upstream file without rotors (18 velocities): the easier problem.
`ce_aba` is validated against `lcaba` on implicit constraints before anything is timed, interleaved, on one thread.
"""

from __future__ import annotations

import sys
from typing import NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table

import sarrus
from benchmarks.command_line import parser_of
from benchmarks.geared_robots import mini_cheetah
from benchmarks.loop_systems import MissingFileError
from benchmarks.robots import shared_directory
from sarrus.cli.bench import Timing, interleaved, ratio
from sarrus.model.state import random_state

BATCH = 4096
ACCURACY = 1e-8
WANTED = {"batch": 15.0, "single": 1.0}


def states(model: sarrus.Model, batch: int) -> list[np.ndarray]:
    """Random states in which rotors turn as their gears make them."""
    rng = np.random.default_rng(0)
    q, v = random_state(model.spanning.without_constraints(), rng, batch)
    reduced = sarrus.reduce(model, q, v)
    expanded = sarrus.expand(model, reduced.y, reduced.yd)
    return [np.ascontiguousarray(x) for x in (expanded.q, expanded.v, rng.normal(size=v.shape))]


class Compared(NamedTuple):
    operations: int  # of ce_aba
    error: float  # of ce_aba, beside lcaba
    us: dict[str, float]  # per state, by case
    faster: dict[str, float]  # than Pinocchio's, by mode


def compared(console: Console) -> Compared | None:
    """None where something is missing, or does not agree."""
    try:
        import pinocchio as pin

        geared = mini_cheetah()
    except (ImportError, MissingFileError) as error:
        console.print(f"skipped: {error}")
        return None
    embedded = sarrus.embed(geared)
    q, v, tau = states(embedded, BATCH)
    first = [np.ascontiguousarray(x[0]) for x in (q, v, tau)]
    kernel = sarrus.compile(embedded, "ce_aba")
    expected = sarrus.lcaba(geared, *first).qdd
    error = np.abs(kernel(*first).qdd - expected).max() / np.abs(expected).max()
    if not error < ACCURACY:
        raise AssertionError(f"ce_aba is off by {error:.1e} from lcaba: not timed")

    path = shared_directory() / "robots" / "mini_cheetah" / "mini_cheetah_approximate.urdf"
    tree = pin.buildModelFromUrdf(str(path), pin.JointModelFreeFlyer())
    rng = np.random.default_rng(1)
    pin_q = np.stack([pin.randomConfiguration(tree, -np.ones(tree.nq), np.ones(tree.nq)) for _ in range(BATCH)], axis=1)
    pin_v, pin_tau = rng.normal(size=(tree.nv, BATCH)), rng.normal(size=(tree.nv, BATCH))
    pin_q, pin_v, pin_tau = (np.asfortranarray(x) for x in (pin_q, pin_v, pin_tau))
    pool = pin.ModelPool(tree, 1)
    data, qdd = tree.createData(), np.asfortranarray(np.empty((tree.nv, BATCH)))
    one = [np.ascontiguousarray(x[:, 0]) for x in (pin_q, pin_v, pin_tau)]
    out = tuple(np.empty((BATCH, *port.shape)) for port in kernel.tape.outputs)
    times = interleaved(
        {
            "Pinocchio aba, no rotors, batch": lambda: pin.abaInParallel(1, pool, pin_q, pin_v, pin_tau, qdd),
            "Sarrus ce_aba, rotors, batch": lambda: kernel(q, v, tau, out=out, threads=1),
            "Pinocchio aba, no rotors, single": lambda: pin.aba(tree, data, *one),
            "Sarrus ce_aba, rotors, single": lambda: kernel(*first),
        },
        rounds=15,
        round_seconds=0.03,
    )
    times = {n: Timing([s / BATCH for s in t.seconds]) if n.endswith("batch") else t for n, t in times.items()}
    modes = {
        mode: ratio(times[f"Pinocchio aba, no rotors, {mode}"], times[f"Sarrus ce_aba, rotors, {mode}"])
        for mode in WANTED
    }
    return Compared(kernel.op_count.total, error, {name: 1e6 * timing.median for name, timing in times.items()}, modes)


def main() -> int:
    console = Console(width=130)
    found = compared(console)
    if found is None:
        return 0
    table = Table(
        title=f"Mini Cheetah, batch of {BATCH}; ce_aba: {found.operations:,} operations, error {found.error:.0e}"
    )
    table.add_column("what")
    table.add_column("us per state", justify="right")
    for name, us in found.us.items():
        table.add_row(name, f"{us:.3f}")
    console.print(table)
    failed = 0
    for mode, wanted in WANTED.items():
        failed += found.faster[mode] < wanted
        verdict = "PASS" if found.faster[mode] >= wanted else "FAIL"
        console.print(f"{verdict}  {mode}: {found.faster[mode]:.1f}x >= {wanted:.0f}x")
    return 1 if failed else 0


if __name__ == "__main__":
    parser_of(__doc__).parse_args()
    sys.exit(main())
