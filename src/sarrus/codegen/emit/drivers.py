"""All drivers of kernels of one kind of lane as one module of IR."""

from __future__ import annotations

from collections.abc import Sequence

from sarrus.codegen.emit.batch import emit_batch
from sarrus.codegen.emit.lane import Lane
from sarrus.codegen.emit.run import emit_run
from sarrus.codegen.emit.single import emit_single

_INTRINSICS = {"sqrt": 1, "fabs": 1, "minimum": 2, "maximum": 2, "copysign": 2, "fma": 3}


def drivers(lane: Lane, functions: Sequence[str]) -> str:
    """The module, whose functions are `entries.ENTRIES` and, for one lane, `entries.SINGLE`."""
    parts = [declarations(lane.bits), emit_run(lane, "run", functions), emit_batch(lane, "run", "batch")]
    if lane.count == 1:
        parts.append(emit_single(lane, "run", "batch_check"))
    return "\n".join(parts)


def declarations(bits: int) -> str:
    """The intrinsics that may be used, for every number of lanes."""
    lines = ["declare void @llvm.prefetch.p0(ptr, i32, i32, i32)"]
    lines.append("declare i64 @llvm.ctpop.i64(i64)")
    for lane in (Lane(bits, 2**k) for k in range(7)):
        for name, arity in _INTRINSICS.items():
            lines.append(f"declare {lane.type} @llvm.{name}.{lane.suffix}({', '.join([lane.type] * arity)})")
    return "\n".join(lines)
