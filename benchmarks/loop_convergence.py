"""How often the iterated methods do not converge, on random mechanisms with loops that are closed.

    python -m benchmarks.loop_convergence [--mechanisms 1000] [--methods lcaba] [--json]

Mechanisms are the adversary's (`benchmarks/adversary`): closures of every type, loops that share bodies, duplicates,
distances, couplings; and apart, those with mass ratios of up to a million. States are generic, with loops closed. A
state counts once per method. The iterations are those of all states.
"""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

import sarrus
from benchmarks.adversary.mechanisms import generator, make
from benchmarks.adversary.states import generic
from sarrus.errors import SarrusError

METHODS = ("lcaba", "prox_bbo", "prox_ltl")
KINDS = {
    "plain": ("any closure", "loops that share bodies", "doubled loops", "distances", "couplings"),
    "mass ratios to 1e6": ("mass ratios, loops",),
}
STATES = 10


def tried(family: str, seed: int, methods: Sequence[str]) -> dict[str, tuple[list[int], list[int]]] | None:
    """Statuses and iterations by method, of one mechanism; None where it cannot be made or closed."""
    mechanism = make(family, seed)
    if mechanism is None:
        return None
    q, v, tau = generic(mechanism.model, STATES, generator("convergence", family, seed))
    if not len(q):
        return None
    found = {}
    for method in methods:
        result = sarrus.forward_dynamics(mechanism.model, q, v, tau, method=method)
        found[method] = (np.asarray(result.status).tolist(), np.asarray(result.iterations).tolist())
    return found


def run(kind: str, count: int, methods: Sequence[str], console: Console) -> list[dict[str, Any]]:
    statuses: dict[str, Counter] = {method: Counter() for method in methods}
    iterations: dict[str, list[int]] = {method: [] for method in methods}
    families, mechanisms = KINDS[kind], 0
    for number in track(range(count), kind, console=console):
        found = tried(families[number % len(families)], 1_000_000 + number, methods)
        if found is None:
            continue
        mechanisms += 1
        for method, (codes, counts) in found.items():
            statuses[method].update(codes)
            iterations[method] += counts
    rows = []
    for method in methods:
        total = sum(statuses[method].values())
        stopped = statuses[method][sarrus.Status.MAX_ITERATIONS]
        others = {sarrus.Status(k).name: n for k, n in sorted(statuses[method].items())}
        rows.append(
            {"mechanisms": f"{kind}: {mechanisms}", "method": method, "states": total,
             "max_iterations": stopped, "percent": 100.0 * stopped / max(total, 1),
             "iterations, mean": float(np.mean(iterations[method])), "most": max(iterations[method]),
             "statuses": others}
        )  # fmt: skip
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mechanisms", type=int, default=1000)
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=METHODS)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    console = Console(stderr=True, width=None if sys.stdout.isatty() else 170)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore", RuntimeWarning)
        rows = [row for kind in KINDS for row in run(kind, given.mechanisms, given.methods, console)]
    if given.json:
        print(json.dumps(rows, indent=1))
    else:
        table = Table(*rows[0])
        for row in rows:
            table.add_row(*(f"{x:.3g}" if isinstance(x, float) else str(x) for x in row.values()))
        Console(width=170).print(table)
    return 1 if any(row["percent"] > (0.1 if "plain" in row["mechanisms"] else 1.0) for row in rows) else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except SarrusError as error:
        sys.exit(f"error: {error}")
