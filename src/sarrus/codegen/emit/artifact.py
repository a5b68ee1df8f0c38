"""What compiling yields and the disk keeps: machine code and how to call it. Bytes and numbers only."""

from __future__ import annotations

import json
import struct
from dataclasses import asdict, dataclass

# Before the constants: addresses of C functions, which the code reaches only so (it then needs no relocation), and
# patterns of bits for the encoder (`x86/patterns.py`).
FUNCTION_TABLE_BYTES = 128
_MOST_SCRATCH = 2**31  # bytes; addresses in the code are 32-bit offsets


@dataclass(frozen=True)
class Scratch:
    """How the memory of one running driver is laid out, in bytes."""

    workspace: int
    unwanted: int  # after it: where rows go that are only padding

    @property
    def bytes(self) -> int:
        return self.workspace + self.unwanted


@dataclass(frozen=True)
class Artifact:
    """Machine code with its entry points (offsets, if the code is a flat image)."""

    code: bytes
    is_flat: bool
    entries: dict[str, int]
    scratch: Scratch
    single_scratch: Scratch
    stats: dict[str, float]

    def to_bytes(self) -> bytes:
        fields = {
            "is_flat": self.is_flat, "entries": self.entries, "scratch": asdict(self.scratch),
            "single_scratch": asdict(self.single_scratch), "stats": self.stats,
        }  # fmt: skip
        head = json.dumps(fields).encode()
        return joined(head, self.code)

    @staticmethod
    def from_bytes(data: bytes) -> Artifact:
        """What `to_bytes` wrote; ValueError (or KeyError, TypeError) for anything else."""
        head, code = split(data)
        fields = json.loads(head)
        entries = {name: _whole(offset, len(code)) for name, offset in fields["entries"].items()}
        if not code or not entries or fields["is_flat"] not in (True, False):
            raise ValueError("no machine code")
        return Artifact(
            code=code,
            is_flat=fields["is_flat"],
            entries=entries,
            scratch=Scratch(**{name: _whole(n, _MOST_SCRATCH) for name, n in fields["scratch"].items()}),
            single_scratch=Scratch(**{name: _whole(n, _MOST_SCRATCH) for name, n in fields["single_scratch"].items()}),
            stats=fields["stats"],
        )


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


def _whole(number: object, end: int) -> int:
    """A number in range(end)."""
    if type(number) is not int or not 0 <= number < end:
        raise ValueError(f"{number!r} is not in 0 .. {end - 1}")
    return number
