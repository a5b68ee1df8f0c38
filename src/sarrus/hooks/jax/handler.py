"""A kernel as a foreign function of XLA: native code from XLA's call frame to the kernel, without Python.

XLA gives a frame of buffers; the kernel wants arrays of pointers to rows. Leading dimensions are states. One text
serves all kernels; what is particular to one is a table of words (`_Signature`) and four instructions that know where
it is.
"""

from __future__ import annotations

import ctypes
import hashlib
from enum import IntEnum
from functools import cache
from typing import Any

import numpy as np

from sarrus.codegen.emit import jit
from sarrus.codegen.emit.memory import address_of
from sarrus.codegen.emit.writer import Writer
from sarrus.codegen.runtime.kernel import Kernel
from sarrus.codegen.runtime.module import load_module, placed
from sarrus.hooks.jax.call_frame import CallFrame, installed_call_frame, jax_package
from sarrus.hooks.native_call import NativeCall, entry

_Signature = IntEnum("_Signature", "INPUTS OUTPUTS RANK CONTEXT CALL", start=0)
_MESSAGE = "sarrus: XLA passed other buffers than the kernel has"
_registered: dict[str, Any] = {}  # by name: what must stay in memory. XLA has no way to forget a function.


def target_of(kernel: Kernel) -> str:
    """The name under which XLA knows this kernel from now on: a hash of all that determines its values."""
    what = f"{kernel.source_hash} {kernel.dtype} {kernel.native.lanes}"
    name = f"sarrus_{kernel.method}_{hashlib.sha256(what.encode()).hexdigest()[:32]}"
    if name not in _registered:
        _registered[name] = _register(name, kernel)
    return name


def _register(name: str, kernel: Kernel) -> Any:
    jax = jax_package()
    call, tape = NativeCall(kernel), kernel.tape
    words = {
        _Signature.INPUTS: len(tape.inputs), _Signature.OUTPUTS: len(tape.outputs),
        _Signature.RANK: len(tape.inputs[0].shape), _Signature.CONTEXT: call.context, _Signature.CALL: entry(),
    }  # fmt: skip
    signature = np.array([words[word] for word in _Signature], dtype=np.uint64)
    text = (
        f"define ptr @thunk(ptr %frame) {{\n %r = call ptr inttoptr (i64 {_handler()} to ptr)(ptr %frame, "
        f"ptr inttoptr (i64 {address_of(signature)} to ptr))\n ret ptr %r\n}}"
    )
    memory, found = placed(jit.compile_object(text), ["thunk"])
    function = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)(found["thunk"])
    jax.ffi.register_ffi_target(name, jax.ffi.pycapsule(function), platform="cpu")
    return call, signature, memory, function


@cache
def _handler() -> int:
    frame = installed_call_frame()
    variant = hashlib.sha256(repr(frame).encode()).hexdigest()
    return load_module("xla handler", variant, lambda: emit_handler(frame), ["handle"])["handle"]


