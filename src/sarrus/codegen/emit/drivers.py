"""All drivers of kernels of one scalar type as one module of IR, for lanes and for one lane."""

from __future__ import annotations

from sarrus.codegen.emit.batch import emit_batch
from sarrus.codegen.emit.lane import Lane
from sarrus.codegen.emit.run import emit_run
from sarrus.codegen.emit.single import emit_single

_INTRINSICS = {"sqrt": 1, "fabs": 1, "minimum": 2, "maximum": 2, "copysign": 2, "fma": 3}


def drivers(lane: Lane) -> str:
    """The module, whose functions are `entries.ENTRIES`."""
    single = Lane(lane.bits, 1, lane.fma)
    return "\n".join(
        [
            declarations(lane.bits),
            emit_run(single, "run_single"),
            emit_batch(single, "run_single", "batch_single"),
            emit_single(single, "run_single", "batch_single_check"),
            emit_run(lane, "run"),
            emit_batch(lane, "run", "batch"),
        ]
    )


def declarations(bits: int) -> str:
    """The intrinsics that may be used, for every number of lanes."""
    lines = ["declare void @llvm.prefetch.p0(ptr, i32, i32, i32)"]
    for lane in (Lane(bits, 2**k) for k in range(7)):
        for name, arity in _INTRINSICS.items():
            lines.append(f"declare {lane.type} @llvm.{name}.{lane.suffix}({', '.join([lane.type] * arity)})")
    return "\n".join(lines)
