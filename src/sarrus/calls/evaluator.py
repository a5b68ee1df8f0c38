"""An algorithm of one robot on arrays: interpreted until that has cost as much as compiling would, then compiled.

That is the rule of the ski rental: whatever is asked for afterwards, it costs at most twice as much as the best choice
would have. A kernel that is on disk is used at once. `interpreted()` runs the text, for debuggers and for comparison.
"""

from __future__ import annotations

import os
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from sarrus.codegen.tape import interpret
from sarrus.codegen.tape.tape import Tape
from sarrus.codegen.tape.trace import hashable, trace
from sarrus.model.model import Model
from sarrus.registry.algorithm import AnyAlgorithm, interpreting, running_text
from sarrus.spatial.arrays import Array

if TYPE_CHECKING:
    from sarrus.codegen.runtime.kernel import Kernel

LIMIT_BYTES = 256 * 2**20  # of code that is kept in memory for calls; what was made first goes first
_RUNS_OF_TEXT = 12  # so many take as long as tracing and compiling
_PER_OPERATION = 30e-6  # seconds to compile one, after tracing
_IN_NUMPY = 1.5e-6  # seconds to interpret one, of a chunk of states
_FEW = 3  # states of a batch that the text does sooner than it is traced
_CHUNK = 256  # states per NumPy call of a batch: bounds the memory of the intermediate values


@contextmanager
def interpreted(yes: bool = True) -> Iterator[None]:
    """Within this context, public calls run the source of algorithms (or, with `False`, compile again): for `pdb`.

    The environment variable SARRUS_INTERPRET=1 does the same for a whole program.

    yes      False: compile again
    returns  a context manager
    errors   none

    >>> with sarrus.interpreted():
    ...     sarrus.aba(sarrus.zoo.chain(1), [0.0], [0.0], [0.0]).shape
    (1,)
    """
    with running_text(yes):
        yield


class Evaluator:
    """An algorithm for one model, with these of its inputs and these options."""

    def __init__(self, algorithm: AnyAlgorithm, inputs: tuple[str, ...], options: dict[str, Any]) -> None:
        self.algorithm, self.inputs, self.options = algorithm, inputs, options
        self.kernel: Kernel | None = None
        self.checked: Callable[..., Any] | None = None  # its native code for one valid state,
        self.wrap: Callable[[Any], Any] | None = None  # and what makes the result of that, unless it is the result
        self._looked_on_disk = False
        self.spent = 0.0  # seconds of interpreting
        self.price = float("inf")  # of compiling, as far as is known
        self._compiling_in = 0  # the process that is at it
        self._tape: Tape | None = None

    def run(self, model: Model, arrays: dict[str, Array], batch: int | None) -> list[Any]:
        """The values of the outputs, for inputs of the right shape: of one state (None), or (batch, ...) each.

        Inputs of a single state serve for all states of a batch.
        """
        if not interpreting.get():
            kernel = self.kernel or self._kernel(model, batch)
            if kernel is not None:
                return self._run_kernel(kernel, arrays, batch)
        start = time.perf_counter()
        try:
            if batch is None:
                return self._run_one(model, arrays)
            if self._is_few(batch):
                return self._run_few(model, arrays, batch)
            return self.algorithm.with_whole_numbers(run_tape(self._traced(model), arrays, batch))
        finally:
            self._pay(time.perf_counter() - start, batch)

    def _run_one(self, model: Model, arrays: dict[str, Array]) -> list[Any]:
        algorithm = self.algorithm
        if algorithm.structural:  # on numbers, the text would take a zero of this state for one of the robot
            one = {name: array[None] for name, array in arrays.items()}
            values: Sequence[Any] = [x[0] for x in run_tape(self._traced(model), one, 1)]
        else:
            with np.errstate(all="ignore"):  # as in kernels: a status says what is not finite
                result = algorithm.text(model, **arrays, **self.options)
            values = [result] if algorithm.outputs is not None else result
        return algorithm.with_whole_numbers([float(x) if np.ndim(x) == 0 else x for x in values])

    def _is_few(self, batch: int) -> bool:
        """Whether the text does so many states sooner than it is traced."""
        return 0 < batch <= _FEW and self._tape is None and not self.algorithm.structural

    def _run_few(self, model: Model, arrays: dict[str, Array], batch: int) -> list[Any]:
        shapes = {port.name: len(port.shape(model)) for port in self.algorithm.inputs}
        states = [
            self._run_one(model, {name: x[k] if x.ndim > shapes[name] else x for name, x in arrays.items()})
            for k in range(batch)
        ]
        return self.algorithm.with_whole_numbers([np.array(column) for column in zip(*states, strict=True)])

    def _run_kernel(self, kernel: Kernel, arrays: dict[str, Array], batch: int | None) -> list[Any]:
        result = kernel(*(arrays[name] for name in kernel.input_names))
        values = [result] if self.algorithm.outputs is not None else list(result)
        return values if batch is not None else [_as_float(x) for x in values]

    def _kernel(self, model: Model, batch: int | None) -> Kernel | None:
        """The kernel, if it is on disk or if compiling it has become worth it."""
        if not self._looked_on_disk:
            from sarrus.codegen.runtime.compile import stored_kernel  # native code is imported when it is needed

            self._looked_on_disk = True
            self._keep(stored_kernel(model, self.algorithm, self.inputs, self.options))
        if self.kernel is None and batch != 0 and self.spent + self._expected(model, batch) >= self.price:
            self._compile(model)
        return self.kernel

    def _expected(self, model: Model, batch: int | None) -> float:
        """Seconds that interpreting this call will take, as far as is known; of a batch, also what compiling costs."""
        if batch is None or self._is_few(batch):
            return 0.0
        operations = self._traced(model).op_count.total
        self.price = min(self.price, operations * _PER_OPERATION)
        return operations * _IN_NUMPY * -(-batch // _CHUNK)

    def _pay(self, seconds: float, batch: int | None) -> None:
        self.spent += seconds
        if batch is None or self._is_few(batch):
            self.price = min(self.price, _RUNS_OF_TEXT * seconds / (batch or 1))

    def _compile(self, model: Model) -> None:
        """Unless another thread of this process is at it: then this one goes on as before."""
        if self._compiling_in == os.getpid():
            return
        from sarrus.codegen.runtime.compile import compile

        self._compiling_in = os.getpid()
        try:
            self._keep(compile(model, self.algorithm, inputs=self.inputs, **self.options))
        except OSError:  # a system that allows no new machine code
            self.price = float("inf")
        finally:
            self._compiling_in = 0

    def _keep(self, kernel: Kernel | None) -> None:
        self.kernel, self._tape = kernel, None
        if kernel is not None:
            self.wrap, self.checked = kernel.calls.with_numbers, kernel.calls.checked
            _kept.add(self, kernel.native.code_bytes)

    def forget(self) -> None:
        """Give the kernel up; on disk it is still there."""
        self.kernel, self.checked, self._looked_on_disk = None, None, False

    def _traced(self, model: Model) -> Tape:
        if self._tape is None:
            self._tape = trace(model, self.algorithm, inputs=self.inputs, **self.options)
        return self._tape


class _Kept:
    """Which evaluators have kernels, the oldest first, no more of them than fit the limit."""

    def __init__(self) -> None:
        self._sizes: weakref.WeakKeyDictionary[Evaluator, int] = weakref.WeakKeyDictionary()
        self.lock = threading.Lock()

    def add(self, evaluator: Evaluator, size: int) -> None:
        with self.lock:
            self._sizes.pop(evaluator, None)
            self._sizes[evaluator] = size
            total = sum(self._sizes.values())
            for oldest, n in list(self._sizes.items()):
                if total <= LIMIT_BYTES or oldest is evaluator:
                    break
                del self._sizes[oldest]
                oldest.forget()
                total -= n


_kept = _Kept()


def _unlock() -> None:
    """A thread that held the lock when its process forked is not there in the child."""
    _kept.lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_unlock)


