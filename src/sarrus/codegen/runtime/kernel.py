"""A compiled algorithm, as users call it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from sarrus.codegen.runtime import stored
from sarrus.codegen.runtime.kernel_call import KernelCall
from sarrus.codegen.runtime.native import NativeKernel, build_native, lane_of
from sarrus.codegen.tape.tape import OpCount, Tape
from sarrus.errors import UnsupportedError
from sarrus.model.model import Model
from sarrus.once import cached_property
from sarrus.registry.algorithm import AnyAlgorithm

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

    # `kernel(...)` is what this slot of each kernel holds: a native function, with no Python before it.
    __slots__ = ("__call__", "__dict__", "__weakref__")
    __call__: Callable[..., Any]
    """What the eager function returns, for one state or a batch: `kernel(*arrays, out=None, threads=None,
    return_status=False, **inputs_by_name)`.

    out            array (or tuple of arrays, one per output) to write into; it may be an input
    threads        how many to use for a batch; default: as many as are worth it
    return_status  whether to return a status per state as well
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
        self.calls = KernelCall(algorithm, native)
        self.__call__ = self.calls.direct

    def __repr__(self) -> str:
        size = f"{self.op_count.total} operations, {self.native.lanes} lanes"
        return f"<Kernel {self.method} of {self.model_name!r}: {size}>"

    def __reduce__(self) -> tuple:
        return _revived, (self._algorithm, self.model_name, self.tape, self.dtype.name, self.native.lanes, self._key)

    @property
    def input_names(self) -> tuple[str, ...]:
        """Names of the arrays that it takes, in order. `explain` says their shapes."""
        return tuple(port.name for port in self.tape.inputs)

    @property
    def output_names(self) -> tuple[str, ...]:
        """Names of the arrays that it gives, in order."""
        return tuple(port.name for port in self.tape.outputs)

    @property
    def op_count(self) -> OpCount:
        """The exact operation counts of one state."""
        return self.tape.op_count

    @property
    def seconds_of_compiling(self) -> dict[str, float]:
        """Seconds of each stage of making this kernel, by name, whenever that was."""
        return {what: self.native.stats.get(f"{key}_seconds", 0.0) for what, key in _SPENT.items()}

    def pattern(self, output: str) -> np.ndarray:
        """Where an output, such as a Jacobian, can be other than zero, in any state.

        output   one of `output_names`
        returns  booleans, in the shape of that output
        errors   `UnknownNameError`: no such output

        >>> sarrus.compile(sarrus.zoo.tree(3), "crba").pattern("M").astype(int)
        array([[1, 1, 0],
               [1, 1, 0],
               [0, 0, 1]])
        """
        return self.tape.pattern(output)

    @property
    def source_hash(self) -> str:
        """A hash of everything that determines the values."""
        return self.tape.digest

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
        returns   a `casadi.Function`, inputs and outputs by name
        errors    `MissingDependencyError`: CasADi is not installed; `UnsupportedError`: too long to be written out

        >>> sarrus.compile(sarrus.zoo.chain(2), "aba").to_casadi().name_in()
        ['q', 'v', 'tau']
        """
        return self._with_jacobian if jacobian else self.casadi_function

    def to_c(self, directory: str | Path, name: str | None = None) -> Path:
        """Write NAME.c and NAME.h, dependency-free C99.

        directory  where to write them; it is created if it does not exist
        name       of the files and of the function; None: that of the robot and of the algorithm
        returns    the path of the C file
        errors     `OSError`: it cannot be written there

        >>> sarrus.compile(sarrus.zoo.chain(2), "aba").to_c("generated").name
        'chain_2_aba.c'
        """
        from sarrus.codegen.tape.c_export import identifier, write_c

        return write_c(self.tape, Path(directory), identifier(name or f"{self.model_name}_{self.method}"), self.dtype)

    def explain(self) -> str:
        """What this kernel is, in a few lines: what it takes and gives, operations, size of its code.

        >>> print(sarrus.compile(sarrus.zoo.chain(2), "aba").explain())
        aba of 'chain_2'
          takes      q (2,), v (2,), tau (2,)
          gives      qdd (2,)...
        """
        count, native = self.op_count, self.native
        kinds = ", ".join(f"{n:,} {kind}" for kind, n in count.by_kind.items() if n)
        stages = ", ".join(f"{stage} {n:,}" for stage, n in count.by_stage.items())
        origin = f"loaded from the cache in {native.compile_seconds:.3f} s" if native.from_cache else "compiled now"
        seconds = self.seconds_of_compiling
        spent = ", ".join(f"{what} {s:.3f}" for what, s in seconds.items())
        limits = ", ".join(str(loop.limit) for loop in self.tape.loops if not loop.is_repetition)
        again = (
            f"  iterations {limits} at most, {count.per_iteration:,} operations each\n" if count.per_iteration else ""
        )
        rarely = f"  fallback   {count.fallback:,} operations more, for states that need it\n" if count.fallback else ""
        takes = ", ".join(f"{p.name} {p.shape}" for p in self.tape.inputs)
        gives = ", ".join(f"{p.name} {p.shape}" for p in self.tape.outputs)
        return (
            f"{self.method} of {self.model_name!r}\n"
            f"  takes      {takes}\n"
            f"  gives      {gives}\n"
            f"  operations {count.total:,}: {kinds}\n"
            f"  stages     {stages}\n{again}{rarely}"
            f"  code       {native.code_bytes:,} bytes, {native.lanes} {self.dtype} lanes and a scalar version"
            f"{f' ({single:,})' if (single := native.artifact.lanes_begin) else ''}, {origin}\n"
            f"  compiling  {sum(seconds.values()):.3f} s: {spent}\n"
            f"  hash       {self.source_hash[:16]}"
        )
