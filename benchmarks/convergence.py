"""Figs 10 and 11 of the LCABA paper: residual per iteration, and accuracy against mu, of two hands holding a cube.

    python -m benchmarks.convergence [--states N] [--plot FILE.png]

The contacts are redundant. States are random, computed in batch.
"""

from __future__ import annotations

import argparse

import numpy as np
from rich.console import Console
from rich.table import Table

import sarrus
from benchmarks.loop_systems import SYSTEMS, MissingFileError

METHODS = ("lcaba", "prox_bbo", "prox_ltl")
ITERATIONS = (1, 2, 3, 4, 6, 8, 11)
EXPONENTS = (1, 3, 5, 7, 9, 11)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--states", type=int, default=10_000)
    parser.add_argument("--plot", help="write the two figures to this file")
    arguments = parser.parse_args()
    console = Console(width=140)
    try:
        model = SYSTEMS["two hands + cube"]()
    except MissingFileError as error:
        console.print(f"skipped: no {error}")
        return
    rng = np.random.default_rng(0)
    q, v = sarrus.random_state(model, rng, arguments.states)
    states = (q, v, rng.normal(size=v.shape))

    def run(method: str, mu: float, iterations: int):
        kernel = sarrus.compile(model, method, mu=mu, tolerance=0.0, max_iterations=iterations)
        return kernel(*states)

    residual = {(m, k): np.abs(run(m, 1e5, k).residual).max(axis=1) for m in METHODS for k in ITERATIONS}
    reference = run("prox_ltl", 1e3, 60).qdd
    size = np.linalg.norm(reference, axis=1)
    error = {
        (m, e): np.linalg.norm(run(m, 10.0**e, 20).qdd - reference, axis=1) / size for m in METHODS for e in EXPONENTS
    }
    show(console, "largest residual after k iterations, mu = 1e5: median (maximum)", "k", ITERATIONS, residual)
    show(console, "relative error of qdd after 20 iterations: median (maximum)", "log10 mu", EXPONENTS, error)
    if arguments.plot:
        plot(arguments.plot, residual, error)


def show(console: Console, title: str, symbol: str, values: tuple[int, ...], data: dict) -> None:
    table = Table(title=title)
    table.add_column(symbol, justify="right")
    for m in METHODS:
        table.add_column(m, justify="right")
    for x in values:
        table.add_row(str(x), *(f"{np.median(data[m, x]):.1e} ({data[m, x].max():.1e})" for m in METHODS))
    console.print(table)


def plot(path: str, residual: dict, error: dict) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    for axis, data, values in ((axes[0], residual, ITERATIONS), (axes[1], error, EXPONENTS)):
        for m in METHODS:
            middle = np.array([np.median(data[m, x]) for x in values])
            low, high = (np.array([np.quantile(data[m, x], p) for x in values]) for p in (0.0, 1.0))
            axis.errorbar(values, middle, yerr=[middle - low, high - middle], marker="o", capsize=3, label=m)
        axis.set_yscale("log")
        axis.legend()
    axes[0].set(xlabel="iterations", title="largest residual, mu = 1e5")
    axes[1].set(xlabel="log10 mu", title="relative error of qdd")
    figure.savefig(path, dpi=120)


if __name__ == "__main__":
    main()
