"""One step of a simulation as an algorithm: kinematics, constraint rows, solve, integrate. It compiles into one kernel.

A state that blows up keeps its last finite values from then on (`alive` is 0), with a status in words; nothing of it
reaches others.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from sarrus.algorithms.position.project import project
from sarrus.calls.default_method import EMBEDDED
from sarrus.errors import StateError
from sarrus.model.arguments import positive_number
from sarrus.model.model import Model
from sarrus.registry import table as registry
from sarrus.simulation.controllers import AbstractController
from sarrus.simulation.integrators import FIXED_STEP, Dynamics
from sarrus.simulation.joint_forces import JointForceNumbers, joint_forces, within_effort
from sarrus.spatial.arrays import Array, Scalar, vector
from sarrus.spatial.choice import choose
from sarrus.status import Status

_LARGEST = 1e16  # of the squared size of q and v
_CLOSED = 1e-8  # metres or radians: an error that a projection may leave


@dataclass(frozen=True)
class StepSettings:
    """Everything that determines a step, beside the model. Its `repr` is part of the kernel's name."""

    method: str
    options: tuple[tuple[str, Any], ...]
    integrator: str
    dt: float
    joint_forces: JointForceNumbers
    controller: AbstractController | None = None


class StepResult(NamedTuple):
    """The state after the step, and the dynamics at its beginning."""

    q: Array
    v: Array
    alive: Array  # () 1; 0 once diverged
    worst: Array  # () the worst status since this was 0
    step: Array  # () steps so far
    qdd: Array
    forces: Array
    residual: Array
    iterations: Array
    status: Array
    tau: Array


def step(model: Model, settings: StepSettings, **inputs: Array) -> StepResult:
    """One step of a simulation."""
    q, v = inputs["q"], inputs["v"]
    count = inputs["step"].item() if "step" in inputs else 0.0
    acceleration = acceleration_of(model, settings, inputs, lambda c: (count + c) * settings.dt)
    method = FIXED_STEP[settings.integrator]
    taken = method(model, acceleration, q, v, settings.dt, inputs.get("forces0"))
    start = taken.start
    alive, kept = surviving(inputs["alive"].item(), (taken.q, q), (taken.v, v))
    status = choose(0.5, alive, start.status, Status.DIVERGED)
    return StepResult(
        q=kept[0],
        v=kept[1],
        alive=scalar(alive),
        worst=scalar(worst_of(inputs["worst"].item(), status)),
        step=scalar(count + 1.0),
        qdd=only_if(alive, start.qdd, np.zeros(model.nv)),
        forces=only_if(alive, start.forces, np.zeros(len(start.forces))),
        residual=only_if(alive, start.residual, np.zeros(len(start.residual))),
        iterations=scalar(start.iterations),
        status=scalar(status),
        tau=start.tau,
    )


def step_algorithm(model: Model, settings: StepSettings, with_tau: bool, name: str = "step") -> registry.Algorithm:
    """`step` as an entry like those of the registry, which `sarrus.compile` takes."""
    scalars = ["alive", "worst"]
    if settings.controller is not None and settings.controller.uses_time:
        scalars.append("step")
    ports = [registry.Input("q", False), registry.Input("v", False)]
    ports += [registry.Input(x, False, ()) for x in scalars]
    if with_tau:
        ports.append(registry.Input("tau", False))
    if warm_starts(settings.method) and model.n_rows:
        ports.append(registry.Input("forces0", False))
    if settings.controller is not None:
        ports += [registry.Input(x, False, shape) for x, shape in settings.controller.ports(model).items()]
    cost = registry.find(settings.method).cost
    return registry.Algorithm(name, step, tuple(ports), None, ("settings",), cost, (), (), "constrained dynamics")


def acceleration_of(model: Model, settings: StepSettings, inputs: dict[str, Array], time: Any) -> Any:
    """The dynamics with everything that acts: inputs, controller, joints. time(c): the time at part c of the step."""
    entry = registry.find(settings.method)
    numbers = settings.joint_forces

    def acceleration(q: Array, v: Array, c: float, forces: Array | None) -> Dynamics:
        tau = inputs.get("tau", np.zeros(model.nv))
        if settings.controller is not None:
            tau = tau + settings.controller.torque(model, q, v, time(c), inputs)
        tau = within_effort(model, numbers, tau)
        warm = {"forces0": forces} if forces is not None and warm_starts(entry.name) else {}
        result = entry.function(
            model, q=q, v=v, tau=tau + joint_forces(model, numbers, q, v), **warm, **dict(settings.options)
        )
        if entry.outputs is not None:  # a tree's: accelerations only
            return Dynamics(result, np.zeros(0), np.zeros(0), 0.0, 0.0, tau)
        if entry.name == EMBEDDED:  # nothing is left that has forces of its own
            return Dynamics(result.qdd, np.zeros(0), np.zeros(0), 0.0, result.status.item(), tau)
        return Dynamics(result.qdd, result.forces, result.residual, result.iterations.item(), result.status.item(), tau)

    return acceleration


def warm_starts(method: str) -> bool:
    """Whether a method can begin with the forces of the step before."""
    return any(port.name == "forces0" for port in registry.find(method).inputs)


def surviving(alive: Scalar, *pairs: tuple[Array, Array]) -> tuple[Scalar, list[Array]]:
    """Whether a state is still good, and its arrays: the new ones if so, else the old ones."""
    size = sum((new @ new for new, _ in pairs), 0.0)
    alive = choose(size, _LARGEST, alive, 0.0)  # a size that is not a number is not less
    return alive, [only_if(alive, new, old) for new, old in pairs]


def only_if(alive: Scalar, yes: Array, no: Array) -> Array:
    return vector(*(choose(0.5, alive, a, b) for a, b in zip(yes, no, strict=True)))


def scalar(x: Scalar) -> Array:
    """A number or symbol as an output."""
    return np.asarray(x, dtype=object)


def worst_of(a: Scalar, b: Scalar) -> Scalar:
    return choose(a, b, b, a)


class ProjectedResult(NamedTuple):
    q: Array
    v: Array
    worst: Array


def back_onto_constraints(model: Model, q: Array, v: Array, alive: Array, worst: Array) -> ProjectedResult:
    """The state projected onto the constraints; as it was where that fails."""
    found = project(model, q, v)
    good = choose(found.error.item(), _CLOSED, alive.item(), 0.0)
    still, kept = surviving(good, (found.q, q), (found.v, v))
    status = choose(0.5, still, 0.0, choose(0.5, alive.item(), Status.NOT_PROJECTED, Status.DIVERGED))
    return ProjectedResult(kept[0], kept[1], scalar(worst_of(worst.item(), status)))


PROJECTION = registry.Algorithm(
    "back_onto_constraints",
    back_onto_constraints,
    (
        registry.Input("q", False), registry.Input("v", False),
        registry.Input("alive", False, ()), registry.Input("worst", False, ()),
    ),
    None, (), "", (), (), "tree",
)  # fmt: skip


def with_stabilization(model: Model, time: float | None) -> Model:
    """Baumgarte's feedback with this time constant on every constraint that has none."""
    if time is None:
        return model
    try:
        time = positive_number("stabilization", time)
    except StateError as error:
        raise StateError(f"{error}, a time constant in seconds, or None") from error
    changed = tuple(replace(c, stabilization=time) if c.stabilization is None else c for c in model.constraints)
    return replace(model, constraints=changed)
