"""Derivatives of any algorithm, as a tape: native code, Python, C and CasADi all follow from it.

| kind     | takes, beside the inputs   | gives, beside the values                                         |
|----------|----------------------------|------------------------------------------------------------------|
| jacobian |                            | `dqdd_dq`, ...: per output and input, (*output, *input)          |
| jvp      | `dq`, ...: per input       | `dqdd`, ...: per output, along that direction                    |
| vjp      | `qdd_bar`, ...: per output | `q_bar`, ...: per input, the gradient of the outputs so weighted |

Derivatives of configurations, as inputs and as outputs, are in the tangent space. How they come about, the cheapest
that there is:

- a closed form, where the catalog has one (`Algorithm.derivatives`): Jacobians;
- by the implicit function theorem at the solution, what else is asked of methods that iterate: `implicit.py`, and
  `at_solution.py` of those that find positions;
- by the implicit function theorem, where one algorithm undoes another (`Algorithm.inverse`): qdd = f(q, v, tau) means
  g(q, v, qdd) = tau, and where df/dtau is symmetric, l = df/dtau qdd_bar is a derivative along a direction, which is
  cheap; then tau_bar = l, and q_bar and v_bar are those of g weighted by -l;
- else forward or reverse differentiation of the tape.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sarrus.codegen.tape.at_solution import at_solution_tape
from sarrus.codegen.tape.closed_form import ClosedForm
from sarrus.codegen.tape.differentiate import jacobian, jvp, vjp
from sarrus.codegen.tape.graph import Graph
from sarrus.codegen.tape.implicit import implicit_tape
from sarrus.codegen.tape.interpret import run
from sarrus.codegen.tape.replay import iterates, replay
from sarrus.codegen.tape.tape import Port, Tape, tape_of
from sarrus.codegen.tape.trace import trace
from sarrus.errors import UnsupportedError, check_name
from sarrus.model.model import Model
from sarrus.registry.algorithm import Algorithm, AnyAlgorithm, Input
from sarrus.registry.table import find

_INSTEAD = "forward_dynamics_derivatives"
MINIMUM_NORM = "minimum_norm"
_DIFFERENTIATE = {"jacobian": jacobian, "jvp": jvp, "vjp": vjp}


@dataclass(frozen=True)
class Derivative:
    """Which derivative of an algorithm: of what kind, with respect to which inputs."""

    kind: str
    wrt: tuple[str, ...]
    minimum_norm: bool = False  # of forces of redundant rows: whether the smallest

    @staticmethod
    def of(
        algorithm: AnyAlgorithm,
        kind: Any,
        wrt: Any,
        inputs: tuple[str, ...],
        has_symbols: bool,
        minimum_norm: bool = False,
    ) -> Derivative:
        """Checked. wrt None: all inputs, but for the values of a model's symbols."""
        if not isinstance(kind, str) or kind not in _DIFFERENTIATE:
            raise UnsupportedError(f"derivative is {kind!r}. Valid: {', '.join(_DIFFERENTIATE)}")
        if wrt is None:
            return Derivative(kind, inputs, minimum_norm)
        if not isinstance(wrt, Iterable):
            raise UnsupportedError(f"wrt is {wrt!r}: expected names. Valid: {', '.join(inputs)}")
        names = (wrt,) if isinstance(wrt, str) else tuple(wrt)
        for name in names:
            check_name(f"wrt of {algorithm.name}:", name, (*inputs, "parameters") if has_symbols else inputs)
        if not names or len(set(names)) < len(names):
            raise UnsupportedError(f"wrt is {wrt!r}: expected at least one of {', '.join(inputs)}, each once")
        return Derivative(kind, names, minimum_norm)


def has_smallest_forces(algorithm: AnyAlgorithm) -> bool:
    """Whether derivatives of an algorithm have the option `minimum_norm`, which the algorithm itself has not."""
    closed = find(algorithm.derivatives) if algorithm.derivatives else None
    return closed is not None and MINIMUM_NORM in closed.options and MINIMUM_NORM not in algorithm.options


def beside_values(algorithm: AnyAlgorithm) -> dict[str, Any]:
    """Options of a derivative that is used beside the algorithm's own values: of forces that are shared as in these."""
    return {MINIMUM_NORM: True} if algorithm.smallest_forces and has_smallest_forces(algorithm) else {}


@dataclass(frozen=True)
class DerivativeText:
    """A derivative as a function of a model and arrays of one state: its tape, run in Python."""

    algorithm: AnyAlgorithm
    derivative: Derivative
    inputs: tuple[str, ...]  # of the algorithm

    def __call__(self, model: Model, **arrays: Any) -> tuple[Any, ...]:
        tape = derivative_tape(model, self.algorithm, self.derivative, self.inputs)
        values = run(tape, [np.ravel(arrays[port.name]) for port in tape.inputs])
        return tuple(np.reshape(x, port.shape) for x, port in zip(values, tape.outputs, strict=True))


