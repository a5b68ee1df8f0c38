"""A finished tape as native code: `build_native` compiles or loads it, `NativeKernel` runs it."""

from __future__ import annotations

import ctypes
import functools
import os
import struct
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from sarrus.codegen.emit import host
from sarrus.codegen.emit.artifact import FUNCTION_TABLE_BYTES, Artifact
from sarrus.codegen.emit.builtin import layout_is_known, make_builtin
from sarrus.codegen.emit.image import ExecutableMemory
from sarrus.codegen.emit.lane import Lane
from sarrus.codegen.emit.memory import address_of, address_of_bytes, aligned, in_place
from sarrus.codegen.runtime import cache as disk
from sarrus.codegen.runtime import cache_names
from sarrus.codegen.runtime.call_arrays import copies_of_overwritten
from sarrus.codegen.runtime.crew import MOST_THREADS, share
from sarrus.codegen.tape.tape import Tape
from sarrus.codegen.x86.patterns import patterns
from sarrus.errors import StateError, UnsupportedError
from sarrus.model.arguments import whole_number

LANES = (1, 2, 4, 8, 16)  # squares of so many rows and columns are transposed in registers


def lane_of(dtype: str, lanes: str | int) -> Lane:
    """The SIMD type for this machine, or one of so many lanes."""
    bits = np.dtype(dtype).itemsize * 8
    if isinstance(lanes, str) and lanes == "auto":
        return Lane(bits, host.default_lanes(bits), host.has_fma())
    if isinstance(lanes, bool) or not isinstance(lanes, (int, np.integer)) or lanes not in LANES:
        raise UnsupportedError(f"lanes is {lanes!r}. Valid: 'auto', {', '.join(map(str, LANES))}")
    return Lane(bits, int(lanes), host.has_fma())


def build_native(
    tape: Tape, dtype: str = "float64", lanes: str | int = "auto", cache: bool = True, backend: str | None = None
) -> NativeKernel:
    """Native code of `tape`: from the disk cache, or compiled now (and then kept there).

    backend  who makes it (`emit/backend.py`); default: what this machine allows
    """
    start = time.perf_counter()
    lane = lane_of(dtype, lanes)
    key = cache_names.key(tape.digest, f"{dtype} {lane.count}", backend)
    artifact = disk.load(key, Artifact.from_bytes) if cache else None
    from_cache = artifact is not None
    if artifact is None:
        from sarrus.codegen.emit.compile import compile_tape

        artifact = compile_tape(tape, lane, backend)
        if cache:
            disk.save(key, artifact.to_bytes())
    return NativeKernel(tape, lane, artifact, from_cache, start)


