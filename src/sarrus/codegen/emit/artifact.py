"""What compiling yields and the disk keeps: machine code and how to call it. Bytes and numbers only."""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass
from dataclasses import fields as dataclass_fields

from sarrus.codegen.emit.kinds import Kind
from sarrus.codegen.emit.lane import Lane
from sarrus.codegen.passes.ports import RUN_BITS

_MOST_SLOTS = 2**25  # addresses in the code are 32-bit offsets
_MOST_KINDS = len(Kind)


@dataclass(frozen=True)
class Artifact:
    """Machine code of a kernel's chunks, with where each begins (-1: a loader must say), and its steps as data."""

    code: bytes
    is_flat: bool
    single_chunks: list[int]  # for one lane
    chunks: list[int]  # for all lanes
    steps: list[int]
    kinds: list[int]  # of the steps, each once
    slots: int  # of the workspace
    outputs: list[int]  # the first slot of each
    listed: list[list[int]]  # per output: where its elements are (`passes/ports.py`); none: they follow the first one
    transfers: list[int]  # where the code is that moves blocks into lanes and out again; -1: there is none
    constants: list[int]  # of the tape, that follow all of its constants once more
    stats: dict[str, float]

    @property
    def lanes_begin(self) -> int:
        """Where the code for all lanes begins, after that for one lane; 0: they are not told apart."""
        first = [places[0] for places in (self.single_chunks, self.chunks) if places]
        return first[1] if len(first) == 2 and -1 < first[0] < first[1] else 0

    def to_bytes(self) -> bytes:
        fields = {f.name: getattr(self, f.name) for f in dataclass_fields(self) if f.name != "code"}
        return joined(json.dumps(fields).encode(), self.code)

    @staticmethod
    def from_bytes(data: bytes) -> Artifact:
        """What `to_bytes` wrote; ValueError (or KeyError, TypeError) for anything else."""
        head, code = split(data)
        read = json.loads(head)
        if read["is_flat"] not in (True, False) or any(type(word) is not int for word in read["steps"]):
            raise ValueError("no machine code")
        single, lanes = ([_whole(x, len(code), -1) for x in read[name]] for name in ("single_chunks", "chunks"))
        if len(single) != len(lanes) or (single and not code):
            raise ValueError("no machine code")
        slots = _whole(read["slots"], _MOST_SLOTS)
        transfers = [_whole(x, len(code), -1) for x in read["transfers"]]
        if len(transfers) != 2:
            raise ValueError("no machine code")
        constants = [_whole(x, _MOST_SLOTS) for x in read["constants"]]
        kinds = [_whole(x, _MOST_KINDS) for x in read["kinds"]]
        outputs = [_whole(x, slots + 1) for x in read["outputs"]]
        listed = [[_whole(x, _MOST_SLOTS << RUN_BITS) for x in words] for words in read["listed"]]
        if len(outputs) != len(listed) or any(x % (1 << RUN_BITS) >= slots for words in listed for x in words):
            raise ValueError("no machine code")
        steps, stats = read["steps"], read["stats"]
        return Artifact(
            code, read["is_flat"], single, lanes, steps, kinds, slots, outputs, listed, transfers, constants, stats
        )


def chunk_names(lane: Lane, count: int) -> list[str]:
    """What chunks are called in an object file that a loader must load."""
    return [f"chunk{number}_{lane.count}" for number in range(count)]


def joined(first: bytes, second: bytes) -> bytes:
    """Two pieces of bytes as one, which `split` takes apart."""
    return struct.pack("<Q", len(first)) + first + second


def split(data: bytes) -> tuple[bytes, bytes]:
    """The two pieces of `joined`."""
    if len(data) < 8:
        raise ValueError("too short")
    (length,) = struct.unpack_from("<Q", data)
    if length > len(data) - 8:
        raise ValueError(f"{len(data)} bytes do not hold {length}")
    return data[8 : 8 + length], data[8 + length :]


def _whole(number: object, end: int, least: int = 0) -> int:
    """A number in range(least, end)."""
    if type(number) is not int or not least <= number < end:
        raise ValueError(f"{number!r} is not in {least} .. {end - 1}")
    return number
