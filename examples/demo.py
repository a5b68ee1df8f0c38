"""What `make demo` runs: a robot of the zoo and a robot from PyPI, looked at, checked and counted."""

from __future__ import annotations

import numpy as np
from rich.console import Console
from rich.table import Table

import sarrus
from sarrus.cli.info import show_model
from sarrus.importers.example_robots import example_robot


def main() -> None:
    console = Console()
    console.rule("a mechanism of the zoo")
    stem = sarrus.zoo.stem(3, 2, length=2)
    show_model(console, stem)

    console.rule("a robot from PyPI's example-robot-data")
    try:
        robot = sarrus.load(example_robot("go1"), floating_base=True)
        talos = sarrus.load(example_robot("talos_full_v2"), floating_base=True)
    except sarrus.errors.MissingDependencyError as error:
        console.print(f"skipped: {error}")
        models = [stem, sarrus.zoo.chain(20, floating=True)]
    else:
        show_model(console, robot)
        models = [stem, robot, talos]

    table = Table(title="forward and inverse dynamics on 100 random states", title_justify="left")
    for column in ("robot", "dof", "max |rnea(aba(tau)) - tau| / max |tau|", "aba", "rnea", "crba", "aba per dof"):
        table.add_column(column, justify="left" if column == "robot" else "right")
    for model in models:
        q, v = sarrus.random_state(model, rng=0, batch=100)
        tau = np.random.default_rng(1).normal(size=v.shape)
        qdd = sarrus.aba(model, q, v, tau)
        error = np.abs(sarrus.rnea(model, q, v, qdd) - tau).max() / np.abs(tau).max()
        counts = {name: sarrus.op_count(model, name).total for name in ("aba", "rnea", "crba")}
        table.add_row(
            model.name,
            str(model.nv),
            f"{error:.1e}",
            *(f"{count:,}" for count in counts.values()),
            f"{counts['aba'] / model.nv:.0f}",
        )
    console.print(table)
    console.print("aba, rnea, crba: exact operation counts of the code traced for that robot.")
    console.print("Next: [bold].venv/bin/sarrus info example:talos_full_v2 --floating-base[/bold]")


if __name__ == "__main__":
    main()
