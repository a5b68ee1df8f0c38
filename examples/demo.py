"""What `make demo` runs: a robot of the zoo and robots from PyPI, looked at, checked, counted and compiled."""

from __future__ import annotations

import time

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
    compiled(console, models[-1])
    console.print("aba, rnea, crba: exact operation counts of the code traced for that robot.")
    console.print("Next: [bold].venv/bin/sarrus info example:talos_full_v2 --floating-base[/bold]")


def compiled(console: Console, model: sarrus.Model) -> None:
    """The same dynamics as native code: how long a batch takes."""
    kernel = sarrus.compile(model, "aba")
    q, v = sarrus.random_state(model, rng=0, batch=4096)
    tau = np.zeros_like(v)
    out = np.empty_like(v)
    seconds = min(_timed(lambda: kernel(q, v, tau, out=out, threads=1)) for _ in range(7))
    console.print(kernel.explain(), markup=False, highlight=False)
    console.print(f"  a batch of 4096 states on one core: {1e6 * seconds / 4096:.2f} us per state")


def _timed(run) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
