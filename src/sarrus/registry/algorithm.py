"""An algorithm as an object: called, counted, compiled; and what it takes, gives, costs and supports, as data."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, fields
from inspect import Parameter, Signature, signature
from sys import modules
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, ParamSpec, TypeVar, get_type_hints

import numpy as np

from sarrus.errors import StateError, UnsupportedError, check_name
from sarrus.model.independent import independent_positions
from sarrus.model.model import Model
from sarrus.once import cached_property
from sarrus.registry.documentation import documentation
from sarrus.registry.features import Feature
from sarrus.registry.named_result import named_result

# The arrays that algorithms take: what their dimensions count, as attributes of a model or as numbers.
_SHAPES: dict[str, tuple[str | int, ...]] = {
    "q": ("nq",), "v": ("nv",), "a": ("nv",), "tau": ("nv",), "external_forces": ("nb", 6), "k": ("n_input_rows",),
    "forces0": ("n_rows",), "rhs": ("n_rows",), "held": ("nv",), "near": ("nq",), "y": (), "yd": ("ny",),
    "ydd": ("ny",), "tau_y": ("ny",),
}  # fmt: skip
_INSTEAD_OF = {"yd": "v", "ydd": "a", "tau_y": "tau"}
P = ParamSpec("P")
R = TypeVar("R")

_NOTHING: Any = object()  # in place of an argument
_WHOLE = ("status", "iterations", "fallback")  # outputs that are whole numbers
_verbs: dict[str, Callable[..., Any]] = {}
_is_interpreted = os.environ.get("SARRUS_INTERPRET", "") not in ("", "0")  # at any time, by any thread
interpreting: ContextVar[bool] = ContextVar(
    "interpreting", default=_is_interpreted
)  # whether calls are to run the text


@contextmanager
def running_text(yes: bool) -> Iterator[None]:
    """Inside, calls run the text, or do not."""
    global _is_interpreted
    _is_interpreted = True
    token = interpreting.set(yes)
    try:
        yield
    finally:
        interpreting.reset(token)


class ReadyCall(NamedTuple):
    """A call of an algorithm on a model that ended in native code, with options that are words.

    A model has those that were made last, by the algorithm's text.
    """

    named: dict[str, Any]  # options by name
    end: int | None  # of arrays among the arguments by position, after the model; None: all are arrays
    options: tuple[Any, ...]  # those after them
    evaluator: Any  # `.checked`, the native code for one state (None: forgotten), and `.wrap`, which makes the result


@dataclass(frozen=True)
class Input:
    """An array that an algorithm takes. An optional one may be left out, which means zero."""

    name: str
    optional: bool
    size: tuple[int, ...] | None = None  # its shape, where the name does not tell
    instead_of: str | None = None  # the input that it takes the place of

    def shape(self, model: Model) -> tuple[int, ...]:
        if self.size is not None:
            return self.size
        if self.name == "y":
            return (len(independent_positions(model)),)
        return tuple(x if isinstance(x, int) else getattr(model, x) for x in _SHAPES[self.name])


class Implicit(NamedTuple):
    """The equations that an algorithm's outputs solve: g(inputs, x, f) = 0 in two parts, whose derivatives with respect
    to x and f are [M, -J^T; J, C] with M and C symmetric. See `codegen/tape/implicit.py`.
    """

    unknowns: tuple[str, str]  # the outputs x and f, which here is that of all constraints, embedded ones too
    equations: Callable[..., tuple[Any, Any]]  # (model, **inputs, **unknowns): both parts of g
    response: Callable[..., Any]  # (model, **inputs, right_x, right_f, probe, varied): see `MotionResponse`
    sharing: Callable[..., tuple[Any]]  # (model, **inputs, f, z): zero where f is the smallest that does the same


def inputs_of(text: Callable[..., Any]) -> tuple[Input, ...]:
    """The arrays among a function's parameters, by their names; those with a default may be left out.

    Where both are parameters, one of `v` and `yd` is needed: independent velocities may stand in for all of them.
    """
    parameters, found = signature(text).parameters, []
    stand_in = {other: name for name, other in _INSTEAD_OF.items() if name in parameters}
    for name in parameters:
        if name in _SHAPES and _INSTEAD_OF.get(name) not in parameters:
            optional = parameters[name].default is None and name not in stand_in
            found += [Input(name, optional), *([Input(stand_in[name], True, None, name)] if name in stand_in else ())]
    return tuple(found)


def batch_size(sizes: dict[str, int]) -> int | None:
    """How many states arrays have, by name, of those that have several; None: each has one."""
    if len(set(sizes.values())) > 1:
        raise StateError(f"batches of different sizes: {', '.join(f'{k} has {n}' for k, n in sizes.items())}")
    return next(iter(sizes.values()), None)


def planned_dynamics(model: Model) -> tuple[str, dict[str, Any]]:
    """The method of forward dynamics that a model is best computed by, and its options."""
    method, options, *_ = _verbs["planned_dynamics"](model)
    return method, options


def install(**verbs: Callable[..., Any]) -> None:
    """Say what calling, counting, compiling and planning does: the rooms that know lie above this (`calls/call.py`)."""
    _verbs.update(verbs)


@dataclass(frozen=True, repr=False)
class Algorithm(Generic[P, R]):
    """A function of a model and arrays. A call checks them, and takes single states, batches and CasADi symbols.

    `text` is the plain function of one state, without checks: it is what other algorithms call and what is traced.
    `outputs` is None when the result is a NamedTuple, whose fields are the names.

    >>> sarrus.aba.cost, sarrus.aba.input_names
    ('O(n)', ('q', 'v', 'tau', 'external_forces'))
    """

    name: str  # that of the function and of its file
    text: Callable[P, R]  # the plain function
    inputs: tuple[Input, ...]  # the arrays that it takes
    outputs: str | None  # the name of the one array that it gives; None: a NamedTuple
    options: tuple[str, ...] = ()  # names of its arguments that are no arrays
    cost: str = ""  # how operations grow with bodies n, rows m and depth d
    references: tuple[str, ...] = ()  # keys of `sarrus.cite`
    supports: Feature = Feature.MULTI_DOF  # what of a model it takes into account
    ignores: Feature = Feature.EVERYTHING  # what of a model makes no difference to it
    needs: Feature = Feature.NOTHING  # what a model must have
    structural: bool = False  # whether what it does depends on which elements are zero in every state of the robot
    derivatives: str = ""  # the algorithm that has its derivatives in closed form
    inverse: str = ""  # the algorithm that gives an input back from the output, which varies with it symmetrically
    implicit: Implicit | None = None  # the equations that its values solve
    at_solution: Callable[..., Any] | None = None  # its first two outputs, straight, from where it ended (`found`)
    fields: tuple[str, ...] = ()  # the names of what it returns, where its text has no NamedTuple for them
    smallest_forces: bool = False  # whether redundant rows share a load by forces of the smallest norm

    def __post_init__(self) -> None:  # what `help` and `inspect` look for
        vars(self).update(
            __name__=self.name, __qualname__=self.name, __module__=self.text.__module__, __wrapped__=self.text,
        )  # fmt: skip

    if TYPE_CHECKING:

        def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R: ...
    else:

        def __call__(self, model=_NOTHING, /, *given, **named):
            try:  # a call like one before, as in a loop: the same model and options, for which there is native code
                for known, end, options, evaluator in model.remembered[self.text]:
                    if named == known and (end is None or given[end:] == options):
                        if _is_interpreted and interpreting.get():
                            break
                        result = evaluator.checked(*given) if end is None else evaluator.checked(*given[:end])
                        if result is not None:  # exactly one valid state
                            return result if evaluator.wrap is None else evaluator.wrap(result)
            except (AttributeError, IndexError, KeyError, TypeError, ValueError):  # nothing to go by
                pass
            return _verbs["call"](self, given if model is _NOTHING else (model, *given), named)

    def op_count(self, model: Model, **options: Any) -> Any:
        """The exact operation counts on a robot.

        model    the robot
        options  as in `sarrus.op_count`
        returns  an `OpCount`
        errors   `UnsupportedError`: a robot that the algorithm cannot do

        >>> sarrus.aba.op_count(sarrus.zoo.chain(2)).total > 0
        True
        """
        return _verbs["op_count"](model, self, **options)

    def compile(self, model: Model, **options: Any) -> Any:
        """The native code for a robot.

        model    the robot
        options  as in `sarrus.compile`
        returns  a `Kernel`
        errors   `UnsupportedError`: a robot that the algorithm cannot do

        >>> sarrus.aba.compile(sarrus.zoo.chain(2)).input_names
        ('q', 'v', 'tau')
        """
        return _verbs["compile"](model, self, **options)

    def __repr__(self) -> str:
        parameters = (str(p.replace(annotation=Parameter.empty)) for p in self.signature.parameters.values())
        return f"<Algorithm {self.name}({', '.join(parameters)})>"

    def __reduce__(self) -> Any:
        """One that its module has by its name is pickled as functions are: by where it is found."""
        if getattr(modules.get(self.text.__module__), self.name, None) is self:
            return self.name
        return type(self), tuple(getattr(self, field.name) for field in fields(self))

    @property
    def summary(self) -> str:
        """The first sentence of the docstring."""
        return (self.text.__doc__ or "").strip().split("\n")[0]

    @property
    def family(self) -> str:
        """The room of `algorithms/` that it is in."""
        return self.text.__module__.rpartition(".")[0].rpartition(".")[2]

    @cached_property
    def signature(self) -> Signature:
        """That of `text`: the model, arrays, options."""
        return signature(self.text)

    @cached_property
    def option_names(self) -> frozenset[str]:
        """`options` as a set."""
        return frozenset(self.options)

    @cached_property
    def first_option(self) -> int:
        """Which argument is the first option, after which there are no more arrays."""
        names = list(self.signature.parameters)
        arrays = [k for k, name in enumerate(names) if name not in self.options]
        return arrays[-1] + 1 if arrays == list(range(len(arrays))) else 1  # else only the careful way finds them

    @cached_property
    def result_type(self) -> type[tuple[Any, ...]]:
        """The NamedTuple that it returns (for algorithms with several outputs)."""
        return named_result(self.name, self.fields) if self.fields else get_type_hints(self.text)["return"]

    @cached_property
    def output_names(self) -> tuple[str, ...]:
        """Names of the arrays that it gives, in order."""
        return (self.outputs,) if self.outputs is not None else self.result_type._fields  # type: ignore[attr-defined]

    def result(self, values: Sequence[Any]) -> Any:
        """What it returns, of the values of its outputs: the one array, or the NamedTuple.

        values   of the outputs, in order
        returns  the one value, or a NamedTuple of all
        errors   none
        """
        return values[0] if self.outputs is not None else self.result_type(*values)

    @cached_property
    def whole_numbers(self) -> tuple[str, ...]:
        """Which of the outputs are statuses and counts."""
        return tuple(name for name in self.output_names if name in _WHOLE)

    def with_whole_numbers(self, values: Sequence[Any]) -> list[Any]:
        """The values of the outputs, statuses and counts as integers, of one state or of many.

        values   of the outputs, in order
        returns  the same, with integers
        errors   none
        """
        out = dict(zip(self.output_names, values, strict=True))
        for name in self.whole_numbers:
            out[name] = out[name].astype(np.int32) if np.ndim(out[name]) else int(out[name])
        return list(out.values())

    @cached_property
    def input_names(self) -> tuple[str, ...]:
        """Names of the arrays that it takes, in order."""
        return tuple(x.name for x in self.inputs)

    @cached_property
    def required(self) -> tuple[str, ...]:
        """The names of the inputs that may not be left out, of two that say the same the first."""
        return tuple(x.name for x in self.inputs if not x.optional)

    def check_given(self, names: Collection[str]) -> None:
        """Every array is one that the algorithm takes, all that it needs are there, and none in two forms.

        names   of the arrays that are given
        errors  `UnknownNameError`: one that it does not take; `StateError`: one is missing; `UnsupportedError`: two
                mean the same
        """
        for name in names:
            check_name(f"input of {self.name}:", name, self.input_names)
        stand_in = {x.instead_of: x.name for x in self.inputs if x.instead_of}
        for name, other in stand_in.items():
            if name in names and other in names:
                raise UnsupportedError(
                    f"{self.name}: the inputs {name!r} and {other!r} mean the same: give only one of them"
                )
        missing = [x for x in self.required if x not in names and stand_in.get(x) not in names]
        if missing:
            said = ", ".join(names) or "none"
            required = ", ".join(f"{x} or {stand_in[x]}" if x in stand_in else x for x in self.required)
            raise StateError(f"{self.name}: the input {missing[0]!r} is missing; given: {said}. It needs {required}")

    def check_options(self, options: Collection[str]) -> None:
        """Every option is one that the algorithm takes.

        options  names of options
        errors   `UnknownNameError`: no such option; it lists the valid ones
        """
        for name in options:
            check_name(f"option of {self.name}:", name, self.options)


AnyAlgorithm = Algorithm[..., Any]


class _Documentation:
    """`__doc__`: of the class what stands there, of an algorithm its `documentation`, written when somebody asks."""

    def __init__(self, of_the_class: str | None) -> None:
        self.of_the_class = of_the_class

    def __get__(self, algorithm: AnyAlgorithm | None, owner: type) -> str | None:
        return self.of_the_class if algorithm is None else documentation(algorithm)


Algorithm.__doc__ = _Documentation(Algorithm.__doc__)  # type: ignore[assignment]
