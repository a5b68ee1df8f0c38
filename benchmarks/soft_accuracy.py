"""Fig. 3 of the PV paper: how the soft methods' residual and acceleration error depend on the weight.

    python -m benchmarks.soft_accuracy [--plot FILE.png]

1000 random states of Talos with both feet and hands welded; the reference is pv.
"""

from __future__ import annotations

import sys

import numpy as np
from rich.console import Console
from rich.table import Table

import sarrus
from benchmarks.command_line import parser_of
from benchmarks.pv_table2 import constrained
from benchmarks.robots import tree_of, urdf_path

STATES = 1000
WEIGHTS = [10.0**k for k in range(2, 13)]
METHODS = ("pv_soft", "ltl_soft")


def main() -> int:
    parser = parser_of(__doc__)
    parser.add_argument("--plot", metavar="FILE.png", help="draw the figure")
    given = parser.parse_args()
    console = Console()
    path = urdf_path("talos_full_v2")
    if path is None:
        console.print("skipped: example-robot-data is not installed")
        return 0
    model = constrained(tree_of(path, True), "talos_full_v2", [("F", 2, 6), ("H", 2, 6)])
    rng = np.random.default_rng(0)
    q, v = sarrus.random_state(model, rng, STATES)
    tau = rng.normal(size=v.shape)
    reference = sarrus.compile(model, "pv")(q, v, tau)
    others = {name: sarrus.compile(model, name)(q, v, tau) for name in ("pv_early", "ltl")}
    table = Table(title=f"l2 norms over {STATES} states: median (95 %)")
    for column in ("method", "weight", "constraint residual", "|qdd - qdd(pv)| / |qdd(pv)|"):
        table.add_column(column, justify="right")
    rows: list[tuple[str, float, np.ndarray, np.ndarray]] = []
    for name, result in {"pv": reference, **others}.items():
        rows.append((name, np.inf, *errors(result, reference)))
    for name in METHODS:
        for weight in WEIGHTS:
            with console.status(f"{name} {weight:.0e}"):
                result = sarrus.compile(model, name, weight=weight, cache=False)(q, v, tau)
            rows.append((name, weight, *errors(result, reference)))
    for name, weight, residual, difference in rows:
        shown = [f"{np.median(x):.1e} ({np.quantile(x, 0.95):.1e})" for x in (residual, difference)]
        table.add_row(name, "hard" if np.isinf(weight) else f"{weight:.0e}", *shown)
    console.print(table)
    if given.plot:
        plot(rows, given.plot)
    return 0


def errors(result, reference) -> tuple[np.ndarray, np.ndarray]:
    residual = np.linalg.norm(result.residual, axis=1)
    difference = np.linalg.norm(result.qdd - reference.qdd, axis=1) / np.linalg.norm(reference.qdd, axis=1)
    return residual, difference


def plot(rows: list[tuple[str, float, np.ndarray, np.ndarray]], path: str) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(12, 4), layout="constrained")
    for name, marker in (("pv_soft", "o"), ("ltl_soft", "s")):
        soft = [(w, r, d) for n, w, r, d in rows if n == name]
        weights = [w for w, _, _ in soft]
        for axis, values in zip(axes, ([r for _, r, _ in soft], [d for _, _, d in soft]), strict=True):
            middle = np.array([np.median(x) for x in values])
            low, high = (np.array([np.quantile(x, p) for x in values]) for p in (0.05, 0.95))
            axis.errorbar(weights, middle, yerr=[middle - low, high - middle], marker=marker, capsize=3, label=name)
    for name, style in (("pv", "-"), ("pv_early", "--"), ("ltl", ":")):
        residual, difference = next((r, d) for n, _, r, d in rows if n == name)
        axes[0].axhline(np.median(residual), color="0.5", linestyle=style, label=name)
        if name != "pv":
            axes[1].axhline(np.median(difference), color="0.5", linestyle=style, label=name)
    for axis, title in zip(axes, ("constraint residual", "difference of accelerations from pv"), strict=True):
        axis.set(xscale="log", yscale="log", xlabel="weight of the constraints [-]", ylabel=f"{title} [-]", title=title)
        axis.legend(frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.02))  # beside the curves
    figure.savefig(path, dpi=120)


if __name__ == "__main__":
    sys.exit(main())
