"""Who makes the machine code of chunks: our own encoder where it knows the machine, LLVM elsewhere."""

from __future__ import annotations

import os
import sys

from sarrus.codegen.emit import host
from sarrus.errors import UnsupportedError

X86, LLVM = "x86", "llvm"


def backend() -> str:
    """$SARRUS_BACKEND, or what this machine allows."""
    asked = os.environ.get("SARRUS_BACKEND", "")
    if asked not in ("", X86, LLVM):
        raise UnsupportedError(f"SARRUS_BACKEND is {asked!r}. Valid: {X86!r}, {LLVM!r}")
    if asked == X86 and not encoder_fits():
        raise UnsupportedError(f"SARRUS_BACKEND is {X86!r}: that needs Linux on x86-64 with AVX2 and FMA")
    return asked or (X86 if encoder_fits() else LLVM)


def encoder_fits() -> bool:
    """Whether this machine runs what the encoder writes, and `link_flat` knows its object files."""
    return sys.platform.startswith("linux") and host.is_x86() and {"avx2", "fma"} <= host.features()
