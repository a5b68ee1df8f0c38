"""`Simulation`: how a robot is stepped through time, as data; `run`, `rollout` and `step` are what it does."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import KW_ONLY, dataclass, replace
from os import PathLike
from typing import Any

import numpy as np

from sarrus.calls.defaults import Default, default_dynamics, is_auto, planned_dynamics
from sarrus.calls.dynamics import method_for
from sarrus.codegen.tape.parameters import symbols_of
from sarrus.errors import StateError, UnsupportedError, check_name, unknown_name
from sarrus.model.arguments import positive_number, whole_number
from sarrus.model.model import Model, check_is_model
from sarrus.model.state import as_state_array
from sarrus.model.values import typical_values, with_typical_values, with_values
from sarrus.once import cached_property
from sarrus.registry.table import find
from sarrus.simulation.contact.contact_linearization import (
    ContactLinearization,
    ContactLinearizer,
    ParametricContactLinearization,
    TakenSteps,
)
from sarrus.simulation.contact.dry_friction import rubs_of
from sarrus.simulation.contact.operators import operator_notes
from sarrus.simulation.contact.options import ContactOptions
from sarrus.simulation.contact.pair_names import differing_pairs, same_pairs
from sarrus.simulation.contact.record import ContactRecord
from sarrus.simulation.contact.ridges import ridge_notes
from sarrus.simulation.contact.settings import ContactSettings, contact_notes, contact_settings, slot_notes
from sarrus.simulation.controllers import PD, AbstractController, PythonController
from sarrus.simulation.file_notes import file_notes
from sarrus.simulation.inputs import as_actions, check_function, initial_state, input_at, of_one_step, steps_in
from sarrus.simulation.integrators import INTEGRATORS
from sarrus.simulation.joint_forces import NONE, JointForces, joint_force_parameters, tendons_of
from sarrus.simulation.linearization import Linearization, Linearizer, ParametricLinearization
from sarrus.simulation.open_step import STAGES
from sarrus.simulation.origin import Origin, carried_over
from sarrus.simulation.projection import check_closed, projection_interval, with_stabilization
from sarrus.simulation.rollout_gradient import (
    ContactGradient,
    ParametricContactGradient,
    ParametricGradient,
    RolloutGradient,
    rollout_gradient,
    taken_steps,
)
from sarrus.simulation.stable_steps import too_stiff
from sarrus.simulation.step import StepSettings
from sarrus.simulation.step_call import StepCall, StepResult
from sarrus.simulation.step_kernels import StepKernels
from sarrus.simulation.steppers import (
    AbstractStepper,
    AdaptiveStepper,
    NativeStepper,
    Progress,
    PythonStepper,
    StepRange,
)
from sarrus.simulation.stiffness import stiff_joints
from sarrus.simulation.time_loop import TimeLoop
from sarrus.simulation.trajectory import State, Trajectory
from sarrus.simulation.trajectory_files import FIELDS
from sarrus.simulation.variation import VARIED, factor_shapes
from sarrus.spatial.arrays import Array
from sarrus.status import Status

# Options of methods that iterate, where nothing else is said. The residual is relative to the accelerations: no step
# notices it. Within a step loops are not quite closed, and rows that are redundant where they are (Bennett's linkage)
# are then independent by very little: taken at their word they would lock the mechanism.
ON_GROUND = ("semi_implicit_euler", "implicit")  # integrators that know contacts
_DT = 1e-3  # seconds, where nobody says
_SAME_PATH = 1e-6  # metres or radians, of the states of a rollout that is gone through again
_NO_FUNCTIONS = "a Python function has no derivative: give sarrus.pd, sarrus.controller, or arrays of tau or controls"
_OPTIONS = {"tolerance": 1e-6, "rank_tolerance": 1e-4, "closed": 1e-4}


@dataclass(frozen=True, eq=False)
class Simulation:
    """How a robot is stepped through time, and what is recorded: settings that are checked once, on creation.

    dt             seconds per step; None: as the model's file says, or 1e-3
    integrator     semi_implicit_euler, implicit, rk4, adaptive; auto: implicit where springs, dampers or servos are
                   stiff for steps of that size, else semi_implicit_euler (`notes` says why)
    method         of forward dynamics (`sarrus.methods()`); None: the plan (`sarrus.plan`), or if there is none what
                   suits the robot's structure
    controller     None, a function (t, q, v) -> tau, or one that is compiled in: `sarrus.pd`, `sarrus.controller`
    options        a dictionary with options of the method
    project_every  steps after which the state is projected onto the constraints; earlier if they are open by 1e-5 m or
                   rad; None: never; "auto": 10 if there are constraints and no Baumgarte feedback
    stabilization  time constant of Baumgarte stabilization in seconds, for constraints that have none of their own
    joint_forces   damping, springs, friction, limits, effort limits: all, none, or a `JointForces`
    contacts       whether shapes that can meet touch: True, False, or a `ContactOptions`
    accuracy       of the adaptive integrator: error of a step, in radians or metres (and per second)
    record         what is recorded besides q and v: tau, qdd, forces, residual, iterations, status, contacts
    record_every   steps from one recorded state to the next; the first and the last are always recorded
    threads        for a batch; None: as many as pay off
    dtype          float64, or float32: twice as many states at once, with 6 to 7 digits
    parameters     of a model with CasADi symbols: their values by name. They are inputs of compiled steps, so that
                   `dataclasses.replace(simulation, parameters=...)` compiles nothing again, and `linearize` and `vjp`
                   differentiate with respect to them, in this order. What a simulation chooses by inertias (how stiff
                   limits are, ...) stays as it was for the first values, or for those of `Model.typical`

    >>> simulation = sarrus.Simulation(sarrus.zoo.chain(2), dt=0.01)
    >>> simulation.run(duration=0.1).q.shape
    (11, 2)
    """

    model: Model
    dt: float = None  # type: ignore[assignment]  # a number once it is made
    integrator: str = "auto"
    method: str | None = None
    _: KW_ONLY
    controller: PythonController | AbstractController | None = None
    options: dict[str, Any] | None = None
    project_every: int | str | None = "auto"
    stabilization: float | None = None
    joint_forces: bool | JointForces = True
    contacts: bool | ContactOptions = True
    accuracy: float = 1e-6
    record: Iterable[str] = tuple(FIELDS)
    record_every: int = 1
    threads: int | None = None
    dtype: str = "float64"
    parameters: Mapping[str, float] | None = None

    def __post_init__(self) -> None:
        check_is_model("Simulation", self.model)
        if self.dt is None:
            object.__setattr__(self, "dt", self.model.time_step or _DT)
        if self.parameters is None and not self.model.is_numeric:
            names = ", ".join(symbol.name() for symbol in symbols_of(self.model))
            raise StateError(f"{self.model.name!r} contains symbols: give parameters={{name: value}} of {names}")
        if self.parameters is not None:
            with_values(self.model, self.parameters)  # which are checked by being put in
            object.__setattr__(self, "model", with_typical_values(self.model, self.parameters))
        if not isinstance(self.integrator, str) or self.integrator not in ("auto", *INTEGRATORS):
            raise unknown_name("integrator", self.integrator, ("auto", *INTEGRATORS))
        check_name("dtype", self.dtype, ("float64", "float32"))
        if self.dtype == "float32" and self.integrator == "adaptive":
            raise UnsupportedError(
                "the adaptive integrator needs float64: float32 rounds more than the error that it controls"
            )
        positive_number("dt", self.dt)
        positive_number("accuracy", self.accuracy)
        whole_number("record_every", self.record_every, least=1)
        if self.threads is not None:
            whole_number("threads", self.threads, least=1)
        if isinstance(self.record, str) or not isinstance(self.record, Iterable):
            raise StateError(f"record is {self.record!r}: expected a tuple of names. Valid: {', '.join(FIELDS)}")
        object.__setattr__(self, "record", tuple(self.record))
        for name in self.record:
            check_name("recorded array", name, FIELDS)
        if self.controller is not None and not isinstance(self.controller, AbstractController):
            check_function("controller", self.controller)
        if self.integrator == "auto":
            object.__setattr__(self, "integrator", "implicit" if self._stiff else "semi_implicit_euler")
        if not isinstance(self.joint_forces, bool | JointForces):
            raise StateError(f"joint_forces is {self.joint_forces!r}. Valid: True, False, sarrus.JointForces(...)")
        if not isinstance(self.contacts, bool | ContactOptions):
            raise StateError(f"contacts is {self.contacts!r}. Valid: True, False, sarrus.ContactOptions(...)")
        if self._contact is not None and self.integrator not in ON_GROUND:
            raise UnsupportedError(
                f"integrator {self.integrator!r} knows no impacts. Valid with contacts: {', '.join(ON_GROUND)}; "
                f"contacts=False lets nothing touch"
            )
        if self._contact is not None and self.method is not None and not is_auto(self.method):
            raise UnsupportedError(
                f"method {self.method!r} is for motion without contacts; with contacts, dynamics are solved in joint "
                f"space. Leave out the method, or pass contacts=False"
            )
        method, _ = find(self._method), self._project_every  # which are checked by being found
        if not isinstance(self.options, dict | None):
            raise StateError(f"options is {self.options!r}: expected a dictionary. Valid: {', '.join(method.options)}")
        method.check_options(self.options or {})

    def run(
        self,
        q0: Any = None,
        v0: Any = None,
        duration: float = 1.0,
        *,
        steps: int | None = None,
        tau: Any = None,
        controls: Any = None,
        external_forces: Any = None,
        progress: Progress | None = None,
        save: str | PathLike[str] | None = None,
        resume: bool = False,
    ) -> Trajectory:
        """Simulates a robot from an initial state; returns a `Trajectory`. With q0 (B, nq), a batch of robots.

        q0, v0           initial state; default: the model's home (or neutral) configuration, at rest
        duration         seconds; or `steps`
        steps            how many; None: as many as fill the duration (of a rollout: as its inputs have)
        tau              joint forces, (nv,), (T, nv) for every step or (B, T, nv); added to the controller's
        controls         for the model's actuators: (nu,), (T, nu) or (B, T, nu), a function (t, q, v) -> controls, or a
                         `sarrus.controller`; None: actuators do nothing
        external_forces  on bodies, in their frames: (nb, 6), (T, nb, 6) or (B, T, nb, 6); not subject to effort limits
        progress         called now and then with (steps done, total steps)
        save             a file (.npz, .parquet), or a directory to which a long simulation is streamed with bounded
                         memory
        resume           continue from what is in that directory

        Ctrl-C ends it early: the trajectory contains what was computed (`settings["interrupted"]`). A state that
        diverges keeps its last finite values and does not disturb the rest of the batch: see `status`.

        returns          a `Trajectory`
        errors           `StateError`: arrays of the wrong shape or not finite, loops that are open; `UnsupportedError`:
                         a Python function with the adaptive integrator, controls without actuators

        >>> simulation = sarrus.Simulation(sarrus.zoo.chain(2), dt=0.01)
        >>> simulation.run(np.array([0.1, 0.2]), steps=5).v.shape
        (6, 2)
        """
        if steps is None:
            count = positive_number("duration", duration, least=0.0) / self.dt
            if not count < 2.0**53:
                raise StateError(f"duration is {duration!r} and dt {self.dt!r}: these are {count:g} steps")
            steps = round(count)
        steps = whole_number("steps", steps, least=0)
        q, v, single = self._initial_state(q0, v0)
        stepper = self._stepper(tau, controls, external_forces, len(q), steps, single)
        settings: dict[str, Any] = {
            "dt": float(self.dt), "integrator": self.integrator, "method": self._method,
            "record_every": self.record_every, "project_every": self._project_every,
            "stabilization": self.stabilization, "status_words": [status.words for status in Status],
        }  # fmt: skip
        names = self._recorded
        if self._contact is not None:
            contacts = self._contact.contacts
            settings |= {
                "method": "contact",
                "contact_names": [contacts.pair_of(k).names for k in range(contacts.count)],
                "slots": contacts.slots,
                "limit_slots": self._contact.limit_slots if self._contact.limits else 0,
            }
        threads = stepper.kernels.step.calls.threads_for(len(q) * steps, self.threads)
        whole = StepRange(len(q), 0, steps, steps, self.record_every, names, threads, progress, self.dtype)
        return TimeLoop(self.stepped_model, whole, stepper, settings).run(q, v, save, resume)

    def rollout(self, q0: Any, v0: Any = None, tau: Any = None, *, steps: int | None = None, **more: Any) -> Trajectory:
        """`run`, with its arguments, for as many steps as `tau` or `controls` have if `steps` does not say.

        q0, v0   initial state: (nq,) and (nv,), or (B, nq) and (B, nv); default of v0: at rest
        tau      joint forces: (T, nv) or (B, T, nv): N m, N
        steps    how many; None: as many as the longest input has
        more     controls, external_forces, progress, save and resume, as in `run`
        returns  a `Trajectory`
        errors   as of `run`; `StateError`: nothing says how many steps

        >>> simulation = sarrus.Simulation(sarrus.zoo.chain(2), dt=0.01)
        >>> simulation.rollout(np.zeros((3, 2)), tau=np.ones((5, 2))).q.shape
        (3, 6, 2)
        """
        if steps is None:
            given = {"tau": tau} | {name: more.get(name) for name in ("controls", "external_forces")}
            steps = max(steps_in(name, x) for name, x in given.items())
            if not steps:
                raise StateError("rollout: give `steps`, or tau or controls of shape (T, n) or (B, T, n)")
        return self.run(q0, v0, steps=steps, tau=tau, **more)

    def start(self, q0: Any = None, v0: Any = None) -> State:
        """The state from which `run` starts, to `step` from.

        q0, v0   as in `run`
        returns  `time` (0), `q` (nq,) or (B, nq), and `v`
        errors   `StateError`: arrays of the wrong shape or not finite, loops that are open

        >>> sarrus.Simulation(sarrus.zoo.chain(2)).start().q
        array([0., 0.])
        """
        q, v, single = self._initial_state(q0, v0)
        return State(0.0, q[0], v[0]) if single else State(0.0, q, v)

    def step(
        self, state: State | StepResult, *, tau: Any = None, controls: Any = None, external_forces: Any = None
    ) -> StepResult:
        """One step from a state: that of `start`, the `final` one of a trajectory, or what a step returned.

        state            from which to go on
        tau, controls    (n,), or (B, n) for a batch
        external_forces  on bodies, in their frames, (nb, 6) or (B, nb, 6)

        Steps that go on from each other's results are those of `run` with the same inputs, to the last bit. From what
        a step returned, the next one costs a few microseconds more than its kernel.

        returns          the state after the step, `q`, `v` and `time`, and of its beginning `qdd`, `tau`, `forces`,
                         `residual`, `iterations`, `status` and `contacts`, in the shapes and units of a `Trajectory`
        errors           `StateError`: arrays of the wrong shape or not finite; `UnsupportedError`: controls without
                         actuators

        >>> simulation = sarrus.Simulation(sarrus.zoo.chain(2), dt=0.01)
        >>> state = simulation.start()
        >>> for _ in range(3):
        ...     state = simulation.step(state, tau=np.ones(2))
        >>> round(state.time, 6), state.q.shape, sarrus.Status(state.status).words
        (0.03, (2,), 'ok')
        """
        kind = tau is None, controls is None, external_forces is None
        ready = self._step_calls.get(kind)
        if ready is not None and type(state) is StepResult:
            found = ready(state, (tau, controls, external_forces))
            if found is not None:
                return found
        return self._careful_step(state, tau, controls, external_forces, kind)

    def _careful_step(
        self, state: State | StepResult, tau: Any, controls: Any, external_forces: Any, kind: tuple[bool, ...]
    ) -> StepResult:
        """A step from any state with any inputs: they are changed where they must be, or explained."""
        first = self._steps_before(state)
        q, v, single = initial_state(self.stepped_model, state.q, state.v)
        batch = len(q)
        tau, controls, external_forces = of_one_step(self.stepped_model, batch, tau, controls, external_forces)
        stepper = self._stepper(tau, controls, external_forces, batch, first + 1, single, one_step=True)
        if type(stepper) is PythonStepper and not stepper.functions and kind not in self._step_calls:
            call = StepCall(stepper.kernels, self._origin, self.threads)
            if call.fits:
                self._step_calls[kind] = call
        carry = stepper.begin(q, v, first)
        if isinstance(state, StepResult):
            before = {"alive": state.alive, "forces0": state.forces, "warm0": state.warm} | state.carried
            carry |= carried_over(before, carry, self.dtype)
        threads = stepper.kernels.step.calls.threads_for(batch, self.threads)
        rows, done = stepper.advance(
            carry, StepRange(batch, first, first + 1, first + 2, 1, self._fields, threads, dtype=self.dtype)
        )
        if done == first:
            raise KeyboardInterrupt
        worst = carry["worst_status"]  # of what came after the row: a projection, or all of an adaptive step
        found: dict[str, Any] = {name: x[0, 0] if single else x[:, 0] for name, x in rows.items()}
        found |= {name: carry[name].reshape(np.shape(found[name])) for name in ("q", "v")}
        status = np.maximum(found["status"], worst.reshape(np.shape(found["status"])))
        found |= {"status": int(status), "iterations": int(found["iterations"])} if single else {
            "status": status.astype(np.int32), "iterations": found["iterations"].astype(np.int32)
        }  # fmt: skip
        shape = () if single else (batch,)
        found |= {"alive": carry["alive"].reshape(shape), "worst_status": np.array(status, self.dtype)}
        arrays = {name: np.ascontiguousarray(x) if np.ndim(x) else x for name, x in found.items()}
        carried = {name: x.copy() for name, x in carry.items() if name not in StepResult._fields}
        arrays["warm"] = carry["warm0"].reshape(*shape, carry["warm0"].shape[-1]).copy() if "warm0" in carry else None
        arrays.setdefault("contacts", None)
        count, time = first + 1, (first + 1) * self.dt
        counted = {"step": np.full(shape, count, self.dtype), "steps": count, "time": time}
        return StepResult(**arrays, **counted, carried=carried, origin=self._origin)

    def contacts_of(self, state: StepResult) -> ContactRecord | None:
        """What touched in the step that led to a state, where, and with what force: as `contacts` of a trajectory.

        state    what `step` returned, of this simulation or of one with the same contacts
        returns  a `ContactRecord` of s slots, (s, ...), or (B, s, ...) of a batch; None: nothing could touch
        errors   `StateError`: a state that no step led to, or one of a simulation in which other pairs may touch

        >>> simulation = sarrus.Simulation(sarrus.zoo.biped().with_ground(), dt=1e-3)
        >>> contacts = simulation.contacts_of(simulation.step(simulation.start()))
        >>> contacts.forces.shape == (*contacts.touching.shape, 3)
        True
        """
        if not isinstance(state, StepResult):
            raise StateError(f"contacts_of: expected what `step` returned, got {type(state).__name__}")
        if state.contacts is None:
            return None
        pairs = state.origin.pairs or ()
        if not same_pairs(pairs, self._origin.pairs):
            raise StateError(f"contacts_of: contacts of other pairs: {differing_pairs(pairs, self._origin.pairs)}")
        return ContactRecord.of(state.contacts, pairs)

    def linearize(
        self, state: State | StepResult, *, tau: Any = None, controls: Any = None, external_forces: Any = None
    ) -> Linearization | ParametricLinearization | ContactLinearization | ParametricContactLinearization:
        """A and B of one step from a state: how the state after it, (q, v) in the tangent space, varies with the state
        before it and with the controls, where they are given, else with tau. A simulation with `parameters` has a third
        matrix P, (2 nv, n): how it varies with these. On the ground, what sticks, slips and is open stays so, and
        `unique` (B,) is 0 on the edge between two of these: A and B are then one of several.

        Arguments are those of `step`; a batch gives (B, 2 nv, 2 nv) and (B, 2 nv, nu). A projection that belongs to
        this step is part of it. If rows of a loop are redundant only where it is closed, A takes of a change of the
        state what keeps it closed, and nothing else.

        state            as in `step`
        tau, controls    as in `step`
        external_forces  as in `step`
        returns          `A` (2 nv, 2 nv), `B` (2 nv, nu or nv); where there are any, `P` (2 nv, n) and `unique`
        errors           `UnsupportedError`: the adaptive integrator, or a controller that is a Python function

        >>> simulation = sarrus.Simulation(sarrus.zoo.chain(2), dt=0.01)
        >>> A, B = simulation.linearize(simulation.start(), tau=np.zeros(2))
        >>> A.shape, B.shape
        ((4, 4), (4, 2))
        """
        first = self._steps_before(state)
        q, v, single = initial_state(self.stepped_model, state.q, state.v)
        tau, controls, external_forces = of_one_step(self.stepped_model, len(q), tau, controls, external_forces)
        if self._contact is not None:
            linearizer, inputs, taken, _ = self._contact_steps(state, 1, tau, controls, external_forces)
            now = {name: x[:, 0] for name, x in inputs.items()}
            taken = TakenSteps(*(x[:, 0] for x in taken))
            found, after = linearizer(q, v, np.full(len(q), first), now, taken)
            n = 2 * self.stepped_model.nv  # without what friction remembers
            of_state = {name: x[:, :n] for name, x in found._asdict().items() if name != "unique"}
            found = found._replace(**of_state | {"A": found.A[:, :n, :n]})
        else:
            linearizer, inputs = self._linearizer(tau, controls, external_forces, len(q), first + 1)
            now = {name: input_at(x, first) for name, x in inputs.items()}
            found, after = linearizer(q, v, np.full(len(q), first), now)
        if self._project_every:
            due = np.full(len(q), (first + 1) % self._project_every == 0)
            which = linearizer.projection.is_projected(after.q, due)
            matrices = [x for x in found if x.ndim == 3]
            changes = np.concatenate(matrices, axis=2)
            given = now["parameters"][which] if "parameters" in now else None
            changes[which] = linearizer.projection.along(after.q[which], after.v[which], changes[which], given)
            parts = np.split(changes, np.cumsum([x.shape[2] for x in matrices])[:-1], axis=2)
            found = type(found)(*parts, *found[len(parts) :])
        return type(found)(*(x[0] for x in found)) if single else found

    def vjp(
        self,
        trajectory: Trajectory,
        q_bar: Any = None,
        v_bar: Any = None,
        *,
        tau: Any = None,
        controls: Any = None,
        external_forces: Any = None,
    ) -> RolloutGradient | ParametricGradient | ContactGradient | ParametricContactGradient:
        """The gradient of a loss over a rollout with respect to its first state, and to controls (where given) or tau;
        a simulation with `parameters` has one with respect to these, too.

        On the ground, steps are gone through once more first, and `unique` (T,) is 0 for those on the edge between two
        motions (see `linearize`).

        trajectory       what `run` or `rollout` of this simulation gave for these inputs, every step of it recorded
        q_bar, v_bar     of the loss with respect to every state, (T + 1, nv) or (B, T + 1, nv), q's in the tangent
                         space; None: zero
        tau, controls    as they were given to `run` or `rollout`
        external_forces  likewise

        Backwards through the steps, whose A and B are made in chunks: memory does not grow with their number.

        returns          `q0_bar` (nv,), `v0_bar` (nv,) and `u_bar` (T, nu or nv), of a batch (B, ...); where there are
                         any, `parameters_bar` (n,) and `unique` (T,)
        errors           `StateError`: not every state was recorded, a rollout that failed, or one of other inputs;
                         `UnsupportedError`: the adaptive integrator, or a controller that is a Python function

        >>> simulation, tau = sarrus.Simulation(sarrus.zoo.chain(2), dt=0.01), np.zeros((5, 2))
        >>> motion = simulation.rollout(np.zeros(2), tau=tau)
        >>> simulation.vjp(motion, q_bar=motion.q, tau=tau).u_bar.shape
        (5, 2)
        """
        if not isinstance(trajectory, Trajectory):
            raise StateError(f"vjp: expected what `run` or `rollout` returned, got {type(trajectory).__name__}")
        model, single = self.stepped_model, trajectory.batch is None
        q, v = (x[None] if single else x for x in (trajectory.q, trajectory.v))
        batch, steps = len(q), q.shape[1] - 1
        if steps and not np.isclose(trajectory.time[-1] - trajectory.time[0], steps * self.dt):
            raise StateError("vjp needs every state of a rollout: record_every=1, and this simulation's dt")
        if trajectory.status is not None and np.any(trajectory.status >= Status.NOT_PROJECTED):
            raise StateError(f"a rollout that failed has no gradient: {Status(int(np.max(trajectory.status))).words}")
        bars = [
            np.zeros((batch, steps + 1, model.nv))
            if x is None
            else as_state_array(name, x, (steps + 1, model.nv)).reshape(batch, steps + 1, model.nv)
            for name, x in (("q_bar", q_bar), ("v_bar", v_bar))
        ]
        if self._contact is not None:
            start = State(0.0, q[:, 0], v[:, 0])
            linearizer, inputs, taken, led = self._contact_steps(start, steps, tau, controls, external_forces)
            if not np.allclose(led, q[:, 1:], rtol=0.0, atol=_SAME_PATH):
                raise StateError("vjp: these inputs lead to another rollout than this one")
        else:
            (linearizer, inputs), taken = self._linearizer(tau, controls, external_forces, batch, steps), None
        found = rollout_gradient(linearizer, q, v, np.concatenate(bars, axis=2), inputs, self._project_every, taken)
        return type(found)(*(x[0] for x in found)) if single else found

    def step_kernels(
        self, *, tau: Any = None, controls: Any = None, external_forces: Any = None, varied: tuple[str, ...] = ()
    ) -> tuple[StepKernels, dict[str, Array]]:
        """The compiled step that takes such inputs, and the values of all that it takes beside the state: what other
        libraries step with.

        tau, controls    (n,), values to start with
        external_forces  (nb, 6), likewise
        varied           which of masses, friction and gains have factors that are inputs, too: `masses_factor`, ...
        returns          the kernels, and a dictionary of arrays by the names of inputs
        errors           `UnsupportedError`: the adaptive integrator, or a controller that is a Python function;
                         `StateError`: what is varied is not there

        >>> kernels, values = sarrus.Simulation(sarrus.zoo.chain(2)).step_kernels(tau=np.zeros(2))
        >>> list(values)
        ['tau']
        """
        for name in varied:
            check_name("what robots of a batch differ in:", name, VARIED)
        if "friction" in varied and self._contact is None:
            raise StateError("friction cannot vary in a simulation without contacts")
        if "gains" in varied and not isinstance(self.controller, PD):
            raise StateError("gains cannot vary: no controller has gains (sarrus.pd)")
        stepper = self._stepper(tau, controls, external_forces, 1, 1, True, one_step=True)
        if stepper.functions or self.integrator == "adaptive":
            raise UnsupportedError(
                "steps in native code have a fixed size and compiled controllers (sarrus.pd, sarrus.controller): "
                "neither a Python function nor the adaptive integrator is possible here"
            )
        kernels = stepper.kernels
        if varied:
            kernels = kernels.varied(tuple(name for name in VARIED if name in varied))
        held = {name: np.array(x[0, 0]).reshape(kernels.input_shapes[name]) for name, x in stepper.inputs.items()}
        return kernels, held | {name: np.ones(x) for name, x in factor_shapes(self.stepped_model, varied).items()}

    @property
    def notes(self) -> list[str]:
        """What was decided, and what does not happen, that one should know: first what of its file the robot lacks."""
        notes = file_notes(self._robot)
        if not self.model.nv:
            notes.append("nothing moves: the model has no joints")
        if self._stiff and self.integrator == "implicit":
            more = f" and {len(self._stiff) - 1} more" if len(self._stiff) > 1 else ""
            notes.append(f"implicit steps, because joints are stiff: {self._stiff[0]}{more}")
        explicit = too_stiff(self._robot, self._joint_forces, self._compiled_controllers, self.dt, self.integrator)
        notes += [found.in_words for found in explicit]
        if self.contacts is not False:
            notes += contact_notes(self._robot, self._contact_options)
            notes += [] if self._contact is None else slot_notes(self._robot, self._contact)
            notes += [] if self._contact is None else ridge_notes(self._contact.contacts)
        return notes + self.contact_operators

    @property
    def contact_operators(self) -> list[str]:
        """What contact problems are solved with, a matrix or sweeps over the tree, and why: a line each."""
        contact = self._step_settings.contact
        return [] if contact is None else operator_notes(self._robot, contact)

    @property
    def touching_pairs(self) -> list[tuple[str, str]]:
        """The names of the geometries, two each, that may touch; `ContactOptions(pairs=...)` sets them."""
        return [] if self._contact is None else [pair.names for pair in self._contact.contacts.pairs]

    # --- how it is done ---------------------------------------------------------------------------------------

    @cached_property
    def _robot(self) -> Model:
        """The model, in numbers."""
        return self.model if self.parameters is None else with_values(self.model, self.parameters)

    @cached_property
    def stepped_model(self) -> Model:
        """The model, in numbers, with Baumgarte's feedback where it is asked for."""
        return with_stabilization(self._robot, self.stabilization)

    @property
    def _typical_model(self) -> Model:
        """By whose inertias stiffness of limits and the like are chosen: other parameters do not change these."""
        return self.stepped_model if self.parameters is None else typical_values(self.model) or self.stepped_model

    @cached_property
    def _traced_model(self) -> Model:
        """What kernels are made of: the same, its symbols being inputs; the same model each time."""
        if self.parameters is None:
            return self.stepped_model
        known: dict[float | None, Model] = self.model.remembered.setdefault(with_stabilization, {})
        if self.stabilization not in known:
            known[self.stabilization] = with_stabilization(self.model, self.stabilization)
        return known[self.stabilization]

    @cached_property
    def _symbols(self) -> tuple[Any, ...]:
        """Those that are inputs, in the order of `parameters`."""
        by_name = {symbol.name(): symbol for symbol in symbols_of(self.model)}
        return tuple(by_name[name] for name in self.parameters or ())

    @property
    def _method(self) -> str:
        return self._dynamics.method

    @cached_property
    def _dynamics(self) -> Default:
        """The method that was named, or the default one, with options."""
        if is_auto(self.method):
            planned_dynamics(self._robot)
        if (self.method is None or is_auto(self.method)) and isinstance(self.options, dict | None):
            found = default_dynamics(self.stepped_model, self.options or (), of=self._robot)
            if found.planned:
                return found
        return Default(method_for(self.stepped_model, None if is_auto(self.method) else self.method), {})

    @cached_property
    def _contact(self) -> ContactSettings | None:
        """None: nothing touches."""
        if self.contacts is False:
            return None
        traced = None if self.parameters is None else self._traced_model
        return contact_settings(self.stepped_model, self._contact_options, traced)

    @cached_property
    def _contact_options(self) -> ContactOptions:
        """How things touch; limits of joints are contacts only where they act at all."""
        options = self.contacts if isinstance(self.contacts, ContactOptions) else ContactOptions()
        return replace(options, joint_limits=options.joint_limits and self._joint_forces.limits)

    @cached_property
    def _stiff(self) -> list[str]:
        """Joints that are stiff for steps of this size, in words."""
        acting = self._joint_forces
        return stiff_joints(self._robot, acting, self._compiled_controllers, self.dt)

    @property
    def _compiled_controllers(self) -> list[AbstractController]:
        return [self.controller] if isinstance(self.controller, AbstractController) else []

    @property
    def _joint_forces(self) -> JointForces:
        """Those that act; none where joint forces are turned off."""
        if isinstance(self.joint_forces, JointForces):
            return self.joint_forces
        return JointForces() if self.joint_forces else NONE

    @property
    def _fields(self) -> tuple[str, ...]:
        """All that can be recorded."""
        return tuple(name for name in FIELDS if name != "contacts" or self._contact is not None)

    @property
    def _recorded(self) -> tuple[str, ...]:
        """What is recorded; contacts only where there can be any."""
        return tuple(name for name in dict.fromkeys(["q", "v", *self.record]) if name in self._fields)

    @cached_property
    def _project_every(self) -> int | None:
        return projection_interval(self.stepped_model, self.project_every)

    @cached_property
    def _step_settings(self) -> StepSettings:
        """Those of a step without controllers."""
        usual = {name: value for name, value in _OPTIONS.items() if name in find(self._method).options}
        options = tuple(sorted((usual | self._dynamics.options | (self.options or {})).items()))
        which, contact = self._joint_forces, self._contact
        dt = None if self.integrator in ("semi_implicit_euler", "rk4") else float(self.dt)  # None: the kernel's input
        parameters = joint_force_parameters(self._typical_model, which, dt)
        if contact is not None:
            joints, tendons = parameters.joints, parameters.tendons
            rubs = rubs_of(np.eye(self.stepped_model.nv), joints.friction, joints.inertia)
            rubs += rubs_of(tendons_of(self.stepped_model).of_v, tendons.friction, tendons.inertia)
            contact = replace(contact, rubs=rubs)
            rest = joints.without(friction=True, limits=contact.limits), tendons.without(friction=True, limits=False)
            parameters = replace(parameters, joints=rest[0], tendons=rest[1])
        accuracy = float(self.accuracy) if self.integrator == "adaptive" else 0.0
        return StepSettings(self._method, options, self.integrator, dt, parameters, (), accuracy, contact)

    @cached_property
    def _kernels(self) -> dict[tuple[tuple[str, ...], tuple[AbstractController, ...]], StepKernels]:
        """Compiled steps, by what they take beside the state and by the controllers that are compiled in.

        They live as long as the model: a simulation that differs in its targets only, one of a planner, has them.
        """
        known = self._traced_model.remembered.setdefault(StepKernels, {})
        names = tuple(self.parameters or ())
        return known.setdefault((repr(self._step_settings), self._project_every, self.dt, self.dtype, names), {})

    @cached_property
    def _origin(self) -> Origin:
        """Of the states that a step leads to."""
        return Origin.of(float(self.dt), self.stepped_model.n_rows, self._contact and self._step_settings.contact)

    def _steps_before(self, state: State | StepResult) -> int:
        """How many steps led to a state; an error in words if steps like these cannot go on from it."""
        if not isinstance(state, State | StepResult):
            raise StateError(
                f"expected a state, `simulation.start(q, v)` or what `step` returned, got {type(state).__name__}"
            )
        if not isinstance(state, StepResult):
            return round(state.time / self.dt)
        state.origin.check_continued_by(self._origin)
        return state.steps

    @cached_property
    def _step_calls(self) -> dict[tuple[bool, ...], StepCall]:
        """Steps that are ready, by which of tau, controls and external forces are not given."""
        return {}

    def _contact_steps(
        self, start: State | StepResult, steps: int, tau: Any, controls: Any, external_forces: Any
    ) -> tuple[ContactLinearizer, dict[str, Array], TakenSteps, Array]:
        """What differentiates steps on the ground, their inputs and what they found, (B, T, ...) each, and where they
        lead, (B, T, nq).
        """
        if self.dtype != "float64":
            return replace(self, dtype="float64")._contact_steps(start, steps, tau, controls, external_forces)
        first = self._steps_before(start)
        q, v, _ = initial_state(self.stepped_model, start.q, start.v)
        tau = np.zeros(self.stepped_model.nv) if tau is None and (controls is None or callable(controls)) else tau
        stepper = self._stepper(tau, controls, external_forces, len(q), first + steps, False, one_step=True)
        if stepper.functions or not isinstance(stepper, PythonStepper):
            raise UnsupportedError(_NO_FUNCTIONS)
        shapes, span = stepper.kernels.input_shapes, range(first, first + steps)
        inputs = {
            name: np.array([input_at(x, t) for t in span]).reshape(steps, len(q), *shapes[name]).swapaxes(0, 1)
            for name, x in stepper.inputs.items()
        }
        key = (*inputs, repr(stepper.kernels.asked[-1]))
        if key not in self._linearizers:
            u = "controls" if "controls" in inputs else "tau"
            sizes = {name: x.shape[2:] for name, x in inputs.items()}
            self._linearizers[key] = ContactLinearizer(
                self.stepped_model, self._traced_model, self._symbols, stepper.kernels.settings, sizes, u, self.dt
            )
        carry = stepper.begin(q, v, first)
        if isinstance(start, StepResult):
            carry |= carried_over({"warm0": start.warm}, carry, float)
        return self._linearizers[key], inputs, *taken_steps(stepper, carry, span)

    def _linearizer(
        self, tau: Any, controls: Any, external_forces: Any, batch: int, steps: int
    ) -> tuple[Linearizer, dict[str, Array]]:
        """What differentiates steps with these inputs, and the inputs, (B, T, ...) each."""
        if self.integrator == "adaptive":
            raise UnsupportedError(f"adaptive steps change their size with the state. Valid: {', '.join(STAGES)}")
        model = self.stepped_model
        tau = np.zeros(model.nv) if tau is None and (controls is None or callable(controls)) else tau
        actions = as_actions(model, self.controller, tau, controls, external_forces, batch, steps)
        if actions.functions:
            raise UnsupportedError(_NO_FUNCTIONS)
        inputs = dict(actions.inputs)
        if "external_forces" in inputs:
            inputs["external_forces"] = inputs["external_forces"].reshape(batch, max(1, steps), model.nb, 6)
        if self.parameters is not None:
            inputs["parameters"] = self._parameter_values(batch, steps)
        u = "controls" if "controls" in inputs else "tau"
        key = (*inputs, actions.controllers)
        if key not in self._linearizers:
            settings = replace(self._step_settings, controllers=actions.controllers)
            at = {name: x[:, 0] for name, x in inputs.items()}
            self._linearizers[key] = Linearizer(model, self._traced_model, self._symbols, settings, at, u, self.dt)
        return self._linearizers[key], inputs

    @cached_property
    def _linearizers(self) -> dict[tuple[Any, ...], Any]:
        """By what steps take, and by the controllers that are compiled in."""
        return {}

    def _parameter_values(self, batch: int, steps: int, dtype: Any = float) -> Array:
        """(B, T, n), all the same."""
        values = np.array(list((self.parameters or {}).values()), dtype)
        return np.broadcast_to(values, (batch, max(1, steps), len(values)))

    def _initial_state(self, q0: Any, v0: Any) -> tuple[Array, Array, bool]:
        q, v, single = initial_state(self.stepped_model, q0, v0)
        check_closed(self.stepped_model, q, v, self._project_every)
        return q, v, single

    def _stepper(
        self,
        tau: Any,
        controls: Any,
        external_forces: Any,
        batch: int,
        steps: int,
        single: bool,
        one_step: bool = False,
    ) -> AbstractStepper:
        """The way through time that fits the integrator and what acts; for one step a program is not worth it."""
        actions = as_actions(
            self.stepped_model, self.controller, tau, controls, external_forces, batch, steps, self.dtype
        )
        if self.parameters is not None:
            actions.inputs["parameters"] = self._parameter_values(batch, steps, self.dtype)
        is_adaptive = self.integrator == "adaptive"
        if is_adaptive and actions.functions:
            raise UnsupportedError(
                "the adaptive integrator chooses its times in native code: it takes compiled controllers (sarrus.pd, "
                "sarrus.controller), tau or controls, not a Python function"
            )
        key = tuple(name for name in ("tau", "external_forces") if name in actions.inputs), actions.controllers
        if key not in self._kernels:
            settings = replace(self._step_settings, controllers=actions.controllers)
            self._kernels[key] = StepKernels(
                self._traced_model, settings, key[0], self._project_every, self.dt, self.dtype, self._symbols
            )
        in_python = actions.functions or one_step
        kind = AdaptiveStepper if is_adaptive else PythonStepper if in_python else NativeStepper
        return kind(self._kernels[key], actions, single)
