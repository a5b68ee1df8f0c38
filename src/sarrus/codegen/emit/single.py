"""The cheapest way from Python into a kernel, as IR: builtin functions whose machine code is ours.

Called with NumPy arrays they check type, dtype, shape, alignment and contiguity in a few nanoseconds by NumPy's
documented object layout, run the one-lane kernel, and return. Whatever does not fit exactly makes them decline (they
touch nothing), and Python's careful path decides. They keep the GIL, so that one workspace is enough.
"""

from __future__ import annotations

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
from sarrus.codegen.emit.entries import SINGLE
from sarrus.codegen.emit.lane import Lane
from sarrus.codegen.emit.transfer import scatter_listed
from sarrus.codegen.emit.words import PORT_LIST, PORT_WORDS, PORTS_BEGIN
from sarrus.codegen.emit.writer import Writer


def emit_single(lane: Lane, run: str, check: str) -> str:
    """Three METH_FASTCALL functions for kernels on one lane.

    `single_into(*inputs, *outputs) -> bool` says whether it ran. `single_new(*inputs)` returns a new array, a Python
    integer for a whole number (a tuple of them where there are several outputs), or None if it did not run.
    `single_checked` is the same, but declines arguments that `check` finds not valid.
    """
    return "\n".join(
        [_emit_into(lane, run), _emit_new(lane, run, "single_new"), _emit_new(lane, run, SINGLE[2], check)]
    )


def _emit_into(lane: Lane, run: str) -> str:
    w = Writer("ptr @single_into(ptr %self, ptr %args, i64 %nargs)")
    c = _Call(w, lane)
    _unless(w, w.value(f"icmp eq i64 %nargs, {w.value(f'add i64 {c.n_inputs}, {c.n_outputs}')}"), "decline")
    c.check_arrays("%args", c.inputs, c.n_inputs, INPUT_FLAGS)
    outputs = w.offset("%args", w.value(f"mul i64 {c.n_inputs}, 8"))
    c.check_arrays(outputs, c.outputs, c.n_outputs, OUTPUT_FLAGS)
    c.load_inputs()
    w.do(f"call void @{run}(ptr {c['workspace']}, ptr {c['constants']})")
    with w.loop(c.n_outputs) as i:
        array = w.value(f"load ptr, ptr {w.offset(outputs, w.value(f'mul i64 {i}, 8'))}, align 8")
        c.store_output(i, _field(w, array, DATA))
    return c.finish("true", "false")


