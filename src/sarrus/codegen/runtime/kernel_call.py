"""How a kernel is called: straight into native code, or by Python where arguments must be changed or explained."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from sarrus.codegen.runtime.call_arrays import (
    batch_of,
    given_outputs,
    named_inputs,
    not_finite,
    plain_batch,
)
from sarrus.codegen.runtime.native import NativeKernel
from sarrus.codegen.runtime.threads import threads_for
from sarrus.model.arguments import empty
from sarrus.once import cached_property
from sarrus.registry.algorithm import AnyAlgorithm
from sarrus.status import Status


class KernelCall:
    """The calls of one kernel. `direct` is what a user's call is; what it cannot do, it hands to `careful`.

    algorithm  what was compiled
    native     the machine code
    """

    def __init__(self, algorithm: AnyAlgorithm, native: NativeKernel) -> None:
        self._algorithm = algorithm
        self._native = native
        self._tape = native.tape
        self._dtype = native.dtype
        self._result = None if algorithm.outputs is not None else algorithm.result_type
        self._shapes = [port.shape for port in self._tape.inputs]
        self._output_shapes = [port.shape for port in self._tape.outputs]
        self._has_scalars = any(port.shape == () and not port.whole for port in self._tape.outputs)

    @property
    def direct(self) -> Callable[..., Any]:
        """A call with arrays, `out=`, `threads=`, `return_status=` and inputs by name. One state in arrays just as
        native code wants them does not pass through Python.
        """
        return self._native.builtin(result=self._result, careful=self.careful)

    @cached_property
    def _one(self) -> Callable[..., Any]:
        return self._native.builtin(result=self._result)

    @cached_property
    def checked(self) -> Callable[..., Any]:
        """For public calls: the result for one valid state; None: that was not possible, and nothing is changed."""
        return self._native.builtin(checks=True, result=self._result)

    def careful(
        self, *arrays: Any, out: Any = None, threads: int | None = None, return_status: bool = False, **named: Any
    ) -> Any:
        """`direct`, for what native code declines."""
        if not named and not return_status:
            if threads is None and out is None:  # one state all the same, where a keyword was given its default
                result = self._one(*arrays)
                if result is not None:
                    return result
            elif threads is None and self._wrote_one(arrays, _listed(out)):
                return self._wrapped((), out)
            found = self._batch_on_one_thread(arrays, threads, self._new if out is None else lambda _: _listed(out))
            if found is not None:
                return self._wrapped(found[1], out)
        held: list[Any] = []
        batch = None if named or return_status else plain_batch(arrays, self._shapes, self._dtype, held)
        if batch is None:
            return self._explained(arrays, named, out, threads, return_status)
        outputs, threads = self._outputs(out, (batch,), held), self.threads_for(batch, threads)
        if batch:
            self._native.run_checked((*arrays, *outputs), batch, threads, may_overlap=out is not None)
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
        valid = self._native.call_batch((*arrays, *outputs), validate)
        return None if valid is None else (valid, outputs)

    def _wrote_one(self, arrays: tuple[Any, ...], outputs: Sequence[Any]) -> bool:
        """Whether this was one state, in arrays just as native code wants them, whose results are in `outputs` now."""
        if len(arrays) != len(self._shapes) or len(outputs) != len(self._output_shapes):
            return False  # (an input too many is no output)
        if any(type(x) is not np.ndarray or x.shape != s for x, s in zip(outputs, self._output_shapes, strict=True)):
            return False
        if any(np.may_share_memory(*pair) for pair in combinations(outputs, 2)):
            return False
        return self._native.call_into(*arrays, *outputs) is not None

    @property
    def with_numbers(self) -> Callable[[Any], Any] | None:
        """What makes Python's numbers of the scalars in a result of `checked`; None: there are none."""
        return self._numbers if self._has_scalars else None

    def _numbers(self, result: Any) -> Any:
        if not isinstance(result, tuple):
            return float(result)
        numbers = [float(x) if type(x) is np.ndarray and x.ndim == 0 else x for x in result]
        return tuple.__new__(type(result), numbers)

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
        batch = plain_batch(arrays, self._shapes, self._dtype, held)
        if not batch:
            return None
        outputs = memory(batch)
        valid = self._native.run_checked(
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
        return [empty("a result", (*batch, *shape), self._dtype) for shape in self._output_shapes]

    def _outputs(self, out: Any, batch: tuple[int, ...], held: list[Any]) -> list[np.ndarray]:
        """Where results go: new memory, or that of `out`, which stays as it is found while `held` lives."""
        if out is None:
            return self._new(*batch)
        return given_outputs(self._tape.outputs, out, batch, self._dtype, held)

    def _explained(
        self, arrays: tuple[Any, ...], named: dict[str, Any], out: Any, threads: int | None, return_status: bool
    ) -> Any:
        """The call for whatever arguments: they are changed where they must be, or explained."""
        ports = self._tape.inputs
        names = tuple(port.name for port in ports)
        inputs, size = batch_of(ports, named_inputs(self._algorithm.name, names, arrays, named), self._dtype)
        batch = 1 if size is None else size
        bad_inputs = not_finite(ports, inputs, batch) if return_status else None  # before `out` is written over them
        outputs = self._outputs(out, () if size is None else (batch,), [])
        self._native.run(inputs, outputs, batch, self.threads_for(batch, threads))
        result = self._wrapped(outputs, out)
        if bad_inputs is None:
            return result
        bad_outputs = np.where(not_finite(self._tape.outputs, outputs, batch), Status.NOT_FINITE, Status.OK)
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
        return max(self._tape.op_count.total, len(self._tape))


def _listed(out: Any) -> Sequence[Any]:
    """What was given to write into, one thing per output."""
    return out if isinstance(out, (tuple, list)) else (out,)
