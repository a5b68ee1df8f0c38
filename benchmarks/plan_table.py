"""Plans against single methods, on all mechanisms: exact operations and, with --times, measured kernels.

    python -m benchmarks.plan_table [--json] [--only NAME,NAME,...] [--times] [--compile-only]

"best single" is the cheapest method with its default order and nothing embedded; "default" is what calls take without a
plan. Costs are exact operations with the iterations that were measured, for all rows' forces in every case. With
--times the three cheapest candidates and the best single method are compiled and timed in one interleaved run, in
batches on one thread, after they were compared; --compile-only fills the cache of kernels for that.
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
from benchmarks.loop_systems import MissingFileError
from benchmarks.planned_mechanisms import MECHANISMS
from sarrus.cli.bench import interleaved, ratio
from sarrus.planning.candidate import Candidate
from sarrus.planning.candidates import needs_full_rank, structural_method
from sarrus.planning.embedding_choices import embedding_choices
from sarrus.planning.plan import Plan

BATCH, TIMED = 512, 3


def row_of(name: str, times: bool, compile_only: bool) -> dict[str, Any]:
    model = MECHANISMS[name]()
    start = time.process_time()
    plan = sarrus.plan(model)
    counted = [x for x in plan.candidates if not x.ruled_out]
    single = [x for x in counted if not x.embedded and x.order is None]
    best = min(single, key=lambda x: x.weighted)
    default = next((x for x in single if x.method == structural_method(model)), best)
    row: dict[str, Any] = {
        "mechanism": name, "rows": model.n_rows, "plan": plan.chosen.name, "operations": plan.chosen.operations,
        "best single": best.method, "against best": plan.chosen.weighted / best.weighted,
        "operations against best": plan.chosen.operations / min(x.operations for x in single),
        "default": default.method, "against default": plan.chosen.weighted / default.weighted,
        "seconds": time.process_time() - start,
    }  # fmt: skip
    if times or compile_only:
        row |= measured(model, plan, [*counted[:TIMED], best], compile_only)
    return row


def measured(model: sarrus.Model, plan: Plan, candidates: list[Candidate], compile_only: bool) -> dict[str, Any]:
    """Kernels of candidates in one interleaved run, after they were compared."""
    kernels = {}
    choices = {choice.names: choice.clusters for choice in embedding_choices(model).possible}
    for x in candidates:
        options: dict[str, Any] = {} if x.order is None else {"order": x.order}
        if x.embedded:
            options |= {"clusters": choices[x.embedded], "solver": x.method, "fallback": x.fallback}
        elif needs_full_rank(x.method):
            options["fallback"] = x.fallback
        label = f"{x.name} {x.embedded}"
        kernels[label] = sarrus.compile(model, "hybrid" if x.embedded else x.method, **options)
    if compile_only:
        return {}
    rng = np.random.default_rng(0)
    q, v = sarrus.random_state(model, rng, 64)
    q, v = np.tile(q, (BATCH // 64, 1)), np.tile(v, (BATCH // 64, 1))
    arrays = [q, v, rng.normal(size=v.shape)]
    results = {label: kernel(*arrays) for label, kernel in kernels.items()}
    first = next(iter(results.values()))
    for label, result in results.items():
        good = (result.status == 0) & (first.status == 0)
        error = np.abs(result.qdd - first.qdd)[good].max(initial=0.0) / (1.0 + np.abs(first.qdd[good]).max(initial=0.0))
        if not error < 1e-6:
            raise SystemExit(f"{model.name}: {label} is off by {error:.1e}; not timed")
    cases: dict[str, Any] = {}
    for label, kernel in kernels.items():
        out = tuple(np.empty((BATCH, *p.shape)) for p in kernel.tape.outputs)
        cases[label] = lambda kernel=kernel, out=out: kernel(*arrays, out=out, threads=1)
    found = interleaved(cases, rounds=9, round_seconds=0.01)
    chosen = found[f"{plan.chosen.name} {plan.chosen.embedded}"]
    fastest = min(found.values(), key=lambda t: t.median)
    us = {label: 1e6 * t.median / BATCH for label, t in found.items()}
    return {"us": us, "time against fastest": ratio(chosen, fastest) if chosen is not fastest else 1.0}


def main(arguments: list[str]) -> int:
    only = next((x.split("=", 1)[1].split(";") for x in arguments if x.startswith("--only=")), list(MECHANISMS))
    rows = []
    for name in only:
        try:
            rows.append(row_of(name, "--times" in arguments, "--compile-only" in arguments))
        except MissingFileError as error:
            print(f"{name}: {error} is not here", file=sys.stderr)
            continue
        print(json.dumps(rows[-1]), file=sys.stderr, flush=True)
    if "--json" in arguments:
        print(json.dumps(rows))
        return 0
    table = Table(title="plans", title_justify="left")
    columns = (
        "mechanism",
        "rows",
        "plan",
        "operations",
        "best single",
        "against best",
        "operations against best",
        "default",
        "against default",
    )
    for column in (*columns, "time against fastest"):
        table.add_column(column)
    for row in rows:
        cells = [f"{row[c]:.2f}" if isinstance(row[c], float) and "against" in c else f"{row[c]:,.0f}"
                 if isinstance(row[c], float) else str(row[c]) for c in columns]  # fmt: skip
        table.add_row(*cells, f"{row['time against fastest']:.2f}" if "time against fastest" in row else "")
    Console(width=170).print(table)
    better = sum(row["against best"] < 0.995 for row in rows)
    worse = sum(row["against best"] > 1.0 for row in rows)
    print(f"{len(rows)} mechanisms: better than the best single method on {better}, worse on {worse}")
    timed = [row["time against fastest"] for row in rows if "time against fastest" in row]
    if timed:
        print(f"within 5 % of the fastest candidate on {sum(t <= 1.05 for t in timed)} of {len(timed)}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