def _emit_new(lane: Lane, run: str, name: str, check: str | None = None) -> str:
    w = Writer(f"ptr @{name}(ptr %self, ptr %args, i64 %nargs)")
    c = _Call(w, lane)
    _unless(w, w.value(f"icmp eq i64 %nargs, {c.n_inputs}"), "decline")
    c.check_arrays("%args", c.inputs, c.n_inputs, INPUT_FLAGS)
    c.load_inputs()
    if check is not None:
        invalid = w.value("alloca i64, align 8")
        w.do(f"store i64 0, ptr {invalid}, align 8")
        w.do(f"call void @{check}(ptr {c['workspace']}, ptr {c['ports']}, ptr {invalid})")
        _unless(w, w.value(f"icmp eq i64 {w.value(f'load i64, ptr {invalid}, align 8')}, 0"), "decline")
    w.do(f"call void @{run}(ptr {c['workspace']}, ptr {c['constants']})")
    result = w.value("alloca ptr, align 8")  # the only output, or the tuple of all
    made = w.value("alloca ptr, align 8")
    several = w.value(f"icmp ne i64 {c.n_outputs}, 1")
    with w.when(several):
        packed = w.value(f"call ptr {c['new_tuple']}(i64 {c.n_outputs})")
        _unless(w, w.value(f"icmp ne ptr {packed}, null"), "failed")
        w.do(f"store ptr {packed}, ptr {result}, align 8")
    with w.loop(c.n_outputs) as i:
        _, slots, port = c.port(c.outputs, i)
        whole = w.value(f"icmp ne i64 {_word(w, port, 6)}, 0")
        with w.when(whole):
            number = w.value(f"load {lane.scalar}, ptr {slots}, align {lane.scalar_bytes}")
            if lane.bits == 32:
                number = w.value(f"fpext float {number} to double")
            integer = w.value(f"call ptr {c['integer']}(double {number})")
            w.do(f"store ptr {integer}, ptr {made}, align 8")
        with w.when(w.value(f"xor i1 {whole}, true")):
            dimensions = w.value(f"trunc i64 {_word(w, port, 2)} to i32")
            array = w.value(
                f"call ptr {c['new_array']}(ptr {c['array_type']}, i32 {dimensions}, ptr {w.offset(port, 24)}, "
                f"i32 {TYPE_NUMBER[lane.bits]}, ptr null, ptr null, i32 0, i32 0, ptr null)"
            )
            _unless(w, w.value(f"icmp ne ptr {array}, null"), "failed")
            c.store_output(i, _field(w, array, DATA))
            w.do(f"store ptr {array}, ptr {made}, align 8")
        item = w.value(f"load ptr, ptr {made}, align 8")
        _unless(w, w.value(f"icmp ne ptr {item}, null"), "failed")
        with w.when(several):
            packed = w.value(f"load ptr, ptr {result}, align 8")
            w.do(f"call i32 {c['set_item']}(ptr {packed}, i64 {i}, ptr {item})")
        with w.when(w.value(f"xor i1 {several}, true")):
            w.do(f"store ptr {item}, ptr {result}, align 8")
    w.do(f"ret ptr {w.value(f'load ptr, ptr {result}, align 8')}")
    w.label("failed")  # no memory: the exception is set
    w.do("ret ptr null")
    return c.finish(None, "none")


