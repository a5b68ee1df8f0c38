"""`compile`: an algorithm of the registry as a native kernel for one robot."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterable, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np

from sarrus.codegen.emit.artifact import Artifact, joined, split
from sarrus.codegen.emit.lane import Lane
from sarrus.codegen.emit.memory import in_place
from sarrus.codegen.runtime import cache as disk
from sarrus.codegen.runtime.cache_names import described, model_key
from sarrus.codegen.runtime.call_arrays import as_input, given_outputs, repeated
from sarrus.codegen.runtime.native import NativeKernel, build_native, lane_of
from sarrus.codegen.tape.tape import OpCount, Port, Tape
from sarrus.codegen.tape.trace import trace
from sarrus.errors import StateError, UnsupportedError
from sarrus.model.arguments import empty, whole_number
from sarrus.model.model import Model
from sarrus.registry import table as registry
from sarrus.spatial.precision import precision
from sarrus.status import Status

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
    if not isinstance(model, Model):
        raise UnsupportedError(f"compile: the first argument is a sarrus Model, got {type(model).__name__}")
    if not isinstance(method, (str, registry.Algorithm)):
        raise UnsupportedError(f"compile: method is {method!r}: expected the name of an algorithm")
    entry = registry.find(method)
    names = _names(entry, inputs)
    if external_forces and "external_forces" not in names:
        names = (*names, "external_forces")
    kind = _dtype(dtype)
    what = described((entry.name, names, sorted(options.items())))
    module = entry.function.__module__
    is_ours = module.startswith("sarrus.")  # the text of other algorithms is no part of a kernel's name
    if not cache or not model.is_numeric or parameters or what is None or not is_ours:
        with precision(kind):
            tape = trace(model, entry, inputs=names, parameters=parameters, **options)
        return Kernel(method, model.name, build_native(tape, kind.name, lanes, cache))
    # Named by the model, so that a process that finds the kernel need not trace it again.
    lane = lane_of(kind.name, lanes)
    room = [x for x in module.split(".")[1:2] if x != "algorithms"]
    key = model_key(model.digest, what, f"{kind.name} {lane.count}", *room)
    native = _load(key, lane)
    if native is None:
        with precision(kind):
            tape = trace(model, entry, inputs=names, **options)
        native = build_native(tape, kind.name, lane.count, cache=False)
        _save(key, native)
    return Kernel(method, model.name, native, key)


def _names(entry: registry.Algorithm, inputs: Any) -> tuple[str, ...]:
    if inputs is None:
        return tuple(port.name for port in entry.inputs if not port.optional)
    if isinstance(inputs, str) or not isinstance(inputs, Iterable):
        valid = ", ".join(port.name for port in entry.inputs)
        raise UnsupportedError(f"inputs is {inputs!r}: expected several names. Valid: {valid}")
    return tuple(inputs)


def _dtype(dtype: Any) -> np.dtype:
    with contextlib.suppress(TypeError, ValueError, SyntaxError):  # of a type that NumPy does not know
        if np.dtype(dtype) in (np.float64, np.float32):
            return np.dtype(dtype)
    raise UnsupportedError(f"dtype {dtype!r} is not supported. Valid: float64, float32")


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
        self._whole = entry.whole_numbers
        self._fast = native.call_new
        # `tuple.__new__` is quicker than a NamedTuple's own constructor; a tape with one output gives no tuple.
        result: Any = self._result or tuple
        self._of_one = result if len(self.tape.outputs) == 1 else partial(tuple.__new__, result)
        self._shapes = [port.shape for port in self.tape.inputs]
        self._output_shapes = [port.shape for port in self.tape.outputs]

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

        out      array (or tuple of arrays, one per output) to write into; it may be an input
        threads  how many to use for a batch; default: as many as are worth it
        """
        if out is None and threads is None and not named and not return_status:
            result = self._fast(*arrays)  # None: not exactly one state of the right type
            if result is not None:
                return result if self._result is None else self._of_one(result)
        held: list[Any] = []
        batch = None if named or return_status else self._plain_batch(arrays, held)
        if batch is None:
            return self._careful(arrays, named, out, threads, return_status)
        outputs, threads = self._outputs(out, (batch,), held), self.threads_for(batch, threads)
        if batch:
            self.native.run_checked((*arrays, *outputs), batch, threads, may_overlap=out is not None)
        return self._wrapped(outputs, out)

    def _wrapped(self, outputs: Sequence[Any], out: Any) -> Any:
        """What is returned: the very arrays that were given to write into, if some were."""
        if out is not None:
            outputs = out if isinstance(out, (tuple, list)) else (out,)
        if self._result is None:
            return outputs[0]
        return self._result(*(registry.with_whole_numbers(self._whole, outputs) if out is None else outputs))

    def _plain_batch(self, arrays: tuple[Any, ...], held: list[Any]) -> int | None:
        """How many states these are (perhaps 0), if nothing about them needs to be changed or explained; else None.

        They stay as they are found while `held` lives.
        """
        if len(arrays) != len(self._shapes):
            return None
        batch, dtype = None, self.dtype
        for array, shape in zip(arrays, self._shapes, strict=True):
            if type(array) is not np.ndarray:
                return None
            held.append(in_place(array))
            if (array.dtype is not dtype and array.dtype != dtype) or array.shape[1:] != shape:
                return None
            flags = array.flags
            if array.ndim == len(shape) or not (flags.c_contiguous and flags.aligned):
                return None
            if batch is None:
                batch = len(array)
            elif batch != len(array):
                return None
        return batch

    def _outputs(self, out: Any, batch: tuple[int, ...], held: list[Any]) -> list[np.ndarray]:
        """Where results go: new memory, or that of `out`, which stays as it is found while `held` lives."""
        if out is None:
            return [empty("a result", (*batch, *shape), self.dtype) for shape in self._output_shapes]
        return given_outputs(self.tape.outputs, out, batch, self.dtype, held)

    def _careful(
        self, arrays: tuple[Any, ...], named: dict[str, Any], out: Any, threads: int | None, return_status: bool
    ) -> Any:
        given = self._named(arrays, named)
        ports = self.tape.inputs
        inputs = [as_input(port, given[port.name], self.dtype) for port in ports]
        sizes = {port.name: len(x) for port, x in zip(ports, inputs, strict=True) if x.ndim > len(port.shape)}
        if len(set(sizes.values())) > 1:
            raise StateError(f"batches of different sizes: {', '.join(f'{k} has {n}' for k, n in sizes.items())}")
        single = not sizes
        batch = 1 if single else next(iter(sizes.values()))
        if not single:
            inputs = [x if p.name in sizes else repeated(p, x, batch) for p, x in zip(ports, inputs, strict=True)]
        bad_inputs = _not_finite(ports, inputs, batch) if return_status else None  # before `out` is written over them
        outputs = self._outputs(out, () if single else (batch,), [])
        self.native.run(inputs, outputs, batch, self.threads_for(batch, threads))
        result = self._wrapped(outputs, out)
        if bad_inputs is None:
            return result
        bad_outputs = np.where(_not_finite(self.tape.outputs, outputs, batch), Status.NOT_FINITE, Status.OK)
        status = np.where(bad_inputs, Status.INPUT_NOT_FINITE, bad_outputs).astype(np.int8)
        return result, int(status[0]) if single else status

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

    def threads_for(self, batch: int, threads: int | None) -> int:
        """How many threads to use for a batch: those asked for, or as many as are worth it."""
        if threads is not None:
            return whole_number("threads", threads, least=1)
        worth = batch * self.op_count.total // _THREAD_GRAIN
        return 1 if worth <= 1 else min(available_cores(), worth)

    @cached_property
    def casadi_function(self) -> Any:
        """The same computation as a CasADi Function, inputs and outputs by name."""
        from sarrus.codegen.tape.casadi_export import casadi_function

        return casadi_function(self.tape, f"{identifier(self.model_name)}_{self.method}")

    def to_casadi(self) -> Any:
        """The CasADi Function, for users of CasADi, acados or rockit."""
        return self.casadi_function

    def to_c(self, directory: str | Path, name: str | None = None) -> Path:
        """Write NAME.c and NAME.h, dependency-free C99, into a directory. Returns the path of the C file."""
        from sarrus.codegen.tape.c_export import write_c

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


def _not_finite(ports: Sequence[Port], arrays: Sequence[np.ndarray], batch: int) -> np.ndarray:
    """(batch,) whether something in these arrays is not finite."""
    bad = np.zeros(batch, bool)
    for port, array in zip(ports, arrays, strict=True):
        bad |= ~np.isfinite(array.reshape(batch, port.size)).all(axis=1)
    return bad


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
