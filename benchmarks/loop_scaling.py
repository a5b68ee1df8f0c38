"""How the methods for loops scale: Figs. 6 to 9 of the LCABA paper, as exact operation counts of the first iteration.

    python -m benchmarks.loop_scaling [--json FILE] [--plot FILE]

Every mechanism is validated first, at its smallest size: all methods agree on the accelerations to a relative 1e-6.
Exponents are fitted to the larger half of the sizes. The last table says whether the paper's findings are reproduced.

The paper says of Fig. 9 that the branches of one link have their tips "connected with each other", and that LCABA has
never more than one neighbour to eliminate. Two mechanisms are like that. Tips in pairs: the loops share no joint, so
that the matrix L of the multipliers, which proxBBO eliminates at the hub, is block diagonal. A numerical library that
factors it as one dense matrix needs a time that grows with its cube ("dense L" below, counted with the zeros of L
unknown); tracing sees its zeros, and proxBBO is linear. Tips all welded to one: every loop shares that branch, L is
full, and proxBBO is superlinear.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table

import sarrus
from benchmarks import unseen_zeros
from sarrus import zoo
from sarrus.model.model import Model

METHODS = ("lcaba", "prox_bbo", "prox_ltl")
LINEAR, SUPERLINEAR = 1.1, 1.3
TOLERANCE = 1e-6


class Series(NamedTuple):
    key: str
    title: str
    make: Callable[[int], Model]
    sizes: tuple[int, ...]


SERIES = (
    Series("cycle", "A cycle of n links (Fig. 6)", zoo.cycle, (8, 16, 32, 48, 64)),
    Series("chain_of_loops", "A chain of m loops of seven links (Fig. 7)", zoo.chain_of_loops, (1, 2, 4, 8, 12)),
    Series("coupled_loops", "m loops, all coupled with each other (Fig. 8)", zoo.coupled_loops, (1, 2, 4, 6, 8)),
    Series("star_pairs", "2 m branches of a hub, tips welded in pairs (Fig. 9)", zoo.star_pairs, (2, 4, 8, 12, 16)),
    Series("star_to_one", "m branches of a hub, tips all welded to one (Fig. 9)", zoo.star_to_one, (2, 4, 8, 12, 16)),
)


def validate(model: Model) -> None:
    """All methods give the same accelerations where the loops are closed; else nothing is counted."""
    rng = np.random.default_rng(0)
    q, v, tau = sarrus.neutral(model), np.zeros(model.nv), rng.normal(size=model.nv)
    found = {m: sarrus.forward_dynamics(model, q, v, tau, method=m).qdd for m in METHODS}
    expected = found["prox_ltl"]
    for method, qdd in found.items():
        error = np.abs(qdd - expected).max() / (1.0 + np.abs(expected).max())
        if not error < TOLERANCE:
            raise SystemExit(f"{method} on {model.name} is off by a relative {error:.1e}: not counted")


def scaling(console: Console, series: Series) -> dict[str, Any]:
    """Count one figure's series, show the table, return counts and exponents."""
    table = Table(title=series.title, title_justify="left")
    for column in ("size", "dof", "rows", *METHODS, "prox_ltl / lcaba"):
        table.add_column(column, justify="right")
    validate(series.make(series.sizes[0]))
    counts: dict[str, list[int]] = {m: [] for m in METHODS}
    for size in series.sizes:
        model = series.make(size)
        for method in METHODS:
            counts[method].append(sarrus.op_count(model, method, mu=1e6, max_iterations=1).total)
        n = [counts[method][-1] for method in METHODS]
        table.add_row(str(size), str(model.nv), str(model.n_rows), *(f"{x:,}" for x in n), f"{n[2] / n[0]:.2f}")
    half = len(series.sizes) // 2
    exponents = {m: _slope(series.sizes[half:], n[half:]) for m, n in counts.items()}
    table.add_section()
    table.add_row("exponent", "", "", *(f"{x:.2f}" for x in exponents.values()))
    console.print(table)
    return {"sizes": series.sizes, "counts": counts, "exponents": exponents}


def _slope(sizes: tuple[int, ...], counts: list[int]) -> float:
    return float(np.polyfit(np.log(sizes), np.log(counts), 1)[0])