class _Call:
    """A call under construction: what the code knows of the kernel (`self`, an array of addresses), and its steps."""

    def __init__(self, w: Writer, lane: Lane) -> None:
        self._w, self._lane = w, lane
        base = w.value(f"load ptr, ptr {w.offset('%self', DATA)}, align 8")
        self._context = {
            name: w.value(f"load ptr, ptr {w.offset(base, 8 * i)}, align 8") for i, name in enumerate(CONTEXT)
        }
        ports = self["ports"]
        self.n_inputs, self.n_outputs = _word(w, ports, 0), _word(w, ports, 1)
        self.inputs = w.offset(ports, 8 * PORTS_BEGIN)
        self.outputs = w.offset(self.inputs, w.value(f"mul i64 {self.n_inputs}, {8 * PORT_WORDS}"))

    def __getitem__(self, name: str) -> str:
        return self._context[name]

    def port(self, table: str, i: str) -> tuple[str, str, str]:
        """Size, first slot and words of port i."""
        w = self._w
        port = w.offset(table, w.value(f"mul i64 {i}, {8 * PORT_WORDS}"))
        at = w.value(f"mul i64 {_word(w, port, 1)}, {self._lane.scalar_bytes}")
        return _word(w, port, 0), w.offset(self["workspace"], at), port

    def check_arrays(self, arguments: str, table: str, count: str, wanted: int) -> None:
        """Go to `decline` unless all are exactly as wanted."""
        w = self._w
        with w.loop(count) as i:
            array = w.value(f"load ptr, ptr {w.offset(arguments, w.value(f'mul i64 {i}, 8'))}, align 8")
            port = w.offset(table, w.value(f"mul i64 {i}, {8 * PORT_WORDS}"))
            _unless(w, w.value(f"icmp eq ptr {_field(w, array, TYPE)}, {self['array_type']}"), "decline")
            _unless(w, w.value(f"icmp eq ptr {_field(w, array, DESCRIPTOR)}, {self['descriptor']}"), "decline")
            flags = w.value(f"and i32 {_field(w, array, FLAGS, 'i32')}, {wanted}")
            _unless(w, w.value(f"icmp eq i32 {flags}, {wanted}"), "decline")
            dimensions = w.value(f"sext i32 {_field(w, array, DIMENSIONS, 'i32')} to i64")
            _unless(w, w.value(f"icmp eq i64 {dimensions}, {_word(w, port, 2)}"), "decline")
            shape = _field(w, array, SHAPE)
            with w.loop(dimensions) as axis:
                at = w.value(f"mul i64 {axis}, 8")
                mine = w.value(f"load i64, ptr {w.offset(shape, at)}, align 8")
                extent = w.value(f"load i64, ptr {w.offset(w.offset(port, 24), at)}, align 8")
                _unless(w, w.value(f"icmp eq i64 {mine}, {extent}"), "decline")

    def load_inputs(self) -> None:
        """The arguments into the workspace."""
        w = self._w
        with w.loop(self.n_inputs) as i:
            array = w.value(f"load ptr, ptr {w.offset('%args', w.value(f'mul i64 {i}, 8'))}, align 8")
            size, slots, _ = self.port(self.inputs, i)
            _copy(w, self._lane, _field(w, array, DATA), slots, size)

    def store_output(self, i: str, array: str) -> None:
        """Output i out of the workspace."""
        w, lane = self._w, self._lane
        size, slots, port = self.port(self.outputs, i)
        list_begins = _word(w, port, PORT_LIST)
        is_listed = w.value(f"icmp ne i64 {list_begins}, 0")
        with w.when(is_listed):
            words = w.offset(self["ports"], w.value(f"mul i64 {list_begins}, 8"))
            scatter_listed(w, lane, [array], self["workspace"], words, size)
        with w.when(w.value(f"xor i1 {is_listed}, true")):
            _copy(w, lane, slots, array, size)

    def finish(self, yes: str | None, no: str) -> str:
        """Return the object `yes` (unless that was done), and `no` where the call is declined."""
        w = self._w
        if yes is not None:
            self._return(yes)
        w.label("decline")
        w.do(f"call void {self['incref']}(ptr {self[no]})")
        return w.finish(f"ret ptr {self[no]}")

    def _return(self, name: str) -> None:
        self._w.do(f"call void {self['incref']}(ptr {self[name]})")
        self._w.do(f"ret ptr {self[name]}")


def _word(w: Writer, words: str, number: int) -> str:
    return w.value(f"load i64, ptr {w.offset(words, 8 * number)}, align 8")


def _field(w: Writer, thing: str, offset: int, kind: str = "ptr") -> str:
    return w.value(f"load {kind}, ptr {w.offset(thing, offset)}, align 4")


def _unless(w: Writer, condition: str, label: str) -> None:
    """Go on if `condition`, else to `label`."""
    go_on = f"on.{condition[1:]}"
    w.do(f"br i1 {condition}, label %{go_on}, label %{label}")
    w.label(go_on)


def _copy(w: Writer, lane: Lane, source: str, target: str, count: str) -> None:
    """Copy `count` scalars, four at a time while that lasts."""
    quads = w.value(f"udiv i64 {count}, 4")
    done = w.value(f"mul i64 {quads}, {4 * lane.scalar_bytes}")
    parts = ((4, quads, "0"), (1, w.value(f"urem i64 {count}, 4"), done))
    for width, times, start in parts:
        kind = lane.scalar if width == 1 else f"<{width} x {lane.scalar}>"
        begin = w.offset(source, start), w.offset(target, start)
        with w.loop(times) as i:
            at = w.value(f"mul i64 {i}, {width * lane.scalar_bytes}")
            x = w.value(f"load {kind}, ptr {w.offset(begin[0], at)}, align {lane.scalar_bytes}")
            w.do(f"store {kind} {x}, ptr {w.offset(begin[1], at)}, align {lane.scalar_bytes}")
