"""Cassie and Digit with their leg loops against Pinocchio's `lcaba` and `constraintDynamics`, at equal accuracy.

    python -m benchmarks.loop_peers

Pinocchio's model is built from the declared data (its MJCF reader drops and reorders joints of these files), as in
the tests. Every method is validated against `constraintDynamics` before it is timed, interleaved in one run, on one
thread.
"""

from __future__ import annotations

import sys
from typing import NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table

import sarrus
from benchmarks.command_line import parser_of
from benchmarks.robots import shared_directory
from sarrus.cli.bench import Timing, interleaved, ratio

BATCH = 1024
METHODS = ("lcaba", "prox_bbo", "prox_ltl", "bbo")
ACCURACY = 1e-8
PEERS = ("pin lcaba", "pin constraintDynamics")
WANTED = {"batch": 15.0, "single": 3.0}


ROBOTS = {"Cassie": "cassie/cassie.xml", "Digit": "digit/digit-v3.xml"}


class Compared(NamedTuple):
    """Of one robot."""

    peers: dict[str, float]  # microseconds of a call of Pinocchio's
    operations: dict[str, int]  # by method
    us: dict[tuple[str, str], float]  # by method and mode
    faster: dict[tuple[str, str], float]  # than Pinocchio's lcaba


def compared(file: str, console: Console) -> Compared | None:
    """None without the file, or without Pinocchio."""
    try:
        import pinocchio as pin

        from tests.algorithms.test_loops_against_pinocchio import Loops
    except ImportError:
        console.print("skipped: Pinocchio is not installed")
        return None
    path = shared_directory() / "robots" / file
    if not path.is_file():
        console.print(f"skipped {file}: no such file")
        return None
    model = sarrus.load(path)
    loops = Loops(model)
    rng = np.random.default_rng(0)
    q, v = np.tile(model.home, (BATCH, 1)), np.zeros((BATCH, model.nv))
    tau = rng.normal(size=v.shape)
    first = [np.ascontiguousarray(x[0]) for x in (q, v, tau)]
    expected = loops.constraint_dynamics(*first, mu=1e-8)
    peer, home = loops.peer.model, loops.peer.configuration(first[0])
    data, other = peer.createData(), peer.createData()
    pin.computeJointMinimalOrdering(peer, data, loops.constraints)
    pin.initConstraintDynamics(peer, other, loops.constraints, loops.datas)
    rows, datas = loops.constraints, loops.datas
    soft, hard = pin.ProximalSettings(ACCURACY, 1e-4, 10), pin.ProximalSettings(ACCURACY, 1e-8, 10)
    cases = {
        PEERS[0]: lambda *a: pin.lcaba(peer, data, home, *first[1:], rows, datas, soft),
        PEERS[1]: lambda *a: pin.constraintDynamics(peer, other, home, *first[1:], rows, datas, hard),
    }
    operations = {}
    for name in METHODS:
        options = {} if name == "bbo" else {"tolerance": ACCURACY}
        kernel = sarrus.compile(model, name, **options)
        error = np.abs(kernel(*first).qdd - expected).max() / np.abs(expected).max()
        if not error < 1e-6:
            console.print(f"{file} {name}: off by {error:.1e}; not timed")
            continue
        operations[name] = kernel.op_count.total
        out = tuple(np.empty((BATCH, *p.shape)) for p in kernel.tape.outputs)
        cases[f"{name} batch"] = lambda k=kernel, o=out, a=(q, v, tau): k(*a, out=o, threads=1)
        cases[f"{name} single"] = lambda k=kernel, a=first: k(*a)
    times = interleaved(cases, rounds=9, round_seconds=0.03)
    times = {n: Timing([s / BATCH for s in t.seconds]) if n.endswith("batch") else t for n, t in times.items()}
    timed = [(name, mode) for name in operations for mode in WANTED]
    return Compared(
        {name: 1e6 * times[name].median for name in PEERS},
        operations,
        {key: 1e6 * times[" ".join(key)].median for key in timed},
        {key: ratio(times[PEERS[0]], times[" ".join(key)]) for key in timed},
    )


def main() -> int:
    console = Console(width=130)
    table = Table(title=f"microseconds per state: batch of {BATCH} / single call; times faster than Pinocchio's lcaba")
    for title in ("robot", *PEERS, *METHODS):
        table.add_column(title, justify="left" if title == "robot" else "right")
    failed = 0
    for robot, file in ROBOTS.items():
        found = compared(file, console)
        if found is None:
            continue
        cells = []
        for name in METHODS:
            if name not in found.operations:
                cells.append("-")
                continue
            us, faster = ([x[name, mode] for mode in WANTED] for x in (found.us, found.faster))
            cells.append(f"{us[0]:.2f} / {us[1]:.2f}; {faster[0]:.1f}x / {faster[1]:.1f}x")
        table.add_row(robot, *(f"{us:.1f}" for us in found.peers.values()), *cells)
        for mode, wanted in WANTED.items():
            best = max(x for (_, m), x in found.faster.items() if m == mode)
            failed += best < wanted
            verdict = "PASS" if best >= wanted else "FAIL"
            console.print(f"{verdict}  {robot}: {mode} {best:.1f}x >= {wanted:.0f}x of Pinocchio's lcaba")
    console.print(table)
    return 1 if failed else 0


if __name__ == "__main__":
    parser_of(__doc__).parse_args()
    sys.exit(main())
