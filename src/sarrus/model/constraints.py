"""Constraints as declared. They are data: what they do to the dynamics is computed elsewhere.

Rows and forces are always in the order in which constraints were declared.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, eq=False)
class Constraint:
    """Something that holds between parts of a model; `name` is unique, `source` says which tag it came from."""

    name: str
    source: str = field(default="", kw_only=True)
    active: bool = field(default=True, kw_only=True)


@dataclass(frozen=True, eq=False)
class LoopClosure(Constraint):
    """Two frames that a joint of type `joint` connects: it closes a loop of the tree.

    `joint` is "weld", "connect" (a ball joint) or a joint type's name; `axis` is in frame_a.
    """

    frame_a: str
    frame_b: str
    joint: str
    axis: tuple[float, float, float] | None = None


@dataclass(frozen=True, eq=False)
class Coupling(Constraint):
    """A polynomial relation between joint coordinates: sum of coefficients * q = polynomial(q of `driver`).

    Linear gears, belts and differentials: `sum_k ratio_k q_k = offset`. For MJCF's `equality/joint` and URDF's `mimic`,
    `q_joint = polycoef[0] + polycoef[1] q_driver + ...` (all relative to their reference positions).
    """

    ratios: tuple[tuple[str, float], ...]  # (joint name, coefficient): sum = polynomial(driver)
    driver: str | None = None
    polynomial: tuple[float, ...] = (0.0,)
    references: tuple[tuple[str, float], ...] = ()  # positions that q is measured from; 0 where not named


@dataclass(frozen=True, eq=False)
class Distance(Constraint):
    """Two frames whose origins keep a distance."""

    frame_a: str
    frame_b: str
    length: float


@dataclass(frozen=True, eq=False)
class Tendon(Constraint):
    """A fixed tendon: a length `sum_k coefficient_k q_k`, which actuators, springs and limits act on.

    It constrains nothing by itself; an equality on it is a `Coupling`.
    """

    coefficients: tuple[tuple[str, float], ...]
    properties: tuple[tuple[str, Any], ...] = ()
