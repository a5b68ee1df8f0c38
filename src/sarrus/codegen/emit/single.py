"""The cheapest way from Python into a kernel: a builtin function whose machine code we emit.

Called with NumPy arrays it checks type, dtype, shape, alignment and contiguity in a few nanoseconds by NumPy's
documented object layout, runs the one-lane kernel, and returns. Whatever does not fit exactly makes it decline (it
touches nothing), and Python's careful path decides. It keeps the GIL, so that one workspace is enough.
"""

from __future__ import annotations

from collections.abc import Sequence

from sarrus.codegen.emit.builtin import (
    CONTEXT,
    DATA,
    DESCRIPTOR,
    DIMENSIONS,
    FLAGS,
    INPUT_FLAGS,
    OUTPUT_FLAGS,
    SHAPE,
    TYPE,
    TYPE_NUMBER,
)
from sarrus.codegen.emit.lane import Lane
from sarrus.codegen.emit.writer import Writer
from sarrus.codegen.passes.steps import Plan
from sarrus.codegen.tape.tape import Port


def emit_single(plan: Plan, lane: Lane, run: str) -> str:
    """Two METH_FASTCALL functions.

    `single_into(*inputs, *outputs) -> bool` says whether it ran; `single_new(*inputs)` returns a new array,
    a Python integer for a whole number (a tuple of them where there are several outputs), or None if it did not run.
    """
    return "\n".join([_emit_into(plan, lane, run), _emit_new(plan, lane, run)])


def _emit_into(plan: Plan, lane: Lane, run: str) -> str:
    inputs, outputs = plan.tape.inputs, plan.tape.outputs
    w = Writer("ptr @single_into(ptr %self, ptr %args, i64 %nargs)")
    context = _context(w)
    ports = [(p, INPUT_FLAGS) for p in inputs] + [(p, OUTPUT_FLAGS) for p in outputs]
    data = _checked_data(w, context, ports, lane)
    _run(w, context, plan, lane, run, data[: len(inputs)], data[len(inputs) :])
    _return(w, context["true"], context)
    w.label("decline")
    return _finish(w, context["false"], context)


def _emit_new(plan: Plan, lane: Lane, run: str) -> str:
    inputs, outputs = plan.tape.inputs, plan.tape.outputs
    shapes = []
    w = Writer("ptr @single_new(ptr %self, ptr %args, i64 %nargs)")
    context = _context(w)
    data = _checked_data(w, context, [(p, INPUT_FLAGS) for p in inputs], lane)
    results: list[str | None] = []
    targets: list[str | None] = []
    for number, port in enumerate(outputs):
        if port.whole:
            results.append(None)
            targets.append(None)
            continue
        values = ", ".join(f"i64 {d}" for d in port.shape) or "i64 0"
        shapes.append(f"@single_shape{number} = private constant [{max(1, len(port.shape))} x i64] [{values}], align 8")
        array = w.value(
            f"call ptr {context['new_array']}(ptr {context['array_type']}, i32 {len(port.shape)}, "
            f"ptr @single_shape{number}, i32 {TYPE_NUMBER[lane.bits]}, ptr null, ptr null, i32 0, i32 0, ptr null)"
        )
        _unless(w, w.value(f"icmp ne ptr {array}, null"), "failed")
        results.append(array)
        targets.append(w.value(f"load ptr, ptr {w.offset(array, DATA)}, align 8"))
    _run(w, context, plan, lane, run, data, targets)
    made = [
        _integer(w, context, lane, plan.output_slot[k]) if result is None else result
        for k, result in enumerate(results)
    ]
    if len(made) == 1:
        w.do(f"ret ptr {made[0]}")
    else:
        items = "".join(f", ptr {result}" for result in made)
        packed = w.value(f"call ptr (i64, ...) {context['pack_tuple']}(i64 {len(made)}{items})")
        for result in made:
            w.do(f"call void {context['decref']}(ptr {result})")
        w.do(f"ret ptr {packed}")
    if made:
        w.label("failed")  # no memory: the exception is set
        w.do("ret ptr null")
    w.label("decline")
    return "\n".join([*shapes, _finish(w, context["none"], context)])


