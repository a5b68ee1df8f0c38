"""What a diagnosis says: numbers, and the words for them."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from sarrus.errors import listed
from sarrus.spatial.arrays import Array

ASSEMBLED = 1e-7  # metres or radians: what files with seven digits leave open


@dataclass(frozen=True)
class ConstraintDiagnosis:
    """One constraint among the others."""

    name: str
    kind: str
    between: str  # bodies, or joints
    rows: int
    rank: int  # of its rows alone
    redundant: int  # rows that depend on constraints declared before it, or on its own others
    error: float  # metres or radians: how far from closed, at the configuration that was given
    conflict: float  # acceleration that no motion gives; 0: none


@dataclass(frozen=True)
class Diagnosis:
    """The result of `diagnose`. `str()` describes it in words.

    >>> found = sarrus.diagnose(sarrus.zoo.four_bar())
    >>> found.rows, found.rank, found.mobility
    (5, 2, 1)
    """

    model: str
    q: Array  # (nq,) where rank and all that follows were determined
    assembled: bool  # whether every loop is closed there
    projected: bool  # whether it is another configuration than the one that was given
    moved: float  # the largest change of a joint, in radians or metres
    error: float  # closure error at the configuration that was given
    remaining: float  # ... and at q
    outside_limits: tuple[str, ...]  # joints that are outside their limits at q
    constraints: tuple[ConstraintDiagnosis, ...]  # what was found of each
    nv: int  # velocities
    rows: int  # of the active constraints
    rank: int  # how many of them are independent at q
    generic_rank: int  # at a configuration near by
    gap: float  # smallest singular value that counts over the largest that does not; inf: none is left out
    singular_values: Array  # of the rows, scaled to unit length in the kinetic metric
    mobility: int  # velocities that are left free: nv - rank
    condition: float  # of J M^-1 J^T, on its range
    suggested_mu: float  # penalty (LCABA's convention: large is stiff) that gains two digits per iteration
    groups: tuple[tuple[str, ...], ...]  # constraints that share a redundancy

    @property
    def redundant(self) -> dict[str, int]:
        """Redundant rows by constraint: they can be dropped without losing rank."""
        return {c.name: c.redundant for c in self.constraints if c.redundant}

    @property
    def in_conflict(self) -> dict[str, float]:
        """Accelerations that contradict other constraints, by constraint."""
        return {c.name: c.conflict for c in self.constraints if c.conflict > 0.0}

    @property
    def is_singular(self) -> bool:
        """Whether rows are dependent here that are not elsewhere."""
        return self.rank < self.generic_rank

    @property
    def ok(self) -> bool:
        """Whether loops close and nothing contradicts; redundancy is no fault."""
        return self.assembled and not self.in_conflict

    def as_dict(self) -> dict[str, Any]:
        """Plain numbers, lists and strings, for JSON (no infinities: None)."""
        found = asdict(self) | {"redundant": self.redundant, "in_conflict": self.in_conflict, "ok": self.ok}
        found |= {"singular": self.is_singular, "q": self.q.tolist(), "singular_values": self.singular_values.tolist()}
        return {key: None if isinstance(x, float) and not np.isfinite(x) else x for key, x in found.items()}

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def lines(self) -> list[str]:
        """The diagnosis in words."""
        if not self.constraints:
            return [f"{self.model}: no constraints; mobility {self.nv}"]
        said = [
            f"{self.model}: {_counted(len(self.constraints), 'constraint')}, {_counted(self.rows, 'row')}, "
            f"rank {self.rank}, mobility {self.mobility} (nv {self.nv})"
        ]
        said.append(self._closure_in_words())
        if self.outside_limits:
            said.append(f"joints outside their limits there: {listed(self.outside_limits, most=8)}")
        if self.rows == self.rank:
            said.append("rank: full, no row is redundant")
        else:
            dropped = ", ".join(
                f"{c.redundant} of {c.rows} of {c.name} ({c.between})" for c in self.constraints if c.redundant
            )
            said.append(
                f"redundant: {_counted(self.rows - self.rank, 'row')} can be dropped without losing rank: {dropped}"
            )
            for group in self.groups:
                whose = "by itself: its" if len(group) == 1 else "together: their"
                said.append(f"  {', '.join(group)}: {whose} rows depend on each other")
        if np.isfinite(self.gap):
            said.append(f"gap: the singular values that count are at least {self.gap:.1e} times those that do not")
        if self.is_singular:
            said.append(f"singular configuration: rank {self.rank} here, {self.generic_rank} near by")
        for name, size in self.in_conflict.items():
            said.append(
                f"conflict: {name} asks for an acceleration that the others forbid (off by {size:.3g}): "
                f"least squares at best"
            )
        said.append(
            f"conditioning: {self.condition:.3g} (of J M^-1 J^T, on its range); suggested mu: {self.suggested_mu:.2g}"
        )
        return said

    def _closure_in_words(self) -> str:
        if self.error <= ASSEMBLED:
            return f"closure: assembled, error {self.error:.1e}"
        worst = max(self.constraints, key=lambda c: c.error)
        given = f"closure: the given configuration is not assembled, error {self.error:.3g} ({worst.name})"
        if self.assembled:
            return (
                f"{given}; an assembled configuration was found by projection, joints moved by up to {self.moved:.3g}"
            )
        return f"{given}; projection found none near by, error {self.remaining:.3g} remains"


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
