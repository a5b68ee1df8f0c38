"""Declarations of the intrinsics that IR uses."""

from __future__ import annotations

import re

_ARITY = {"sqrt": 1, "fabs": 1, "minimum": 2, "maximum": 2, "copysign": 2, "fma": 3}
_SCALAR = {"64": "double", "32": "float"}
_USED = re.compile(r"@llvm\.(\w+)\.(?:v(\d+))?f(\d+)\(")


def with_declarations(ir: str) -> str:
    """A module of these functions, in which what they call is declared."""
    lines = ["declare void @llvm.prefetch.p0(ptr, i32, i32, i32)"] if "@llvm.prefetch" in ir else []
    lines += ["declare i64 @llvm.ctpop.i64(i64)"] if "@llvm.ctpop" in ir else []
    for name, lanes, bits in sorted(set(_USED.findall(ir))):
        kind = f"<{lanes} x {_SCALAR[bits]}>" if lanes else _SCALAR[bits]
        suffix = f"v{lanes}f{bits}" if lanes else f"f{bits}"
        lines.append(f"declare {kind} @llvm.{name}.{suffix}({', '.join([kind] * _ARITY[name])})")
    return "\n".join([*lines, ir])
