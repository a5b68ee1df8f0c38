"""What a row of the report is: a table or figure of a paper, what we measured, and whether that agrees."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from io import StringIO
from typing import Any, NamedTuple

from rich.console import Console

PAPERS = {
    "A": "Sathya et al. 2024, Efficient Constrained Dynamics Algorithms based on an Equivalent LQR Formulation using "
    "Gauss' Principle of Least Constraint",
    "B": "Sathya and Carpentier 2025, Constrained Articulated Body Algorithms for Closed-Loop Mechanisms",
    "C": "Chignoli et al. 2025, A Propagation Perspective on Recursive Forward Dynamics for Systems with Kinematic "
    "Loops",
    "D": "Carpentier, Budhiraja and Mansard 2021, Proximal and Sparse Resolution of Constrained Dynamic Equations",
    "E": "Sathya et al. 2025, PV-OSIMr: A Lowest Order Complexity Algorithm for Computing the Delassus Matrix",
}
Tell = Callable[[str], None]


class Verdict(NamedTuple):
    """A claim of the paper, what we found, and whether that agrees (None: not measured, and why)."""

    claim: str
    ours: str
    agrees: bool | None
    reason: str = ""


class Table(NamedTuple):
    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]


class Panel(NamedTuple):
    """Curves or bars. Bars: x are words."""

    title: str
    x_label: str
    y_label: str
    curves: dict[str, tuple[Sequence[Any], Sequence[float]]]
    logarithmic: bool = True


@dataclass(frozen=True)
class Item:
    """One table or figure. `measure` gives what JSON can hold; the others read that."""

    key: str  # "A.table2"
    name: str  # "Table II"
    where: str  # section of the paper
    theirs: str
    measure: Callable[[bool, Tell], dict[str, Any]]  # (quick, tell)
    verdicts: Callable[[dict[str, Any]], list[Verdict]]
    tables: Callable[[dict[str, Any]], list[Table]] = field(default=lambda result: [])
    panels: Callable[[dict[str, Any]], list[Panel]] = field(default=lambda result: [])

    @property
    def paper(self) -> str:
        return self.key[0]


def silent() -> Console:
    """Of scripts that print their own tables."""
    return Console(file=StringIO(), width=160)


def exponent(sizes: Sequence[int], counts: Sequence[float]) -> float:
    """Of the larger half."""
    import numpy as np

    half = max(0, min(len(sizes) // 2, len(sizes) - 2))
    return float(np.polyfit(np.log(sizes[half:]), np.log(counts[half:]), 1)[0])


def slopes(sizes: Sequence[int], counts: Sequence[float]) -> str:
    """From each size to the next, in words: where they tend."""
    import numpy as np

    return ", ".join(f"{x:.2f}" for x in np.diff(np.log(counts)) / np.diff(np.log(sizes)))


def missing(names: Sequence[str]) -> list[Verdict]:
    """A line for robots whose files are not here."""
    if not names:
        return []
    return [Verdict("all of the paper's robots", ", ".join(names), None, "their files are not on this machine")]
