"""Cassie and Digit with their leg loops against Pinocchio's `lcaba` and `constraintDynamics`, at equal accuracy.

    python -m benchmarks.loop_peers

Pinocchio's model is built from the declared data (its MJCF reader drops and reorders joints of these files), as in
the tests. Every method is validated against `constraintDynamics` before it is timed, interleaved in one run, on one
thread.
"""

from __future__ import annotations

import sys

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
WANTED = {"batch": 15.0, "single": 3.0}


def main() -> int:
    console = Console(width=130)
    try:
        import pinocchio as pin

        from tests.algorithms.test_loops_against_pinocchio import Loops
    except ImportError:
        console.print("skipped: Pinocchio is not installed")
        return 0
    table = Table(title=f"microseconds per state: batch of {BATCH} / single call; times faster than Pinocchio's lcaba")
    for title in ("robot", "pin lcaba", "pin constraintDynamics", *METHODS):
        table.add_column(title, justify="left" if title == "robot" else "right")
    failed = 0
    for file in ("cassie/cassie.xml", "digit/digit-v3.xml"):
        path = shared_directory() / "robots" / file
        if not path.is_file():
            console.print(f"skipped {file}: no such file")
            continue
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
            "pin lcaba": lambda *a: pin.lcaba(peer, data, home, *first[1:], rows, datas, soft),
            "pin constraintDynamics": lambda *a: pin.constraintDynamics(
                peer, other, home, *first[1:], rows, datas, hard
            ),
        }
        for name in METHODS:
            options = {} if name == "bbo" else {"tolerance": ACCURACY}
            kernel = sarrus.compile(model, name, **options)
            error = np.abs(kernel(*first).qdd - expected).max() / np.abs(expected).max()
            if not error < 1e-6:
                console.print(f"{file} {name}: off by {error:.1e}; not timed")
                continue
            out = tuple(np.empty((BATCH, *p.shape)) for p in kernel.tape.outputs)
            cases[f"{name} batch"] = lambda k=kernel, o=out, a=(q, v, tau): k(*a, out=o, threads=1)
            cases[f"{name} single"] = lambda k=kernel, a=first: k(*a)
        times = interleaved(cases, rounds=9, round_seconds=0.03)
        times = {n: Timing([s / BATCH for s in t.seconds]) if n.endswith("batch") else t for n, t in times.items()}
        cells = []
        for name in METHODS:
            if f"{name} batch" not in times:
                cells.append("-")
                continue
            us = [f"{1e6 * times[f'{name} {mode}'].median:.2f}" for mode in WANTED]
            faster = [ratio(times["pin lcaba"], times[f"{name} {mode}"]) for mode in WANTED]
            cells.append(f"{us[0]} / {us[1]}; {faster[0]:.1f}x / {faster[1]:.1f}x")
        table.add_row(model.name, *(f"{1e6 * times[n].median:.1f}" for n in list(cases)[:2]), *cells)
        for mode, wanted in WANTED.items():
            best = max(ratio(times["pin lcaba"], times[n]) for n in times if n.endswith(mode))
            failed += best < wanted
            verdict = "PASS" if best >= wanted else "FAIL"
            console.print(f"{verdict}  {model.name}: {mode} {best:.1f}x >= {wanted:.0f}x of Pinocchio's lcaba")
    console.print(table)
    return 1 if failed else 0


if __name__ == "__main__":
    parser_of(__doc__).parse_args()
    sys.exit(main())
