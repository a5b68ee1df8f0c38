"""`external`: an algorithm on a robot as a CasADi function that runs native code, with its Jacobian."""

from __future__ import annotations

import itertools
import os
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from sarrus.codegen.emit import jit
from sarrus.codegen.emit.image import NotFlatError, link_flat
from sarrus.codegen.emit.memory import address_of, address_of_bytes
from sarrus.codegen.runtime.compile import compile
from sarrus.codegen.runtime.kernel import Kernel
from sarrus.codegen.runtime.module import load_module
from sarrus.codegen.tape.c_export import identifier
from sarrus.codegen.tape.casadi_export import casadi_jacobian, matrix_shape
from sarrus.codegen.tape.derivative import beside_values
from sarrus.codegen.tape.graph import Op
from sarrus.codegen.tape.tape import Port, Tape
from sarrus.errors import UnsupportedError, optional_package
from sarrus.hooks.casadi.shared_object import shared_object
from sarrus.hooks.casadi.stub import PortWord, Table, emit_external, emit_library
from sarrus.hooks.native_call import NativeCall, entry
from sarrus.model.model import Model
from sarrus.registry.algorithm import AnyAlgorithm
from sarrus.registry.table import find

_numbers = itertools.count()
_kept: list[Any] = []  # what the libraries point to; CasADi never says when it forgets one


def external(
    model: Model,
    method: str | AnyAlgorithm = "aba",
    *,
    jacobian: bool = True,
    external_forces: bool = False,
    inputs: Sequence[str] | None = None,
    **options: Any,
) -> Any:
    """An algorithm on this robot as a `casadi.Function` that runs native code: what `to_casadi()` computes, faster.

    jacobian  whether it has one, by a kernel of its own, with its sparsity. Other arguments as those of
              `sarrus.compile`

    CasADi's expressions, map, integrators and IPOPT take it as any function. Jacobians are with respect to components,
    see `sarrus/hooks/components.py`. There are no second derivatives: IPOPT needs
    `{"ipopt.hessian_approximation": "limited-memory"}`, or a Hessian of one's own. It lives as long as this process,
    and cannot be saved: `kernel.to_c()` is for other programs.

    >>> f = sarrus.casadi.external(model, "aba")
    >>> f(q, v, tau)                                  # numbers or MX
    """
    ca = optional_package("casadi", "sarrus.casadi needs CasADi", "'sarrus[casadi]'")
    algorithm = find(method)
    asked: dict[str, Any] = {"external_forces": external_forces, "inputs": inputs, **options}
    kernel = compile(model, algorithm, **asked)
    name = f"{identifier(model.name)}_{kernel.method}_{next(_numbers)}"
    if not jacobian:
        return loaded(ca, kernel, name)
    derivative = compile(model, algorithm, derivative="jacobian", **asked, **beside_values(algorithm))
    values = loaded(ca, derivative, f"{name}_derivative")
    return loaded(ca, kernel, name, casadi_jacobian(model, kernel.tape, derivative.tape, values, name))


def loaded(ca: Any, kernel: Kernel, name: str, jacobian: Any = None) -> Any:
    """The kernel as an external function of CasADi, from a library that is written now.

    jacobian  a function of inputs and outputs, jac_NAME. CasADi takes one only of a library that has a function of that
              name, and then never looks at the library's
    """
    tape, call = kernel.tape, NativeCall(kernel)
    ports = (*tape.inputs, *tape.outputs)
    present = [np.ones(p.size, bool) for p in tape.inputs] + [~_always_zero(tape, result) for result in tape.results]
    sparsities, words, places, offset = [], [], [], 0
    for port, there in zip(ports, present, strict=True):
        compact, at = sparsity_of(port, there)
        sparsities.append(compact)
        places.append(at)
        row = {
            PortWord.SIZE: port.size,
            PortWord.NONZEROS: len(at),
            PortWord.PLACES: address_of(at),
            PortWord.OFFSET: offset,
        }
        words.append([row[word] for word in PortWord])
        offset += port.size
    table_of_ports = np.array(words, dtype=np.int64)
    head = {
        Table.INPUTS: len(tape.inputs), Table.OUTPUTS: len(tape.outputs), Table.CALL: entry(),
        Table.CONTEXT: call.context, Table.PORTS: address_of(table_of_ports),
    }  # fmt: skip
    table = np.array([head[word] for word in Table], dtype=np.int64)
    texts = [port.name.encode() + b"\0" for port in ports]
    count = len(tape.inputs)
    pointers = {
        "sparsity_in": [address_of(x) for x in sparsities[:count]],
        "sparsity_out": [address_of(x) for x in sparsities[count:]],
        "name_in": [address_of_bytes(x) for x in texts[:count]],
        "name_out": [address_of_bytes(x) for x in texts[count:]],
    }
    lists = {suffix: np.array(addresses, dtype=np.uint64) for suffix, addresses in pointers.items()}
    counts = {"n_in": count, "n_out": len(tape.outputs)}
    where = {suffix: address_of(x) for suffix, x in lists.items()}
    ir = emit_library(name, _handler(), address_of(table), counts, where, offset)
    symbols = [name, *(f"{name}_{suffix}" for suffix in (*counts, *lists, "work"))]
    if jacobian is not None:
        symbols, ir = [*symbols, f"jac_{name}"], f"{ir}\ndefine i32 @jac_{name}() {{ ret i32 1 }}"
    _kept.append((call, table, table_of_ports, places, sparsities, texts, lists))
    settings = {} if jacobian is None else {"custom_jacobian": jacobian, "jac_penalty": 0}
    return _from_library(ca, name, _library(ir, symbols), settings)


def _always_zero(tape: Tape, instructions: np.ndarray) -> np.ndarray:
    """Which of these values are the constant zero."""
    constant = tape.op[instructions] == Op.CONST
    out = np.zeros(len(instructions), bool)
    out[constant] = tape.constants[tape.arg[instructions[constant], 0]] == 0.0
    return out


@cache
def _handler() -> int:
    return load_module("casadi external", "", emit_external, ["external"])["external"]


def _library(ir: str, symbols: list[str]) -> bytes:
    try:
        return shared_object(*link_flat(jit.compile_object(ir), symbols))
    except NotFlatError:
        raise UnsupportedError(
            "external functions are written for Linux on x86-64; elsewhere, use `kernel.to_casadi()`, or "
            "`kernel.to_c()` and a compiler"
        ) from None


def _from_library(ca: Any, name: str, library: bytes, settings: dict[str, Any]) -> Any:
    descriptor, path = tempfile.mkstemp(suffix=".so", prefix="sarrus_")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(library)
        return ca.external(name, path, settings)
    finally:
        Path(path).unlink()  # the loader has it in memory


def sparsity_of(port: Port, present: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """CasADi's compact form of a sparsity, and where each nonzero is among the elements in row-major order."""
    height, width = matrix_shape(port)
    there = present.reshape(height, width)
    rows = [np.flatnonzero(there[:, j]) for j in range(width)]
    starts = np.concatenate([[0], np.cumsum([len(x) for x in rows])])
    compact = np.concatenate([[height, width], starts, *rows]).astype(np.int64)
    places = np.concatenate([np.zeros(0, np.int64), *(x * width + j for j, x in enumerate(rows))]).astype(np.int64)
    return compact, places
