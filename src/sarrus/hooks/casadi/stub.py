"""What CasADi calls in a library of external functions, as LLVM IR: from its arrays of nonzeros to a kernel's rows.

CasADi gives nonzeros, column by column, and null for an argument of zeros or a result that nobody wants. A table of
words says, per array, where each nonzero is among the kernel's elements, row by row.
"""

from __future__ import annotations

from enum import IntEnum

from sarrus.codegen.emit.writer import Writer

Table = IntEnum("Table", "INPUTS OUTPUTS CALL CONTEXT PORTS", start=0)
PortWord = IntEnum("PortWord", "SIZE NONZEROS PLACES OFFSET", start=0)  # OFFSET: in the work array, in numbers


def emit_external() -> str:
    """`external(arguments, results, work, table)`: one evaluation."""
    w = Writer("i32 @external(ptr %arguments, ptr %results, ptr %work, ptr %table)")

    def word(which: Table, kind: str = "i64") -> str:
        return w.value(f"load {kind}, ptr {w.offset('%table', 8 * which)}, align 8")

    inputs, outputs, ports = word(Table.INPUTS), word(Table.OUTPUTS), word(Table.PORTS, "ptr")
    tables = [w.value(f"alloca ptr, i64 {n}, align 8") for n in (inputs, outputs)]

    def port(number: str) -> tuple[str, ...]:
        at = w.offset(ports, w.value(f"mul i64 {number}, {8 * len(PortWord)}"))
        kinds = {PortWord.PLACES: "ptr"}
        size, count, places, offset = (
            w.value(f"load {kinds.get(which, 'i64')}, ptr {w.offset(at, 8 * which)}, align 8") for which in PortWord
        )
        return size, count, places, w.offset("%work", w.value(f"mul i64 {offset}, 8"))

    def element(base: str, index: str) -> str:
        return w.offset(base, w.value(f"mul i64 {index}, 8"))

    def place(places: str, k: str, rows: str) -> str:
        return element(rows, w.value(f"load i64, ptr {element(places, k)}, align 8"))

    with w.loop(inputs) as i:
        size, count, places, rows = port(i)
        with w.loop(size) as k:
            w.do(f"store double 0.0, ptr {element(rows, k)}, align 8")
        given = w.value(f"load ptr, ptr {element('%arguments', i)}, align 8")
        with w.when(w.value(f"icmp ne ptr {given}, null")), w.loop(count) as k:
            number = w.value(f"load double, ptr {element(given, k)}, align 8")
            w.do(f"store double {number}, ptr {place(places, k, rows)}, align 8")
        w.do(f"store ptr {rows}, ptr {element(tables[0], i)}, align 8")
    with w.loop(outputs) as i:
        rows = port(w.value(f"add i64 {inputs}, {i}"))[3]
        w.do(f"store ptr {rows}, ptr {element(tables[1], i)}, align 8")
    call, context = word(Table.CALL, "ptr"), word(Table.CONTEXT, "ptr")
    w.do(f"call void {call}(ptr {tables[0]}, ptr {tables[1]}, i64 1, ptr {context})")
    with w.loop(outputs) as i:
        _, count, places, rows = port(w.value(f"add i64 {inputs}, {i}"))
        wanted = w.value(f"load ptr, ptr {element('%results', i)}, align 8")
        with w.when(w.value(f"icmp ne ptr {wanted}, null")), w.loop(count) as k:
            number = w.value(f"load double, ptr {place(places, k, rows)}, align 8")
            w.do(f"store double {number}, ptr {element(wanted, k)}, align 8")
    return w.finish("ret i32 0")


def emit_library(name: str, handler: int, table: int, counts: dict[str, int], lists: dict[str, int], work: int) -> str:
    """The functions that CasADi looks for.

    counts  NAME_n_in and NAME_n_out; `lists`: where the pointers are that NAME_sparsity_in and the like choose from
    """
    parts = [
        f"define i32 @{name}(ptr %arg, ptr %res, ptr %iw, ptr %w, i32 %mem) {{\n"
        f" %r = call i32 inttoptr (i64 {handler} to ptr)"
        f"(ptr %arg, ptr %res, ptr %w, ptr inttoptr (i64 {table} to ptr))\n"
        f" ret i32 %r\n}}"
    ]
    parts += [f"define i64 @{name}_{suffix}() {{ ret i64 {n} }}" for suffix, n in counts.items()]
    parts += [
        f"define ptr @{name}_{suffix}(i64 %i) {{\n %o = mul i64 %i, 8\n"
        f" %p = getelementptr i8, ptr inttoptr (i64 {address} to ptr), i64 %o\n"
        f" %r = load ptr, ptr %p, align 8\n ret ptr %r\n}}"
        for suffix, address in lists.items()
    ]
    sizes = (counts["n_in"], counts["n_out"], 0, work)
    stores = "\n".join(f" store i64 {size}, ptr %{x}, align 8" for x, size in zip("abcd", sizes, strict=True))
    parts.append(f"define i32 @{name}_work(ptr %a, ptr %b, ptr %c, ptr %d) {{\n{stores}\n ret i32 0\n}}")
    return "\n".join(parts)