def evaluator_of(model: Model, algorithm: AnyAlgorithm, inputs: tuple[str, ...], options: dict[str, Any]) -> Evaluator:
    """The one of this model; a model remembers it for as long as it lives."""
    key = "evaluator", algorithm, inputs, hashable(options)
    try:
        found = model.remembered.get(key)
    except TypeError:  # an option that has no hash
        return Evaluator(algorithm, inputs, options)
    return found if found is not None else model.remembered.setdefault(key, Evaluator(algorithm, inputs, options))


def evaluate(model: Model, method: AnyAlgorithm, arrays: dict[str, Array], **options: Any) -> dict[str, Array]:
    """Outputs by name, unchecked: inputs and outputs have any number of leading dimensions, the same for all.

    A state that is not finite does not disturb the others.
    """
    shapes = {port.name: port.shape(model) for port in method.inputs}
    first = next(iter(arrays))
    lead = arrays[first].shape[: arrays[first].ndim - len(shapes[first])]
    count = prod(lead)
    flat = {n: np.ascontiguousarray(x, dtype=float).reshape(count, *shapes[n]) for n, x in arrays.items()}
    with np.errstate(all="ignore"):
        found = evaluator_of(model, method, tuple(arrays), options).run(model, flat, count)
    return {
        n: np.asarray(x).reshape((*lead, *np.shape(x)[1:])) for n, x in zip(method.output_names, found, strict=True)
    }


def run_tape(tape: Tape, arrays: dict[str, Array], batch: int) -> list[Array]:
    """The values of a tape's outputs, (batch, ...) each, in NumPy; inputs of a single state serve for all."""
    flat = []
    for port in tape.inputs:
        array = np.broadcast_to(arrays[port.name], (batch, *port.shape)).reshape(batch, port.size)
        flat.append(np.ascontiguousarray(array.T))
    outputs = [np.empty((batch, port.size)) for port in tape.outputs]
    for start in range(0, batch, _CHUNK):
        stop = min(start + _CHUNK, batch)
        values = interpret.run(tape, [array[:, start:stop] for array in flat])
        for output, columns in zip(outputs, values, strict=True):
            for k, column in enumerate(columns):
                output[start:stop, k] = column
    return [o.reshape(batch, *p.shape) for o, p in zip(outputs, tape.outputs, strict=True)]


def _as_float(x: Any) -> Any:
    return float(x) if type(x) is np.ndarray and x.ndim == 0 else x