def emit_handler(frame: CallFrame) -> str:
    """`handle(frame, signature) -> error or null`. XLA asks for metadata first: which version this was written for."""
    at, value = frame.at, frame.value
    w = Writer("ptr @handle(ptr %frame, ptr %signature)")

    def load(pointer: str, structure: str, field: str, kind: str = "ptr") -> str:
        return w.value(f"load {kind}, ptr {w.offset(pointer, at[structure, field])}, align {4 if kind == 'i32' else 8}")

    def word(which: _Signature, kind: str = "i64") -> str:
        return w.value(f"load {kind}, ptr {w.offset('%signature', 8 * which)}, align 8")

    extension = load("%frame", "CallFrame", "extension_start")
    w.do(f"br i1 {w.value(f'icmp eq ptr {extension}, null')}, label %run, label %extended")
    w.label("extended")
    kind = load(extension, "Extension_Base", "type", "i32")
    is_metadata = w.value(f"icmp eq i32 {kind}, {value['Extension_Metadata']}")
    w.do(f"br i1 {is_metadata}, label %metadata, label %run")
    w.label("metadata")
    metadata = load(extension, "Metadata_Extension", "metadata")
    version = w.offset(metadata, at["Metadata", "api_version"])
    for field, name in (("major_version", "API_MAJOR"), ("minor_version", "API_MINOR")):
        w.do(f"store i32 {value[name]}, ptr {w.offset(version, at['Api_Version', field])}, align 4")
    w.do(f"store i32 0, ptr {w.offset(metadata, at['Metadata', 'traits'])}, align 4")
    w.do("ret ptr null")

    w.label("run")
    args, rets = (w.offset("%frame", at["CallFrame", name]) for name in ("args", "rets"))
    counts = [load(args, "Args", "size", "i64"), load(rets, "Rets", "size", "i64")]
    same = [
        w.value(f"icmp eq i64 {n}, {word(which)}")
        for n, which in zip(counts, (_Signature.INPUTS, _Signature.OUTPUTS), strict=True)
    ]
    w.do(f"br i1 {w.value(f'and i1 {same[0]}, {same[1]}')}, label %fits, label %wrong")
    w.label("wrong")
    w.do(f"ret ptr {_error(w, frame)}")

    w.label("fits")
    buffers = load(args, "Args", "args"), load(rets, "Rets", "rets")
    tables = [w.value(f"alloca i64, i64 {n}, align 8") for n in counts]
    for n, pointers, table in zip(counts, buffers, tables, strict=True):
        with w.loop(n) as i:
            byte = w.value(f"mul i64 {i}, 8")
            buffer = w.value(f"load ptr, ptr {w.offset(pointers, byte)}, align 8")
            w.do(f"store ptr {load(buffer, 'Buffer', 'data')}, ptr {w.offset(table, byte)}, align 8")
    first = w.value(f"load ptr, ptr {buffers[0]}, align 8")
    leading = w.value(f"sub i64 {load(first, 'Buffer', 'rank', 'i64')}, {word(_Signature.RANK)}")
    extents = load(first, "Buffer", "dims")
    states = w.value("alloca i64, align 8")
    w.do(f"store i64 1, ptr {states}, align 8")
    with w.loop(leading) as i:
        extent = w.value(f"load i64, ptr {w.offset(extents, w.value(f'mul i64 {i}, 8'))}, align 8")
        so_far = w.value(f"load i64, ptr {states}, align 8")
        w.do(f"store i64 {w.value(f'mul i64 {so_far}, {extent}')}, ptr {states}, align 8")
    count = w.value(f"load i64, ptr {states}, align 8")
    call, context = word(_Signature.CALL, "ptr"), word(_Signature.CONTEXT, "ptr")
    w.do(f"call void {call}(ptr {tables[0]}, ptr {tables[1]}, i64 {count}, ptr {context})")
    message = f'@message = private constant [{len(_MESSAGE) + 1} x i8] c"{_MESSAGE}\\00"'
    return "\n".join([message, w.finish("ret ptr null")])


def _error(w: Writer, frame: CallFrame) -> str:
    """An error of XLA's own."""
    at, size = frame.at, frame.size["Error_Create_Args"]
    api = w.value(f"load ptr, ptr {w.offset('%frame', at['CallFrame', 'api'])}, align 8")
    create = w.value(f"load ptr, ptr {w.offset(api, at['Api', 'XLA_FFI_Error_Create'])}, align 8")
    arguments = w.value(f"alloca [{size} x i8], align 8")
    fields = (
        ("struct_size", f"i64 {size}"), ("extension_start", "ptr null"), ("message", "ptr @message"),
        ("errc", f"i32 {frame.value['Error_Code_INTERNAL']}"),
    )  # fmt: skip
    for field, content in fields:
        w.do(f"store {content}, ptr {w.offset(arguments, at['Error_Create_Args', field])}, align 4")
    return w.value(f"call ptr {create}(ptr {arguments})")
