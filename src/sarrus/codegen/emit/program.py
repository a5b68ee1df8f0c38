"""The native code that executes programs (`codegen/runtime/program.py`): one for all of them, per kind of lane.

It only moves memory and calls kernels, so that the numbers are those of calling the kernels one after the other.
"""

from __future__ import annotations

from enum import IntEnum

from sarrus.codegen.emit.lane import Lane
from sarrus.codegen.emit.transfer import move_rows, rows_of_block, scatter_listed, slot_of
from sarrus.codegen.emit.writer import Writer

Kind = IntEnum("Kind", "GATHER SCATTER COPY RUN", start=0)  # of an instruction
Word = IntEnum(
    "Word", "KIND EVERY PHASE ADDRESS PER_STATE PER_STEP SLOT COUNT OTHER LIST", start=0
)  # of an instruction


def emit_program(lane: Lane, name: str) -> str:
    """`name(code, start, first, count, steps, workspace)`: execute the code for states first .. first + count - 1."""
    lanes = lane.count
    w = Writer(f"void @{name}(ptr %code, i64 %start, i64 %first, i64 %count, i64 %steps, ptr %w)")
    counts = [w.value(f"load i64, ptr {w.offset('%code', 8 * k)}, align 8") for k in range(3)]
    padding = w.offset("%w", w.value(f"load i64, ptr {w.offset('%code', 24)}, align 8"))
    end = w.value("add i64 %first, %count")
    sections, section = [], w.offset("%code", 32)
    for count in counts:
        sections.append(section)
        section = w.offset(section, w.value(f"mul i64 {count}, {8 * len(Word)}"))
    blocks = w.value(f"udiv i64 {w.value(f'add i64 %count, {lanes - 1}')}, {lanes}")

    def execute(which: int, state: str, step: str) -> None:
        w.do(
            f"call void @{name}_section(ptr {sections[which]}, i64 {counts[which]}, i64 {state}, i64 {end}, "
            f"i64 {step}, ptr %w, ptr {padding})"
        )

    with w.loop(blocks) as block:
        state = w.value(f"add i64 {w.value(f'mul i64 {block}, {lanes}')}, %first")
        execute(0, state, "%start")
        with w.loop("%steps") as number:
            execute(1, state, w.value(f"add i64 {number}, %start"))
        execute(2, state, "%start")
    return "\n".join([_emit_section(lane, f"{name}_section"), w.finish()])


def _emit_section(lane: Lane, name: str) -> str:
    """One section of a program for one block of states at one step."""
    w = Writer(f"internal void @{name}(ptr %section, i64 %n, i64 %state, i64 %end, i64 %t, ptr %w, ptr %padding)")
    with w.loop("%n") as i:
        instruction = w.offset("%section", w.value(f"mul i64 {i}, {8 * len(Word)}"))

        def word(k: int) -> str:
            return w.value(f"load i64, ptr {w.offset(instruction, 8 * k)}, align 8")

        every = word(Word.EVERY)
        remainder = w.value(f"urem i64 %t, {every}")
        with w.when(w.value(f"icmp eq i64 {remainder}, {word(Word.PHASE)}")):
            kind = word(Word.KIND)
            slots, count = w.offset("%w", word(Word.SLOT)), word(Word.COUNT)
            words = w.value(f"inttoptr i64 {word(Word.LIST)} to ptr")
            is_listed = w.value(f"icmp ne ptr {words}, null")
            with w.when(w.value(f"icmp eq i64 {kind}, {Kind.RUN:d}")):
                function = w.value(f"inttoptr i64 {word(Word.ADDRESS)} to ptr")
                constants = w.value(f"inttoptr i64 {word(Word.OTHER)} to ptr")
                w.do(f"call void {function}(ptr {slots}, ptr {constants})")
            with w.when(w.value(f"icmp eq i64 {kind}, {Kind.COPY:d}")):
                _copy(w, lane, slots, w.offset("%w", word(Word.OTHER)), count, words, is_listed)
            with w.when(w.value(f"icmp ult i64 {kind}, {Kind.COPY:d}")):
                row = w.value(f"mul i64 {w.value(f'udiv i64 %t, {every}')}, {word(Word.PER_STEP)}")
                base = w.offset(w.value(f"inttoptr i64 {word(Word.ADDRESS)} to ptr"), row)
                stride = word(Word.PER_STATE)
                rows = rows_of_block(w, lane, base, stride, "%state", "%end")
                wanted = rows_of_block(w, lane, base, stride, "%state", "%end", "%padding")
                with w.when(w.value(f"icmp eq i64 {kind}, {Kind.GATHER:d}")):
                    move_rows(w, lane, rows, slots, count, to_rows=False)
                with w.when(w.value(f"icmp eq i64 {kind}, {Kind.SCATTER:d}")):
                    with w.when(is_listed):
                        scatter_listed(w, lane, wanted, slots, words, count)
                    with w.when(w.value(f"xor i1 {is_listed}, true")):
                        move_rows(w, lane, wanted, slots, count, to_rows=True)
    return w.finish()


def _copy(w: Writer, lane: Lane, source: str, target: str, count: str, words: str, is_listed: str) -> None:
    """Slots to slots, from where a list says if there is one."""
    T, align = lane.type, lane.alignment
    for listed, condition in ((True, is_listed), (False, w.value(f"xor i1 {is_listed}, true"))):
        with w.when(condition), w.loop(count) as i:
            place = slot_of(w, lane, source, words, i) if listed else _at(w, lane, source, i)
            x = w.value(f"load {T}, ptr {place}, align {align}")
            w.do(f"store {T} {x}, ptr {_at(w, lane, target, i)}, align {align}")


def _at(w: Writer, lane: Lane, first: str, number: str) -> str:
    return w.offset(first, w.value(f"mul i64 {number}, {lane.bytes}"))
