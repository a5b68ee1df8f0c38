"""A step whose accelerations are inputs: what is left of it is short straight-line text, with derivatives of its own.

With the derivatives of the dynamics, which are in closed form, those of the whole step follow by the chain rule
(`linearization.py`).
"""

from __future__ import annotations

import numpy as np

from sarrus.model.model import Model
from sarrus.registry.algorithm import Algorithm, AnyAlgorithm, Input
from sarrus.simulation.integrators import FIXED_STEP, Dynamics
from sarrus.simulation.step import StepSettings, forces_of
from sarrus.spatial.arrays import Array

STAGES = {"semi_implicit_euler": 1, "implicit": 1, "rk4": 4}  # how often an integrator asks for accelerations


def open_step(model: Model, settings: StepSettings, **inputs: Array) -> tuple[Array, ...]:
    """The state after a step with accelerations qdd0, qdd1, ..., and the states and forces where it asks for them."""
    count = inputs["step"].item() if "step" in inputs else 0.0
    dt = inputs["dt"].item() if settings.dt is None else settings.dt
    act = forces_of(model, settings, inputs, lambda c: (count + c) * dt)
    asked: list[Array] = []

    def acceleration(q: Array, v: Array, c: float, forces: Array | None) -> Dynamics:
        qdd = inputs[f"qdd{len(asked) // 3}"]
        tau, tau_all = act(q, v, c)
        asked.extend((q, v, tau_all))
        return Dynamics(qdd, np.zeros(0), np.zeros(0), 0.0, 0.0, tau)

    taken = FIXED_STEP[settings.integrator](model, acceleration, inputs["q"], inputs["v"], dt, None)
    return taken.q, taken.v, *asked


def open_step_algorithm(model: Model, settings: StepSettings, inputs: dict[str, tuple[int, ...]]) -> AnyAlgorithm:
    """As an entry that `compile` takes; inputs: those of controllers, and tau."""
    stages = range(STAGES[settings.integrator])
    shapes: dict[str, tuple[int, ...] | None] = {"q": None, "v": None}
    shapes |= {} if settings.dt is not None else {"dt": ()}
    shapes |= {"step": ()} if any(controller.uses_time for controller in settings.controllers) else {}
    shapes |= inputs
    shapes |= {f"qdd{i}": (model.nv,) for i in stages}
    takes = tuple(Input(name, False, shape) for name, shape in shapes.items())
    fields = ("q", "v", *(f"{name}{i}" for i in stages for name in ("q", "v", "tau")))
    return Algorithm("open_step", open_step, takes, None, ("settings",), fields=fields)
