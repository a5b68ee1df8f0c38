"""What lies before a kernel's constants, of which each fills a register: from there back, patterns of bits that code
needs beside them, the addresses that drivers read (`emit/words.py`), and all constants once more, the first one last,
each as one number. AVX-512 reads a number into all lanes as quickly as a register, and from fewer cache lines.
"""

from __future__ import annotations

import numpy as np

PATTERN_BYTES = 64
HEADER_BYTES = 320  # patterns and addresses


def patterns(bits: int) -> bytes:
    """What ends where the constants begin: one, all bits but the sign, the sign (`registers.ONE`, MAGNITUDE, SIGN)."""
    whole, real = {64: (np.uint64, np.float64), 32: (np.uint32, np.float32)}[bits]
    sign = 1 << (bits - 1)
    rows = np.array([int(np.array(1.0, real).view(whole)), sign - 1, sign], dtype=whole)
    return np.repeat(rows, PATTERN_BYTES * 8 // bits).tobytes()
