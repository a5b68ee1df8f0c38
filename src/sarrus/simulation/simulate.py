"""`simulate` and `rollout`: a `Simulation` that is made and run in one call."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import fields
from inspect import cleandoc, signature
from typing import Any, TypeVar

from sarrus.errors import unknown_name
from sarrus.model.model import Model
from sarrus.simulation.controllers import AbstractController, PythonController
from sarrus.simulation.simulation import Simulation
from sarrus.simulation.trajectory import Trajectory

Function = TypeVar("Function", bound=Callable[..., Any])

_AT_THE_END = ("returns ", ">>> ")  # how these parts of a docstring begin


def _positional(function: Callable[..., Any]) -> list[str]:
    return [x.name for x in signature(function).parameters.values() if x.kind is x.POSITIONAL_OR_KEYWORD]


def _with_complete_help(function: Function) -> Function:
    """Add to the help of a function that of `Simulation.run` and of the settings, all of which it takes by name.

    What it returns, its errors and its example stay at the end; those of the others are left out.
    """
    own, verb, settings = (cleandoc(x.__doc__ or "").split("\n\n") for x in (function, Simulation.run, Simulation))
    for name in set(_positional(Simulation.run)) - set(signature(function).parameters):
        verb = [re.sub(rf"^{name} .*\n(?: .*\n)*", "", part, flags=re.MULTILINE) for part in verb]
    more = [[part for part in parts[1:] if not part.startswith(_AT_THE_END)] for parts in (verb, settings)]
    last = next(k for k, part in enumerate(own) if part.startswith(_AT_THE_END))
    settings_of = "Settings (`sarrus.Simulation`):"
    function.__doc__ = "\n\n".join([*own[:last], *more[0], settings_of, *more[1], *own[last:]])
    return function


@_with_complete_help
def simulate(
    model: Model,
    q0: Any = None,
    v0: Any = None,
    controller: PythonController | AbstractController | None = None,
    duration: float = 1.0,
    dt: float | None = None,
    integrator: str = "auto",
    method: str | None = None,
    **more: Any,
) -> Trajectory:
    """Simulates a robot from an initial state; returns a `Trajectory`. With q0 (B, nq), a batch of robots.

    returns          a `Trajectory`
    errors           `StateError`: arrays of the wrong shape, a duration shorter than a step; `UnknownNameError`: no
                     such integrator, method or setting

    >>> sarrus.simulate(sarrus.zoo.chain(2), duration=0.01).q.shape
    (11, 2)
    """
    more |= {"controller": controller, "dt": dt, "integrator": integrator, "method": method}
    simulation, arguments = _split(simulate, model, more)
    return simulation.run(q0, v0, duration, **arguments)


@_with_complete_help
def rollout(
    model: Model,
    q0: Any,
    v0: Any = None,
    tau: Any = None,
    dt: float | None = None,
    **more: Any,
) -> Trajectory:
    """Simulates a batch of robots in native code: q0 (B, nq), v0 (B, nv), tau (B, T, nv) or (T, nv), or controls.

    Like `simulate`, but for as many steps as `tau` or `controls` have if `steps` does not say, and with
    `project_every=None` and `record=("q", "v", "status")` by default.

    returns          a `Trajectory`
    errors           `StateError`: arrays of the wrong shape, or nothing says how many steps; `UnknownNameError`: no
                     such integrator, method or setting

    >>> robot = sarrus.zoo.chain(2)
    >>> sarrus.rollout(robot, *sarrus.random_state(robot, rng=0, batch=3), steps=5).q.shape
    (3, 6, 2)
    """
    usual: dict[str, Any] = {"project_every": None, "record": ("q", "v", "status"), "dt": dt}
    simulation, arguments = _split(rollout, model, usual | more)
    return simulation.rollout(q0, v0, tau, **arguments)


def _split(function: Callable[..., Any], model: Model, given: dict[str, Any]) -> tuple[Simulation, dict[str, Any]]:
    """A simulation with the settings among these, and the others, which are arguments of `Simulation.run`."""
    settings = [field.name for field in fields(Simulation)][1:]
    arguments = [x.name for x in signature(Simulation.run).parameters.values() if x.kind is x.KEYWORD_ONLY]
    for name in given:
        if name not in (*settings, *arguments):
            own = list(signature(function).parameters)[:-1]
            raise unknown_name("argument", name, dict.fromkeys([*own, *arguments, *settings]))
    simulation = Simulation(model, **{name: x for name, x in given.items() if name in settings})
    return simulation, {name: x for name, x in given.items() if name in arguments}
