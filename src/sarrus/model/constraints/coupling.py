"""Sums of joint coordinates: relations between them (gears, belts, differentials, mimics), and tendons."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sarrus.errors import ModelError
from sarrus.model.answer import answer
from sarrus.model.constraints.arguments import checked_time
from sarrus.model.constraints.constraint import JOINT, REFERENCE, Constraint, Kind, Terms
from sarrus.spatial.arrays import as_field
from sarrus.spatial.parameter import Parameter


@dataclass(frozen=True, eq=False)
class Coupling(Constraint):
    """A polynomial relation between joint coordinates: sum of coefficients * q = polynomial(q of `driver`).

    Linear gears, belts and differentials: `sum_k ratio_k q_k = offset`. For MJCF's `equality/joint` and URDF's `mimic`,
    `q_joint = polycoef[0] + polycoef[1] q_driver + ...` (all relative to their reference positions).

    ratios      coefficients by joint name: their sum is polynomial(driver)
    driver      the joint whose position is the argument of the polynomial; None: there is none
    polynomial  coefficients of 1, x, x^2, ...
    references  positions that q is measured from, by joint name: rad, m; 0 where not named

    >>> sarrus.coupling({"rotor": 1.0, "link": -6.0}).size
    1
    """

    ratios: Terms = field(metadata=JOINT)
    driver: str | None = field(default=None, metadata=JOINT)
    polynomial: tuple[float, ...] = (0.0,)
    references: Terms = field(default=(), metadata=REFERENCE)
    kind = Kind.COUPLING

    @answer
    def size(self) -> int:
        return 1

    @property
    def is_linear(self) -> bool:
        """Whether its row is the same at every configuration."""
        return not any(self.polynomial[2:])

    def in_words(self) -> tuple[str, str]:
        terms = _in_words(self.ratios)
        if self.driver is None:
            return "coupling", f"{terms} = {_in_short(self.polynomial[0]).removeprefix('+')}"
        polynomial = " ".join(f"{_in_short(c)} x^{k}" for k, c in enumerate(self.polynomial) if c)
        return "coupling", f"{terms} = {polynomial or '0'}, x = {self.driver}"


@dataclass(frozen=True, eq=False)
class Tendon(Constraint):
    """A fixed tendon: a length `sum_k coefficient_k q_k`, on which actuators, springs and limits act.

    It constrains nothing by itself; an equality on it is a `Coupling`.

    coefficients  by joint name: metres per coordinate
    properties    what a file says of it, by name: springs, damping, limits

    >>> sarrus.Tendon("t", (("finger", 1.0), ("thumb", 0.5))).coefficients
    (('finger', 1.0), ('thumb', 0.5))
    """

    coefficients: Terms = field(metadata=JOINT)
    properties: tuple[tuple[str, Any], ...] = ()
    kind = Kind.TENDON

    @answer
    def size(self) -> int:
        return 0

    def in_words(self) -> tuple[str, str]:
        return "tendon", _in_words(self.coefficients)


def coupling(ratios: Mapping[str, float], driver: str | None = None, polynomial: Any = (0.0,), *,
             references: Mapping[str, float] | None = None, name: str | None = None,
             stabilization: float | None = None) -> Coupling:  # fmt: skip
    """A relation between joint coordinates, 1 row: sum of ratio * q = polynomial(q of the driver).

    A gear 1:6 is `coupling({"rotor": 1.0, "link": -6.0})`; a mimic is
    `coupling({"b": 1.0}, driver="a", polynomial=(offset, ratio))`.

    ratios         coefficient by joint name; symbols are parameters of the model, here and in the polynomial
    polynomial     coefficients of 1, x, x^2, ...; without a driver, only the constant
    references     positions from which coordinates are measured; 0 if not given
    driver         the joint whose position is the argument of the polynomial; None: there is none
    name           unique in the model; default: generated
    stabilization  time constant of Baumgarte stabilization in seconds (None: off)
    returns        a `Coupling`, for `model.with_constraints`
    errors         `ModelError`: no joint, numbers that are not finite, every ratio zero

    >>> sarrus.coupling({"b": 1.0}, driver="a", polynomial=(0.1, 2.0)).driver
    'a'
    """
    joined = "_".join(ratios)
    if not ratios:
        raise ModelError("coupling: at least one joint is needed")
    terms, measured_from = _terms(ratios), _terms(references or {})
    if all(x == 0.0 for _, x in terms):
        raise ModelError(f"coupling of {', '.join(map(repr, ratios))}: every ratio is zero")
    coefficients = tuple(_numbers(polynomial))
    if not coefficients or not _are_finite(coefficients):
        raise ModelError(
            f"coupling of {joined!r}: the polynomial is {polynomial!r}: expected finite coefficients of 1, x, x^2, ..."
        )
    if driver is None and any(x != 0.0 for x in coefficients[1:]):
        raise ModelError(
            f"coupling of {joined!r}: a polynomial of degree {len(coefficients) - 1} needs a `driver` joint"
        )
    return Coupling(
        name or f"coupling_{joined}", terms, driver, coefficients, measured_from,
        stabilization=checked_time(stabilization, joined),
    )  # fmt: skip


def _terms(numbers: Mapping[str, float]) -> Terms:
    terms = []
    for joint, given in numbers.items():
        (x,) = found if len(found := _numbers(given)) == 1 else (np.nan,)
        if not _are_finite((x,)):
            raise ModelError(f"coupling of {joint!r}: the number is {given!r}: it must be finite")
        terms.append((joint, x))
    return tuple(terms)


def _numbers(given: Any) -> list[Any]:
    """Numbers and symbols, one or several."""
    return as_field(given, (-1,)).tolist()


def _are_finite(numbers: Sequence[Any]) -> bool:
    """Symbols may be anything."""
    return all(isinstance(x, Parameter) or np.isfinite(x) for x in numbers)


def _in_words(terms: Terms) -> str:
    return " ".join(f"{_in_short(number)} {joint}" for joint, number in terms)


def _in_short(number: Any) -> str:
    return f"+ ({number.expression})" if isinstance(number, Parameter) else f"{number:+.4g}"
