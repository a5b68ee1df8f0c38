"""What users hand over, checked: arrays of real numbers, numbers, switches, names. Else an error in words."""

from __future__ import annotations

import contextlib
import operator
import sys
from collections.abc import Iterable
from numbers import Real
from typing import Any

import numpy as np

from sarrus.errors import StateError
from sarrus.spatial.arrays import Array

_PAIRS = "pairs=[('foot', 'ground')]"


def as_numbers(expected: str, value: Any) -> Array:
    """`value` as a plain array of real numbers, of whatever type; it is not copied where it is one.

    expected  how the error begins: what was asked for

    Complex numbers, text, dates and masks are refused: what NumPy makes floats of them with is not what they say.
    """
    # There are masked arrays only where their module was imported (another thread may be at it).
    masked = getattr(sys.modules.get("numpy.ma"), "MaskedArray", None)
    if masked is not None and isinstance(value, masked):
        raise StateError(f"{expected}, got a masked array: say with `.filled(...)` what its gaps are")
    try:
        array = np.asarray(value)
        if array.dtype.kind == "O" and all(isinstance(x, Real) for x in array.flat):
            array = array.astype(float)
    except Exception as error:  # a value's own way to become an array may raise anything
        raise StateError(f"{expected}: {error}") from error
    if array.dtype.kind not in "biuf":
        raise StateError(f"{expected}, got {_kind_of(value, array)}")
    return array


def _kind_of(value: Any, array: Array) -> str:
    if array.ndim == 0 and array.dtype.kind == "O":
        return type(value).__name__
    return {"U": "text", "S": "text", "M": "dates", "m": "durations"}.get(array.dtype.kind, str(array.dtype))


def as_type(expected: str, array: Array, dtype: Any) -> Array:
    """The numbers in this type, C-contiguous; itself if they are. Too large a number becomes infinite."""
    try:
        with np.errstate(over="ignore"):
            return np.asarray(array, dtype=dtype, order="C")
    except MemoryError as error:
        raise StateError(f"{expected}: no memory for a copy: {error}") from None


def empty(what: str, shape: tuple[int, ...], dtype: Any) -> Array:
    """Memory for so many numbers, or an error that says what there is no memory for."""
    try:
        return np.empty(shape, dtype)
    except (MemoryError, ValueError) as error:
        raise StateError(f"{what}: no memory for an array of shape {shape}: {error}") from None


def whole_number(name: str, value: Any, least: int) -> int:
    """An int (or NumPy's) that is at least so large. True is no number, and neither is 2.0."""
    if type(value) is int and value >= least:
        return value
    try:
        number = operator.index(value)
    except TypeError:
        number = None
    if number is None or isinstance(value, (bool, np.bool_)) or number < least:
        raise StateError(f"{name} is {value!r}: expected a whole number, at least {least}")
    return number


def true_or_false(name: str, value: Any) -> bool:
    """A bool (or NumPy's). 1 and "no" are none: what Python makes of them is not what they say."""
    if not isinstance(value, (bool, np.bool_)):
        raise StateError(f"{name} is {value!r}: expected True or False")
    return bool(value)


def positive_number(name: str, value: Any, least: float | None = None) -> float:
    """A finite number that is positive; with `least`, one that is at least so large."""
    number = np.nan
    if isinstance(value, Real) and not isinstance(value, bool):
        with contextlib.suppress(OverflowError):  # of a whole number beyond all floats
            number = float(value)
    if not np.isfinite(number) or (number <= 0.0 if least is None else number < least):
        wanted = "positive number" if least is None else f"number, at least {least:g}"
        raise StateError(f"{name} is {value!r}: expected a finite {wanted}")
    return number


def names_of(name: str, value: Any) -> tuple[str, ...]:
    """Whatever has names and can be gone through once, as a tuple. A text is one name, not those of its letters."""
    is_one = isinstance(value, str) or not isinstance(value, Iterable)
    names = () if is_one else tuple(value)
    if is_one or not all(isinstance(x, str) for x in names):
        raise StateError(f"{name} is {value!r}: expected names, such as {name}=['left', 'right']")
    return names


def pairs_of_names(value: Any) -> tuple[tuple[str, str], ...]:
    """Pairs of geometries by name, as a tuple. Which names there are is up to the model."""
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise StateError(f"pairs is {value!r}: expected pairs of names of geometries, such as {_PAIRS}")
    return tuple(_pair_of_names(pair) for pair in value)


def _pair_of_names(pair: Any) -> tuple[str, str]:
    names = () if isinstance(pair, str) or not isinstance(pair, Iterable) else tuple(pair)
    if len(names) != 2 or not all(isinstance(name, str) for name in names):
        raise StateError(f"pairs has {pair!r}: expected two names of geometries each, such as {_PAIRS}")
    if names[0] == names[1]:
        raise StateError(f"pairs has {pair!r}: a geometry cannot touch itself")
    return names
