"""LLVM IR, as text, of a chunk. The lane type is a parameter; the table below is the whole back end.

Text is written directly: LLVM's parser reads it ten times faster than a Python IR builder makes it. No fast-math
flag appears anywhere, so LLVM may neither contract nor reassociate: one lane and eight lanes give the same bits.
"""

from __future__ import annotations

from sarrus.codegen.emit.lane import Lane
from sarrus.codegen.emit.windows import Windows
from sarrus.codegen.passes.allocate import Action, Compute, Load, Store
from sarrus.codegen.passes.steps import FOURTHS, Repeat
from sarrus.codegen.tape.graph import Op
from sarrus.codegen.tape.tape import ARITY, Tape

# {r}: result; {a} {b} {c}: operands; {T}: type; {S}: suffix; {M}: mask type.
_TEMPLATES = {
    Op.ADD: "{r} = fadd {T} {a}, {b}",
    Op.SUB: "{r} = fsub {T} {a}, {b}",
    Op.MUL: "{r} = fmul {T} {a}, {b}",
    Op.DIV: "{r} = fdiv {T} {a}, {b}",
    Op.NEG: "{r} = fneg {T} {a}",
    Op.SQRT: "{r} = call {T} @llvm.sqrt.{S}({T} {a})",
    Op.ABS: "{r} = call {T} @llvm.fabs.{S}({T} {a})",
    Op.MIN: "{r} = call {T} @llvm.minimum.{S}({T} {a}, {T} {b})",
    Op.MAX: "{r} = call {T} @llvm.maximum.{S}({T} {a}, {T} {b})",
    Op.COPYSIGN: "{r} = call {T} @llvm.copysign.{S}({T} {a}, {T} {b})",
    Op.LESS: "{r}.m = fcmp olt {T} {a}, {b}\n {r} = select {M} {r}.m, {T} {one}, {T} {zero}",
    Op.SELECT: "{r}.m = fcmp une {T} {a}, {zero}\n {r} = select {M} {r}.m, {T} {b}, {T} {c}",
    Op.FMA: "{r} = call {T} @llvm.fma.{S}({T} {a}, {T} {b}, {T} {c})",
    Op.FNMA: "{r}.n = fneg {T} {a}\n {r} = call {T} @llvm.fma.{S}({T} {r}.n, {T} {b}, {T} {c})",
    Op.FMS: "{r}.n = fneg {T} {c}\n {r} = call {T} @llvm.fma.{S}({T} {a}, {T} {b}, {T} {r}.n)",
}


def emit_chunk(tape: Tape, actions: list[Action], lane: Lane, name: str, repeat: Repeat | None = None) -> str:
    """One function `name(workspace, constants)`: straight-line code; or, with a table as its third argument, a loop
    around it.
    """
    op, arg, constants = tape.op, tape.arg, tape.constants
    T, size = lane.type, lane.bytes
    fixed = {
        "T": T, "S": lane.suffix, "M": lane.mask, "one": lane.constant(1.0), "zero": lane.constant(0.0),
    }  # fmt: skip
    templates = {code: text.format_map(_Keep(fixed)) for code, text in _TEMPLATES.items()}
    pointer = f"ptr align {lane.alignment}"
    windows = Windows(actions, size)
    parameters = f"{pointer} %w, {pointer} %k" + (", ptr %table" if repeat else "")
    lines = [f"define void @{name}({parameters}) nounwind {{", "entry:", *windows.prologue]
    lines += _begin_turn(repeat, size) if repeat else []
    names: dict[int, str] = {}

    def operand(a: int) -> str:
        return names[a] if a in names else lane.constant(float(constants[arg[a, 0]]))

    for number, action in enumerate(actions):
        if type(action) is Compute:
            k = action.value
            code = Op(int(op[k]))
            text = [operand(a) for a in arg[k, : ARITY[code]].tolist()] + ["", ""]
            names[k] = f"%v{k}"
            lines.append(" " + templates[code].format(r=f"%v{k}", a=text[0], b=text[1], c=text[2]))
        elif type(action) is Load:
            names[action.value] = f"%l{number}"
            lines.append(f" %p{number} = {windows.address(action.slot)}")
            lines.append(f" %l{number} = load {T}, ptr %p{number}, align {lane.alignment}")
        elif type(action) is Store:
            lines.append(f" %p{number} = {windows.address(action.slot)}")
            lines.append(f" store {T} {operand(action.value)}, ptr %p{number}, align {lane.alignment}")
    lines += _end_turn(repeat) if repeat else []
    lines.append(" ret void\n}")
    return "\n".join(lines)


def _begin_turn(repeat: Repeat, size: int) -> list[str]:
    """Where each vector is in this application, as the table says (`words.py`)."""
    lines = [" br label %again", "again:", " %row = phi ptr [%table, %entry], [%next, %again]"]
    for number, vector in enumerate(repeat.vectors):
        lines += [
            f" %at{number} = getelementptr i8, ptr %row, i64 {8 * number}",
            f" %word{number} = load i64, ptr %at{number}, align 8",
            f" %bytes{number} = mul i64 %word{number}, {size // FOURTHS}",
            f" %vector{number} = getelementptr i8, ptr {'%k' if vector.is_constant else '%w'}, i64 %bytes{number}",
        ]
    return lines


def _end_turn(repeat: Repeat) -> list[str]:
    row = 8 * len(repeat.vectors)
    return [
        f" %next = getelementptr i8, ptr %row, i64 {row}",
        f" %end = getelementptr i8, ptr %table, i64 {row * repeat.loop.limit}",
        " %more = icmp ne ptr %next, %end",
        " br i1 %more, label %again, label %done",
        "done:",
    ]


class _Keep(dict):
    """Leaves unknown fields of a format string as they are."""

    def __missing__(self, key: str) -> str:
        return "{" + key + "}"
