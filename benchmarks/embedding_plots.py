"""The constraint embedding paper's figures from what `embedding_counts` and `rotor_accuracy` found."""

from __future__ import annotations

from pathlib import Path
from typing import Any

_STYLE = {
    "ce_aba": ("C3", "o"), "lcaba": ("C0", "s"), "prox_bbo": ("C2", "^"), "prox_ltl": ("C7", "x"),
}  # fmt: skip
_LINES = ("-", "--", ":", "-.")


def plot_counts(result: dict[str, Any], file: Path) -> None:
    """Figs. 8, 10 and 12, one above the other."""
    plt = _pyplot()
    figure, axes = plt.subplots(3, 3, figsize=(17.0, 11.0), layout="constrained")
    kinds = list(dict.fromkeys(s["kind"] for s in result["fig8"]))
    for axis, kind in zip(axes[0], kinds, strict=True):
        series = [s for s in result["fig8"] if s["kind"] == kind]
        for line, s in zip(_LINES, series, strict=False):
            for method in ("ce_aba", "lcaba", "prox_ltl"):
                color, marker = _STYLE[method]
                label = f"{method}, branches: {s['branches']}"
                axis.loglog(s["depths"], s["counts"][method], line, color=color, marker=marker, ms=4, label=label)
        _finish(axis, f"Fig. 8: {kind}", "depth of the tree")
    for axis, tie in zip(axes[1], dict.fromkeys(s["tie"] for s in result["fig10"]), strict=False):
        for line, s in zip(_LINES, [s for s in result["fig10"] if s["tie"] == tie], strict=False):
            for method, (color, marker) in _STYLE.items():
                label = f"{method}" if line == "-" else None
                axis.loglog(s["d_l"], s["counts"][method], line, color=color, marker=marker, ms=4, label=label)
        depths = ", ".join(str(s["d_t"]) for s in result["fig10"] if s["tie"] == tie)
        _finish(axis, f"Fig. 10: {tie}, d_t = {depths}", "depth of the loop d_l")
    axes[1][2].axis("off")
    _bars(
        axes[2][0], [(r["robot"], r["counts"]) for r in result["fig12"]], ("ce_aba", "approximate", "bare"), "Fig. 12"
    )
    _bars(axes[2][1], [(r["robot"], r["counts"]) for r in result["fig12"]], ("ce_aba", "lcaba", "prox_ltl"), "Exact")
    hybrids = [(r["robot"], r["counts"]) for r in result["hybrids"]]
    _bars(axes[2][2], hybrids, ("embedded + lcaba", "lcaba", "prox_ltl"), "Hybrids")
    figure.savefig(file, dpi=110)


def plot_torques(result: dict[str, Any], file: Path) -> None:
    """Fig. 13."""
    plt = _pyplot()
    figure, axes = plt.subplots(1, 2, figsize=(13.0, 3.8), layout="constrained")
    for axis, joint in zip(axes, result["joints"], strict=False):
        for name, line in zip(("exact", "approximate", "unconstrained"), ("-", "--", ":"), strict=True):
            axis.plot(result["time"], result["torques"][joint][name], line, label=name)
        axis.set_title(f"Fig. 13: {joint} torque", fontsize=9)
        axis.set_xlabel("time [s]")
        axis.set_ylabel("torque [Nm]")
        axis.grid(alpha=0.3)
        _legend(axis)
    figure.savefig(file, dpi=110)


def _bars(axis: Any, rows: list[tuple[str, dict[str, int]]], methods: tuple[str, ...], title: str) -> None:
    width = 0.8 / len(methods)
    for k, method in enumerate(methods):
        axis.bar([i + k * width for i in range(len(rows))], [n[method] for _, n in rows], width, label=method)
    axis.set_xticks([i + 0.4 - 0.5 * width for i in range(len(rows))], [name.replace(",", ",\n") for name, _ in rows])
    axis.tick_params(axis="x", labelsize=6)
    axis.set_title(title, fontsize=9)
    axis.set_ylabel("operations")
    _legend(axis)


def _finish(axis: Any, title: str, label: str) -> None:
    axis.set_title(title, fontsize=9)
    axis.set_xlabel(label)
    axis.set_ylabel("operations")
    axis.grid(alpha=0.3)
    _legend(axis)


def _legend(axis: Any) -> None:
    """Beside the curves."""
    axis.legend(fontsize=7, frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.02))


def _pyplot() -> Any:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    return plt
