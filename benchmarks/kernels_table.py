"""Compiled `aba` against Pinocchio on every robot of example-robot-data: single calls and batches, one thread.

    python -m benchmarks.kernels_table [--write] [NAME ...]

Each pair is validated, then timed interleaved in one run. Robots that other robots' files repeat are all kept.
`--write` puts the table into docs/kernels.md, with the date and the processor.
"""

from __future__ import annotations

import sys
from typing import Any

from rich.console import Console
from rich.progress import track
from rich.table import Table

import sarrus
from benchmarks.command_line import parser_of
from benchmarks.written_figures import measured, write_figures
from sarrus.cli.bench import measure
from sarrus.errors import SarrusError
from sarrus.importers.load import example_robots

BATCH = 1024
ROUNDS = 5
NOISE = 1.10  # what counts as not slower
WANTED = {"talos_full_v2": (18.0, 3.0), "go1": (11.0, 2.0)}  # batch, single


def row_of(name: str) -> dict[str, Any] | str:
    path = example_robots()[name]
    model, reason = None, ""
    for floating in (True, False):
        try:
            model = sarrus.load_urdf(path, floating_base=floating, allow_nonphysical=True).without_constraints()
            break
        except SarrusError as error:
            reason = str(error)
    if model is None:
        return reason
    if model.nv == 0:
        return "no degree of freedom"
    if model.ill_posed:
        model = sarrus.load_urdf(path, floating_base=False, allow_nonphysical=True).without_constraints()
    if model.ill_posed:
        return "a joint moves no inertia"
    report = measure(model, "aba", BATCH, ROUNDS, {}, float32=False)
    rows = {row["name"]: row for row in report["rows"]}
    if "Pinocchio, batch, 1 thread" not in rows:
        return report["notes"][0]
    return {
        "name": name,
        "dof": model.nv,
        "operations": report["operations"],
        "batch": rows["Sarrus, batch, 1 thread"]["us_per_state"],
        "single": rows["Sarrus, single call"]["us_per_state"],
        "batch_ratio": rows["Pinocchio, batch, 1 thread"]["times_sarrus"],
        "single_ratio": rows["Pinocchio, single call"]["times_sarrus"],
    }


def main() -> int:
    parser = parser_of(__doc__, writes="kernels.md")
    parser.add_argument("names", nargs="*", metavar="NAME", help="of robots of example-robot-data (default: all)")
    given = parser.parse_args()
    names = given.names or list(example_robots())
    console = Console()
    rows, skipped, failures = [], [], []
    for name in track(names, console=console, transient=True):
        row = row_of(name)
        if isinstance(row, str):
            skipped.append(f"{name}: {row}")
            continue
        rows.append(row)
        batch, single = WANTED.get(name, (1.0 / NOISE, 1.0 / NOISE))
        if row["batch_ratio"] < batch or row["single_ratio"] < single:
            failures.append(name)
    cells = [
        [
            r["name"], str(r["dof"]), f"{r['operations']:,}", f"{r['batch']:.3f}", f"{r['batch_ratio']:.1f}",
            f"{r['single']:.2f}", f"{r['single_ratio']:.1f}",
        ]
        for r in rows
    ]  # fmt: skip
    titles = ["robot", "dof", "operations", "batch, us", "x faster", "single call, us", "x faster"]
    table = Table(title="aba: Sarrus on one core, and how many times faster than Pinocchio")
    for title in titles:
        table.add_column(title, justify="left" if title == "robot" else "right")
    for row in cells:
        table.add_row(*row)
    console.print(table)
    if given.write:
        lines = [
            measured("kernels_table"),
            "",
            "| " + " | ".join(titles) + " |",
            "|---" + "|---:" * (len(titles) - 1) + "|",
        ]
        lines += ["| " + " | ".join(row) + " |" for row in cells]
        write_figures("kernels.md", "kernels_table", "\n".join(lines))
    for line in skipped:
        console.print(f"skipped {line}", markup=False)
    console.print(f"{len(rows)} robots, {len(failures)} slower than wanted: {', '.join(failures) or 'none'}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
