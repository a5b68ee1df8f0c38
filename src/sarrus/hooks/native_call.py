"""A kernel as something that any native code may call, from any thread, without Python.

`call(inputs, outputs, count, context)` runs a kernel on `count` states: arrays of pointers to rows, as the batch driver
has them (`codegen/emit/batch.py`). The context is a table of addresses. Memory to work in is one of several pieces,
each behind a flag: a thread takes the first that is free, so threads that call at once do not meet.
"""

from __future__ import annotations

from enum import IntEnum
from functools import cache
from typing import Any

import numpy as np

from sarrus.codegen.emit.memory import CACHE_LINE, address_of, aligned
from sarrus.codegen.emit.words import UNCHECKED
from sarrus.codegen.emit.writer import Writer
from sarrus.codegen.runtime.kernel import Kernel
from sarrus.codegen.runtime.module import load_module
from sarrus.codegen.runtime.threads import available_cores

Word = IntEnum(
    "Word",
    "BATCH BATCH_CONSTANTS BATCH_WORKSPACE ONE ONE_CONSTANTS ONE_WORKSPACE PIECES FLAGS MEMORY STRIDE",
    start=0,
)


class NativeCall:
    """The context of a kernel, for as long as this object lives."""

    def __init__(self, kernel: Kernel) -> None:
        native, self.kernel = kernel.native, kernel
        pieces = 2 * available_cores()  # of as many threads as call at once; one more waits for a piece
        stride = -(-native.scratch_bytes // CACHE_LINE) * CACHE_LINE
        flags, memory = aligned(pieces * CACHE_LINE), aligned(pieces * stride)
        flags[:] = 0
        (batch, batch_constants), (one, one_constants) = (native.driver(is_single) for is_single in (False, True))
        workspaces = [native.workspace_bytes(is_single) for is_single in (False, True)]
        words = {
            Word.BATCH: batch, Word.BATCH_CONSTANTS: batch_constants, Word.BATCH_WORKSPACE: workspaces[0],
            Word.ONE: one, Word.ONE_CONSTANTS: one_constants, Word.ONE_WORKSPACE: workspaces[1],
            Word.PIECES: pieces, Word.FLAGS: address_of(flags), Word.MEMORY: address_of(memory), Word.STRIDE: stride,
        }  # fmt: skip
        self._words = np.array([words[word] for word in Word], dtype=np.uint64)
        self._keeps: Any = flags, memory
        self.context = address_of(self._words)


@cache
def entry() -> int:
    """The address of `call`."""
    return load_module("native call", "", emit_call, ["call"])["call"]


def emit_call() -> str:
    w = Writer("void @call(ptr %inputs, ptr %outputs, i64 %count, ptr %context)")
    w.do(f"br i1 {w.value('icmp eq i64 %count, 0')}, label %nothing, label %some")
    w.label("some")

    def word(which: Word, kind: str = "ptr") -> str:
        return w.value(f"load {kind}, ptr {w.offset('%context', 8 * which)}, align 8")

    single = w.value("icmp eq i64 %count, 1")

    def either(one: Word, batch: Word, kind: str = "ptr") -> str:
        return w.value(f"select i1 {single}, {kind} {word(one, kind)}, {kind} {word(batch, kind)}")

    driver = either(Word.ONE, Word.BATCH)
    constants = either(Word.ONE_CONSTANTS, Word.BATCH_CONSTANTS)
    workspace = either(Word.ONE_WORKSPACE, Word.BATCH_WORKSPACE, "i64")
    pieces, flags, memory, stride = (
        word(Word.PIECES, "i64"),
        word(Word.FLAGS),
        word(Word.MEMORY),
        word(Word.STRIDE, "i64"),
    )
    w.do("br label %take")
    w.label("take")
    w.do("%n = phi i64 [0, %some], [%next, %taken]")
    flag = w.offset(flags, w.value(f"mul i64 %n, {CACHE_LINE}"))
    before = w.value(f"atomicrmw xchg ptr {flag}, i64 1 acquire")
    w.do(f"br i1 {w.value(f'icmp eq i64 {before}, 0')}, label %mine, label %taken")
    w.label("taken")
    following = w.value("add i64 %n, 1")
    w.do(f"%next = urem i64 {following}, {pieces}")
    w.do("br label %take")
    w.label("mine")
    scratch = w.offset(memory, w.value(f"mul i64 %n, {stride}"))
    w.do(f"store i64 {UNCHECKED}, ptr {w.offset(scratch, workspace)}, align 8")
    w.do(f"call void {driver}(ptr %inputs, ptr %outputs, i64 0, i64 %count, ptr {scratch}, ptr {constants})")
    w.do(f"store atomic i64 0, ptr {flag} release, align 8")
    w.do("br label %nothing")
    w.label("nothing")
    return w.finish()
