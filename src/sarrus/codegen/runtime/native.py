"""A finished tape as native code: `build_native` compiles or loads it, `NativeKernel` runs it."""

from __future__ import annotations

import ctypes
import functools
import os
import struct
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from sarrus.codegen.emit import host
from sarrus.codegen.emit.artifact import Artifact, chunk_names
from sarrus.codegen.emit.builtin import layout_is_known, make_builtin
from sarrus.codegen.emit.image import ExecutableMemory
from sarrus.codegen.emit.kinds import Kind, together_with
from sarrus.codegen.emit.lane import Lane
from sarrus.codegen.emit.memory import CACHE_LINE, address_of, address_of_bytes, aligned, in_place
from sarrus.codegen.emit.words import MOST_DIMENSIONS, UNCHECKED, ports_of
from sarrus.codegen.runtime import cache as disk
from sarrus.codegen.runtime import cache_names
from sarrus.codegen.runtime.call_arrays import copies_of_overwritten
from sarrus.codegen.runtime.crew import MOST_THREADS, share
from sarrus.codegen.runtime.module import load_module
from sarrus.codegen.tape.tape import Tape
from sarrus.codegen.x86.patterns import HEADER_BYTES, patterns
from sarrus.errors import StateError, UnsupportedError
from sarrus.model.arguments import whole_number
from sarrus.model.state import UNIT_TOLERANCE
from sarrus.once import cached_property

# Of the sum of squares. Closer to the bound than rounding, Python decides.
_UNIT = 1.9 * UNIT_TOLERANCE
_OWN_CODE = {Kind.CHUNK, Kind.REPEAT}  # steps that are the kernel's own code
_count_at = ctypes.c_int64.from_address
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


_BATCH = ctypes.CFUNCTYPE(
    None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p
)


class _OnLanes:
    """A kernel on one kind of lane: what its drivers read, and the one for batches."""

    def __init__(self, data: KernelData, lane: Lane) -> None:
        self.data, self.lane = data, lane

    @cached_property
    def batch_address(self) -> int:
        return driver_address(self.lane, "batch")

    @cached_property
    def batch(self) -> Any:
        return _BATCH(self.batch_address)


class _Scratch(NamedTuple):
    """Memory for one thread: for a driver, and for the addresses of a call's arrays."""

    memory: np.ndarray
    address: int  # of the memory
    pointers: np.ndarray


