"""What compiling yields and the disk keeps: machine code and how to call it. Bytes and numbers only."""

from __future__ import annotations

import json
import struct
from dataclasses import asdict, dataclass

# Before the constants: addresses of C functions, which the code reaches only so. It then needs no relocation.
FUNCTION_TABLE_BYTES = 128


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
        return struct.pack("<Q", len(head)) + head + self.code

    @staticmethod
    def from_bytes(data: bytes) -> Artifact:
        (length,) = struct.unpack_from("<Q", data)
        fields = json.loads(data[8 : 8 + length])
        return Artifact(
            code=data[8 + length :],
            is_flat=fields["is_flat"],
            entries=fields["entries"],
            scratch=Scratch(**fields["scratch"]),
            single_scratch=Scratch(**fields["single_scratch"]),
            stats=fields["stats"],
        )
