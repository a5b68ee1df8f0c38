"""Figs 10 and 11 of the LCABA paper: residual per iteration, and accuracy against mu, of two hands holding a cube.

    python -m benchmarks.convergence [--states N] [--write] [--plot FILE.png]

The paper calls these contacts redundant; at random positions the rows have full rank (which is printed). Positions and
joint torques are random, velocities zero, all computed in batch. The rows then ask for no acceleration, so that the
true residual is J qdd, with J from `closure`; the `residual` of a result is the one that the iterations predict.
`--write` puts both tables into docs/loops.md, with the date.
"""

from __future__ import annotations

import argparse

import numpy as np
from rich.console import Console
from rich.table import Table

import sarrus
from benchmarks.loop_systems import SYSTEMS, MissingFileError
from benchmarks.written_figures import computed, write_figures
from sarrus.model.state import random_state

METHODS = ("lcaba", "prox_bbo", "prox_ltl")
ITERATIONS = (1, 2, 3, 4, 6, 8, 11)
EXPONENTS = (1, 3, 5, 7, 9, 11)
RESIDUAL, ERROR = "largest residual, mu = 1e5", "relative error of qdd, 20 iterations"
FLOOR = 1e-17  # of what is drawn: some errors are exactly zero


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--states", type=int, default=10_000)
    parser.add_argument("--write", action="store_true", help="put both tables into docs/loops.md")
    parser.add_argument("--plot", help="write the two figures to this file")
    arguments = parser.parse_args()
    console = Console(width=140)
    try:
        model = SYSTEMS["two hands + cube"]()
    except MissingFileError as error:
        console.print(f"skipped: no {error}")
        return
    rng = np.random.default_rng(0)
    q, v = random_state(model, rng, arguments.states)
    states = (q, np.zeros_like(v), rng.normal(size=v.shape))
    J = sarrus.compile(model, "closure")(q).jacobian
    rank = np.linalg.matrix_rank(J[:100]).max()
    console.print(f"{model.name}: {model.nv} dof, {model.n_rows} rows of rank {rank}, {arguments.states:,} states")

    def accelerations(method: str, mu: float, iterations: int) -> np.ndarray:
        kernel = sarrus.compile(model, method, mu=mu, tolerance=0.0, max_iterations=iterations)
        return kernel(*states).qdd

    residual, error = {}, {}
    for method in METHODS:
        for k in ITERATIONS:
            residual[method, k] = np.abs(np.einsum("bij,bj->bi", J, accelerations(method, 1e5, k))).max(axis=1)
    reference = accelerations("prox_ltl", 1e3, 60)
    size = np.linalg.norm(reference, axis=1)
    for method in METHODS:
        for e in EXPONENTS:
            error[method, e] = np.linalg.norm(accelerations(method, 10.0**e, 20) - reference, axis=1) / size
    show(console, RESIDUAL, "k", ITERATIONS, residual)
    show(console, ERROR, "log10 mu", EXPONENTS, error)
    if arguments.write:
        what = f"{arguments.states:,} random states of two hands holding a cube, {model.n_rows} rows of rank {rank}"
        said = f"{computed('convergence')} {what}: median (maximum)."
        first = markdown("iterations with mu = 1e5: largest residual", {str(k): k for k in ITERATIONS}, residual)
        second = markdown("mu with 20 iterations: relative error of qdd", {f"1e{e}": e for e in EXPONENTS}, error)
        write_figures("loops.md", "convergence", "\n\n".join([said, first, second]))
    if arguments.plot:
        plot(arguments.plot, residual, error)


def show(console: Console, title: str, symbol: str, values: tuple[int, ...], data: dict) -> None:
    table = Table(title=f"{title}: median (maximum)")
    table.add_column(symbol, justify="right")
    for m in METHODS:
        table.add_column(m, justify="right")
    for x in values:
        table.add_row(str(x), *(f"{np.median(data[m, x]):.1e} ({data[m, x].max():.1e})" for m in METHODS))
    console.print(table)


def markdown(title: str, values: dict[str, int], data: dict) -> str:
    lines = [f"| {title} | {' | '.join(METHODS)} |", "|---|" + "---:|" * len(METHODS)]
    for name, x in values.items():
        cells = (f"{np.median(data[m, x]):.0e} ({data[m, x].max():.0e})" for m in METHODS)
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def plot(path: str, residual: dict, error: dict) -> None:
    """As in the paper: boxes are mean and standard deviation, lines go from the least to the largest."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(13, 4), layout="constrained")
    for axis, data, values in ((axes[0], residual, ITERATIONS), (axes[1], error, EXPONENTS)):
        for shift, m in enumerate(METHODS):
            x = np.arange(len(values)) + 0.25 * (shift - 1)
            samples = [np.maximum(data[m, value], FLOOR) for value in values]
            middle = np.array([np.mean(s) for s in samples])
            low = np.maximum([np.mean(s) - np.std(s) for s in samples], [s.min() for s in samples])
            high = np.array([np.mean(s) + np.std(s) for s in samples])
            axis.vlines(x, [s.min() for s in samples], [s.max() for s in samples], color=f"C{shift}", linewidth=1)
            axis.bar(x, high - low, 0.2, bottom=low, color=f"C{shift}", alpha=0.4, label=m)
            axis.hlines(middle, x - 0.1, x + 0.1, color=f"C{shift}", linewidth=2)
        drawn = np.maximum([data[m, value] for m in METHODS for value in values], FLOOR)
        axis.set(yscale="log", ylim=(0.3 * drawn.min(), 3.0 * drawn.max()))
        axis.set_xticks(range(len(values)), [str(value) for value in values])
        axis.grid(axis="y", alpha=0.3)
        axis.legend(frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.02))  # beside the bars
    axes[0].set(xlabel="iterations [-]", ylabel=RESIDUAL, title="Residual over iterations")
    axes[1].set(xlabel="log10 mu [-]", ylabel=ERROR, title="Error over the stiffness mu")
    figure.savefig(path, dpi=120)


if __name__ == "__main__":
    main()
