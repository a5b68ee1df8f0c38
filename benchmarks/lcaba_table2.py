"""Table II of the LCABA paper: systems with loops by LCABA, proxBBO and proxLTL, with 1 and 3 iterations, and ABA.

    python -m benchmarks.lcaba_table2 [--json] [--quick]

Operation counts are exact. Times are medians of interleaved rounds on one thread, after every method was validated
against the others. Kernels of some 300,000 operations take minutes to compile; stderr says what is being done. For
Pinocchio's `lcaba` and `constraintDynamics` on Digit and Cassie see `loop_peers`.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import sarrus
from benchmarks.command_line import parser_of
from benchmarks.loop_systems import SYSTEMS, MissingFileError
from sarrus.cli.bench import Timing, interleaved
from sarrus.model.state import random_state

METHODS = ("lcaba", "prox_bbo", "prox_ltl")
BATCH = 512


def operations(model: sarrus.Model, method: str, iterations: int) -> int:
    """With exactly so many iterations. A compiled loop's body is counted once, hence the rest by hand."""
    count = sarrus.op_count(model, method, max_iterations=iterations)
    return count.total + max(0, iterations - 2) * count.per_iteration


def measure(name: str, rounds: int) -> dict[str, Any]:
    model = SYSTEMS[name]()
    row: dict[str, Any] = {"system": name, "nv": model.nv, "rows": model.n_rows}
    row["ops"] = {"aba": sarrus.op_count(model.without_constraints(), "aba").total}
    kernels = {}
    for m in METHODS:
        start = time.perf_counter()
        row["ops"] |= {f"{m} ({k})": operations(model, m, k) for k in (1, 3)}
        counted = time.perf_counter() - start
        kernels[m] = sarrus.compile(model, m)
        compiled = time.perf_counter() - start - counted
        progress(f"{name}: {m} {row['ops'][f'{m} (3)']:,} operations, {counted:.0f} s; compiled in {compiled:.0f} s")
    rng = np.random.default_rng(0)
    q, v = random_state(model, rng, BATCH)
    arrays = [q, 0.1 * v, rng.normal(size=v.shape)]
    results = {m: kernel(*arrays) for m, kernel in kernels.items()}
    reference = results["prox_ltl"].qdd
    for m, result in results.items():
        error = np.abs(result.qdd - reference).max() / np.abs(reference).max()
        if not error < 1e-5:
            raise SystemExit(f"{name}: {m} is off by {error:.1e}; not timed")
    first = [np.ascontiguousarray(x[0]) for x in arrays]
    cases: dict[str, Any] = {}
    for m, kernel in kernels.items():
        out = tuple(np.empty((BATCH, *p.shape)) for p in kernel.tape.outputs)
        cases[f"{m} batch"] = lambda kernel=kernel, out=out: kernel(*arrays, out=out, threads=1)
        cases[f"{m} single"] = lambda kernel=kernel: kernel(*first)
    times = interleaved(cases, rounds=rounds, round_seconds=0.02)
    scaled = {n: Timing([s / BATCH for s in t.seconds]) if n.endswith("batch") else t for n, t in times.items()}
    row["us"] = {n: 1e6 * t.median for n, t in scaled.items()}
    row["iterations"] = {m: float(np.median(r.iterations)) for m, r in results.items()}
    return row


def progress(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def main() -> int:
    parser = parser_of(__doc__)
    parser.add_argument("--json", action="store_true", help="print rows as JSON, and tables and verdicts on stderr")
    parser.add_argument("--quick", action="store_true", help="fewer rounds of timing")
    given = parser.parse_args()
    console = Console(stderr=given.json, width=150)
    rows = []
    for name in SYSTEMS:
        try:
            rows.append(measure(name, 3 if given.quick else 7))
        except MissingFileError as error:
            console.print(f"skipped {name}: no {error}")
    if given.json:
        print(json.dumps(rows, indent=2))
    else:
        show(console, rows)
    return 1 if failures(console, rows) else 0


def show(console: Console, rows: list[dict[str, Any]]) -> None:
    counts = Table(title="operations; in brackets, iterations")
    columns = ["aba", *(f"{m} ({k})" for m in METHODS for k in (1, 3))]
    times = Table(
        title=f"microseconds per state, to the default tolerance: batch of {BATCH} / single call; median iterations"
    )
    for table, names in ((counts, columns), (times, METHODS)):
        for title in ("system", "dof", "rows", *names):
            table.add_column(title, justify="left" if title == "system" else "right")
    for row in rows:
        head = [row["system"], str(row["nv"]), str(row["rows"])]
        counts.add_row(*head, *(f"{row['ops'][c]:,}" for c in columns))
        us, n = row["us"], row["iterations"]
        times.add_row(*head, *(f"{us[f'{m} batch']:.2f} / {us[f'{m} single']:.2f}; {n[m]:.0f}" for m in METHODS))
    console.print(counts, times)


def failures(console: Console, rows: list[dict[str, Any]]) -> int:
    checks = []
    for row in rows[1:]:
        ops = row["ops"]
        best = min(METHODS, key=lambda m, ops=ops: ops[f"{m} (1)"])
        checks.append((f"{row['system']}: LCABA needs the fewest operations (fewest: {best})", best == "lcaba"))
    for row in rows:
        if row["system"] == "two Digits + cube":
            value = row["ops"]["prox_ltl (1)"] / row["ops"]["lcaba (1)"]
            checks.append((f"two Digits + cube: prox_ltl / lcaba = {value:.1f} >= 5 in operations", value >= 5.0))
    for text, ok in checks:
        console.print(f"{'PASS' if ok else 'FAIL'}  {text}")
    return sum(not ok for _, ok in checks)


if __name__ == "__main__":
    sys.exit(main())