class NativeKernel:
    """Native code in memory. Safe to use from several threads and after a fork."""

    def __init__(self, tape: Tape, lane: Lane, artifact: Artifact, from_cache: bool, start: float) -> None:
        self.tape, self.lane, self.artifact = tape, lane, artifact
        self.lanes = lane.count
        self.dtype = lane.dtype
        self.from_cache = from_cache
        self.code_bytes = len(artifact.code)
        self.stats = artifact.stats
        self._memory, address = _load(artifact)
        single = Lane(lane.bits, 1, lane.fma)
        self._constants = _constants(tape, lane)
        self._single_constants = _constants(tape, single) if lane.count > 1 else self._constants
        prototype = ctypes.CFUNCTYPE(
            None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p
        )
        self._batch = prototype(address["batch"]), address_of(self._constants) + FUNCTION_TABLE_BYTES
        self._single = prototype(address["batch_single"]), address_of(self._single_constants) + FUNCTION_TABLE_BYTES
        self._batch_address = address["batch"]
        # What a program (`program.py`) calls: the kernel on lanes, and on one lane, that are loaded already.
        self.runs = tuple(
            (address[name], constants) for name, (_, constants) in (("run", self._batch), ("run_single", self._single))
        )
        self.workspace_bytes = artifact.scratch.workspace, artifact.single_scratch.workspace
        self._ports = (*tape.inputs, *tape.outputs)
        self._row_bytes = [port.size * self.dtype.itemsize for port in self._ports]
        self._pack_sources, self._pack_targets = (
            struct.Struct(f"={len(ports)}Q").pack for ports in (tape.inputs, tape.outputs)
        )
        self._free_scratch: list[tuple[np.ndarray, int]] = []  # list.pop and list.append are atomic
        self.call_single, self.call_new = self._builtins(address)
        self.compile_seconds = time.perf_counter() - start

    def __reduce__(self) -> tuple:
        return build_native, (self.tape, str(self.dtype), self.lanes)

    def _builtins(self, address: dict[str, int]) -> tuple[Any, Any]:
        if not layout_is_known():
            return (lambda *arrays: False), (lambda *arrays: None)
        scratch = aligned(self.artifact.single_scratch.bytes)
        keeps = (self._memory, scratch, self._single_constants)
        return tuple(
            make_builtin(name, address[name], self.dtype, address_of(scratch), self._single[1], keeps)
            for name in ("single_into", "single_new")
        )

    def run(self, inputs: Sequence[np.ndarray], outputs: Sequence[np.ndarray], batch: int, threads: int = 1) -> None:
        """Evaluate `batch` states. Arrays are C-contiguous, of this dtype, one row per state; that is checked.

        An input that shares memory with an output is copied before.
        """
        arrays = (*inputs, *outputs)
        count = len(self.tape.inputs)
        if len(inputs) != count or len(arrays) != len(self._ports):
            raise StateError(f"expected {count} inputs and {len(self.tape.outputs)} outputs")
        batch, threads = whole_number("batch", batch, least=0), whole_number("threads", threads, least=1)
        held = []
        for number, array in enumerate(arrays):
            if type(array) is not np.ndarray:
                raise StateError(f"{self._wanted(number, batch)}; got {type(array).__name__}")
            held.append(in_place(array))
            flags = array.flags
            usable = flags.c_contiguous and flags.aligned and (flags.writeable or number < count)
            if not usable or array.nbytes != batch * self._row_bytes[number] or array.dtype != self.dtype:
                raise StateError(f"{self._wanted(number, batch)}; got {array.dtype} of shape {array.shape}")
        if batch:
            self.run_checked(arrays, batch, threads, may_overlap=True)
        del held

    def _wanted(self, number: int, batch: int) -> str:
        port = self._ports[number]
        writeable = "" if number < len(self.tape.inputs) else ", writeable"
        return f"{port.name}: expected a C-contiguous {self.dtype} array of {batch} x {port.size} elements{writeable}"

    def run_checked(self, arrays: Sequence[np.ndarray], batch: int, threads: int, may_overlap: bool) -> None:
        """`run`, for at least one state and arrays (inputs, then outputs) that are known to be right and to stay
        `in_place`; `may_overlap`: outputs may share memory with others.
        """
        count = len(self.tape.inputs)
        places = [address_of(array) for array in arrays]
        copies = copies_of_overwritten(arrays, places, self._ports, count) if may_overlap else {}
        for number, copy in copies.items():
            places[number] = address_of(copy)
        sources, targets = self._pack_sources(*places[:count]), self._pack_targets(*places[count:])
        threads = max(1, min(threads, -(-batch // self.lanes), MOST_THREADS))
        scratches = [self._scratch() for _ in range(threads)]
        try:
            if threads == 1:
                function, constants = self._single if batch == 1 else self._batch
                function(sources, targets, 0, batch, scratches[0][1], constants)
            else:
                tables = address_of_bytes(sources), address_of_bytes(targets)
                own = [(*tables, scratch, self._batch[1]) for _, scratch in scratches]
                share(self._batch_address, own, batch, self.lanes)
        finally:
            self._free_scratch += scratches

    def _scratch(self) -> tuple[np.ndarray, int]:
        """Memory for one thread, and where it is."""
        try:
            return self._free_scratch.pop()
        except IndexError:
            memory = aligned(max(self.artifact.scratch.bytes, self.artifact.single_scratch.bytes))
            return memory, address_of(memory)


def _load(artifact: Artifact) -> tuple[Any, dict[str, int]]:
    if not artifact.is_flat:
        from sarrus.codegen.emit.jit import load_object

        return load_object(artifact.code, list(artifact.entries))
    memory = ExecutableMemory(artifact.code)
    return memory, {name: memory.address + offset for name, offset in artifact.entries.items()}


def _constants(tape: Tape, lane: Lane) -> np.ndarray:
    """The addresses of the C functions and the encoder's patterns, then each constant in every lane."""
    values = tape.constants.astype(lane.dtype)
    memory = aligned(FUNCTION_TABLE_BYTES + len(values) * lane.bytes)
    addresses = _c_functions()
    memory[: 8 * len(addresses)].view(np.uint64)[:] = addresses
    before = np.frombuffer(patterns(lane.bits), np.uint8)
    memory[FUNCTION_TABLE_BYTES - len(before) : FUNCTION_TABLE_BYTES] = before
    memory[FUNCTION_TABLE_BYTES:].view(lane.dtype)[:] = np.repeat(values, lane.count)
    return memory


@functools.cache
def _c_functions() -> list[int]:
    """Addresses of sin, cos and atan2 of the C library."""
    names = ("ucrtbase", "msvcrt") if os.name == "nt" else (None, "libm.so.6", "libm.dylib")
    for name in names:
        try:
            library = ctypes.CDLL(name)
            return [ctypes.cast(library[f], ctypes.c_void_p).value or 0 for f in ("sin", "cos", "atan2")]
        except (OSError, AttributeError):
            continue
    raise OSError("no C mathematics library found")
