"""Counts of outcomes by method and class of states, and the worst offenders, as lines of JSON and as a table."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from rich.table import Table

COUNTS = ("tried", "right", "told", "needless", "stopped", "nan", "wrong", "texts", "undecided", "differ")
BAD = ("nan", "wrong", "differ")  # with what was raised, what must not be
OUTCOMES = ("WRONG", "RAISED", "DIFFER", "NAN")
OF_OUTCOME = {"WRONG": "wrong", "NAN": "nan", "DIFFER": "differ"}
HEADS = {
    "needless": "told, but easy", "stopped": "max_iterations", "nan": "NaN, ok",
    "undecided": "status by rounding", "differ": "text != kernel",
}  # fmt: skip


@dataclass
class Unit:
    """What one method did on one mechanism."""

    family: str
    seed: int
    method: str  # with its options
    per_class: int = 0  # states of each class: they depend on how many there are
    counts: dict[str, dict[str, int]] = field(default_factory=dict)  # by class of states
    offenders: list[dict[str, Any]] = field(
        default_factory=list
    )  # {"states", "index", "outcome", "first": of its kind}
    raised: str = ""  # an exception that is none of the library's own
    refused: str = ""  # one that is
    seconds: float = 0.0

    @property
    def key(self) -> tuple[str, int, str]:
        return self.family, self.seed, self.method


@dataclass
class Tally:
    """All units of a run."""

    units: list[Unit] = field(default_factory=list)

    def by(self, *, method: bool = True, states: bool = False, family: bool = False) -> dict[tuple[str, ...], Counter]:
        """Sums by any of method, class of states and family."""
        found: dict[tuple[str, ...], Counter] = defaultdict(Counter)
        for unit in self.units:
            for kind, counts in unit.counts.items():
                key = (
                    *([unit.method] if method else []),
                    *([unit.family] if family else []),
                    *([kind] if states else []),
                )
                found[key].update(counts)
        return dict(found)

    @property
    def total(self) -> Counter:
        return sum(self.by(method=False).values(), Counter())

    @property
    def raised(self) -> list[Unit]:
        return [unit for unit in self.units if unit.raised]

    @property
    def bad(self) -> int:
        """How often something happened that must not."""
        return sum(self.total[name] for name in BAD) + len(self.raised)

    def table(self, title: str, sums: dict[tuple[str, ...], Counter]) -> Table:
        width = max((len(key) for key in sums), default=1)
        table = Table(title=title)
        for _ in range(width):
            table.add_column()
        for name in COUNTS:
            table.add_column(HEADS.get(name, name), justify="right", style="bold" if name in BAD else "")
        for key, counts in sorted(sums.items()):
            marked = [f"[red]{counts[n]:,}[/]" if n in BAD and counts[n] else f"{counts[n]:,}" for n in COUNTS]
            table.add_row(*key, *marked)
        return table

    def worst(self, most: int = 40) -> list[str]:
        """What went wrong, by outcome, family and class of states: how often by which method, and one to reproduce."""
        sums: dict[tuple[str, str, str], Counter] = defaultdict(Counter)
        first: dict[tuple[str, str, str], str] = {}
        for unit in self.units:
            for x in unit.offenders:
                key = (x["outcome"], unit.family, x["states"])
                sums[key][unit.method] += unit.counts[x["states"]][OF_OUTCOME[x["outcome"]]] if x["first"] else 0
                first.setdefault(key, reproduction(unit, x["states"], x["index"]))
            if unit.raised:
                key = ("RAISED", unit.family, unit.raised)
                sums[key][unit.method] += 1
                first.setdefault(key, reproduction(unit))
        order = sorted(sums, key=lambda key: (OUTCOMES.index(key[0]), -sum(sums[key].values())))
        lines = []
        for key in order[:most]:
            by_method = ", ".join(f"{name} {n:,}" for name, n in sums[key].most_common())
            lines.append(f"{key[0]}  {key[1]}; {key[2]}: {by_method}\n    {first[key]}")
        return lines + ([f"... and {len(order) - most} kinds more"] if len(order) > most else [])


def reproduction(unit: Unit, states: str = "", index: int = 0) -> str:
    at = f" --class '{states}' --index {index} --per-class {unit.per_class}" if states else ""
    return f"--reproduce '{unit.family}' {unit.seed} '{unit.method}'{at}"


def append(path: Path, units: Iterable[Unit]) -> None:
    with path.open("a") as file:
        for unit in units:
            file.write(json.dumps(asdict(unit)) + "\n")


def read(path: Path) -> list[Unit]:
    """Units of a run that was stopped; a last line that is not whole is left out."""
    units = []
    for line in path.read_text().splitlines() if path.exists() else []:
        try:
            units.append(Unit(**json.loads(line)))
        except (json.JSONDecodeError, TypeError):
            continue
    return units