def _integer(w: Writer, context: dict[str, str], lane: Lane, slot: int) -> str:
    """The number in a slot of the workspace as a Python integer."""
    number = w.value(f"load {lane.scalar}, ptr {w.offset(context['workspace'], slot * lane.scalar_bytes)}, align 4")
    if lane.scalar != "double":
        number = w.value(f"fpext {lane.scalar} {number} to double")
    integer = w.value(f"call ptr {context['integer']}(double {number})")
    _unless(w, w.value(f"icmp ne ptr {integer}, null"), "failed")
    return integer


def _context(w: Writer) -> dict[str, str]:
    base = w.value(f"load ptr, ptr {w.offset('%self', DATA)}, align 8")
    return {name: w.value(f"load ptr, ptr {w.offset(base, 8 * i)}, align 8") for i, name in enumerate(CONTEXT)}


def _unless(w: Writer, condition: str, label: str) -> None:
    """Go on if `condition`, else to `label`."""
    go_on = f"on.{condition[1:]}"
    w.do(f"br i1 {condition}, label %{go_on}, label %{label}")
    w.label(go_on)


def _checked_data(w: Writer, context: dict[str, str], ports: list[tuple[Port, int]], lane: Lane) -> list[str]:
    """Data pointers of the arguments; goes to `decline` unless all are exactly as wanted."""
    _unless(w, w.value(f"icmp eq i64 %nargs, {len(ports)}"), "decline")
    data = []
    for number, (port, wanted) in enumerate(ports):
        argument = w.value(f"load ptr, ptr {w.offset('%args', 8 * number)}, align 8")

        def field(offset: int, kind: str = "ptr", source: str = argument) -> str:
            return w.value(f"load {kind}, ptr {w.offset(source, offset)}, align 4")

        _unless(w, w.value(f"icmp eq ptr {field(TYPE)}, {context['array_type']}"), "decline")
        _unless(w, w.value(f"icmp eq ptr {field(DESCRIPTOR)}, {context['descriptor']}"), "decline")
        flags = w.value(f"and i32 {field(FLAGS, 'i32')}, {wanted}")
        _unless(w, w.value(f"icmp eq i32 {flags}, {wanted}"), "decline")
        _unless(w, w.value(f"icmp eq i32 {field(DIMENSIONS, 'i32')}, {len(port.shape)}"), "decline")
        shape = field(SHAPE)
        for axis, extent in enumerate(port.shape):
            mine = w.value(f"load i64, ptr {w.offset(shape, 8 * axis)}, align 8")
            _unless(w, w.value(f"icmp eq i64 {mine}, {extent}"), "decline")
        data.append(field(DATA))
    return data


def _run(
    w: Writer,
    context: dict[str, str],
    plan: Plan,
    lane: Lane,
    run: str,
    sources: list[str],
    targets: Sequence[str | None],
) -> None:
    workspace, size = context["workspace"], lane.scalar_bytes
    for source, slot, port in zip(sources, plan.input_slot, plan.tape.inputs, strict=True):
        _copy(w, source, w.offset(workspace, slot * size), port.size, lane)
    w.do(f"call void @{run}(ptr {workspace}, ptr {context['constants']})")
    for target, slot, port in zip(targets, plan.output_slot, plan.tape.outputs, strict=True):
        if target is not None:
            _copy(w, w.offset(workspace, slot * size), target, port.size, lane)


def _copy(w: Writer, source: str, target: str, count: int, lane: Lane) -> None:
    """Copy `count` scalars, four at a time while that lasts."""
    for width, start, stop in ((4, 0, count // 4 * 4), (1, count // 4 * 4, count)):
        kind = lane.scalar if width == 1 else f"<{width} x {lane.scalar}>"
        begin = w.offset(source, start * lane.scalar_bytes), w.offset(target, start * lane.scalar_bytes)
        with w.loop((stop - start) // width) as i:
            at = w.value(f"mul i64 {i}, {width * lane.scalar_bytes}")
            x = w.value(f"load {kind}, ptr {w.offset(begin[0], at)}, align {lane.scalar_bytes}")
            w.do(f"store {kind} {x}, ptr {w.offset(begin[1], at)}, align {lane.scalar_bytes}")


def _return(w: Writer, value: str, context: dict[str, str]) -> None:
    w.do(f"call void {context['incref']}(ptr {value})")
    w.do(f"ret ptr {value}")


def _finish(w: Writer, value: str, context: dict[str, str]) -> str:
    w.do(f"call void {context['incref']}(ptr {value})")
    return w.finish(f"ret ptr {value}")
