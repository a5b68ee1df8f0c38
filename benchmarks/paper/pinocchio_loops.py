"""Pinocchio's own LCABA and proxLTL (`constraintDynamics`) on the systems of the LCABA paper, one iteration each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

import sarrus
from sarrus.cli.bench import interleaved
from sarrus.cli.pinocchio_twin import pinocchio_constraints, pinocchio_twin
from sarrus.model.bodies import WORLD

REGULARISATION = {"constraintDynamics": 1e-8, "lcaba": 1e-4}  # its own mu, at which each agrees with ours
ONE = (1e-16, 0.1, 1)  # accuracy, mu, iterations: stops after the first, as in the paper's table


def depth_first(model: sarrus.Model) -> sarrus.Model:
    """The same system with the links of every branch numbered one after the other, which Pinocchio's sparse factor
    takes for granted."""
    children: dict[int, list[int]] = {}
    for i, body in enumerate(model.bodies):
        children.setdefault(body.parent, []).append(i)
    order: list[int] = []
    waiting = children[WORLD][::-1]
    while waiting:
        order.append(waiting.pop())
        waiting += children.get(order[-1], [])[::-1]
    number = {WORLD: WORLD} | {i: k for k, i in enumerate(order)}
    bodies = tuple(replace(model.bodies[i], parent=number[model.bodies[i].parent]) for i in order)
    frames = tuple(replace(frame, body=number[frame.body]) for frame in model.frames)
    return sarrus.Model(model.name, bodies, frames, model.constraints, model.gravity)


def microseconds(systems: dict[str, sarrus.Model], rounds: int) -> dict[str, dict[str, float]]:
    """Per system and function, the median of a call, after the accelerations were seen to agree with `prox_ltl`. Empty
    where Pinocchio, or its lcaba, is missing."""
    try:
        import pinocchio as pin
    except ImportError:
        return {}
    if not hasattr(pin, "lcaba"):
        return {}
    cases: dict[str, Callable[[], Any]] = {}
    for name, system in systems.items():
        model = depth_first(system)
        closed = sarrus.project(
            model, sarrus.neutral(model)
        )  # libraries differ in what holds two frames that are apart
        if closed.status != sarrus.Status.OK:
            raise SystemExit(f"{name}: its loops cannot be closed: not timed")
        state = (closed.q, np.zeros(model.nv), np.random.default_rng(0).normal(size=model.nv))
        expected = sarrus.prox_ltl(model, *state).qdd
        for function, mu in REGULARISATION.items():
            twin = pinocchio_twin(model)
            rows, datas = pinocchio_constraints(model, twin)
            data, call = twin.createData(), getattr(pin, function)
            if function == "lcaba":
                pin.computeJointMinimalOrdering(twin, data, rows)
            else:
                pin.initConstraintDynamics(twin, data, rows, datas)
            got = np.array(call(twin, data, *state, rows, datas, pin.ProximalSettings(1e-10, mu, 100)))
            error = np.abs(got - expected).max() / np.abs(expected).max()
            if not error < 1e-5:
                raise SystemExit(f"{name}: Pinocchio's {function} and prox_ltl differ by {error:.1e}: not timed")
            arguments = (twin, data, *state, rows, datas, pin.ProximalSettings(*ONE))
            cases[f"{name}|{function}"] = lambda call=call, arguments=arguments: call(*arguments)
    found: dict[str, dict[str, float]] = {name: {} for name in systems}
    for key, timing in interleaved(cases, rounds=rounds, round_seconds=0.02).items():
        name, function = key.split("|")
        found[name][function] = 1e6 * timing.median
    return found
