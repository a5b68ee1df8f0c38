"""Forces of fixed tendons: a length `sum_k c_k q_k` with a spring, a damper, dry friction and limits of its own.

They pull on all of the tendon's joints, tau_k = c_k f:

- spring: stiffness times the way back into the range of lengths in which it is slack (often one length)
- damping, dry friction and limits: as those of joints (`joint_forces`), for the length and its speed

The armature of a tendon is inertia between joints, which a model does not have: the importer reports it as lost.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sarrus.model.constraints import Tendon, of_type
from sarrus.model.model import Model
from sarrus.spatial.arrays import Array, Scalar
from sarrus.spatial.choice import choose


@dataclass(frozen=True)
class TendonNumbers:
    """One tendon with all numbers; zero where there is nothing. Part of a kernel's key."""

    terms: tuple[tuple[int, int, float], ...]  # element of q, element of v, coefficient
    stiffness: float
    slack: tuple[float, float]  # lengths between which the spring does not pull
    damping: float
    friction: float
    lower: float
    upper: float

    @property
    def acts(self) -> bool:
        return bool(self.stiffness or self.damping or self.friction or self.limited)

    @property
    def limited(self) -> bool:
        return bool(np.isfinite([self.lower, self.upper]).any())

    def moment(self, nv: int) -> Array:
        """(nv,) how the length changes with v."""
        out = np.zeros(nv)
        for _, at, coefficient in self.terms:
            out[at] += coefficient
        return out

    def length(self, q: Array) -> Any:
        """(...,) for q (..., nq), or a scalar of symbols."""
        return sum((coefficient * q[..., at] for at, _, coefficient in self.terms), 0.0)

    def stretch(self, length: Scalar) -> Scalar:
        """How far the length is out of where the spring is slack; negative: too short."""
        low, high = self.slack
        if low == high:
            return length - low
        return choose(length, low, length - low, choose(high, length, length - high, 0.0))


def tendons_of(model: Model) -> tuple[TendonNumbers, ...]:
    """Those that have forces of their own."""
    found = (_numbers(model, tendon) for tendon in of_type(model.constraints, Tendon))
    return tuple(numbers for numbers in found if numbers.acts)


def _numbers(model: Model, tendon: Tendon) -> TendonNumbers:
    has = dict(tendon.properties)
    terms = []
    for name, coefficient in tendon.coefficients:
        joint = model.joint_index(name)
        terms.append((model.layout.q[joint].start, model.layout.v[joint].start, float(coefficient)))
    low, high = has.get("range", (-np.inf, np.inf)) if has.get("limited") else (-np.inf, np.inf)
    slack = tuple(float(x) for x in np.broadcast_to(has.get("lengthspring", 0.0), 2))
    return TendonNumbers(
        tuple(terms), float(has.get("stiffness", 0.0)), (slack[0], slack[1]), float(has.get("damping", 0.0)),
        float(has.get("frictionloss", 0.0)), float(low), float(high),
    )  # fmt: skip


def elastic_energy(model: Model, q: Array) -> Array:
    """(...,) joules in the springs of tendons, at q (..., nq)."""
    total = np.zeros(q.shape[:-1])
    for tendon in tendons_of(model):
        length = np.asarray(tendon.length(q))
        out = length - np.clip(length, *tendon.slack)
        total += 0.5 * tendon.stiffness * out * out
    return total