class NativeKernel:
    """Native code in memory. Safe to use from several threads and after a fork."""

    def __init__(self, tape: Tape, lane: Lane, artifact: Artifact, from_cache: bool, start: float) -> None:
        self.tape, self.lane, self.artifact = tape, lane, artifact
        self.lanes = lane.count
        self.dtype = lane.dtype
        self.from_cache = from_cache
        self.code_bytes = len(artifact.code)
        self.stats = artifact.stats
        self._code = _load(artifact, lane)
        self._one = self._on(Lane(lane.bits, 1, lane.fma))
        self.scratch_bytes = max(_scratch_bytes(tape, artifact, x) for x in (lane, Lane(lane.bits, 1)))
        self._ports = (*tape.inputs, *tape.outputs)
        self._row_bytes = [port.size * self.dtype.itemsize for port in self._ports]
        self._pack_sources, self._pack_targets = (
            struct.Struct(f"={len(ports)}Q").pack for ports in (tape.inputs, tape.outputs)
        )
        self._free_scratch: list[_Scratch] = []  # list.pop and list.append are atomic
        # For one state: `call_new(*inputs)` gives new arrays, `call_into(*inputs, *outputs)` fills these, and
        # `call_checked` looks at the numbers, too. None: that was not possible, and nothing is changed.
        self.call_new, self.call_into, self.call_checked = (
            self.builtin(), self.builtin(writes=True), self.builtin(checks=True)
        )  # fmt: skip
        self.compile_seconds = time.perf_counter() - start

    def __reduce__(self) -> tuple:
        return build_native, (self.tape, str(self.dtype), self.lanes)

    def _on(self, lane: Lane) -> _OnLanes:
        memory, single_chunks, chunks = self._code
        on_lanes = lane.count > 1 and self.artifact.is_flat
        transfers = [memory.address + x if on_lanes and x >= 0 else 0 for x in self.artifact.transfers]
        data = KernelData(
            self.tape, self.artifact, lane, chunks if lane.count > 1 else single_chunks, transfers, memory
        )
        return _OnLanes(data, lane)

    @cached_property
    def _many(self) -> _OnLanes:
        """The kernel on all lanes: its drivers are compiled, once per machine, when the first batch asks for them."""
        return self._on(self.lane) if self.lanes > 1 else self._one

    def run_on(self, is_single: bool) -> tuple[int, int]:
        """What a program (`program.py`) calls, on lanes that are loaded already: the function and its constants."""
        mine = self._one if is_single else self._many
        return driver_address(mine.lane, "run"), mine.data.constants

    def driver(self, is_single: bool) -> tuple[int, int]:
        """What other native code calls (`hooks/native_call.py`) with rows of states: the function and its constants."""
        mine = self._one if is_single else self._many
        return mine.batch_address, mine.data.constants

    def workspace_bytes(self, is_single: bool) -> int:
        return _workspace_bytes(self.artifact, Lane(self.lane.bits, 1) if is_single else self.lane)

    def builtin(
        self,
        writes: bool = False,
        checks: bool = False,
        result: type[tuple[Any, ...]] | None = None,
        careful: Callable[..., Any] | None = None,
    ) -> Callable[..., Any]:
        """A function of one state in arrays just as native code wants them (`emit/single.py`).

        writes   whether results go into arrays that are given
        checks   whether it looks at the numbers, too
        result   the type of a tuple of results; default: a tuple if there are several
        careful  what it calls with all else; default: it returns None, and nothing is changed
        """
        if not self._knows_arrays:
            return careful or (lambda *arrays: None)
        if result is None and len(self.tape.outputs) != 1:
            result = tuple
        data, scratch = self._one.data, self._single_scratch
        places = address_of(scratch), data.constants, data.ports
        address = driver_address(self._one.lane, "single")
        return make_builtin(
            "call", address, self.dtype, places, writes, checks, (data, scratch), result=result, careful=careful
        )

    @cached_property
    def _single_scratch(self) -> np.ndarray:
        return aligned(_scratch_bytes(self.tape, self.artifact, self._one.lane))

    @property
    def _knows_arrays(self) -> bool:
        return layout_is_known() and all(len(port.shape) <= MOST_DIMENSIONS for port in self._ports)

    @cached_property
    def _builtins_of_batches(self) -> tuple[Any, Any]:
        """`name(scratch, addresses, *inputs, *outputs)`: without a look at the numbers, and with it."""
        if not self._knows_arrays:
            return lambda *arrays: None, lambda *arrays: None
        data, address = self._many.data, driver_address(self._one.lane, "many")
        places = data.workspace, data.constants, data.ports
        plain, checking = (
            make_builtin("batch", address, self.dtype, places, True, checks, data, batch=self._many.batch_address)
            for checks in (False, True)
        )
        return plain, checking

    def call_batch(self, arrays: Sequence[Any], validate: bool = False) -> bool | None:
        """`run_checked` of inputs, then outputs, on one thread, where they are arrays of at least two states just as
        native code wants them, each apart from the outputs. None: they are not, and nothing is changed.
        """
        try:
            held = [in_place(array) for array in arrays]
        except TypeError:
            return None
        scratch, call = self._scratch(), self._builtins_of_batches[validate]
        try:
            return call(scratch.memory, scratch.pointers, *arrays)
        finally:
            self._free_scratch.append(scratch)
            del held

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

    def run_checked(
        self, arrays: Sequence[np.ndarray], batch: int, threads: int, may_overlap: bool, validate: bool = False
    ) -> bool:
        """`run`, for at least one state and arrays (inputs, then outputs) that are known to be right and to stay
        `in_place`; `may_overlap`: outputs may share memory with others. Returns whether all arguments are finite and
        quaternions of length one, if it is to `validate`.
        """
        count = len(self.tape.inputs)
        places = [address_of(array) for array in arrays]
        copies = copies_of_overwritten(arrays, places, self._ports, count) if may_overlap else {}
        for number, copy in copies.items():
            places[number] = address_of(copy)
        sources, targets = self._pack_sources(*places[:count]), self._pack_targets(*places[count:])
        threads = max(1, min(threads, -(-batch // self.lanes), MOST_THREADS))
        scratches = [self._scratch() for _ in range(threads)]
        mine = self._one if batch == 1 and threads == 1 else self._many
        workspace, constants = mine.data.workspace, mine.data.constants
        invalid = [_count_at(scratch.address + workspace) for scratch in scratches]
        for count_of in invalid:
            count_of.value = 0 if validate else UNCHECKED
        try:
            if threads == 1:
                mine.batch(sources, targets, 0, batch, scratches[0].address, constants)
            else:
                tables = address_of_bytes(sources), address_of_bytes(targets)
                own = [(*tables, scratch.address, constants) for scratch in scratches]
                share(mine.batch_address, own, batch, self.lanes)
            return not validate or not any(count_of.value for count_of in invalid)
        finally:
            self._free_scratch += scratches

    def _scratch(self) -> _Scratch:
        try:
            return self._free_scratch.pop()
        except IndexError:
            memory = aligned(self.scratch_bytes)
            return _Scratch(memory, address_of(memory), np.empty(len(self._ports), np.uint64))


def _workspace_bytes(artifact: Artifact, lane: Lane) -> int:
    return -(-artifact.slots * lane.bytes // CACHE_LINE) * CACHE_LINE


def _scratch_bytes(tape: Tape, artifact: Artifact, lane: Lane) -> int:
    """What a driver writes to: the workspace, how many states were not valid, lanes that are put off, rows that are
    only padding.
    """
    longest = max((port.size for port in tape.outputs), default=0)
    return _workspace_bytes(artifact, lane) + 2 * CACHE_LINE + longest * lane.scalar_bytes


class KernelData:
    """What the drivers read of a kernel, in memory, for one kind of lane: constants, steps, ports, addresses of chunks.

    keeps  what must stay in memory with it
    """

    def __init__(
        self, tape: Tape, artifact: Artifact, lane: Lane, chunks: Sequence[int], transfers: Sequence[int], keeps: Any
    ) -> None:
        self.workspace = _workspace_bytes(artifact, lane)
        steps = np.array(artifact.steps, dtype=np.int64)
        ports = np.array(ports_of(tape, artifact, self.workspace, _UNIT), dtype=np.int64)
        addresses = np.array(chunks, dtype=np.uint64)
        handlers = np.zeros(len(Kind), dtype=np.uint64)
        for kind in set(artifact.kinds) - _OWN_CODE:
            handlers[kind] = driver_address(lane, Kind(kind).name)
        listed = driver_address(lane, "listed") if lane.count == 1 and any(artifact.listed) else 0
        most_handlers, run_most = handlers.copy(), 0
        if lane.count > 1 and Kind.ENTER in artifact.kinds:  # with one lane nobody waits
            run_most = driver_address(lane, "run_most")
            most_handlers[Kind.ENTER] = driver_address(lane, "enter_if_many")
        drivers = driver_address(lane, "run"), driver_address(lane, "check"), listed, address_of(handlers)
        drivers = *drivers, run_most, address_of(most_handlers)
        lists = address_of(steps), address_of(addresses), address_of(ports)
        header = [*_c_functions(), *lists, *transfers, *drivers]
        values = np.concatenate([tape.constants, tape.constants[artifact.constants]]).astype(lane.dtype)
        memory, begin = constants_in_memory(values, lane.bits, lane.count)
        memory[begin - HEADER_BYTES :][: 8 * len(header)].view(np.uint64)[:] = header
        self.constants, self.ports = address_of(memory) + begin, address_of(ports)
        self._keeps = memory, steps, ports, addresses, handlers, most_handlers, keeps


def constants_in_memory(values: np.ndarray, bits: int, count: int) -> tuple[np.ndarray, int]:
    """Constants for so many lanes with all that lies before them (`x86/patterns.py`), and where they begin."""
    begin = -(-values.nbytes // CACHE_LINE) * CACHE_LINE + HEADER_BYTES
    memory = aligned(begin + values.nbytes * count)
    memory[begin - HEADER_BYTES - values.nbytes : begin - HEADER_BYTES].view(values.dtype)[:] = values[::-1]
    before = np.frombuffer(patterns(bits), np.uint8)
    memory[begin - len(before) : begin] = before
    memory[begin:].view(values.dtype)[:] = np.repeat(values, count)
    return memory, begin


def _load(artifact: Artifact, lane: Lane) -> tuple[Any, list[int], list[int]]:
    """What keeps the code in memory, and the addresses of its chunks: for one lane, and for all."""
    if artifact.is_flat:
        memory = ExecutableMemory(artifact.code)
        single, lanes = ([memory.address + x for x in places] for places in (artifact.single_chunks, artifact.chunks))
        return memory, single, lanes
    from sarrus.codegen.emit.jit import load_object

    names = [chunk_names(Lane(lane.bits, count), len(artifact.chunks)) for count in (1, lane.count)]
    memory, found = load_object(artifact.code, list(dict.fromkeys([*names[0], *names[1]])))
    single, lanes = ([found[name] for name in of_lane] for of_lane in names)
    return memory, single, lanes


def driver_address(lane: Lane, name: str) -> int:
    """The address of a driver (`emit/drivers.py`) for this kind of lane: compiled once per machine."""
    return _drivers(lane, together_with(name))[name]


@functools.cache
def _drivers(lane: Lane, names: tuple[str, ...]) -> dict[str, int]:
    def text() -> str:
        from sarrus.codegen.emit.drivers import module_text  # not needed where it is on disk

        return module_text(lane, names)

    variant = f"{lane.bits} {lane.count} {lane.fma} {names}"
    return load_module("drivers", variant, text, list(names), is_hot="single" not in names)


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
