"""`compile`: an algorithm as a native kernel for one robot."""

from __future__ import annotations

import contextlib
import gc
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from sarrus.codegen.emit.lane import Lane
from sarrus.codegen.runtime import stored
from sarrus.codegen.runtime.cache_names import described, model_key
from sarrus.codegen.runtime.kernel import Kernel
from sarrus.codegen.runtime.native import build_native, lane_of
from sarrus.codegen.tape.derivative import (
    MINIMUM_NORM,
    Derivative,
    beside_values,
    derivative_algorithm,
    derivative_tape,
    has_smallest_forces,
)
from sarrus.codegen.tape.tape import Tape
from sarrus.codegen.tape.trace import trace
from sarrus.errors import UnsupportedError
from sarrus.model.model import Model
from sarrus.registry.algorithm import Algorithm, AnyAlgorithm, planned_dynamics
from sarrus.registry.table import find
from sarrus.spatial.precision import precision

Progress = Callable[[str], None]
_PATIENCE = 1.0  # seconds


def compile(  # the name users expect; the builtin is not used here
    model: Model,
    method: str | AnyAlgorithm | None = None,
    /,
    *,
    dtype: Any = np.float64,
    lanes: str | int = "auto",
    external_forces: bool = False,
    inputs: Sequence[str] | None = None,
    parameters: Sequence[Any] | None = None,
    derivative: str | None = None,
    wrt: str | Sequence[str] | None = None,
    cache: bool = True,
    progress: Progress | None = None,
    **options: Any,
) -> Kernel:
    """Native code of `method` for this robot, within a second or two; no compiler is needed. Later calls load it from
    disk.

    dtype            float64 or float32
    lanes            states computed at once by SIMD; "auto": as many as the processor supports
    external_forces  whether the kernel takes forces on bodies as its last input, (nb, 6)
    method           an algorithm or its name; for an algorithm made on the fly, options must have a distinctive `repr`.
                     Default: forward dynamics, by aba for a tree, otherwise by the model's plan (`sarrus.plan`), which
                     is made if there is none
    inputs           names of the arrays that it takes; default: those that the method needs
    parameters       for a model with CasADi symbols: the order in which the kernel's last input holds their values
    derivative       what the kernel computes besides the values of the method: see below
    wrt              names of the inputs with respect to which to differentiate ("parameters": the values of CasADi
                     symbols); default: all
    progress         called with a description of each next step; default: printed to a terminal after a second
    options          fixed arguments of the method, e.g. `frame="left_foot"`; of derivatives of constrained dynamics
                     also `minimum_norm=True`: redundant rows share a load by the smallest forces, as in lcaba
    cache            whether to use a kernel from disk, and keep this one there
    returns          a `Kernel`
    errors           `UnknownNameError`: no such method, input or option; `UnsupportedError`: the method does not
                     support this model, or a derivative that it does not have

    >>> robot = sarrus.zoo.chain(2)
    >>> kernel = sarrus.compile(robot, "aba")
    >>> kernel(*sarrus.random_state(robot, rng=0, batch=4), np.zeros((4, 2))).shape  # (n,) or (B, n)
    (4, 2)

    Derivatives with respect to q are in the tangent space, along `integrate(q, e_j)`: (nv,), also where q is an output.
    Results are NamedTuples: the values, followed by, for aba with wrt=("q", "v"),

    derivative="jacobian"    kernel(q, v, tau) -> qdd, dqdd_dq, dqdd_dv               per output and input
    derivative="jvp"         kernel(q, v, tau, dq, dv) -> qdd, dqdd                   along a direction
    derivative="vjp"         kernel(q, v, tau, qdd_bar) -> qdd, q_bar, v_bar          of the sum of qdd_bar qdd
    """
    if not isinstance(model, Model):
        raise UnsupportedError(f"compile: the first argument must be a sarrus.Model, got {type(model).__name__}")
    if method is None or (isinstance(method, str) and method == "auto"):
        method, planned = planned_dynamics(model)
        options = planned | options
    if not isinstance(method, (str, Algorithm)):
        raise UnsupportedError(f"compile: method is {method!r}: expected the name of an algorithm")
    algorithm, kind = find(method), _dtype(dtype)
    names = _names(algorithm, inputs)
    if external_forces and "external_forces" not in names:
        names = (*names, "external_forces")
    lane = lane_of(kind.name, lanes)
    asked = None
    if derivative is not None or wrt is not None:
        smallest = has_smallest_forces(algorithm) and bool(options.pop(MINIMUM_NORM, False))
        asked = Derivative.of(algorithm, derivative, wrt, names, not model.is_numeric, smallest)
    told_apart = options if asked is None else options | {"derivative": asked}
    key = None if not cache or parameters else _key(model, algorithm, names, told_apart, lane)
    native = None if key is None else stored.load(key, lane)
    if native is None:
        with precision(kind), without_collection(), told(f"{algorithm.name} of {model.name!r}", progress) as tell:
            start = time.perf_counter()
            tell("tracing")
            if asked is None:
                tape = trace(model, algorithm, inputs=names, parameters=parameters, **options)
            else:
                tape = derivative_tape(model, algorithm, asked, names, parameters, **options)
            traced = time.perf_counter() - start
            tell(f"machine code of {len(tape):,} instructions")
            native = build_native(tape, kind.name, lane.count, cache=cache and key is None)
        native.stats["trace_seconds"] = traced
        if key is not None:
            stored.save(key, native)
    if asked is not None:
        return Kernel(derivative_algorithm(algorithm, asked, names, native.tape), model.name, native, key)

    def jacobian() -> tuple[Model, Tape]:
        wrt = names if model.is_numeric else (*names, "parameters")
        wanted = Derivative("jacobian", wrt, **beside_values(algorithm))
        with precision(kind):
            return model, derivative_tape(model, algorithm, wanted, names, parameters, **options)

    return Kernel(algorithm, model.name, native, key, jacobian)


