"""LLVM IR, as text, of a planned tape. The lane type is a parameter; the table below is the whole back end.

Text is written directly: LLVM's parser reads it ten times faster than a Python IR builder makes it. No fast-math
flag appears anywhere, so LLVM may neither contract nor reassociate: one lane and eight lanes give the same bits.
"""

from __future__ import annotations

from sarrus.codegen.emit.lane import Lane
from sarrus.codegen.emit.windows import Windows
from sarrus.codegen.emit.writer import Writer
from sarrus.codegen.passes.allocate import Action, Compute, Load, Store
from sarrus.codegen.passes.steps import Again, Begin, Enter, Plan
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
_INTRINSICS = {"sqrt": 1, "fabs": 1, "minimum": 2, "maximum": 2, "copysign": 2, "fma": 3}


def declarations(bits: int) -> str:
    """The intrinsics that may be used, for every number of lanes."""
    lines = ["declare void @llvm.prefetch.p0(ptr, i32, i32, i32)"]
    for lane in (Lane(bits, 2**k) for k in range(7)):
        for name, arity in _INTRINSICS.items():
            lines.append(f"declare {lane.type} @llvm.{name}.{lane.suffix}({', '.join([lane.type] * arity)})")
    return "\n".join(lines)


def emit_chunk(tape: Tape, actions: list[Action], lane: Lane, name: str) -> str:
    """One straight-line function `name(workspace, constants)`."""
    op, arg, constants = tape.op, tape.arg, tape.constants
    T, size = lane.type, lane.bytes
    fixed = {
        "T": T, "S": lane.suffix, "M": lane.mask, "one": lane.constant(1.0), "zero": lane.constant(0.0),
    }  # fmt: skip
    templates = {code: text.format_map(_Keep(fixed)) for code, text in _TEMPLATES.items()}
    pointer = f"ptr align {lane.alignment}"
    windows = Windows(actions, size)
    lines = [f"define internal void @{name}({pointer} %w, {pointer} %k) nounwind {{", *windows.prologue]
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
    lines.append(" ret void\n}")
    return "\n".join(lines)


def declare_chunk(name: str) -> str:
    """A chunk whose machine code is linked to the module later."""
    return f"declare hidden void @{name}(ptr, ptr)"


def emit_begin(plan: Plan, step: Begin, lane: Lane, name: str) -> str:
    """A function `name(workspace, constants) -> i1`: carried values become their initial ones. Returns whether any lane
    enters the loop.
    """
    w = Writer(f"internal i1 @{name}(ptr %w, ptr %k)")
    for k in step.loop.carried:
        _store(w, lane, _value(w, plan, lane, int(plan.tape.arg[k, 0])), plan.slot[k])
    if step.loop.entry >= 0:
        enters, anybody = _positive(w, plan, lane, step.loop.entry)
        if lane.count > 1:
            mask = w.value(f"sext {lane.mask} {enters} to {lane.integer}")
            w.do(f"store {lane.integer} {mask}, ptr {_slot(w, lane, step.mask_slot)}, align {lane.alignment}")
        return w.finish(f"ret i1 {anybody}")
    if step.mask_slot >= 0 and lane.count > 1:
        place = _slot(w, lane, step.mask_slot)
        w.do(f"store {lane.integer} {lane.integer_constant(-1)}, ptr {place}, align {lane.alignment}")
    return w.finish("ret i1 true")


def emit_enter(plan: Plan, step: Enter, lane: Lane, name: str) -> str:
    """A function `name(workspace, constants) -> i1`: whether any lane needs what a guard computes."""
    w = Writer(f"internal i1 @{name}(ptr %w, ptr %k)")
    return w.finish(f"ret i1 {_positive(w, plan, lane, step.guard.condition)[1]}")


def _positive(w: Writer, plan: Plan, lane: Lane, k: int) -> tuple[str, str]:
    """In which lanes a value is greater than 0 (not a number is not), and whether it is in any."""
    where = w.value(f"fcmp ogt {lane.type} {_value(w, plan, lane, k)}, {lane.constant(0.0)}")
    if lane.count == 1:
        return where, where
    bits = f"i{lane.count}"
    return where, w.value(f"icmp ne {bits} {w.value(f'bitcast {lane.mask} {where} to {bits}')}, 0")


def emit_again(plan: Plan, step: Again, lane: Lane, name: str) -> str:
    """A function `name(workspace, constants) -> i1`: carried values become their updated ones in the lanes that go on.

    Returns whether any lane still does. A lane that has stopped is not touched again, so that its result does not
    depend on its neighbours; with one lane there is nobody to wait for, and no mask.
    """
    loop, T = step.loop, lane.type
    changes = [(k, u) for k, u in zip(loop.carried, loop.updated, strict=True) if u != k]
    w = Writer(f"internal i1 @{name}(ptr %w, ptr %k)")
    # All change at once: an old carried value that becomes another one is read before any is written.
    early = {u: _value(w, plan, lane, u) for _, u in changes if u in loop.carried}

    def update(where: str | None) -> None:
        for k, u in changes:
            value = early[u] if u in early else _value(w, plan, lane, u)
            if where is not None:
                value = w.value(f"select {lane.mask} {where}, {T} {value}, {T} {_value(w, plan, lane, k)}")
            _store(w, lane, value, plan.slot[k])

    if step.mask_slot < 0:
        update(None)
        return w.finish("ret i1 true")
    still = w.value(f"fcmp ogt {T} {_value(w, plan, lane, loop.condition)}, {lane.constant(0.0)}")
    if lane.count == 1:
        update(None)
        return w.finish(f"ret i1 {still}")
    place = _slot(w, lane, step.mask_slot)
    mask = w.value(f"load {lane.integer}, ptr {place}, align {lane.alignment}")
    active = w.value(f"icmp ne {lane.integer} {mask}, {lane.integer_constant(0)}")
    still = w.value(f"and {lane.mask} {active}, {still}")
    mask = w.value(f"sext {lane.mask} {still} to {lane.integer}")
    w.do(f"store {lane.integer} {mask}, ptr {place}, align {lane.alignment}")
    bits = f"i{lane.count}"
    are_active = w.value(f"bitcast {lane.mask} {active} to {bits}")
    all_active = w.value(f"icmp eq {bits} {are_active}, -1")
    with w.when(all_active):  # which is usual, and needs no old values
        update(None)
    with w.when(w.value(f"xor i1 {all_active}, true")):
        update(active)
    are_still = w.value(f"bitcast {lane.mask} {still} to {bits}")
    return w.finish(f"ret i1 {w.value(f'icmp ne {bits} {are_still}, 0')}")


def _slot(w: Writer, lane: Lane, slot: int) -> str:
    return w.offset("%w", slot * lane.bytes)


def _value(w: Writer, plan: Plan, lane: Lane, k: int) -> str:
    """The value of instruction k, from memory."""
    is_constant = plan.tape.op[k] == Op.CONST
    place = w.offset("%k", int(plan.tape.arg[k, 0]) * lane.bytes) if is_constant else _slot(w, lane, plan.slot[k])
    return w.value(f"load {lane.type}, ptr {place}, align {lane.alignment}")


def _store(w: Writer, lane: Lane, value: str, slot: int) -> None:
    w.do(f"store {lane.type} {value}, ptr {_slot(w, lane, slot)}, align {lane.alignment}")


class _Keep(dict):
    """Leaves unknown fields of a format string as they are."""

    def __missing__(self, key: str) -> str:
        return "{" + key + "}"
