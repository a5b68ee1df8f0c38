"""A finished tape as native code: `build_native` compiles or loads it, `NativeKernel` runs it."""

from __future__ import annotations

import ctypes
import functools
import os
import time
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from sarrus.codegen import cache as disk
from sarrus.codegen import host
from sarrus.codegen.artifact import FUNCTION_TABLE_BYTES, Artifact
from sarrus.codegen.builtin import layout_is_known, make_builtin
from sarrus.codegen.image import ExecutableMemory
from sarrus.codegen.lane import Lane
from sarrus.codegen.tape import Tape

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor


_PIECES_PER_THREAD = 8


def lane_of(dtype: str, lanes: str | int) -> Lane:
    """The SIMD type for this machine, or one of so many lanes."""
    bits = np.dtype(dtype).itemsize * 8
    return Lane(bits, host.default_lanes(bits) if lanes == "auto" else int(lanes), host.has_fma())


def build_native(tape: Tape, dtype: str = "float64", lanes: str | int = "auto", cache: bool = True) -> NativeKernel:
    """Native code of `tape`: from the disk cache, or compiled now (and then kept there)."""
    start = time.perf_counter()
    lane = lane_of(dtype, lanes)
    key = disk.key(tape.digest, f"{dtype} {lane.count}")
    kept = disk.load(key) if cache else None
    from_cache = kept is not None
    artifact = Artifact.from_bytes(kept) if kept is not None else None
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
        # What a program (`program.py`) calls: the kernel on lanes, and on one lane, that are loaded already.
        self.runs = tuple(
            (address[name], constants) for name, (_, constants) in (("run", self._batch), ("run_single", self._single))
        )
        self.workspace_bytes = artifact.scratch.workspace, artifact.single_scratch.workspace
        self._sizes = [port.size for port in (*tape.inputs, *tape.outputs)]
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
        arrays = [*inputs, *outputs]
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
        if batch == 0:
            return
        pointers = (ctypes.c_void_p * len(arrays))(*[a.__array_interface__["data"][0] for a in arrays])
        sources = ctypes.addressof(pointers)
        targets = sources + 8 * len(inputs)
        in_pieces(lambda first, count: self._run_part(sources, targets, first, count), batch, self.lanes, threads)

    def _run_part(self, sources: int, targets: int, first: int, count: int) -> None:
        function, constants = self._single if count == 1 else self._batch
        try:
            scratch = self._free_scratch.pop()
        except IndexError:
            scratch = aligned(max(self.artifact.scratch.bytes, self.artifact.single_scratch.bytes))
        function(sources, targets, first, count, address_of(scratch), constants)
        self._free_scratch.append(scratch)


def in_pieces(part: Callable[[int, int], None], batch: int, lanes: int, threads: int) -> None:
    """part(first, count) of all states of a batch, in whole blocks of lanes, on so many threads."""
    blocks = -(-batch // lanes)
    threads = max(1, min(threads, blocks))
    if threads == 1:
        part(0, batch)
        return
    # Small pieces, taken by whoever is free: a core that something else slows down then does less of the work.
    pieces = min(blocks, _PIECES_PER_THREAD * threads)
    cuts = [min(batch, blocks * i // pieces * lanes) for i in range(pieces + 1)]
    left = list(pairwise(cuts))

    def work() -> None:
        while left:
            try:
                first, end = left.pop()  # atomic
            except IndexError:
                return
            part(first, end - first)

    others = [_pool(os.getpid(), threads - 1).submit(work) for _ in range(threads - 1)]
    work()
    for other in others:
        other.result()


def _load(artifact: Artifact) -> tuple[Any, dict[str, int]]:
    if not artifact.is_flat:
        from sarrus.codegen.jit import load_object

        return load_object(artifact.code, list(artifact.entries))
    memory = ExecutableMemory(artifact.code)
    return memory, {name: memory.address + offset for name, offset in artifact.entries.items()}


def address_of(array: np.ndarray) -> int:
    return array.__array_interface__["data"][0]


def aligned(size: int) -> np.ndarray:
    """`size` bytes that begin at a cache line."""
    memory = np.empty(size + 64, dtype=np.uint8)
    start = -address_of(memory) % 64
    return memory[start : start + size]


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


@functools.cache
def _pool(process: int, workers: int) -> ThreadPoolExecutor:
    """Threads that stay. A forked child has none of its parent's, hence one pool per process."""
    from concurrent.futures import ThreadPoolExecutor

    return ThreadPoolExecutor(workers, thread_name_prefix="sarrus")
