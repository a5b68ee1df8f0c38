"""A finished tape as native code: `build_native` compiles or loads it, `NativeKernel` runs it."""

from __future__ import annotations

import ctypes
import functools
import os
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from sarrus.codegen import cache as disk
from sarrus.codegen import cache_names, host
from sarrus.codegen.artifact import FUNCTION_TABLE_BYTES, Artifact
from sarrus.codegen.builtin import layout_is_known, make_builtin
from sarrus.codegen.crew import share
from sarrus.codegen.image import ExecutableMemory
from sarrus.codegen.lane import Lane
from sarrus.codegen.memory import address_of, aligned
from sarrus.codegen.tape import Tape


def lane_of(dtype: str, lanes: str | int) -> Lane:
    """The SIMD type for this machine, or one of so many lanes."""
    bits = np.dtype(dtype).itemsize * 8
    return Lane(bits, host.default_lanes(bits) if lanes == "auto" else int(lanes), host.has_fma())


def build_native(tape: Tape, dtype: str = "float64", lanes: str | int = "auto", cache: bool = True) -> NativeKernel:
    """Native code of `tape`: from the disk cache, or compiled now (and then kept there)."""
    start = time.perf_counter()
    lane = lane_of(dtype, lanes)
    key = cache_names.key(tape.digest, f"{dtype} {lane.count}")
    artifact = disk.load(key, Artifact.from_bytes) if cache else None
    from_cache = artifact is not None
    if artifact is None:
        from sarrus.codegen.compile import compile_tape

        artifact = compile_tape(tape, lane)
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
        self._sizes = [port.size for port in (*tape.inputs, *tape.outputs)]
        self._pointers = ctypes.c_void_p * len(self._sizes)
        self._free_scratch: list[np.ndarray] = []  # list.pop and list.append are atomic
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
        """Evaluate `batch` states. Arrays are C-contiguous, of this dtype, one row per state; that is checked."""
        arrays = (*inputs, *outputs)
        if len(inputs) != len(self.tape.inputs) or len(arrays) != len(self._sizes):
            raise ValueError(f"expected {len(self.tape.inputs)} inputs and {len(self.tape.outputs)} outputs")
        for number, array in enumerate(arrays):
            flags = array.flags
            usable = flags.c_contiguous and flags.aligned and (flags.writeable or number < len(inputs))
            if not usable or array.size != batch * self._sizes[number] or array.dtype != self.dtype:
                port = (*self.tape.inputs, *self.tape.outputs)[number]
                raise ValueError(
                    f"{port.name}: expected a C-contiguous {self.dtype} array of {batch} x {self._sizes[number]} "
                    f"elements{'' if number < len(inputs) else ', writeable'}; got {array.dtype} of shape {array.shape}"
                )
        if batch:
            self.run_checked(arrays, batch, threads)

    def run_checked(self, arrays: Sequence[np.ndarray], batch: int, threads: int) -> None:
        """`run`, for at least one state and arrays (inputs, then outputs) that are known to be right."""
        pointers = self._pointers(*[address_of(array) for array in arrays])
        sources = ctypes.addressof(pointers)
        targets = sources + 8 * len(self.tape.inputs)
        threads = max(1, min(threads, -(-batch // self.lanes)))
        scratches = [self._scratch() for _ in range(threads)]
        try:
            if threads == 1:
                function, constants = self._single if batch == 1 else self._batch
                function(sources, targets, 0, batch, address_of(scratches[0]), constants)
            else:
                own = [(sources, targets, address_of(scratch), self._batch[1]) for scratch in scratches]
                share(self._batch_address, own, batch, self.lanes)
        finally:
            self._free_scratch += scratches

    def _scratch(self) -> np.ndarray:
        """Memory for one thread."""
        try:
            return self._free_scratch.pop()
        except IndexError:
            return aligned(max(self.artifact.scratch.bytes, self.artifact.single_scratch.bytes))


def _load(artifact: Artifact) -> tuple[Any, dict[str, int]]:
    if not artifact.is_flat:
        from sarrus.codegen.jit import load_object

        return load_object(artifact.code, list(artifact.entries))
    memory = ExecutableMemory(artifact.code)
    return memory, {name: memory.address + offset for name, offset in artifact.entries.items()}


def _constants(tape: Tape, lane: Lane) -> np.ndarray:
    """The addresses of the C functions, then each constant in every lane."""
    values = tape.constants.astype(lane.dtype)
    memory = aligned(FUNCTION_TABLE_BYTES + len(values) * lane.bytes)
    addresses = _c_functions()
    memory[: 8 * len(addresses)].view(np.uint64)[:] = addresses
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