def derivative_algorithm(
    algorithm: AnyAlgorithm, derivative: Derivative, inputs: tuple[str, ...], tape: Tape
) -> AnyAlgorithm:
    """What a kernel of this tape computes, as an algorithm."""
    takes = tuple(Input(port.name, False, port.shape) for port in tape.inputs)
    text = DerivativeText(algorithm, derivative, inputs)
    fields = tuple(port.name for port in tape.outputs)
    return Algorithm(f"{algorithm.name}_{derivative.kind}", text, takes, None, fields=fields)


def derivative_tape(
    model: Model,
    algorithm: AnyAlgorithm,
    derivative: Derivative,
    inputs: tuple[str, ...] | None = None,
    parameters: Sequence[Any] | None = None,
    **options: Any,
) -> Tape:
    """The derivative of an algorithm for this robot; arguments as those of `trace`."""
    tape = trace(model, algorithm, inputs, parameters, **options)
    known: dict[tuple, Tape] = model.remembered.setdefault(derivative_tape, {})
    key = (algorithm, derivative, tape.digest)
    if key not in known:
        known[key] = _derivative(model, algorithm, derivative, tape, parameters, options)
    return known[key]


def _derivative(
    model: Model,
    algorithm: AnyAlgorithm,
    derivative: Derivative,
    tape: Tape,
    parameters: Sequence[Any] | None,
    options: dict[str, Any],
) -> Tape:
    kind, wrt = derivative.kind, derivative.wrt
    closed = find(algorithm.derivatives) if algorithm.derivatives else None
    if closed is not None and kind == "jacobian":
        more = {MINIMUM_NORM: True} if derivative.minimum_norm else {}
        text = ClosedForm.of(closed, wrt, tape, **more)
        if text is not None:
            return trace(model, text.algorithm(model), parameters=parameters)
    if iterates(tape) and algorithm.at_solution is not None and not parameters:
        return at_solution_tape(model, algorithm, _DIFFERENTIATE[kind], kind, wrt, tape, options)
    if iterates(tape) or derivative.minimum_norm:
        found = None
        if closed is not None:
            found = implicit_tape(model, closed, kind, wrt, tape, parameters, derivative.minimum_norm)
        if found is None:
            raise UnsupportedError(
                f"{algorithm.name} iterates until its values say that it is done, and nothing differentiates through "
                f"iterations: what it solves has derivatives. {_INSTEAD if closed is None else closed.name} has those "
                f"of constrained dynamics, with respect to q, v, tau, k, external_forces and parameters; closure the "
                f"Jacobian of constraints on positions"
            )
        return found
    found = _DIFFERENTIATE[kind](model, tape, wrt)
    if kind == "vjp" and algorithm.inverse:
        implicit = _by_inverse(model, tape, find(algorithm.inverse), wrt, parameters)
        found = min(found, implicit, key=lambda x: x.op_count.total)
    return found


def _by_inverse(
    model: Model, tape: Tape, inverse: AnyAlgorithm, wrt: Sequence[str], parameters: Sequence[Any] | None
) -> Tape:
    """The vjp of an algorithm whose one output x, put into the inverse instead of the input b, gives b."""
    names = [port.name for port in tape.inputs]
    (x,), (b,), (instead,) = tape.outputs, inverse.output_names, [n for n in inverse.required if n not in names]
    given = tuple(instead if name == b else name for name in names if name != "parameters")
    undone = trace(model, inverse, given, parameters)
    others = [name for name in wrt if name != b]
    graph, along = Graph(), jvp(model, tape, [b])  # inputs: those of the tape, then the direction
    arrays = [graph.inputs(slot, port.size) for slot, port in enumerate(along.inputs)]
    value, weights = replay(along, graph, arrays)
    found = {x.name: value}
    if others:
        back = vjp(model, undone, others)
        by_name = dict(zip(names, arrays, strict=False)) | {instead: value}
        results = replay(back, graph, [*(by_name[port.name] for port in undone.inputs), -weights])
        found |= {p.name: y.reshape(p.shape) for p, y in zip(back.outputs, results, strict=True) if p.name != b}
    if b in wrt:
        found[f"{b}_bar"] = weights
    ordered = {name: found[name] for name in (x.name, *(f"{name}_bar" for name in wrt))}
    return tape_of(graph, (*tape.inputs, Port(f"{x.name}_bar", x.shape)), ordered)
