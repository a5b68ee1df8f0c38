"""A model with numbers in the place of its symbols."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any

import numpy as np

from sarrus.errors import ModelError, unknown_name
from sarrus.model.model import Model
from sarrus.spatial.parameter import Parameter

_WITH_SYMBOLS = ("bodies", "frames", "constraints", "geometries")  # fields of a model


def with_values(model: Model, values: Mapping[str, float]) -> Model:
    """The same robot with a number for every symbol, by its name: the same model each time.

    errors  `UnknownNameError`: no symbol is called that; `ModelError`: one is missing, or its value is no finite number
    """
    if not isinstance(values, Mapping):
        raise ModelError(f"parameters is {values!r}: expected numbers by name, such as {{'mass': 1.0}}")
    known: dict[tuple, Model] = model.remembered.setdefault(with_values, {})
    key = tuple(sorted(values.items()))
    if key not in known:
        import casadi as ca

        symbols: dict[str, Any] = {}
        of_fields(model, lambda x: symbols.update({s.name(): s for s in ca.symvar(x.expression)}) or x)
        for name in values:
            if name not in symbols:
                raise unknown_name("parameter", name, tuple(symbols))
        for name in symbols:
            if name not in values or not np.isfinite(values[name]):
                raise ModelError(f"parameter {name!r} needs a finite number, got {values.get(name, 'not given')!r}")
        names, numbers = [symbols[name] for name in symbols], [float(values[name]) for name in symbols]

        def number(x: Parameter) -> float:
            return float(ca.Function("value", names, [x.expression])(*numbers))

        known[key] = replace(model, **of_fields(model, number))
    return known[key]


def with_typical_values(model: Model, values: Mapping[str, float]) -> Model:
    """The model with these as typical values of its symbols, if it has none: the same model each time."""
    if model.typical or model.is_numeric:
        return model
    known: dict[tuple, Model] = model.remembered.setdefault(with_typical_values, {})
    typical = tuple((name, float(x)) for name, x in values.items())
    return known.setdefault(typical, replace(model, typical=typical))


def typical_values(model: Model) -> Model | None:
    """The model at typical values of its symbols; None: none are known."""
    import casadi as ca

    if not model.typical:
        return None
    there: set[str] = set()
    of_fields(model, lambda x: there.update(s.name() for s in ca.symvar(x.expression)) or x)
    return with_values(model, {name: x for name, x in model.typical if name in there})


def of_fields(model: Model, change: Callable[[Parameter], Any]) -> dict[str, Any]:
    """The fields of a model that may have symbols, with every symbol changed."""
    return {name: _changed(getattr(model, name), change) for name in _WITH_SYMBOLS}


def _changed(value: Any, change: Callable[[Parameter], Any]) -> Any:
    if isinstance(value, Parameter):
        return change(value)
    if isinstance(value, np.ndarray) and value.dtype == object:
        found = np.array([_changed(x, change) for x in value.flat], dtype=object).reshape(value.shape)
        return found.astype(float) if all(isinstance(x, (int, float)) for x in found.flat) else found
    if isinstance(value, tuple):
        parts = [_changed(x, change) for x in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    if is_dataclass(value) and not isinstance(value, type):
        return replace(value, **{f.name: _changed(getattr(value, f.name), change) for f in fields(value) if f.init})
    return value
