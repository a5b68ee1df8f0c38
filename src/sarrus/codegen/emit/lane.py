"""The scalar type of a kernel: several states side by side."""

from __future__ import annotations

import struct
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Lane:
    """`count` states side by side, each a float of `bits` bits; `fma`: whether the processor fuses."""

    bits: int
    count: int
    fma: bool = True

    @property
    def scalar(self) -> str:
        return {64: "double", 32: "float"}[self.bits]

    @property
    def dtype(self) -> np.dtype:
        return np.dtype({64: np.float64, 32: np.float32}[self.bits])

    @property
    def type(self) -> str:
        return self.scalar if self.count == 1 else f"<{self.count} x {self.scalar}>"

    @property
    def suffix(self) -> str:
        """How intrinsics spell the type."""
        return f"f{self.bits}" if self.count == 1 else f"v{self.count}f{self.bits}"

    @property
    def integer(self) -> str:
        return f"i{self.bits}" if self.count == 1 else f"<{self.count} x i{self.bits}>"

    @property
    def mask(self) -> str:
        return "i1" if self.count == 1 else f"<{self.count} x i1>"

    @property
    def scalar_bytes(self) -> int:
        return self.bits // 8

    @property
    def bytes(self) -> int:
        return self.scalar_bytes * self.count

    @property
    def alignment(self) -> int:
        """Of a slot in the workspace, which begins at a cache line."""
        return min(self.bytes, 64)

    def constant(self, value: float) -> str:
        """`value` in every lane. LLVM writes floats as the bits of the double of the same value."""
        if self.bits == 32:
            value = float(np.float32(value))
        bits = f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"
        return bits if self.count == 1 else f"splat ({self.scalar} {bits})"

    def integer_constant(self, value: int) -> str:
        return str(value) if self.count == 1 else f"splat (i{self.bits} {value})"
