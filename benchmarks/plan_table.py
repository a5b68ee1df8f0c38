"""Plans against single methods, on all mechanisms: exact operations and, with --times, measured kernels.

    python -m benchmarks.plan_table [--only=NAME;...] [--times | --compile-only] [--keep=FILE] [--minutes=N]
                                    [--write] [--json]

The cost, by which plans are made, is exact operations with the iterations that were measured, each kind of operation
weighted by the time that it takes, for all rows' forces in every case; "operations" are the same where all kinds count
alike. "best single" is the method of the least cost with its default order and nothing embedded, and "fewest
operations" the one with the fewest; "default" is what calls take without a plan. With --times all
candidates that are counted near the best, and the best single methods, are compiled and timed in one interleaved run,
in batches on one thread, after they were compared: a call of each in every round, the best round of each counts.
--compile-only fills the cache of kernels for that. --keep adds rows to a file of JSON lines as they are
done and begins with those that it has; --minutes ends after so many. --write puts the table into docs/planning.md.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import sarrus
from benchmarks.command_line import parser_of
from benchmarks.loop_systems import MissingFileError
from benchmarks.planned_mechanisms import MECHANISMS
from benchmarks.written_figures import write_figures
from sarrus.planning.candidate import Candidate
from sarrus.planning.candidates import needs_full_rank, structural_method
from sarrus.planning.embedding_choices import embedding_choices
from sarrus.planning.plan import Plan

BATCH, STATES = 1024, 64
NEAR, MOST = 1.5, 7  # times the best: what is timed, at most so many
ROUNDS = 60
COLUMNS = (
    "mechanism", "rows", "plan", "operations", "best single", "cost against best", "operations against best", "default",
    "cost against default",
)  # fmt: skip
TIMED = (
    "time against fastest", "time against best single", "time against fewest operations", "time against default",
)  # fmt: skip


def row_of(name: str, times: bool, compile_only: bool) -> dict[str, Any]:
    model = MECHANISMS[name]()
    start = time.process_time()
    plan = sarrus.plan(model)
    counted = [x for x in plan.candidates if not x.ruled_out]
    single = [x for x in counted if not x.embedded and x.order is None]
    best = min(single, key=lambda x: x.weighted)
    fewest = min(single, key=lambda x: x.operations)
    default = next((x for x in single if x.method == structural_method(model)), best)
    row: dict[str, Any] = {
        "mechanism": name, "rows": model.n_rows, "plan": plan.chosen.name, "operations": plan.chosen.operations,
        "best single": best.method, "cost against best": plan.chosen.weighted / best.weighted,
        "operations against best": plan.chosen.operations / fewest.operations, "fewest operations": fewest.method,
        "default": default.method, "cost against default": plan.chosen.weighted / default.weighted,
        "seconds": time.process_time() - start,
    }  # fmt: skip
    if times or compile_only:
        near = [x for x in counted if x.weighted <= NEAR * plan.chosen.weighted][:MOST]
        kernels = compiled(model, [*near, best, fewest, default])
        if times:
            ns = measured(model, kernels)
            mine = ns[label(plan.chosen)]
            others = (min(ns.values()), ns[label(best)], ns[label(fewest)], ns[label(default)])
            row |= {"ns": ns} | {column: mine / other for column, other in zip(TIMED, others, strict=True)}
    return row


def label(x: Candidate) -> str:
    return f"{x.name}: {', '.join(x.embedded)}" if x.embedded else x.name


def compiled(model: sarrus.Model, candidates: list[Candidate]) -> dict[str, sarrus.Kernel]:
    kernels = {}
    choices = {choice.names: choice.clusters for choice in embedding_choices(model).possible}
    for x in candidates:
        clusters = choices[x.embedded] if x.embedded else ()
        plan = Plan(model.name, model.digest, True, (x,), clusters)
        options = plan.options | ({"fallback": x.fallback} if needs_full_rank(x.method) else {})
        kernels[label(x)] = sarrus.compile(model, plan.algorithm, **options)
    return kernels


def states_of(model: sarrus.Model) -> list[np.ndarray]:
    """q, v and tau, on the constraints."""
    rng = np.random.default_rng(0)
    q, v = (np.tile(x, (BATCH // STATES, 1)) for x in sarrus.random_state(model, rng, STATES))
    return [q, v, rng.normal(size=v.shape)]


def measured(model: sarrus.Model, kernels: dict[str, sarrus.Kernel]) -> dict[str, float]:
    """Nanoseconds per state of kernels in one interleaved run, after they were compared."""
    arrays = states_of(model)
    results = {name: kernel(*arrays) for name, kernel in kernels.items()}
    first = next(iter(results.values()))
    for name, result in results.items():
        good = (result.status == 0) & (first.status == 0)
        error = np.abs(result.qdd - first.qdd)[good].max(initial=0.0) / (1.0 + np.abs(first.qdd[good]).max(initial=0.0))
        if not error < 1e-6:
            raise SystemExit(f"{model.name}: {name} is off by {error:.1e}; not timed")
    outputs = {x: tuple(np.empty((BATCH, *p.shape)) for p in kernel.tape.outputs) for x, kernel in kernels.items()}
    least = dict.fromkeys(kernels, np.inf)
    for _ in range(ROUNDS):
        for name, kernel in kernels.items():
            start = time.perf_counter()
            kernel(*arrays, out=outputs[name], threads=1)
            least[name] = min(least[name], time.perf_counter() - start)
    return {name: 1e9 * seconds / BATCH for name, seconds in least.items()}


def main() -> None:
    parser = parser_of(__doc__, writes="planning.md")
    parser.add_argument("--only", metavar="NAME;...", help="mechanisms (default: all)")
    kernels = parser.add_mutually_exclusive_group()
    kernels.add_argument("--times", action="store_true", help="compile and time candidates, too")
    kernels.add_argument("--compile-only", action="store_true", help="fill the cache of kernels")
    parser.add_argument("--keep", type=Path, metavar="FILE", help="JSON lines, of rows that are done")
    parser.add_argument("--minutes", type=float, help="end after so many")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    given = parser.parse_args()
    only, file, minutes = given.only, given.keep, given.minutes
    rows = [json.loads(line) for line in file.read_text().splitlines()] if file is not None and file.is_file() else []
    done, start = {row["mechanism"] for row in rows}, time.monotonic()
    for name in only.split(";") if only else MECHANISMS:
        if name in done or (minutes and time.monotonic() - start > 60.0 * minutes):
            continue
        try:
            rows.append(row_of(name, given.times, given.compile_only))
        except MissingFileError as error:
            print(f"{name}: {error} is not here", file=sys.stderr)
            continue
        print(json.dumps(rows[-1]), file=sys.stderr, flush=True)
        if file is not None:
            with file.open("a") as stream:
                stream.write(json.dumps(rows[-1]) + "\n")
    rows.sort(key=lambda row: list(MECHANISMS).index(row["mechanism"]))
    if given.json:
        print(json.dumps(rows))
    else:
        show(rows)
    if given.write:
        write_figures("planning.md", "plan_table", markdown(rows))


def markdown(rows: list[dict[str, Any]]) -> str:
    """The table as it stands in the docs."""
    columns = (*COLUMNS, *TIMED)
    lines = ["| " + " | ".join(columns) + " |", "|---|---:|---|---:|---|---:|---:|---|" + "---:|" * (len(columns) - 8)]
    lines += ["| " + " | ".join(_cell(row.get(column, ""), column) for column in columns) + " |" for row in rows]
    return "\n".join([*lines, "", *summary(rows)])


def show(rows: list[dict[str, Any]]) -> None:
    table = Table(title="plans", title_justify="left")
    for column in (*COLUMNS, *TIMED):
        table.add_column(column)
    for row in rows:
        table.add_row(*(_cell(row.get(column, ""), column) for column in (*COLUMNS, *TIMED)))
    Console(width=200).print(table)
    print("\n".join(summary(rows)))


def summary(rows: list[dict[str, Any]]) -> list[str]:
    lines = []
    for column in ("cost against best", "operations against best"):
        better, worse = (sum(test(row[column]) for row in rows) for test in (lambda x: x < 0.995, lambda x: x > 1.0))
        lines.append(f"{len(rows)} mechanisms, {column}: better on {better}, worse on {worse}.")
    timed = [row[TIMED[0]] for row in rows if TIMED[0] in row]
    if timed:
        slower = sum(row[TIMED[2]] > 1.0 for row in rows if row["operations against best"] > 1.0)
        lines.append(f"Of those worse by operations, slower than the method with the fewest: {slower}.")
        lines.append(
            f"Measured within 5 % of the fastest candidate on {sum(t <= 1.05 for t in timed)} of {len(timed)}."
        )
    return lines


def _cell(value: Any, column: str) -> str:
    if not isinstance(value, float):
        return str(value)
    return f"{value:.2f}" if "against" in column else f"{value:,.0f}"


if __name__ == "__main__":
    main()
