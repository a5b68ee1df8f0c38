"""One step of a simulation as an algorithm: kinematics, constraint rows, solve, integrate. It compiles into one kernel.

A state that diverges keeps its last finite values from then on (`alive` is 0) and gets a status; the other states of a
batch are not affected.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from sarrus.algorithms.position.project import project
from sarrus.mechanics.bodies import joint_kinematics
from sarrus.mechanics.constraints.rows import position_errors
from sarrus.model.model import Model
from sarrus.model.tree import tree_of
from sarrus.planning.candidates import EMBEDDED
from sarrus.registry import table as registry
from sarrus.simulation.contact.settings import ContactSettings
from sarrus.simulation.controllers import AbstractController
from sarrus.simulation.integrators import FIXED_STEP, Acceleration, Dynamics
from sarrus.simulation.joint_forces import JointForceParameters, joint_forces, within_effort
from sarrus.simulation.variation import factor_shapes, varied_step
from sarrus.spatial.arrays import Array, Scalar, vector
from sarrus.spatial.choice import choose
from sarrus.spatial.precision import within
from sarrus.spatial.replacement import replace_where
from sarrus.status import Status

_LARGEST = 1e16  # of the squared size of q and v
_PROJECTED = 1e-12  # metres or radians: where a projection ends
_CLOSED = 1e-8  # metres or radians: an error that a projection may leave
OPEN = 1e-5  # metres or radians: what is further open is projected at once, due or not


@dataclass(frozen=True)
class StepSettings:
    """Everything that determines a step, beside the model. Its `repr` is part of the kernel's name."""

    method: str
    options: tuple[tuple[str, Any], ...]
    integrator: str
    dt: float | None  # None: an input of the kernel
    joint_forces: JointForceParameters
    controllers: tuple[AbstractController, ...] = ()
    accuracy: float = 0.0  # of the adaptive integrator
    contact: ContactSettings | None = None  # None: nothing touches
    varied: tuple[str, ...] = ()  # what of it has factors that are inputs (`variation.py`)


class StepOutputs(NamedTuple):
    """The state after the step, and the dynamics at its beginning."""

    q: Array
    v: Array
    alive: Array  # () 1; 0 once diverged
    worst_status: Array  # () since this was 0
    step: Array  # () steps so far
    qdd: Array
    forces: Array
    residual: Array
    iterations: Array
    status: Array
    tau: Array


def step(model: Model, settings: StepSettings, **inputs: Array) -> StepOutputs:
    """One step of a simulation."""
    model, settings = varied_step(model, settings, inputs)
    q, v = inputs["q"], inputs["v"]
    count = inputs["step"].item() if "step" in inputs else 0.0
    dt = inputs["dt"].item() if settings.dt is None else settings.dt
    acceleration = acceleration_of(model, settings, inputs, lambda c: (count + c) * dt)
    taken = FIXED_STEP[settings.integrator](model, acceleration, q, v, dt, inputs.get("forces0"))
    start = taken.start
    alive, (q, v) = keep_finite(inputs["alive"].item(), (taken.q, q), (taken.v, v))
    status = choose(0.5, alive, start.status, Status.DIVERGED)
    qdd, forces, residual = (select(alive, x, np.zeros(len(x))) for x in (start.qdd, start.forces, start.residual))
    return StepOutputs(
        q=q, v=v, alive=scalar(alive), worst_status=scalar(worse(inputs["worst_status"].item(), status)),
        step=scalar(count + 1.0), qdd=qdd, forces=forces, residual=residual, iterations=scalar(start.iterations),
        status=scalar(status), tau=start.tau,
    )  # fmt: skip


def step_algorithm(
    model: Model,
    settings: StepSettings,
    takes: tuple[str, ...],
    function: Callable[..., Any] = step,
    scalars: tuple[str, ...] = (),
) -> registry.Algorithm:
    """A step function as an entry like those of the registry, which `compile` takes.

    takes    of tau and external_forces, those that are inputs
    scalars  more of them
    """
    shapes: dict[str, tuple[int, ...] | None] = {"q": None, "v": None, "alive": (), "worst_status": ()}
    shapes |= dict.fromkeys(scalars if settings.dt is not None else ("dt", *scalars), ())
    if any(controller.uses_time for controller in settings.controllers):
        shapes["step"] = ()
    shapes |= dict.fromkeys(takes)
    if warm_starts(settings.method) and model.n_rows:
        shapes["forces0"] = None
    if settings.contact is not None:
        shapes["warm0"] = (len(settings.contact.cold),)
    for controller in settings.controllers:
        shapes |= {name: (size,) for name, (size, _) in controller.inputs(model).items()}
    shapes |= factor_shapes(model, settings.varied)
    return kernel_algorithm(function, shapes, ("settings",))


