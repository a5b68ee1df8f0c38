"""What machine this is: how many lanes it has, whether it fuses, and a name that changes when code must."""

from __future__ import annotations

import functools
import hashlib
import platform
import sys


@functools.cache
def _cpuinfo() -> dict[str, str]:
    """The first processor's entry in Linux's own description; empty elsewhere."""
    if not sys.platform.startswith("linux"):
        return {}
    entry: dict[str, str] = {}
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            for line in file:
                if not line.strip():
                    break
                key, _, value = line.partition(":")
                entry[key.strip()] = value.strip()
    except OSError:
        return {}
    return entry


def is_x86() -> bool:
    return platform.machine() in ("x86_64", "AMD64")


@functools.cache
def features() -> frozenset[str]:
    """Instruction set extensions by LLVM's names, read without starting LLVM where that is possible."""
    words = _cpuinfo().get("flags")
    if words is not None and is_x86():
        return frozenset(words.split())
    from sarrus.codegen.emit.jit import host_features

    return frozenset(name for name, present in host_features().items() if present)


def has_fma() -> bool:
    return "fma" in features() or platform.machine() in ("arm64", "aarch64")


def has_wide_registers() -> bool:
    """Of 512 bits, and logic on numbers in them and in parts of them."""
    return {"avx512f", "avx512dq", "avx512vl"} <= features()


def default_lanes(dtype_bits: int) -> int:
    """As many states side by side as fit a vector register that our own encoder knows, or LLVM elsewhere."""
    register = 512 if has_wide_registers() else 256 if "avx2" in features() else 128
    return register // dtype_bits


@functools.cache
def identity() -> str:
    """Changes with anything about the machine that compiled code may depend on."""
    info = _cpuinfo()
    kept = {k: info[k] for k in ("vendor_id", "cpu family", "model", "model name", "stepping") if k in info}
    text = repr((sys.platform, platform.machine(), sorted(kept.items()), sorted(features())))
    return hashlib.sha256(text.encode()).hexdigest()
