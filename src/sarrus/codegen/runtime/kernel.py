"""A compiled algorithm, as users call it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from sarrus.codegen.runtime import stored
from sarrus.codegen.runtime.call_arrays import (
    batch_of,
    given_outputs,
    named_inputs,
    not_finite,
    plain_batch,
)
from sarrus.codegen.runtime.native import NativeKernel, build_native, lane_of
from sarrus.codegen.runtime.threads import threads_for
from sarrus.codegen.tape.tape import OpCount, Tape
from sarrus.errors import UnsupportedError
from sarrus.model.arguments import empty
from sarrus.model.model import Model
from sarrus.once import cached_property
from sarrus.registry.algorithm import AnyAlgorithm
from sarrus.status import Status

_SPENT = {"tracing": "trace", "order and registers": "plan", "machine code": "code"}


def _revived(algorithm: AnyAlgorithm, model_name: str, tape: Tape, dtype: str, lanes: int, key: str | None) -> Kernel:
    """A pickled kernel where it arrives: loaded if this machine has it, else compiled."""
    native = None if key is None else stored.load(key, lane_of(dtype, lanes))
    return Kernel(algorithm, model_name, native or build_native(tape, dtype, lanes), key)


class Kernel:
    """A compiled algorithm. Call it with `(n,)` or `(B, n)` arrays, in the order of `input_names`.

    Shapes and types are checked, values are not: a state that is not finite gives a result that is not finite, in its
    own row only (`return_status=True` reports which).

    algorithm   what was compiled
    model_name  of the robot for which it was compiled
    native      the machine code
    key         its name in the cache on disk; None: it is not cached
    jacobian    makes the robot and the tape of the method's Jacobian; None: not known (for example after pickling)

    >>> kernel = sarrus.compile(sarrus.zoo.chain(2), "aba")
    >>> kernel.input_names
    ('q', 'v', 'tau')
    >>> kernel(np.zeros(2), np.zeros(2), np.zeros(2)).shape
    (2,)
    """

    def __init__(
        self,
        algorithm: AnyAlgorithm,
        model_name: str,
        native: NativeKernel,
        key: str | None = None,
        jacobian: Callable[[], tuple[Model, Tape]] | None = None,
    ) -> None:
        self._jacobian = jacobian
        self.method = algorithm.name
        self.model_name = model_name
        self.native = native
        self.tape = native.tape
        self.dtype = native.dtype
        self._algorithm = algorithm
        self._key = key
        self._result = None if algorithm.outputs is not None else algorithm.result_type
        self._fast = native.call_new
        # `tuple.__new__` is quicker than a NamedTuple's own constructor; a tape with one output gives no tuple.
        result: Any = self._result or tuple
        self._of_one = result if len(self.tape.outputs) == 1 else partial(tuple.__new__, result)
        self._shapes = [port.shape for port in self.tape.inputs]
        self._output_shapes = [port.shape for port in self.tape.outputs]
        self._has_scalars = any(port.shape == () and not port.whole for port in self.tape.outputs)

    def __repr__(self) -> str:
        size = f"{self.op_count.total} operations, {self.native.lanes} lanes"
        return f"<Kernel {self.method} of {self.model_name!r}: {size}>"

    def __reduce__(self) -> tuple:
        return _revived, (self._algorithm, self.model_name, self.tape, self.dtype.name, self.native.lanes, self._key)

    @property
    def input_names(self) -> tuple[str, ...]:
        return tuple(port.name for port in self.tape.inputs)

    @property
    def output_names(self) -> tuple[str, ...]:
        return tuple(port.name for port in self.tape.outputs)

    @property
    def op_count(self) -> OpCount:
        return self.tape.op_count

    def pattern(self, output: str) -> np.ndarray:
        """Where an output, such as a Jacobian, can be other than zero, in any state: booleans in its shape."""
        return self.tape.pattern(output)

    @property
    def source_hash(self) -> str:
        """A hash of everything that determines the values."""
        return self.tape.digest

    def __call__(
        self, *arrays: Any, out: Any = None, threads: int | None = None, return_status: bool = False, **named: Any
    ) -> Any:
        """What the eager function returns, for one state or a batch.

        out      array (or tuple of arrays, one per output) to write into; it may be an input
        threads  how many to use for a batch; default: as many as are worth it
        """
        if threads is None and not named and not return_status:
            if out is None:
                result = self._fast(*arrays)  # None: not exactly one state of the right type
                if result is not None:
                    return result if self._result is None else self._of_one(result)
            elif self._wrote_one(arrays, _listed(out)):
                return self._wrapped((), out)
        if not named and not return_status:
            found = self._batch_on_one_thread(arrays, threads, self._new if out is None else lambda _: _listed(out))
            if found is not None:
                return self._wrapped(found[1], out)
        held: list[Any] = []
        batch = None if named or return_status else plain_batch(arrays, self._shapes, self.dtype, held)
        if batch is None:
            return self._careful(arrays, named, out, threads, return_status)
        outputs, threads = self._outputs(out, (batch,), held), self.threads_for(batch, threads)
        if batch:
            self.native.run_checked((*arrays, *outputs), batch, threads, may_overlap=out is not None)
        return self._wrapped(outputs, out)

    def _batch_on_one_thread(
        self,
        arrays: tuple[Any, ...],
        threads: int | None,
        memory: Callable[[int], Sequence[Any]],
        validate: bool = False,
    ) -> tuple[bool, Sequence[Any]] | None:
        """Whether all arguments of a batch are valid, if it is to `validate`, and its outputs, in what `memory` gives
        for so many states. None: these are not arrays just as native code wants them, or are worth more threads.
        """
        if len(arrays) != len(self._shapes) or not arrays:
            return None
        first = arrays[0]
        if type(first) is not np.ndarray or first.ndim != len(self._shapes[0]) + 1 or len(first) < 2:
            return None
        if self.threads_for(len(first), threads) != 1:
            return None
        outputs = memory(len(first))
        valid = self.native.call_batch((*arrays, *outputs), validate)
        return None if valid is None else (valid, outputs)

    def _wrote_one(self, arrays: tuple[Any, ...], outputs: Sequence[Any]) -> bool:
        """Whether this was one state, in arrays just as native code wants them, whose results are in `outputs` now."""
        if len(arrays) != len(self._shapes) or len(outputs) != len(self._output_shapes):
            return False  # (an input too many is no output)
        if any(type(x) is not np.ndarray or x.shape != s for x, s in zip(outputs, self._output_shapes, strict=True)):
            return False
        if any(np.may_share_memory(*pair) for pair in combinations(outputs, 2)):
            return False
        return self.native.call_into(*arrays, *outputs) is not None

    @property
    def gives_one_array(self) -> bool:
        """Whether what the native code gives for one state is the result as it is."""
        return self._result is None and not self._has_scalars

    def of_one(self, result: Any) -> Any:
        """What a public call returns for one state, of what the native code gives: numbers are Python's."""
        if self._has_scalars:
            parts = result if isinstance(result, tuple) else (result,)
            numbers = [float(x) if type(x) is np.ndarray and x.ndim == 0 else x for x in parts]
            result = tuple(numbers) if isinstance(result, tuple) else numbers[0]
        return result if self._result is None else self._of_one(result)

    def of_valid(
        self,
        arrays: tuple[Any, ...],
        memory: Callable[[int], list[np.ndarray]] | None = None,
        threads: int | None = None,
    ) -> Any:
        """The results for a batch of valid states, in arrays just as native code wants them; None if they are not.

        memory   what gives arrays for the results of so many states; default: new ones
        threads  how many to use; default: as many as are worth it
        """
        memory = self._new if memory is None else memory
        found = self._batch_on_one_thread(arrays, threads, memory, validate=True)
        if found is not None:
            return self._wrapped(found[1], None) if found[0] else None
        held: list[Any] = []
        batch = plain_batch(arrays, self._shapes, self.dtype, held)
        if not batch:
            return None
        outputs = memory(batch)
        valid = self.native.run_checked(
            (*arrays, *outputs), batch, self.threads_for(batch, threads), may_overlap=False, validate=True
        )
        return self._wrapped(outputs, None) if valid else None

    def _wrapped(self, outputs: Sequence[Any], out: Any) -> Any:
        """What is returned: the very arrays that were given to write into, if some were."""
        if out is not None:
            outputs = _listed(out)
        if self._result is None:
            return outputs[0]
        return self._result(*(self._algorithm.with_whole_numbers(outputs) if out is None else outputs))

    def _new(self, *batch: int) -> list[np.ndarray]:
        """New memory for the results of so many states."""
        return [empty("a result", (*batch, *shape), self.dtype) for shape in self._output_shapes]

    def _outputs(self, out: Any, batch: tuple[int, ...], held: list[Any]) -> list[np.ndarray]:
        """Where results go: new memory, or that of `out`, which stays as it is found while `held` lives."""
        if out is None:
            return self._new(*batch)
        return given_outputs(self.tape.outputs, out, batch, self.dtype, held)

    def _careful(
        self, arrays: tuple[Any, ...], named: dict[str, Any], out: Any, threads: int | None, return_status: bool
    ) -> Any:
        """The call for whatever arguments: they are changed where they must be, or explained."""
        ports = self.tape.inputs
        inputs, size = batch_of(ports, named_inputs(self.method, self.input_names, arrays, named), self.dtype)
        batch = 1 if size is None else size
        bad_inputs = not_finite(ports, inputs, batch) if return_status else None  # before `out` is written over them
        outputs = self._outputs(out, () if size is None else (batch,), [])
        self.native.run(inputs, outputs, batch, self.threads_for(batch, threads))
        result = self._wrapped(outputs, out)
        if bad_inputs is None:
            return result
        bad_outputs = np.where(not_finite(self.tape.outputs, outputs, batch), Status.NOT_FINITE, Status.OK)
        status = np.where(bad_inputs, Status.INPUT_NOT_FINITE, bad_outputs).astype(np.int8)
        return result, int(status[0]) if size is None else status

    def threads_for(self, batch: int, threads: int | None) -> int:
        """How many threads to use for a batch: those asked for, or as many as are worth it."""
        return threads_for(batch * self._work, threads)

    @cached_property
    def _work(self) -> int:
        """Operations of a state. (What some states need, and what is iterated, is no part of the count, but of the
        tape.)
        """
        return max(self.op_count.total, len(self.tape))

    @cached_property
    def casadi_function(self) -> Any:
        """The same computation as a CasADi Function, inputs and outputs by name."""
        from sarrus.codegen.tape.casadi_export import casadi_function

        return casadi_function(self.tape, self._casadi_name)

    @cached_property
    def _with_jacobian(self) -> Any:
        """The same, with our own Jacobian, if there is one."""
        from sarrus.codegen.tape.casadi_export import casadi_function, casadi_jacobian

        try:
            model, derivative = (None, None) if self._jacobian is None else self._jacobian()
            if model is None or derivative is None:
                return self.casadi_function
            values = casadi_function(derivative, f"{self._casadi_name}_derivative")
        except UnsupportedError:  # it has none, or one too long to be written out
            return self.casadi_function
        jacobian = casadi_jacobian(model, self.tape, derivative, values, self._casadi_name)
        return casadi_function(self.tape, self._casadi_name, jacobian)

    @property
    def _casadi_name(self) -> str:
        from sarrus.codegen.tape.c_export import identifier

        return f"{identifier(self.model_name)}_{self.method}"

    def to_casadi(self, jacobian: bool = True) -> Any:
        """The CasADi Function, for users of CasADi, acados or rockit.

        jacobian  whether its Jacobian is ours: in closed form where there is one, at the solution for methods that
                  iterate, with respect to the components of q (a quaternion does not get longer). CasADi takes it where
                  the function is called with MX; called with SX, it is written out, and CasADi differentiates that.
                  Kernels that were pickled, and what has no derivative, have CasADi's
        """
        return self._with_jacobian if jacobian else self.casadi_function

    def to_c(self, directory: str | Path, name: str | None = None) -> Path:
        """Write NAME.c and NAME.h, dependency-free C99, into a directory. Returns the path of the C file."""
        from sarrus.codegen.tape.c_export import identifier, write_c

        return write_c(self.tape, Path(directory), identifier(name or f"{self.model_name}_{self.method}"), self.dtype)

    def explain(self) -> str:
        """What this kernel is, in a few lines."""
        count, native = self.op_count, self.native
        kinds = ", ".join(f"{n:,} {kind}" for kind, n in count.by_kind.items() if n)
        stages = ", ".join(f"{stage} {n:,}" for stage, n in count.by_stage.items())
        origin = f"loaded from the cache in {native.compile_seconds:.3f} s" if native.from_cache else "compiled now"
        seconds = {what: native.stats.get(f"{key}_seconds", 0.0) for what, key in _SPENT.items()}
        spent = ", ".join(f"{what} {s:.3f}" for what, s in seconds.items())
        limits = ", ".join(str(loop.limit) for loop in self.tape.loops if not loop.is_repetition)
        again = f"  iterations {limits} at most, {count.per_iteration:,} operations each\n" if limits else ""
        takes = ", ".join(f"{p.name} {p.shape}" for p in self.tape.inputs)
        gives = ", ".join(f"{p.name} {p.shape}" for p in self.tape.outputs)
        return (
            f"{self.method} of {self.model_name!r}\n"
            f"  takes      {takes}\n"
            f"  gives      {gives}\n"
            f"  operations {count.total:,}: {kinds}\n"
            f"  stages     {stages}\n{again}"
            f"  code       {native.code_bytes:,} bytes, {native.lanes} {self.dtype} lanes and a scalar version"
            f"{f' ({single:,})' if (single := native.artifact.lanes_begin) else ''}, {origin}\n"
            f"  compiling  {sum(seconds.values()):.3f} s: {spent}\n"
            f"  hash       {self.source_hash[:16]}"
        )


def _listed(out: Any) -> Sequence[Any]:
    """What was given to write into, one thing per output."""
    return out if isinstance(out, (tuple, list)) else (out,)
