"""The cheapest way from Python into a kernel with a batch, as IR: a builtin function whose machine code is ours.

As that for one state (`single.py`), it checks the arrays by NumPy's documented object layout and declines (it touches
nothing) whatever does not fit exactly: then Python's careful path decides. What fits is computed without the GIL, in
memory that belongs to this call alone.
"""

from __future__ import annotations

from sarrus.codegen.emit.builtin import DATA
from sarrus.codegen.emit.lane import Lane
from sarrus.codegen.emit.single import Call, field, unless
from sarrus.codegen.emit.words import UNCHECKED
from sarrus.codegen.emit.writer import Writer


def emit_many(lane: Lane, name: str) -> str:
    """A METH_FASTCALL function `name(scratch, addresses, *inputs, *outputs)` for batches of at least two states.

    scratch    an array for the driver of batches
    addresses  an array for one address per input and output

    It returns True; if the context says that it `checks`, whether all numbers were valid. None: it did not run, because
    arrays are not exactly right, or an output shares memory with another array.
    """
    w = Writer(f"ptr @{name}(ptr %self, ptr %args, i64 %nargs)")
    c = Call(w, lane, first=2)
    count = w.value(f"add i64 {c.n_inputs}, {c.n_outputs}")
    unless(w, w.value(f"icmp eq i64 %nargs, {w.value(f'add i64 {count}, 2')}"), "decline")
    scratch, addresses = (field(w, w.value(f"load ptr, ptr {w.offset('%args', at)}, align 8"), DATA) for at in (0, 8))
    unless(w, w.value(f"icmp ne i64 {count}, 0"), "decline")
    dimensions, shape = c.shape_of(c.argument("0"))
    unless(w, w.value(f"icmp sgt i64 {dimensions}, 0"), "decline")
    states = w.value(f"load i64, ptr {shape}, align 8")
    unless(w, w.value(f"icmp sge i64 {states}, 2"), "decline")
    c.check_arrays(count, states)

    def extent(i: str) -> tuple[str, str]:
        """Where array i begins and ends."""
        size, _, _ = c.port(c.inputs, i)
        begin = w.value(f"ptrtoint ptr {field(w, c.argument(i), DATA)} to i64")
        length = w.value(f"mul i64 {w.value(f'mul i64 {size}, {states}')}, {lane.scalar_bytes}")
        return begin, w.value(f"add i64 {begin}, {length}")

    with w.loop(count) as i:
        begin, end = extent(i)
        w.do(f"store i64 {begin}, ptr {w.offset(addresses, w.value(f'mul i64 {i}, 8'))}, align 8")
        with w.when(w.value(f"icmp uge i64 {i}, {c.n_inputs}")), w.loop(i) as j:
            other_begin, other_end = extent(j)
            apart = w.value(f"icmp ule i64 {end}, {other_begin}")
            unless(w, w.value(f"or i1 {apart}, {w.value(f'icmp ule i64 {other_end}, {begin}')}"), "decline")
    invalid = w.offset(scratch, w.value(f"ptrtoint ptr {c['workspace']} to i64"))
    checks = w.value(f"icmp ne ptr {c['checks']}, null")
    w.do(f"store i64 {w.value(f'select i1 {checks}, i64 0, i64 {UNCHECKED}')}, ptr {invalid}, align 8")
    targets = w.offset(addresses, w.value(f"mul i64 {c.n_inputs}, 8"))
    thread = w.value(f"call ptr {c['save_thread']}()")
    w.do(f"call void {c['batch']}(ptr {addresses}, ptr {targets}, i64 0, i64 {states}, ptr {scratch}, ptr %k)")
    w.do(f"call void {c['restore_thread']}(ptr {thread})")
    valid = w.value(f"icmp sle i64 {w.value(f'load i64, ptr {invalid}, align 8')}, 0")
    result = w.value(f"select i1 {valid}, ptr {c['true']}, ptr {c['false']}")
    w.do(f"call void {c['incref']}(ptr {result})")
    w.do(f"ret ptr {result}")
    w.label("decline")
    w.do(f"call void {c['incref']}(ptr {c['none']})")
    return w.finish(f"ret ptr {c['none']}")