@contextlib.contextmanager
def told(what: str, progress: Progress | None) -> Iterator[Progress]:
    """Inside, who waits is told what is done: by `progress`, or on a terminal, if it takes longer than a second."""
    doing = ["starting"]

    def tell(next_thing: str) -> None:
        doing[0] = next_thing
        if progress is not None:
            progress(next_thing)

    def announce() -> None:
        print(f"sarrus: compiling {what}: {doing[0]} ...", file=sys.stderr, flush=True)

    timer = threading.Timer(_PATIENCE, announce)
    timer.daemon = True
    if progress is None and sys.stderr is not None and sys.stderr.isatty():
        timer.start()
    try:
        yield tell
    finally:
        timer.cancel()


@contextlib.contextmanager
def without_collection() -> Iterator[None]:
    """Inside, Python does not look for cycles: it would find none, in a sixth of the time that compiling takes."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def stored_kernel(
    model: Model, algorithm: AnyAlgorithm, inputs: tuple[str, ...], options: dict[str, Any]
) -> Kernel | None:
    """The kernel that `compile` would make, if it is on disk."""
    lane = lane_of("float64", "auto")
    key = _key(model, algorithm, inputs, options, lane)
    native = None if key is None else stored.load(key, lane)
    return None if native is None else Kernel(algorithm, model.name, native, key)


def _key(
    model: Model, algorithm: AnyAlgorithm, names: tuple[str, ...], options: dict[str, Any], lane: Lane
) -> str | None:
    """What a kernel is kept under by what was asked for, so that a process that finds it need not trace; None: only by
    its tape.
    """
    what = described((algorithm.name, names, sorted(options.items())))
    package, *rooms = algorithm.text.__module__.split(".")
    # The text of algorithms that are not ours is no part of a kernel's name.
    if not model.is_numeric or what is None or package != "sarrus" or not rooms:
        return None
    return model_key(model.digest, what, f"{lane.dtype.name} {lane.count}", rooms[0])


def _names(algorithm: AnyAlgorithm, inputs: Any) -> tuple[str, ...]:
    if inputs is None:
        return algorithm.required
    if isinstance(inputs, str) or not isinstance(inputs, Iterable):
        valid = ", ".join(algorithm.input_names)
        raise UnsupportedError(f"inputs is {inputs!r}: expected a tuple of names. Valid: {valid}")
    return tuple(inputs)


def _dtype(dtype: Any) -> np.dtype:
    with contextlib.suppress(TypeError, ValueError, SyntaxError):  # of a type that NumPy does not know
        if np.dtype(dtype) in (np.float64, np.float32):
            return np.dtype(dtype)
    raise UnsupportedError(f"dtype {dtype!r} is not supported. Valid: float64, float32")
