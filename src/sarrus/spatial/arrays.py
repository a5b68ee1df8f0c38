"""Small arrays whose elements are floats or symbols.

NumPy's constructors look inside their arguments and misread CasADi symbols as sequences. These do not:
floats give a float array, anything else an object array.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from sarrus.spatial.choice import NUMBERS, Scalar
from sarrus.spatial.parameter import Parameter, is_casadi

__all__ = ["Array", "Scalar", "as_field", "each", "is_numeric", "matrix", "vector"]

Array = np.ndarray


def vector(*elements: Scalar) -> Array:
    """A 1-D array of the elements."""
    out = np.empty(len(elements), dtype=object)
    for k, x in enumerate(elements):
        out[k] = x
    return _float_if_possible(out)


def matrix(rows: list[list[Scalar]]) -> Array:
    """A 2-D array from a list of rows."""
    out = np.empty((len(rows), len(rows[0])), dtype=object)
    for i, row in enumerate(rows):
        for j, x in enumerate(row):
            out[i, j] = x
    return _float_if_possible(out)


def _float_if_possible(array: Array) -> Array:
    if all(isinstance(x, NUMBERS) for x in array.flat):
        return array.astype(float)
    return array


def each(function: Callable[[Any], Any], array: Array) -> Array:
    """np.sin, np.cos or np.sqrt of every element. (On an object array NumPy would ask plain numbers for methods.)"""
    array = np.asarray(array)
    return function(array) if array.dtype != object else np.asarray(np.frompyfunc(function, 1, 1)(array), dtype=object)


def is_numeric(array: Array) -> bool:
    """Whether every element is a number."""
    return array.dtype != object


def as_field(value: Any, shape: tuple[int, ...]) -> Array:
    """A model field (mass, length, ...) as a read-only array of that shape; CasADi symbols become `Parameter`s."""
    if isinstance(value, np.ndarray) and value.dtype != object:
        array = value.astype(float)
    elif is_casadi(value) and len(shape) == 2:
        array = vector(*[_element(value[i, j]) for i in range(value.shape[0]) for j in range(value.shape[1])])
    else:
        array = vector(*_flatten(value))
    array = array.reshape(shape).copy()
    array.flags.writeable = False
    return array


def _flatten(value: Any) -> list[Scalar]:
    if isinstance(value, (list, tuple, np.ndarray)):
        return [x for item in value for x in _flatten(item)]
    if is_casadi(value):
        return [_element(value[k]) for k in range(value.numel())]
    return [value if isinstance(value, Parameter) else float(value)]


def _element(value: Any) -> Scalar:
    return float(value) if value.is_constant() else Parameter(value)


def add_to(table: dict[int, Any], key: int, M: Any) -> None:
    """Of whatever can be added: matrices, inertias."""
    table[key] = table[key] + M if key in table else M
