"""Patterns of bits that code needs beside a kernel's constants. They lie before these, each as wide as a register."""

from __future__ import annotations

import numpy as np

PATTERN_BYTES = 64


def patterns(bits: int) -> bytes:
    """What ends where the constants begin: one, all bits but the sign, the sign (`registers.ONE`, MAGNITUDE, SIGN)."""
    whole, real = {64: (np.uint64, np.float64), 32: (np.uint32, np.float32)}[bits]
    sign = 1 << (bits - 1)
    rows = np.array([int(np.array(1.0, real).view(whole)), sign - 1, sign], dtype=whole)
    return np.repeat(rows, PATTERN_BYTES * 8 // bits).tobytes()
