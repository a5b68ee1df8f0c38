"""Derivatives of a step on the ground by differences in extended precision: what decides about A and B.

The step with given impulses runs on 80-bit numbers, and its impulses are made to meet the equations of what every row
does by iterations with the residual in these numbers. That it is the step is checked by its values.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sarrus import Simulation
from sarrus.codegen.tape import interpret
from sarrus.codegen.tape.trace import trace
from sarrus.model.model import Model
from sarrus.simulation.contact.contact_modes import Modes
from sarrus.simulation.contact.open_contact_step import open_contact_step_algorithm
from sarrus.simulation.step_call import StepResult
from sarrus.simulation.trajectory import State

H = np.longdouble(2e-6)  # far less than gaps, so that nothing opens or closes on the way
ITERATIONS = 12


class ExactSlopes(NamedTuple):
    """Of the state after the step."""

    A: np.ndarray
    B: np.ndarray


def exact_slopes(simulation: Simulation, state: State | StepResult, tau: np.ndarray) -> ExactSlopes:
    """By tau, without a projection after the step."""
    linearizer, inputs, taken, _ = simulation._contact_steps(state, 1, tau, None, None)
    one = [x[:, 0] for x in taken]
    numbers, along, kinds = linearizer._kernel(one[1])
    model, settings = linearizer.model, linearizer._settings
    algorithm = open_contact_step_algorithm(model, settings, linearizer._shapes, kinds.total)
    tape = trace(model, algorithm, settings=settings, numbers=numbers)
    names = [port.name for port in tape.outputs]
    given = {"q": state.q, "v": state.v, "dt": np.array(simulation.dt), "step": np.zeros(()), "tau": tau}
    given |= {name: x[0, 0] for name, x in inputs.items()} | {"rubbed": one[0][0, -linearizer.memory or None :]}
    x = linearizer._impulses(one[1], numbers, kinds)
    value, slopes = linearizer._slopes(
        along, {name: np.asarray(y)[None] for name, y in given.items()} | {"impulses": x}
    )
    G = slopes["rows"][0][:, -kinds.total :] if kinds.total else np.zeros((0, 0))
    modes = Modes.of(kinds, x[0], value.rows[0], G)
    x0 = modes.solved(x[0], G, value.rows[0] - G @ x[0])

    def after(changes: dict[str, np.ndarray]) -> np.ndarray:
        """q, v and more (n, k) of a batch of changes (n, k) of inputs."""
        k = next(iter(changes.values())).shape[1]
        arrays = {name: np.repeat(np.asarray(y, np.longdouble).reshape(-1, 1), k, axis=1) for name, y in given.items()}
        for name, change in changes.items():
            arrays[name] = arrays[name] + change
        arrays["impulses"] = np.repeat(x0.astype(np.longdouble)[:, None], k, axis=1)
        for _ in range(ITERATIONS):
            found = dict(zip(names, interpret.run(tape, [list(arrays[p.name]) for p in tape.inputs]), strict=True))
            rows = np.array([np.broadcast_to(y, k) for y in found["rows"]], np.longdouble).reshape(-1, k)
            for j in range(k):
                r, by_x, by_c = modes.equations(arrays["impulses"][:, j], rows[:, j])
                step = np.linalg.pinv(by_x + by_c @ G, rcond=1e-10) @ r if kinds.total else np.zeros(0)
                arrays["impulses"][:, j] -= step
        return np.array([np.broadcast_to(y, k) for name in ("q", "v") for y in found[name]], np.longdouble)

    def slope(name: str, directions: np.ndarray) -> np.ndarray:
        steps = [after({name: t * H * directions}) for t in (-2.0, -1.0, 1.0, 2.0)]
        by = (steps[0] - 8.0 * steps[1] + 8.0 * steps[2] - steps[3]) / (12.0 * H)
        back = np.linalg.pinv(rate_map(model, np.array(end[: model.nq, 0], float)))
        return np.concatenate([back @ by[: model.nq].astype(float), by[model.nq :].astype(float)])

    end = after({"q": np.zeros((model.nq, 1))})
    assert np.abs(end[model.nq :, 0].astype(float) - one[2][0]).max() < 1e-8 * (1.0 + np.abs(one[2]).max())
    columns = [slope("q", rate_map(model, np.asarray(state.q))), slope("v", np.eye(model.nv))]
    return ExactSlopes(np.concatenate(columns, axis=1), slope("tau", np.eye(model.nv)))


def rate_map(model: Model, q: np.ndarray) -> np.ndarray:
    """(nq, nv): dq/dt = N v."""
    N = np.zeros((model.nq, model.nv))
    for body, of_q, of_v in zip(model.bodies, model.layout.q, model.layout.v, strict=True):
        N[of_q, of_v] = body.joint.type.rate_map(q[of_q])
    return N