def with_dense_L(series: Series, sizes: tuple[int, ...]) -> list[int]:
    """Operations of prox_bbo if it did not see the zeros of L: the same source, with these zeros unknown."""
    return [unseen_zeros.operations(series.make(n), "prox_bbo", unseen_zeros.dense_factor) for n in sizes]


def findings(result: dict[str, Any]) -> list[tuple[str, bool, str]]:
    """(what the paper says, whether it holds here, exponents)."""
    out: list[tuple[str, bool, str]] = []

    def add(claim: str, key: str, methods: tuple[str, ...], holds: Callable[[float], bool]) -> None:
        e = {m: result[key]["exponents"][m] for m in methods}
        out.append((claim, all(holds(x) for x in e.values()), ", ".join(f"{m} {x:.2f}" for m, x in e.items())))

    recursive = ("lcaba", "prox_bbo")
    linear, superlinear = (lambda x: x <= LINEAR), (lambda x: x >= SUPERLINEAR)
    add("cycle: linear for lcaba and prox_bbo", "cycle", recursive, linear)
    add("cycle: superlinear for prox_ltl", "cycle", ("prox_ltl",), superlinear)
    add("chain of loops: linear for lcaba and prox_bbo", "chain_of_loops", recursive, linear)
    add("chain of loops: superlinear for prox_ltl", "chain_of_loops", ("prox_ltl",), superlinear)
    add("coupled loops: superlinear for all", "coupled_loops", METHODS, superlinear)
    add("star, tips in pairs: linear for lcaba", "star_pairs", ("lcaba",), linear)
    add(
        "star, tips in pairs: superlinear for prox_bbo (no: the zeros of L fold)",
        "star_pairs",
        ("prox_bbo",),
        superlinear,
    )
    pairs = SERIES[3].sizes
    e = _slope(pairs[len(pairs) // 2 :], result["star_pairs"]["dense"][len(pairs) // 2 :])
    claim = "star, tips in pairs: superlinear for prox_bbo with a dense L at the hub, as numerical libraries factor it"
    out.append((claim, superlinear(e), f"prox_bbo, dense L {e:.2f}"))
    add("star, tips to one: linear for lcaba", "star_to_one", ("lcaba",), linear)
    add("star, tips to one: superlinear for prox_bbo", "star_to_one", ("prox_bbo",), superlinear)
    return out


def plot(result: dict[str, Any], file: Path) -> None:
    """The paper's figures, with operations in place of microseconds."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, len(SERIES), figsize=(3.6 * len(SERIES), 4.4), layout="constrained")
    for axis, series in zip(axes, SERIES, strict=True):
        for method, marker in zip(METHODS, ("o", "x", "s"), strict=True):
            found = result[series.key]
            label = f"{method}, exponent {found['exponents'][method]:.2f}"
            axis.loglog(series.sizes, found["counts"][method], marker=marker, markersize=5, label=label)
        axis.set_title(series.title.replace(", ", ",\n", 1), fontsize=9)
        axis.set_xlabel("size [-]")
        axis.set_xticks(series.sizes, [str(size) for size in series.sizes])
        axis.minorticks_off()
        axis.grid(alpha=0.3)
        axis.legend(fontsize=7, frameon=False, loc="upper center", bbox_to_anchor=(0.5, -0.18))  # below the curves
    axes[0].set_ylabel("operations, first iteration")
    figure.savefig(file, dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--json", type=Path, help="write all numbers to this file")
    parser.add_argument("--plot", type=Path, help="draw the figures to this file")
    arguments = parser.parse_args()
    console = Console(width=150)
    start = time.perf_counter()
    result: dict[str, Any] = {series.key: scaling(console, series) for series in SERIES}
    result["star_pairs"]["dense"] = with_dense_L(SERIES[3], SERIES[3].sizes)
    table = Table(title="The paper's findings", title_justify="left", show_lines=True)
    for column in ("finding", "here", "exponents"):
        table.add_column(column)
    result["findings"] = findings(result)
    for claim, holds, numbers in result["findings"]:
        table.add_row(claim, "[green]PASS[/green]" if holds else "[red]FAIL[/red]", numbers)
    console.print(table)
    console.print(f"{time.perf_counter() - start:.0f} s. Counts are exact.")
    if arguments.json:
        arguments.json.write_text(json.dumps(result, indent=1))
    if arguments.plot:
        plot(result, arguments.plot)


if __name__ == "__main__":
    main()
