"""`simulate` and `rollout`: a robot, or a batch of them, over time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from os import PathLike
from typing import Any

import numpy as np

from sarrus.calls.default_method import method_for
from sarrus.errors import StateError, UnsupportedError, unknown_name
from sarrus.model.arguments import positive_number, whole_number
from sarrus.model.model import Model
from sarrus.registry.table import find
from sarrus.simulation.actuation import actuated, needs_actuators
from sarrus.simulation.adaptive import AdaptiveEngine
from sarrus.simulation.controllers import AbstractController, PythonController, Sum
from sarrus.simulation.course import Course, Go
from sarrus.simulation.engine import Engine, Given, as_given, length_of
from sarrus.simulation.integrators import INTEGRATORS
from sarrus.simulation.joint_forces import NONE, JointForces, numbers_of
from sarrus.simulation.over_time import Progress, Span, adaptive_steps, native_steps, python_steps
from sarrus.simulation.start import check_closed, has_feedback, initial_state, projected_every, steps_of
from sarrus.simulation.step import StepSettings, with_stabilization
from sarrus.simulation.trajectory import Trajectory
from sarrus.spatial.arrays import Array
from sarrus.status import Status

RECORDED = ("q", "v", "tau", "qdd", "forces", "residual", "iterations", "status")
_TOLERANCE = 1e-6  # of the residual of methods that iterate, relative to the accelerations: no step notices it
# Within a step loops are not quite closed, and rows that are redundant where they are (Bennett's linkage) are then
# independent by very little: taken at their word they would lock the mechanism.
_RANK_TOLERANCE = 1e-4


def simulate(
    model: Model,
    q0: Any = None,
    v0: Any = None,
    controller: PythonController | AbstractController | None = None,
    duration: float = 1.0,
    dt: float = 1e-3,
    integrator: str = "semi_implicit_euler",
    method: str | None = None,
    *,
    tau: Any = None,
    controls: Any = None,
    project_every: int | str | None = "auto",
    stabilization: float | None = None,
    joint_forces: bool | JointForces = True,
    accuracy: float = 1e-6,
    record_every: int = 1,
    record: Sequence[str] = RECORDED,
    progress: Progress | None = None,
    threads: int | None = None,
    options: dict[str, Any] | None = None,
    save: str | PathLike[str] | None = None,
    resume: bool = False,
) -> Trajectory:
    """The motion of a robot from a state on, as a `Trajectory`. With q0 (B, nq): of a batch.

    q0, v0         where it starts; default: the model's home (or neutral) configuration, at rest
    controller     None, a function (t, q, v) -> tau, or one that is compiled in: `sarrus.pd`, `sarrus.controller`
    integrator     semi_implicit_euler, implicit, rk4, adaptive
    method         of forward dynamics (`sarrus.methods()`); `options`: its options
    tau            joint forces, (nv,), (T, nv) for every step or (B, T, nv); added to the controller's
    controls       of the model's actuators: (nu,), (T, nu) or (B, T, nu), a function (t, q, v) -> controls, or a
                   `sarrus.controller`; None: actuators do nothing
    project_every  steps after which the state is projected onto the constraints; None: never; "auto": 10 where
                   there are constraints and no Baumgarte feedback
    stabilization  Baumgarte's time constant in seconds, for constraints that have none of their own
    joint_forces   damping, springs, friction, limits, effort limits: all, none, or a `JointForces`
    accuracy       of the adaptive integrator: error of a step, in radians or metres (and per second)
    record_every   steps from one recorded state to the next; the first and the last are always recorded
    progress       called now and then with (steps done, steps in all)
    save           a file (.npz, .parquet), or a directory to which a long simulation is streamed, memory bounded
    resume         go on with what is in that directory

    Ctrl-C ends it early: the trajectory has what was computed (`settings["interrupted"]`).
    """
    steps = steps_of(duration, dt)
    q, v, single = initial_state(model, q0, v0)
    return _run(
        model, q, v, single, steps, dt, integrator, method, tau, controller, controls, project_every,
        stabilization, joint_forces, accuracy, record_every, record, progress, threads, options, save, resume,
    )  # fmt: skip


def rollout(
    model: Model,
    q0: Any,
    v0: Any = None,
    tau: Any = None,
    dt: float = 1e-3,
    *,
    steps: int | None = None,
    controller: AbstractController | None = None,
    controls: Any = None,
    integrator: str = "semi_implicit_euler",
    method: str | None = None,
    project_every: int | str | None = None,
    stabilization: float | None = None,
    joint_forces: bool | JointForces = True,
    accuracy: float = 1e-6,
    record_every: int = 1,
    record: Sequence[str] = ("q", "v", "status"),
    progress: Progress | None = None,
    threads: int | None = None,
    options: dict[str, Any] | None = None,
    save: str | PathLike[str] | None = None,
    resume: bool = False,
) -> Trajectory:
    """A batch of robots over time, in native code: q0 (B, nq), v0 (B, nv), tau (B, T, nv) or (T, nv), or controls.

    steps   how many; default: as many as `tau` or `controls` have
    record  what is kept, beside q and v: tau, qdd, forces, residual, iterations, status

    The other arguments are those of `simulate`. One state's misfortune is its own: see `trajectory.status`.
    """
    q, v, single = initial_state(model, q0, v0)
    if steps is None:
        lengths = [length_of(name, x) for name, x in (("tau", tau), ("controls", controls)) if x is not None]
        if not any(lengths):
            raise StateError("rollout: give `steps`, or tau or controls of shape (T, n) or (B, T, n)")
        steps = max(n for n in lengths if n is not None)
    steps = whole_number("steps", steps, least=0)
    return _run(
        model, q, v, single, steps, dt, integrator, method, tau, controller, controls, project_every,
        stabilization, joint_forces, accuracy, record_every, record, progress, threads, options, save, resume,
    )  # fmt: skip


def _run(
    model: Model, q: Array, v: Array, single: bool, steps: int, dt: float, integrator: str, method: str | None,
    tau: Any, controller: Any, controls: Any, project_every: int | str | None, stabilization: float | None,
    joint_forces: bool | JointForces, accuracy: float, record_every: int, record: Sequence[str],
    progress: Progress | None, threads: int | None, options: dict[str, Any] | None,
    save: str | PathLike[str] | None, resume: bool,
) -> Trajectory:  # fmt: skip
    _check(dt, integrator, record_every, record, accuracy)
    model = with_stabilization(model, stabilization)
    every = projected_every(model, project_every)
    check_closed(model, q, v, corrected=every is not None or has_feedback(model))
    compiled, asked = _controllers(model, controller, controls, integrator)
    given = _given(model, tau, compiled, "tau" in asked, len(q), steps)
    which = joint_forces if isinstance(joint_forces, JointForces) else JointForces() if joint_forces else NONE
    name = method_for(model, method)
    settings = StepSettings(
        name, _options(name, options), integrator, float(dt), numbers_of(model, which, dt), compiled
    )
    plain = replace(settings, integrator="semi_implicit_euler") if integrator == "adaptive" else settings
    engine = Engine(model, plain, given, every)
    told: dict[str, Any] = {
        "dt": float(dt), "integrator": integrator, "method": name, "record_every": record_every,
        "project_every": every, "stabilization": stabilization, "status_words": [status.words for status in Status],
    }  # fmt: skip
    kept = tuple(dict.fromkeys(["q", "v", *record]))
    whole = Span(0, steps, steps, record_every, kept, engine.kernel.threads_for(len(q) * steps, threads), progress)
    if integrator == "adaptive":
        adaptive = AdaptiveEngine(model, settings, given, float(accuracy))
        begin: Any = lambda q, v, step: adaptive.carry(q, v)  # noqa: E731
        go: Go = lambda carry, span: adaptive_steps(engine, adaptive, carry, span)  # noqa: E731
    else:
        begin = engine.carry
        go = lambda carry, span: native_steps(engine, carry, span)  # noqa: E731
        if asked:
            go = lambda carry, span: python_steps(engine, carry, span, asked, single)  # noqa: E731
    return Course(model, dt, single, whole, begin, go, told).run(q, v, save, resume)


def _check(dt: float, integrator: str, record_every: int, record: Sequence[str], accuracy: float) -> None:
    if not isinstance(integrator, str) or integrator not in INTEGRATORS:
        raise unknown_name("integrator", integrator, INTEGRATORS)
    positive_number("dt", dt)
    positive_number("accuracy", accuracy)
    whole_number("record_every", record_every, least=1)
    if isinstance(record, str) or not isinstance(record, Iterable):
        raise StateError(f"record is {record!r}: expected several names. Valid: {', '.join(RECORDED)}")
    for name in record:
        if name not in RECORDED:
            raise unknown_name("recorded array", name, RECORDED)


def _controllers(
    model: Model, controller: Any, controls: Any, integrator: str
) -> tuple[AbstractController | None, dict[str, PythonController]]:
    """What is compiled in, and functions that are asked for tau or controls."""
    compiled: list[AbstractController] = []
    asked: dict[str, PythonController] = {}
    if isinstance(controller, AbstractController):
        compiled.append(controller)
    elif controller is not None:
        asked["tau"] = _function("controller", controller, "None, a function (t, q, v) -> tau, sarrus.pd(...)")
    if controls is not None:
        needs_actuators(model)
        if callable(controls):
            valid = "None, an array, a function (t, q, v) -> controls"
            asked["controls"] = _function("controls", controls, valid)
            controls = np.zeros(model.nu)
        compiled.append(actuated(model, controls))
    if asked and integrator == "adaptive":
        raise UnsupportedError(
            "the adaptive integrator chooses its times in native code: it takes compiled controllers (sarrus.pd, "
            "sarrus.controller), tau or controls, not a Python function"
        )
    return compiled[0] if len(compiled) == 1 else Sum(tuple(compiled)) if compiled else None, asked


def _function(argument: str, given: Any, valid: str) -> PythonController:
    if not callable(given) or hasattr(given, "n_instructions"):
        raise UnsupportedError(f"{argument} is {given!r}. Valid: {valid}, sarrus.controller(casadi_function)")
    return given


def _given(
    model: Model, tau: Any, controller: AbstractController | None, asks_python: bool, batch: int, steps: int
) -> dict[str, Given]:
    """Inputs of the step that come from outside."""
    given = {}
    if tau is not None or asks_python:
        given["tau"] = as_given("tau", np.zeros(model.nv) if tau is None else tau, model.nv, batch, steps)
    if controller is not None:
        sizes = controller.ports(model)
        for name, array in controller.arrays(model).items():
            given[name] = as_given(name, array, sizes[name][0], batch, steps)
    return given


def _options(method: str, given: dict[str, Any] | None) -> tuple[tuple[str, Any], ...]:
    entry = find(method)
    if not isinstance(given, dict | None):
        raise StateError(f"options is {given!r}: expected a dictionary. Valid: {', '.join(entry.options)}")
    entry.check_options(given or {})
    usual = {"tolerance": _TOLERANCE, "rank_tolerance": _RANK_TOLERANCE}
    default = {name: value for name, value in usual.items() if name in entry.options}
    return tuple(sorted((default | (given or {})).items()))
