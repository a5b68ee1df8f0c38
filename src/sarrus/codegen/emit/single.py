"""The cheapest way from Python into a kernel, as IR: a builtin function whose machine code is ours.

Called with NumPy arrays it checks type, dtype, shape, alignment and contiguity in a few nanoseconds by NumPy's
documented object layout, runs the one-lane kernel, and returns. Whatever does not fit exactly makes it decline (it
touches nothing), and Python's careful path decides: it is called from here. It keeps the GIL, so that one workspace is
enough.
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
from sarrus.codegen.emit.lane import Lane
from sarrus.codegen.emit.transfer import scatter_listed
from sarrus.codegen.emit.words import PORT_LIST, PORT_WORDS, PORTS_BEGIN, Header, in_header
from sarrus.codegen.emit.writer import Writer


def emit_single(lane: Lane, name: str) -> str:
    """A METH_FASTCALL function for kernels on one lane.

    `name(*inputs)` returns a new array, a Python integer for a whole number (a tuple of them, of the type that the
    context has as `result`, where there is one or there are several outputs). If the context says that it `writes`, it
    is `name(*inputs, *outputs)`, and True. What it does not run, because arrays are not exactly right or, if the
    context says that it `checks`, numbers are not valid, it hands to `careful`; if there is none, it returns None.
    """
    w = Writer(f"ptr @{name}(ptr %self, ptr %args, i64 %nargs, ptr %names)")
    invalid, result, item = (w.value(f"alloca {kind}, align 8") for kind in ("i64", "ptr", "ptr"))
    w.do(f"store ptr null, ptr {result}, align 8")
    c = Call(w, lane)
    unless(w, w.value("icmp eq ptr %names, null"), "decline")
    makes = w.value(f"icmp eq ptr {c['writes']}, null")
    given = w.value(f"select i1 {makes}, i64 0, i64 {c.n_outputs}")
    unless(w, w.value(f"icmp eq i64 %nargs, {w.value(f'add i64 {c.n_inputs}, {given}')}"), "decline")
    c.check_arrays("%nargs")
    has_type = w.value(f"icmp ne ptr {c['result']}, null")
    is_tuple = w.value(f"and i1 {makes}, {has_type}")
    with w.when(is_tuple):  # before the workspace is used: garbage may be collected now, by any code
        c.make_tuple(result)
        unless(w, w.value(f"icmp ne ptr {w.value(f'load ptr, ptr {result}, align 8')}, null"), "failed")
    with w.loop(c.n_inputs) as i:
        size, slots, _ = c.port(c.inputs, i)
        c.copy(field(w, c.argument(i), DATA), slots, size)
    with w.when(w.value(f"icmp ne ptr {c['checks']}, null")):
        w.do(f"store i64 0, ptr {invalid}, align 8")
        w.do(f"call void {in_header(w, Header.CHECK)}(ptr {c['workspace']}, ptr {c['ports']}, ptr {invalid})")
        unless(w, w.value(f"icmp eq i64 {w.value(f'load i64, ptr {invalid}, align 8')}, 0"), "decline")
    w.do(f"call void {in_header(w, Header.RUN)}(ptr {c['workspace']}, ptr %k)")
    with w.loop(c.n_outputs) as i:
        size, slots, port = c.port(c.outputs, i)
        whole = w.value(f"and i1 {makes}, {w.value(f'icmp ne i64 {word(w, port, 6)}, 0')}")
        with w.when(w.value(f"xor i1 {makes}, true")):
            given = c.argument(w.value(f"add i64 {i}, {c.n_inputs}"))
            w.do(f"store ptr {given}, ptr {item}, align 8")
        with w.when(makes):
            c.make_item(port, slots, whole, item)
        made = w.value(f"load ptr, ptr {item}, align 8")
        unless(w, w.value(f"icmp ne ptr {made}, null"), "failed")
        with w.when(w.value(f"xor i1 {whole}, true")):
            c.store(port, slots, size, field(w, made, DATA))
        with w.when(is_tuple):
            packed = w.value(f"load ptr, ptr {result}, align 8")
            w.do(f"call i32 {c['set_item']}(ptr {packed}, i64 {i}, ptr {made})")
        with w.when(w.value(f"and i1 {makes}, {w.value(f'xor i1 {is_tuple}, true')}")):
            w.do(f"store ptr {made}, ptr {result}, align 8")
    with w.when(w.value(f"xor i1 {makes}, true")):
        w.do(f"call void {c['incref']}(ptr {c['true']})")
        w.do(f"store ptr {c['true']}, ptr {result}, align 8")
    w.do(f"ret ptr {w.value(f'load ptr, ptr {result}, align 8')}")
    w.label("failed")  # no memory: the exception is set
    w.do(f"call void {c['decref']}(ptr {w.value(f'load ptr, ptr {result}, align 8')})")
    w.do("ret ptr null")
    w.label("decline")
    w.do(f"call void {c['decref']}(ptr {w.value(f'load ptr, ptr {result}, align 8')})")
    unless(w, w.value(f"icmp eq ptr {c['careful']}, null"), "hand_on")
    w.do(f"call void {c['incref']}(ptr {c['none']})")
    w.do(f"ret ptr {c['none']}")
    w.label("hand_on")
    found = w.value(f"call ptr {c['call']}(ptr {c['careful']}, ptr %args, i64 %nargs, ptr %names)")
    return w.finish(f"ret ptr {found}")


def emit_listed(lane: Lane, name: str) -> str:
    """`name(row, workspace, words, count)`: an output of so many elements, each from the slot that a list says."""
    w = Writer(f"void @{name}(ptr %row, ptr %w, ptr %words, i64 %count)")
    scatter_listed(w, lane, ["%row"], "%w", "%words", "%count")
    return w.finish()


class Call:
    """A call under construction: what the code knows of the kernel (`self`, an array of addresses), and its steps.

    first  the number of the argument that is the first array
    """

    def __init__(self, w: Writer, lane: Lane, first: int = 0) -> None:
        self._w, self._lane, self._first = w, lane, first
        base = w.value(f"load ptr, ptr {w.offset('%self', DATA)}, align 8")
        self._context = {
            name: w.value(f"load ptr, ptr {w.offset(base, 8 * i)}, align 8", "%k" if name == "constants" else None)
            for i, name in enumerate(CONTEXT)
        }
        ports = self["ports"]
        self.n_inputs, self.n_outputs = word(w, ports, 0), word(w, ports, 1)
        self.inputs = w.offset(ports, 8 * PORTS_BEGIN)
        self.outputs = w.offset(self.inputs, w.value(f"mul i64 {self.n_inputs}, {8 * PORT_WORDS}"))

    def __getitem__(self, name: str) -> str:
        return self._context[name]

    def argument(self, i: str) -> str:
        w = self._w
        arrays = w.offset("%args", 8 * self._first)
        return w.value(f"load ptr, ptr {w.offset(arrays, w.value(f'mul i64 {i}, 8'))}, align 8")

    def port(self, table: str, i: str) -> tuple[str, str, str]:
        """Size, first slot and words of port i."""
        w = self._w
        port = w.offset(table, w.value(f"mul i64 {i}, {8 * PORT_WORDS}"))
        at = w.value(f"mul i64 {word(w, port, 1)}, {self._lane.scalar_bytes}")
        return word(w, port, 0), w.offset(self["workspace"], at), port

    def copy(self, source: str, target: str, size: str) -> None:
        """So many scalars, by the C library."""
        length = self._w.value(f"mul i64 {size}, {self._lane.scalar_bytes}")
        self._w.do(f"call ptr {self['copy']}(ptr {target}, ptr {source}, i64 {length})")

    def check_arrays(self, count: str, states: str | None = None) -> None:
        """Go to `decline` unless so many arrays are exactly as wanted. (Ports of outputs follow those of inputs.)

        states  how many each has, one row per state; None: one, in no rows
        """
        w = self._w
        with w.loop(count) as i:
            array, port = self.argument(i), w.offset(self.inputs, w.value(f"mul i64 {i}, {8 * PORT_WORDS}"))
            dimensions, shape = self.shape_of(array)
            unless(w, w.value(f"icmp eq ptr {field(w, array, DESCRIPTOR)}, {self['descriptor']}"), "decline")
            is_input = w.value(f"icmp ult i64 {i}, {self.n_inputs}")
            wanted = w.value(f"select i1 {is_input}, i32 {INPUT_FLAGS}, i32 {OUTPUT_FLAGS}")
            flags = w.value(f"and i32 {field(w, array, FLAGS, 'i32')}, {wanted}")
            unless(w, w.value(f"icmp eq i32 {flags}, {wanted}"), "decline")
            if states is not None:
                unless(w, w.value(f"icmp sgt i64 {dimensions}, 0"), "decline")
                unless(w, w.value(f"icmp eq i64 {w.value(f'load i64, ptr {shape}, align 8')}, {states}"), "decline")
                dimensions, shape = w.value(f"sub i64 {dimensions}, 1"), w.offset(shape, 8)
            unless(w, w.value(f"icmp eq i64 {dimensions}, {word(w, port, 2)}"), "decline")
            with w.loop(dimensions) as axis:
                at = w.value(f"mul i64 {axis}, 8")
                mine = w.value(f"load i64, ptr {w.offset(shape, at)}, align 8")
                extent = w.value(f"load i64, ptr {w.offset(w.offset(port, 24), at)}, align 8")
                unless(w, w.value(f"icmp eq i64 {mine}, {extent}"), "decline")

    def shape_of(self, array: str) -> tuple[str, str]:
        """How many dimensions it has, and where their extents are. To `decline` unless it is an array."""
        w = self._w
        unless(w, w.value(f"icmp eq ptr {field(w, array, TYPE)}, {self['array_type']}"), "decline")
        return w.value(f"sext i32 {field(w, array, DIMENSIONS, 'i32')} to i64"), field(w, array, SHAPE)

    def make_tuple(self, result: str) -> None:
        """Let `result` be a tuple with nothing in it yet, or null."""
        w = self._w
        made = w.value(f"call ptr {self['new_tuple']}(ptr {self['result']}, i64 {self.n_outputs})")
        w.do(f"store ptr {made}, ptr {result}, align 8")
        has_hash = w.value(f"icmp ne ptr {self['hash']}, null")
        with w.when(w.value(f"and i1 {has_hash}, {w.value(f'icmp ne ptr {made}, null')}")):
            at = w.offset(made, w.value(f"ptrtoint ptr {self['hash']} to i64"))
            w.do(f"store i64 -1, ptr {at}, align 8")

    def make_item(self, port: str, slots: str, whole: str, item: str) -> None:
        """Let `item` be a Python integer, or an array with nothing in it yet."""
        w, lane = self._w, self._lane
        with w.when(whole):
            number = w.value(f"load {lane.scalar}, ptr {slots}, align {lane.scalar_bytes}")
            if lane.bits == 32:
                number = w.value(f"fpext float {number} to double")
            integer = w.value(f"call ptr {self['integer']}(double {number})")
            w.do(f"store ptr {integer}, ptr {item}, align 8")
        with w.when(w.value(f"xor i1 {whole}, true")):
            dimensions = w.value(f"trunc i64 {word(w, port, 2)} to i32")
            array = w.value(
                f"call ptr {self['new_array']}(ptr {self['array_type']}, i32 {dimensions}, ptr {w.offset(port, 24)}, "
                f"i32 {TYPE_NUMBER[lane.bits]}, ptr null, ptr null, i32 0, i32 0, ptr null)"
            )
            w.do(f"store ptr {array}, ptr {item}, align 8")

    def store(self, port: str, slots: str, size: str, array: str) -> None:
        """An output out of the workspace."""
        w, list_begins = self._w, word(self._w, port, PORT_LIST)
        is_listed = w.value(f"icmp ne i64 {list_begins}, 0")
        with w.when(is_listed):
            words = w.offset(self["ports"], w.value(f"mul i64 {list_begins}, 8"))
            listed = in_header(w, Header.LISTED)
            w.do(f"call void {listed}(ptr {array}, ptr {self['workspace']}, ptr {words}, i64 {size})")
        with w.when(w.value(f"xor i1 {is_listed}, true")):
            self.copy(slots, array, size)


def word(w: Writer, words: str, number: int) -> str:
    return w.value(f"load i64, ptr {w.offset(words, 8 * number)}, align 8")


def field(w: Writer, thing: str, offset: int, kind: str = "ptr") -> str:
    return w.value(f"load {kind}, ptr {w.offset(thing, offset)}, align 4")


def unless(w: Writer, condition: str, label: str) -> None:
    """Go on if `condition`, else to `label`."""
    go_on = f"on.{condition[1:]}"
    w.do(f"br i1 {condition}, label %{go_on}, label %{label}")
    w.label(go_on)
