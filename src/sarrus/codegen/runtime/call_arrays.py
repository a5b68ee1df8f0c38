"""The arrays of a call as native code needs them: C-contiguous, aligned, of one type, results apart from inputs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sarrus.codegen.emit.memory import in_place
from sarrus.codegen.tape.tape import Port
from sarrus.errors import StateError
from sarrus.model.arguments import as_numbers, as_type, empty
from sarrus.registry.algorithm import batch_size


def plain_batch(
    arrays: tuple[Any, ...], shapes: Sequence[tuple[int, ...]], dtype: np.dtype, held: list[Any]
) -> int | None:
    """How many states these are (perhaps 0), if nothing about them needs to be changed or explained; else None.

    They stay as they are found while `held` lives.
    """
    if len(arrays) != len(shapes):
        return None
    batch = None
    for array, shape in zip(arrays, shapes, strict=True):
        if type(array) is not np.ndarray:
            return None
        held.append(in_place(array))
        if (array.dtype is not dtype and array.dtype != dtype) or array.shape[1:] != shape:
            return None
        flags = array.flags
        if array.ndim == len(shape) or not (flags.carray or (flags.c_contiguous and flags.aligned)):
            return None
        if batch is None:
            batch = len(array)
        elif batch != len(array):
            return None
    return batch


def named_inputs(method: str, names: tuple[str, ...], arrays: tuple[Any, ...], named: dict[str, Any]) -> dict[str, Any]:
    """Arguments by name, given in order or by name; an error unless each is there once."""
    if len(arrays) > len(names):
        raise StateError(f"{method} takes {len(names)} arrays ({', '.join(names)}), got {len(arrays)}")
    given = dict(zip(names, arrays, strict=False))
    for name, value in named.items():
        if name not in names or name in given:
            raise StateError(f"{method}: unexpected or repeated input {name!r}. Inputs: {', '.join(names)}")
        given[name] = value
    missing = [name for name in names if name not in given]
    if missing:
        raise StateError(f"{method}: missing {', '.join(missing)}. Inputs, in order: {', '.join(names)}")
    return given


def batch_of(ports: Sequence[Port], given: dict[str, Any], dtype: np.dtype) -> tuple[list[np.ndarray], int | None]:
    """The inputs ready for native code, single states repeated if there is a batch, and its size (None: one state)."""
    inputs = [_as_input(port, given[port.name], dtype) for port in ports]
    sizes = {port.name: len(x) for port, x in zip(ports, inputs, strict=True) if x.ndim > len(port.shape)}
    batch = batch_size(sizes)
    if batch is None:
        return inputs, None
    return [x if p.name in sizes else _repeated(p, x, batch) for p, x in zip(ports, inputs, strict=True)], batch


def _as_input(port: Port, value: Any, dtype: np.dtype) -> np.ndarray:
    """One state or a batch, ready for native code; copied only where it is not."""
    expected = f"{port.name}: expected {dtype} of shape {port.shape} or {('B', *port.shape)}".replace("'", "")
    array = as_numbers(expected, value)
    if array.shape != port.shape and (array.ndim == 0 or array.shape[1:] != port.shape):
        raise StateError(f"{expected}, got {array.shape}")
    made = as_type(expected, array, dtype)
    return made if made.flags.aligned else made.copy()


def _repeated(port: Port, array: np.ndarray, batch: int) -> np.ndarray:
    """One state so many times."""
    rows = empty(port.name, (batch, *port.shape), array.dtype)
    rows[...] = array
    return rows


def given_outputs(
    ports: Sequence[Port], out: Any, batch: tuple[int, ...], dtype: np.dtype, held: list[Any]
) -> list[np.ndarray]:
    """The memory of `out`, an array or one per output, as plain arrays; an error unless all can be written to.

    They stay as they are found while `held` lives.
    """
    given = list(out) if isinstance(out, (tuple, list)) else [out]
    if len(given) != len(ports):
        names = ", ".join(port.name for port in ports)
        raise StateError(f"out: expected {len(ports)} arrays ({names}), got {len(given)}")
    held += [in_place(array) for array in given if isinstance(array, np.ndarray)]
    return [_as_output(port, array, (*batch, *port.shape), dtype) for port, array in zip(ports, given, strict=True)]


def _as_output(port: Port, given: Any, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    if type(given) is np.ndarray and given.dtype == dtype and given.shape == shape and given.flags.carray:
        return given  # which is usual
    array = given
    if type(given) is not np.ndarray and isinstance(given, np.ndarray):
        array = as_numbers(f"out: {port.name} must be a {dtype} array of shape {shape}", given)
    if type(array) is not np.ndarray or array.dtype != dtype or array.shape != shape:
        found = f"{array.dtype} of shape {array.shape}" if isinstance(array, np.ndarray) else type(array).__name__
        raise StateError(f"out: {port.name} must be a {dtype} array of shape {shape}, got {found}")
    flags = array.flags
    if not (flags.c_contiguous and flags.aligned and flags.writeable):
        raise StateError(f"out: {port.name} must be C-contiguous, aligned and writeable")
    return array


def copies_of_overwritten(
    arrays: Sequence[np.ndarray], places: Sequence[int], ports: Sequence[Port], count: int
) -> dict[int, np.ndarray]:
    """Of `count` inputs, then outputs, that begin at these addresses: a copy of each input that shares memory with an
    output, by its number. Outputs that share memory with each other are an error.
    """
    ends = [place + array.nbytes for place, array in zip(places, arrays, strict=True)]
    copies = {}
    top = 0
    for place, end in sorted(zip(places, ends, strict=True)):
        if place < top:
            break
        top = end
    else:
        return copies  # none share memory, which is usual
    for k in range(count, len(arrays)):
        for j in range(k):
            if places[j] < ends[k] and places[k] < ends[j] and places[j] < ends[j] and places[k] < ends[k]:
                if j >= count:
                    both = f"{ports[j].name} and {ports[k].name}"
                    raise StateError(f"out: {both} share memory: each result needs its own")
                copies[j] = arrays[j].copy()
    return copies


def not_finite(ports: Sequence[Port], arrays: Sequence[np.ndarray], batch: int) -> np.ndarray:
    """(batch,) whether something in these arrays is not finite."""
    bad = np.zeros(batch, bool)
    for port, array in zip(ports, arrays, strict=True):
        bad |= ~np.isfinite(array.reshape(batch, port.size)).all(axis=1)
    return bad
