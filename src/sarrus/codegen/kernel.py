"""`compile`: an algorithm of the registry as a native kernel for one robot."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from sarrus.algorithms import registry
from sarrus.codegen import cache as disk
from sarrus.codegen.artifact import Artifact, joined, split
from sarrus.codegen.cache_names import described, model_key
from sarrus.codegen.lane import Lane
from sarrus.codegen.native import NativeKernel, build_native, lane_of
from sarrus.codegen.tape import OpCount, Port, Tape
from sarrus.codegen.trace import trace
from sarrus.errors import StateError, UnsupportedError
from sarrus.model.model import Model

STATUS = ("ok", "input not finite", "result not finite")
_THREAD_GRAIN = 2_000_000  # operations that are worth handing to another thread


def compile(  # the name users expect; the builtin is not used here
    model: Model,
    method: str | registry.Algorithm = "aba",
    *,
    dtype: Any = np.float64,
    lanes: str | int = "auto",
    external_forces: bool = False,
    inputs: Sequence[str] | None = None,
    parameters: Sequence[Any] | None = None,
    cache: bool = True,
    **options: Any,
) -> Kernel:
    """Native code of `method` for this robot, in a second or two; no compiler is needed. Later calls load it from disk.

    dtype            float64 or float32
    lanes            states computed at once by SIMD; "auto" takes what the processor has
    external_forces  whether the kernel takes forces on bodies as a last input, (nb, 6)
    method           an algorithm of the registry, or one made on the fly whose options have telling `repr`s
    inputs           which arrays it takes, by name; default: those that the method needs
    parameters       for a model with CasADi symbols: the order in which the kernel's last input holds their values
    options          fixed arguments of the method, e.g. `frame="left_foot"`

    >>> kernel = sarrus.compile(model, "aba")
    >>> qdd = kernel(q, v, tau)          # (n,) or (B, n)
    """
    entry = registry.find(method)
    names = tuple(inputs) if inputs is not None else tuple(port.name for port in entry.inputs if not port.optional)
    if external_forces and "external_forces" not in names:
        names = (*names, "external_forces")
    kind = np.dtype(dtype)
    if kind not in (np.dtype(np.float64), np.dtype(np.float32)):
        raise UnsupportedError(f"dtype {kind} is not supported. Valid: float64, float32")
    what = described((entry.name, names, sorted(options.items())))
    if not cache or not model.is_numeric or parameters or what is None:
        tape = trace(model, entry, inputs=names, parameters=parameters, **options)
        return Kernel(method, model.name, build_native(tape, kind.name, lanes, cache))
    # Keyed by the model, so that a process that finds the kernel need not trace it again.
    lane = lane_of(kind.name, lanes)
    module = entry.function.__module__
    room = [x for x in module.split(".")[1:2] if module.startswith("sarrus.") and x != "algorithms"]
    key = model_key(model.digest, what, f"{kind.name} {lane.count}", *room)
    native = _load(key, lane)
    if native is None:
        tape = trace(model, entry, inputs=names, **options)
        native = build_native(tape, kind.name, lane.count, cache=False)
        _save(key, native)
    return Kernel(method, model.name, native, key)


def _load(key: str, lane: Lane) -> NativeKernel | None:
    start = time.perf_counter()
    kept = disk.load(key, _read)
    return None if kept is None else NativeKernel(kept[0], lane, kept[1], True, start)


def _read(kept: bytes) -> tuple[Tape, Artifact]:
    tape, artifact = split(kept)
    return Tape.from_bytes(tape), Artifact.from_bytes(artifact)


def _save(key: str, native: NativeKernel) -> None:
    disk.save(key, joined(native.tape.to_bytes(), native.artifact.to_bytes()))


def _revived(
    entry: str | registry.Algorithm, model_name: str, tape: Tape, dtype: str, lanes: int, key: str | None
) -> Kernel:
    """A pickled kernel where it arrives: loaded if this machine has it, else compiled."""
    native = None if key is None else _load(key, lane_of(dtype, lanes))
    return Kernel(entry, model_name, native or build_native(tape, dtype, lanes), key)


class Kernel:
    """A compiled algorithm. Call it with `(n,)` or `(B, n)` arrays, in the order of `input_names`.

    Values are not checked: a state that is not finite gives a result that is not finite, in its own row only
    (`return_status=True` tells which). Shapes and types are.
    """

    def __init__(
        self, method: str | registry.Algorithm, model_name: str, native: NativeKernel, key: str | None = None
    ) -> None:
        entry = registry.find(method)
        self.method = entry.name
        self._entry = method
        self.model_name = model_name
        self.native = native
        self.tape = native.tape
        self.dtype = native.dtype
        self._key = key
        self._result = None if entry.outputs is not None else entry.result_type
        self._fast = native.call_new
        self._shapes = [port.shape for port in self.tape.inputs]

    def __repr__(self) -> str:
        size = f"{self.op_count.total} operations, {self.native.lanes} lanes"
        return f"<Kernel {self.method} of {self.model_name!r}: {size}>"

    def __reduce__(self) -> tuple:
        return _revived, (self._entry, self.model_name, self.tape, self.dtype.name, self.native.lanes, self._key)

    @property
    def input_names(self) -> tuple[str, ...]:
        return tuple(port.name for port in self.tape.inputs)

    @property
    def output_names(self) -> tuple[str, ...]:
        return tuple(port.name for port in self.tape.outputs)

    @property
    def op_count(self) -> OpCount:
        return self.tape.op_count

    @property
    def source_hash(self) -> str:
        """A hash of everything that determines the values."""
        return self.tape.digest

    def __call__(
        self, *arrays: Any, out: Any = None, threads: int | None = None, return_status: bool = False, **named: Any
    ) -> Any:
        """What the eager function returns, for one state or a batch.

        out      array (or tuple of arrays, one per output) to write into
        threads  how many to use for a batch; default: as many as are worth it
        """
        if out is None and not named and not return_status:
            result = self._fast(*arrays)  # None: not exactly one state of the right type
            if result is not None:
                return result if self._result is None else self._result(*self._unpacked(result))
        batch = 0 if named or return_status else self._plain_batch(arrays)
        if batch:
            outputs = self._outputs(out, (batch,))
            self.native.run_checked((*arrays, *outputs), batch, self.threads_for(batch, threads))
            return outputs[0] if self._result is None else self._result(*outputs)
        return self._careful(arrays, named, out, threads, return_status)

    def _unpacked(self, result: Any) -> Sequence[Any]:
        return result if isinstance(result, tuple) else (result,)

    def _plain_batch(self, arrays: tuple[Any, ...]) -> int:
        """How many states these are, if nothing about them needs to be changed or explained; else 0."""
        if len(arrays) != len(self._shapes):
            return 0
        batch = 0
        for array, shape in zip(arrays, self._shapes, strict=True):
            if type(array) is not np.ndarray or array.dtype != self.dtype or array.shape[1:] != shape:
                return 0
            flags = array.flags
            if array.ndim == len(shape) or not (flags.c_contiguous and flags.aligned) or batch not in (0, len(array)):
                return 0
            batch = len(array)
        return batch

    def _careful(
        self, arrays: tuple[Any, ...], named: dict[str, Any], out: Any, threads: int | None, return_status: bool
    ) -> Any:
        given = self._named(arrays, named)
        inputs = [_as_input(port, given[port.name], self.dtype) for port in self.tape.inputs]
        sizes = {p.name: len(x) for p, x in zip(self.tape.inputs, inputs, strict=True) if x.ndim > len(p.shape)}
        if len(set(sizes.values())) > 1:
            raise StateError(f"batches of different sizes: {', '.join(f'{k} has {n}' for k, n in sizes.items())}")
        single = not sizes
        batch = 1 if single else next(iter(sizes.values()))
        for k, (port, x) in enumerate(zip(self.tape.inputs, inputs, strict=True)):
            if not single and x.ndim == len(port.shape):
                inputs[k] = np.ascontiguousarray(np.broadcast_to(x, (batch, *port.shape)))
        outputs = self._outputs(out, () if single else (batch,))
        self.native.run(inputs, outputs, batch, self.threads_for(batch, threads))
        result = outputs[0] if self._result is None else self._result(*outputs)
        return (result, self._status(inputs, outputs, batch, single)) if return_status else result

    def _named(self, arrays: tuple[Any, ...], named: dict[str, Any]) -> dict[str, Any]:
        names = self.input_names
        if len(arrays) > len(names):
            raise StateError(f"{self.method} takes {len(names)} arrays ({', '.join(names)}), got {len(arrays)}")
        given = dict(zip(names, arrays, strict=False))
        for name, value in named.items():
            if name not in names or name in given:
                raise StateError(f"{self.method}: unexpected or repeated input {name!r}. Inputs: {', '.join(names)}")
            given[name] = value
        missing = [name for name in names if name not in given]
        if missing:
            raise StateError(f"{self.method}: missing {', '.join(missing)}. Inputs, in order: {', '.join(names)}")
        return given

    def _outputs(self, out: Any, batch: tuple[int, ...]) -> list[np.ndarray]:
        if out is None:
            return [np.empty((*batch, *port.shape), self.dtype) for port in self.tape.outputs]
        given = list(out) if isinstance(out, (tuple, list)) else [out]
        if len(given) != len(self.tape.outputs):
            raise StateError(
                f"out: expected {len(self.tape.outputs)} arrays ({', '.join(self.output_names)}), got {len(given)}"
            )
        for port, array in zip(self.tape.outputs, given, strict=True):
            shape = (*batch, *port.shape)
            if not isinstance(array, np.ndarray) or array.dtype != self.dtype or array.shape != shape:
                found = (
                    f"{array.dtype} of shape {array.shape}" if isinstance(array, np.ndarray) else type(array).__name__
                )
                raise StateError(f"out: {port.name} must be a {self.dtype} array of shape {shape}, got {found}")
            flags = array.flags
            if not (flags.c_contiguous and flags.aligned and flags.writeable):
                raise StateError(f"out: {port.name} must be C-contiguous, aligned and writeable")
        return given

    def threads_for(self, batch: int, threads: int | None) -> int:
        """How many threads to use for a batch: those asked for, or as many as are worth it."""
        if threads is not None:
            if threads < 1:
                raise StateError(f"threads is {threads}: expected at least 1")
            return threads
        return max(1, min(available_cores(), batch * self.op_count.total // _THREAD_GRAIN))

    def _status(self, inputs: list[np.ndarray], outputs: list[np.ndarray], batch: int, single: bool) -> Any:
        status = np.zeros(batch, np.int8)
        for code, arrays in ((2, outputs), (1, inputs)):
            for array in arrays:
                status[~np.isfinite(array.reshape(batch, -1)).all(axis=1)] = code
        return int(status[0]) if single else status

    @cached_property
    def casadi_function(self) -> Any:
        """The same computation as a CasADi Function, inputs and outputs by name."""
        from sarrus.codegen.casadi_export import casadi_function

        return casadi_function(self.tape, f"{identifier(self.model_name)}_{self.method}")

    def to_casadi(self) -> Any:
        """The CasADi Function, for users of CasADi, acados or rockit."""
        return self.casadi_function

    def to_c(self, directory: str | Path, name: str | None = None) -> Path:
        """Write NAME.c and NAME.h, dependency-free C99, into a directory. Returns the path of the C file."""
        from sarrus.codegen.c_export import write_c

        return write_c(self.tape, Path(directory), identifier(name or f"{self.model_name}_{self.method}"), self.dtype)

    def explain(self) -> str:
        """What this kernel is, in a few lines."""
        count, native = self.op_count, self.native
        kinds = ", ".join(f"{n:,} {kind}" for kind, n in count.by_kind.items() if n)
        stages = ", ".join(f"{stage} {n:,}" for stage, n in count.by_stage.items())
        origin = "loaded from the cache" if native.from_cache else "compiled"
        limits = ", ".join(str(loop.limit) for loop in self.tape.loops)
        again = f"  iterations {limits} at most, {count.per_iteration:,} operations each\n" if limits else ""
        takes = ", ".join(f"{p.name} {p.shape}" for p in self.tape.inputs)
        gives = ", ".join(f"{p.name} {p.shape}" for p in self.tape.outputs)
        return (
            f"{self.method} of {self.model_name!r}\n"
            f"  takes      {takes}\n"
            f"  gives      {gives}\n"
            f"  operations {count.total:,}: {kinds}\n"
            f"  stages     {stages}\n{again}"
            f"  code       {native.code_bytes:,} bytes, {native.lanes} {self.dtype} lanes and a scalar version, "
            f"{origin} in {native.compile_seconds:.3f} s\n"
            f"  hash       {self.source_hash[:16]}"
        )


def _as_input(port: Port, value: Any, dtype: np.dtype) -> np.ndarray:
    array = np.asarray(value)
    has_type = np.can_cast(array.dtype, dtype, casting="same_kind")
    has_shape = array.shape == port.shape or (array.ndim > 0 and array.shape[1:] == port.shape)
    if not has_type or not has_shape:
        batched = ("B", *port.shape)
        expected = f"{port.name}: expected {dtype} of shape {port.shape} or {batched}".replace("'", "")
        raise StateError(f"{expected}, got {array.shape if has_type else array.dtype}")
    made = np.asarray(array, dtype=dtype, order="C")  # (ascontiguousarray would give a number a dimension)
    return made if made.flags.aligned else made.copy()


def available_cores() -> int:
    """How many cores this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:
        return os.cpu_count() or 1


def identifier(text: str) -> str:
    """A C identifier made of any name."""
    cleaned = "".join(c if c.isalnum() and c.isascii() else "_" for c in text)
    return cleaned if cleaned[:1].isalpha() else f"k_{cleaned}"
