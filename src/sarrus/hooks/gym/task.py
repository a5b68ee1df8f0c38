"""What is to be learned, as data and functions of many states at once: `Task`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, cast

import numpy as np

from sarrus.codegen.runtime.compile import compile
from sarrus.codegen.runtime.kernel import Kernel
from sarrus.codegen.tape import casadi_import
from sarrus.errors import StateError, check_name
from sarrus.model.arguments import positive_number, whole_number
from sarrus.model.model import Model
from sarrus.registry.algorithm import Algorithm, Input
from sarrus.simulation.variation import VARIED
from sarrus.spatial.arrays import Array


class Situation(NamedTuple):
    """Of all environments: what observations and rewards are made of."""

    q: Array  # (B, nq)
    v: Array  # (B, nv)
    action: Array  # (B, nu) the last one
    previous_action: Array  # (B, nu) the one before
    tau: Array  # (B, nv) what motors do, at the last step of the simulation
    time: Array  # (B,) seconds since the episode began


Function = Callable[[Situation], Array]
OfOne = Callable[[Model, Situation], Any]
FUNCTIONS = ("observation", "reward", "fallen")  # of a task


@dataclass(frozen=True)
class Traced:
    """A function of a model and the `Situation` of one robot, whose fields then have no B, that becomes native code.

    It is called once, with symbols for numbers: NumPy's arithmetic and sin, cos, exp, sqrt, ... go through, and
    `sarrus.gym.choose(a, b, yes, no)` says "yes where a < b".
    """

    function: OfOne


@dataclass(frozen=True)
class Task:
    """What a policy sees, does and gets.

    observation   (B, n) of a `Situation`: a NumPy function of all robots; or of one robot, and compiled: a `Traced`, or
                  a casadi.Function whose inputs have names of a situation's fields
    reward        (B,), likewise
    fallen        (B,) true where an episode has failed
    joints        the joints that actions drive, one number in [-1, 1] each; None: those that motors drive
    action_scale  radians (or metres) off home that an action of 1 asks for; torques: newtons (or newton metres)
    torques       actions are torques, not targets of a PD controller
    kp, kd        gains of that controller
    dt, substeps  seconds of a step of the simulation, and steps per action
    seconds       after which an episode is cut off
    noise, start_speed  by which episodes begin off home: radians or metres, and per second
    randomization  in what robots differ: ranges of factors on "masses" (one per body), "friction" and "gains" (kp's and
                  kd's), {"masses": (0.8, 1.2), "friction": (0.5, 1.25)}; every episode draws its own
    """

    observation: Any
    reward: Any
    fallen: Any
    joints: tuple[str, ...] | None = None
    action_scale: float = 0.5
    torques: bool = False
    kp: float = 60.0
    kd: float = 2.0
    dt: float = 4e-3
    substeps: int = 5
    seconds: float = 10.0
    noise: float = 0.05
    start_speed: float = 0.1
    randomization: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    name: str = "task"

    def __post_init__(self) -> None:
        for name, given in self.randomization.items():
            check_name("randomization of", name, VARIED)
            ends = np.asarray(given)
            if ends.shape != (2,) or ends.dtype.kind not in "iuf" or not 0.0 < ends[0] <= ends[1] < np.inf:
                raise StateError(f"randomization: {name} is {given!r}: expected two factors, 0 < least <= most")
        for name in ("dt", "seconds"):
            positive_number(name, getattr(self, name))
        for name in ("action_scale", "kp", "kd", "noise", "start_speed"):
            positive_number(name, getattr(self, name), least=0.0)
        whole_number("substeps", self.substeps, least=1)

    def driven(self, model: Model) -> tuple[str, ...]:
        """The names of the joints that actions drive."""
        if self.joints is not None:
            for name in self.joints:
                check_name("joint", name, model.joint_names)
            return self.joints
        single = [b.joint for b in model.bodies if b.joint.type.nv == 1]
        chosen = [joint for joint in single if joint.independent is True]
        return tuple(joint.name for joint in (chosen or [joint for joint in single if joint.independent is not False]))


def for_all(task: Task, name: str) -> Function | None:
    """One of a task's functions, of all robots at once; None: it is one of a single robot, and compiled."""
    function = getattr(task, name)
    if _is_compiled(function):
        return None
    if not callable(function):
        raise StateError(f"{name} is {function!r}. Valid: a function of a Situation, a Traced, a casadi.Function")
    return cast(Function, function)


def task_kernel(model: Model, task: Task, dtype: Any) -> Kernel | None:
    """Native code of those functions of a task that are of one robot, in one; None where there are none."""
    names = tuple(name for name in FUNCTIONS if _is_compiled(getattr(task, name)))
    if not names:
        return None
    joints = len(task.driven(model))
    sizes: dict[str, tuple[int, ...]] = {"q": (model.nq,), "v": (model.nv,), "tau": (model.nv,), "time": ()}
    inputs = tuple(Input(name, False, sizes.get(name, (joints,))) for name in Situation._fields)
    functions = _Functions(tuple(_of_one(name, getattr(task, name), inputs) for name in names))
    algorithm = Algorithm("task", functions.values, inputs, None, ("functions",), fields=names)
    return compile(model, algorithm, dtype=dtype, functions=functions)


class _Functions:
    """What is compiled together. Its `repr` is an address, so that kernels are kept by their tapes: what functions of
    users compute is not in their names.
    """

    def __init__(self, functions: tuple[OfOne, ...]) -> None:
        self._functions = functions

    def values(self, model: Model, functions: Any, **fields: Array) -> tuple[Array, ...]:
        situation = Situation(**fields)
        return tuple(np.asarray(function(model, situation)) for function in self._functions)


def _is_compiled(function: Any) -> bool:
    return isinstance(function, Traced) or hasattr(function, "n_instructions")


def _of_one(what: str, function: Any, inputs: tuple[Input, ...]) -> OfOne:
    """A `Traced` or a casadi.Function as a function of a model and one robot's situation."""
    flat = what != "observation"
    if isinstance(function, Traced):
        return lambda model, s: _shaped(what, _traced(what, function, model, s), flat)
    names, sizes = function.name_in(), {x.name: int(np.prod(x.size or (1,))) for x in inputs}
    for k, name in enumerate(names):
        check_name(f"input of the {what}:", name, Situation._fields)
        if function.numel_in(k) != sizes[name]:
            raise StateError(f"{what}: its input {name} has {function.numel_in(k)} elements; expected {sizes[name]}")

    def call(model: Model, s: Situation) -> Array:
        arrays = [np.atleast_1d(getattr(s, name)) for name in names]
        return _shaped(what, casadi_import.evaluate(function, arrays)[0], flat)

    return call


def _traced(what: str, function: Traced, model: Model, s: Situation) -> Any:
    try:
        return function.function(model, s)
    except TypeError as error:
        raise StateError(
            f"{what}: a traced function is called with symbols, of which no comparison is true or false ({error}). "
            f"Valid: + - * /, whole powers, abs, NumPy's sin, cos, exp, log, tanh, sqrt, arctan2, sarrus.gym.choose"
        ) from error


def _shaped(what: str, values: Any, flat: bool) -> Array:
    """(n,) of observations, () of what is one number."""
    found = np.asarray(values)
    if flat and found.size != 1:
        raise StateError(f"{what}: expected one number for one robot, got shape {found.shape}")
    return found.reshape(() if flat else (-1,))
