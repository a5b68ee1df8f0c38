"""The speeds of kernels that docs/kernels.md begins with: Talos and Go1, beside Pinocchio.

    python -m benchmarks.speeds [--write]

Validated, then timed interleaved. `--write` puts the table into the page, with the date and the processor.
"""

from __future__ import annotations

import sarrus
from benchmarks.command_line import parser_of
from benchmarks.written_figures import measured, write_figures
from sarrus.cli.bench import measure
from sarrus.importers.load import example_robot

ROBOTS = {"Talos": "talos_full_v2", "Go1": "go1"}
BATCH = 4096


def table() -> str:
    """The page's table, as Markdown."""
    lines = [
        measured("speeds"),
        "",
        "| | us per state | of peak | times faster than Pinocchio, same kind of call |",
        "|---|---:|---:|---:|",
    ]
    for name, file in ROBOTS.items():
        model = sarrus.load(example_robot(file), floating_base=True).without_constraints()
        report = measure(model, "aba", BATCH, 7, {})
        peer = {row["name"].partition(", ")[2]: row["us_per_state"] for row in report["rows"] if "Pin" in row["name"]}
        for row in report["rows"]:
            kind = row["name"].partition(", ")[2]
            if row["name"].startswith("Sarrus") and "threads" not in kind:
                share = row["fraction_of_peak"]
                other = next((us for k, us in peer.items() if k.split(",")[0] == kind.split(",")[0]), None)
                lines.append(
                    f"| {name} `aba` ({report['operations']:,} operations), {row['name'].removeprefix('Sarrus, ')} "
                    f"| {row['us_per_state']:.2f} | {'' if share is None else f'{share:.0%}'} "
                    f"| {'' if other is None else format(other / row['us_per_state'], '.1f')} |"
                )
    return "\n".join(lines)


def main(write: bool) -> None:
    found = table()
    print(found)
    if write:
        write_figures("kernels.md", "speeds", found)


if __name__ == "__main__":
    main(parser_of(__doc__, writes="kernels.md").parse_args().write)
