"""The most multiply-adds that one core of this machine does, measured with a loop compiled as kernels are."""

from __future__ import annotations

import ctypes
import time

from sarrus.codegen.emit import host, jit
from sarrus.codegen.emit.lane import Lane
from sarrus.codegen.emit.writer import Writer
from sarrus.codegen.runtime.module import placed

_CHAINS = 10  # independent multiply-adds in flight: latency times throughput, and still all in registers


def measure_peak(dtype_bits: int = 64, seconds: float = 0.05) -> float:
    """Floating-point operations per second (a multiply-add is two) that one core reaches."""
    lane = Lane(dtype_bits, host.default_lanes(dtype_bits), host.has_fma())
    memory, addresses = placed(jit.compile_object(_loop(lane)), ["peak"])
    function = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_void_p)(addresses["peak"])
    data = (ctypes.c_double * (lane.count * 4))()
    repetitions = 50_000
    best, end = float("inf"), time.perf_counter() + seconds
    while time.perf_counter() < end:
        start = time.perf_counter()
        function(repetitions, data)
        best = min(best, time.perf_counter() - start)
    del memory  # kept until here: the code lives in it
    return repetitions * _CHAINS * 2 * lane.count / best


def _loop(lane: Lane) -> str:
    T = lane.type
    w = Writer("void @peak(i64 %n, ptr %data)")
    x = w.value(f"load {T}, ptr %data, align 4")
    w.do("br label %again")
    w.label("again")
    w.do("%i = phi i64 [0, %entry], [%following, %again]")
    for chain in range(_CHAINS):
        w.do(f"%a{chain} = phi {T} [{x}, %entry], [%b{chain}, %again]")
    for chain in range(_CHAINS):
        if lane.fma:
            w.do(f"%b{chain} = call {T} @llvm.fma.{lane.suffix}({T} %a{chain}, {T} {x}, {T} {x})")
        else:
            w.do(f"%m{chain} = fmul {T} %a{chain}, {x}")
            w.do(f"%b{chain} = fadd {T} %m{chain}, {x}")
    w.do("%following = add i64 %i, 1")
    w.do("%more = icmp ult i64 %following, %n")
    w.do("br i1 %more, label %again, label %done")
    w.label("done")
    total = "%b0"
    for chain in range(1, _CHAINS):
        total = w.value(f"fadd {T} {total}, %b{chain}")
    w.do(f"store {T} {total}, ptr %data, align 4")
    declaration = f"declare {T} @llvm.fma.{lane.suffix}({T}, {T}, {T})"
    return declaration + "\n" + w.finish()