def kernel_algorithm(
    function: Callable[..., Any], shapes: dict[str, tuple[int, ...] | None], options: tuple[str, ...]
) -> registry.Algorithm:
    """A function of arrays of these shapes (None: known by name) as an entry that `compile` takes."""
    inputs = tuple(registry.Input(name, False, shape) for name, shape in shapes.items())
    return registry.Algorithm(function.__name__, function, inputs, None, options)


def acceleration_of(
    model: Model, settings: StepSettings, inputs: dict[str, Array], time: Callable[[float], Scalar]
) -> Acceleration:
    """The dynamics with everything that acts: inputs, controller, joints. time(c): the time at part c of the step."""
    entry = registry.find(settings.method)
    act = forces_of(model, settings, inputs, time)

    def acceleration(q: Array, v: Array, c: float, forces: Array | None) -> Dynamics:
        tau, tau_all = act(q, v, c)
        more = {"external_forces": inputs["external_forces"]} if "external_forces" in inputs else {}
        warm = {"forces0": forces} if forces is not None and warm_starts(entry.name) else {}
        result = entry.text(model, q=q, v=v, tau=tau_all, **warm, **more, **dict(settings.options))
        if entry.outputs is not None:  # a tree's: accelerations only
            return Dynamics(result, np.zeros(0), np.zeros(0), 0.0, 0.0, tau)
        if entry.name == EMBEDDED:  # nothing is left that has forces of its own
            return Dynamics(result.qdd, np.zeros(0), np.zeros(0), 0.0, result.status.item(), tau)
        return Dynamics(result.qdd, result.forces, result.residual, result.iterations.item(), result.status.item(), tau)

    return acceleration


def forces_of(
    model: Model, settings: StepSettings, inputs: dict[str, Array], time: Callable[[float], Scalar]
) -> Callable[[Array, Array, float], tuple[Array, Array]]:
    """(q, v, c) -> what motors do, and that with all that joints have of themselves."""
    parameters = settings.joint_forces
    dt = inputs["dt"].item() if settings.dt is None else settings.dt

    def act(q: Array, v: Array, c: float) -> tuple[Array, Array]:
        tau = inputs.get("tau", np.zeros(model.nv))
        for controller in settings.controllers:
            tau = tau + controller.torque(model, q, v, time(c), inputs)
        tau = within_effort(model, parameters, tau)
        return tau, tau + joint_forces(model, parameters, q, v, dt)

    return act


def warm_starts(method: str) -> bool:
    """Whether a method can begin with the forces of the step before."""
    return any(port.name == "forces0" for port in registry.find(method).inputs)


def keep_finite(alive: Scalar, *pairs: tuple[Array, Array]) -> tuple[Scalar, list[Array]]:
    """Whether a state is still finite, and its arrays: the new ones if so, else the old ones."""
    size = sum((new @ new for new, _ in pairs), 0.0)
    alive = choose(size, _LARGEST, alive, 0.0)  # a size that is not a number is not less
    return alive, [select(alive, new, old) for new, old in pairs]


def select(condition: Scalar, yes: Array, no: Array) -> Array:
    """Element by element, `yes` where the condition is 1, `no` where it is 0."""
    return vector(*(choose(0.5, condition, a, b) for a, b in zip(yes, no, strict=True)))


def scalar(x: Scalar) -> Array:
    """A number or symbol as an output."""
    return np.asarray(x, dtype=object)


def worse(a: Scalar, b: Scalar) -> Scalar:
    """The worse of two statuses."""
    return choose(a, b, b, a)


class ProjectedState(NamedTuple):
    """A state on the constraints, and the worst status since this was 0."""

    q: Array
    v: Array
    worst_status: Array


def project_state(model: Model, q: Array, v: Array, alive: Array, worst_status: Array, due: Array) -> ProjectedState:
    """The state projected onto the constraints, where that is due (1) or they are open; as it was where that fails."""

    def projected() -> tuple[Array, ...]:
        found = project.text(model, q, v, tolerance=within(_PROJECTED, 1e1))
        good = choose(found.error.item(), within(_CLOSED, 1e2), alive.item(), 0.0)
        still, state = keep_finite(good, (found.q, q), (found.v, v))
        status = choose(0.5, still, 0.0, choose(0.5, alive.item(), Status.NOT_PROJECTED, Status.DIVERGED))
        return *state, vector(worse(worst_status.item(), status))

    errors, _ = position_errors(model, joint_kinematics(tree_of(model), q), q, None, of_dynamics=False)
    wanted: Scalar = due.item()
    for error in errors:
        wanted = choose(within(OPEN, 1e2), abs(error), 1.0, wanted)
    q, v, worst = replace_where(wanted, (q, v, vector(worst_status.item())), projected)
    return ProjectedState(q, v, scalar(worst[0]))


PROJECTION = kernel_algorithm(project_state, {"q": None, "v": None, "alive": (), "worst_status": (), "due": ()}, ())
