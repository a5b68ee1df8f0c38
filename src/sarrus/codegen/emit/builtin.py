"""A Python builtin whose machine code is ours, and what that code may know about Python's and NumPy's objects."""

from __future__ import annotations

import ctypes
import importlib
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

# PyObject and PyArrayObject_fields on 64-bit CPython, in bytes.
TYPE, DATA, DIMENSIONS, SHAPE, DESCRIPTOR, FLAGS = 8, 16, 24, 32, 56, 64
INPUT_FLAGS = 0x1 | 0x100  # C-contiguous, aligned
OUTPUT_FLAGS = INPUT_FLAGS | 0x400  # writeable
TYPE_NUMBER = {64: 12, 32: 11}
# The context: addresses that the code needs, in this order.
CONTEXT = (
    "array_type", "descriptor", "true", "false", "none", "incref", "decref", "new_array", "new_tuple", "set_item",
    "integer", "copy", "call", "workspace", "constants", "ports", "writes", "checks", "result", "hash", "careful",
    "batch", "save_thread", "restore_thread",
)  # fmt: skip


class _Context(np.ndarray):
    """The array of addresses that is `self` of the builtins; it keeps alive what they point to."""

    keeps: Any = None


class _MethodDefinition(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("documentation", ctypes.c_char_p),
    ]


_FASTCALL_WITH_NAMES = 0x80 | 0x2
_TUPLE_BYTES, _WITH_HASH = 24, 32  # of a tuple without its items; where it keeps its hash, too, that comes last


def layout_is_known() -> bool:
    """Whether this interpreter and this NumPy lay out arrays as the emitted code reads them."""
    if sys.implementation.name != "cpython" or ctypes.sizeof(ctypes.c_void_p) != 8 or sys.byteorder != "little":
        return False
    if tuple.__basicsize__ not in (_TUPLE_BYTES, _WITH_HASH):
        return False
    if not getattr(sys, "_is_gil_enabled", lambda: True)() or hasattr(sys, "gettotalrefcount"):
        return False
    probe = np.zeros((3, 5))
    at = id(probe)
    shape = ctypes.c_void_p.from_address(at + SHAPE).value
    return (
        ctypes.c_void_p.from_address(at + TYPE).value == id(np.ndarray)
        and ctypes.c_void_p.from_address(at + DATA).value == probe.ctypes.data
        and ctypes.c_int.from_address(at + DIMENSIONS).value == 2
        and shape is not None
        and [ctypes.c_int64.from_address(shape + 8 * i).value for i in (0, 1)] == [3, 5]
        and ctypes.c_void_p.from_address(at + DESCRIPTOR).value == id(probe.dtype)
        and ctypes.c_int.from_address(at + FLAGS).value == probe.flags.num
        and probe.flags.num & OUTPUT_FLAGS == OUTPUT_FLAGS
    )


def make_builtin(
    name: str,
    address: int,
    dtype: np.dtype,
    places: tuple[int, int, int],
    writes: bool,
    checks: bool,
    keeps: Any,
    result: type[tuple[Any, ...]] | None = None,
    careful: Callable[..., Any] | None = None,
    batch: int = 0,
) -> Any:
    """A Python builtin that runs the code at `address` (`single.py`, `many.py`).

    places   of a workspace (or how many bytes it has), of the constants and of what drivers know of the ports
    result   the type of what it returns; None: the only output as it is
    careful  what it calls with what it cannot do; default: it returns None
    batch    the address of the driver of batches
    """
    api = ctypes.pythonapi
    numpy_api = _numpy_api()

    def pointer(function: Any) -> int:
        return ctypes.cast(function, ctypes.c_void_p).value or 0

    addresses = {
        "array_type": id(np.ndarray), "descriptor": id(np.dtype(dtype)),
        "true": id(True), "false": id(False), "none": id(None),
        "incref": pointer(api.Py_IncRef), "decref": pointer(api.Py_DecRef), "new_array": numpy_api[93],
        "new_tuple": pointer(api.PyType_GenericAlloc), "set_item": pointer(api.PyTuple_SetItem),
        "integer": pointer(api.PyLong_FromDouble), "copy": pointer(ctypes.memmove),
        "call": pointer(api.PyObject_Vectorcall),
        **dict(zip(("workspace", "constants", "ports"), places, strict=True)),
        "writes": int(writes), "checks": int(checks), "batch": batch,
        "result": 0 if result is None else id(result),
        "hash": _TUPLE_BYTES if tuple.__basicsize__ == _WITH_HASH else 0,
        "careful": 0 if careful is None else id(careful),
        "save_thread": pointer(api.PyEval_SaveThread), "restore_thread": pointer(api.PyEval_RestoreThread),
    }  # fmt: skip
    context = np.array([addresses[key] for key in CONTEXT], dtype=np.uint64).view(_Context)
    definition = _MethodDefinition(name.encode(), address, _FASTCALL_WITH_NAMES, None)
    context.keeps = (keeps, definition, result, careful)
    new = api.PyCFunction_NewEx
    new.restype = ctypes.py_object
    new.argtypes = [ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p]
    return new(ctypes.addressof(definition), context, None)


def _numpy_api() -> Any:
    """NumPy's table of C functions."""
    try:
        umath = importlib.import_module("numpy._core._multiarray_umath")
    except ImportError:  # NumPy 1
        umath = importlib.import_module("numpy.core._multiarray_umath")
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype = ctypes.c_void_p
    get.argtypes = [ctypes.py_object, ctypes.c_char_p]
    return ctypes.cast(get(umath._ARRAY_API, None), ctypes.POINTER(ctypes.c_uint64))
