"""How the state after a step varies with the state before it and with what acts: A and B, of many states at once.

With x = (q, v) in the tangent space and u = tau or controls, x' = A x + B u. A step asks for accelerations at some
states s_i = (q_i, v_i, tau_i), each of which follows from x, u and the accelerations before:

    s_i' = ds_i/dx + sum over j < i of ds_i/dqdd_j qdd_j'        qdd_i' = dqdd/ds(s_i) s_i'

and so does the state after the step. Derivatives of the step (`open_step`) and of the dynamics are kernels; the method
of dynamics is differentiated at its solution, never through its iterations. A projection after the step is
differentiated as two steps of Gauss and Newton from there: what the steps after them would add is of the third order in
the drift that the projection removes.

Where rows are redundant only while a loop is closed, accelerations have derivatives only along motions that keep it so:
of changes of the states s_i, what leaves the constraints is taken away as by a projection.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from sarrus.algorithms.tree.crba import composite_bodies
from sarrus.codegen.runtime.compile import compile
from sarrus.codegen.runtime.kernel import Kernel
from sarrus.errors import StateError
from sarrus.mechanics.mechanism import mechanism
from sarrus.mechanics.solvers.constraint_metric import Linearized, linearized, without_opening
from sarrus.model.model import Model
from sarrus.model.state import moved
from sarrus.once import cached_property
from sarrus.registry.table import find
from sarrus.simulation.open_step import STAGES, open_step_algorithm
from sarrus.simulation.projection import closure_error
from sarrus.simulation.step import OPEN, StepSettings, kernel_algorithm
from sarrus.simulation.step_kernels import implicit_step
from sarrus.spatial.arrays import Array
from sarrus.status import Status


class Linearization(NamedTuple):
    """x' = A x + B u: x = (q, v) in the tangent space, u = controls where they are given, else tau."""

    A: Array  # (2 nv, 2 nv) or (B, 2 nv, 2 nv)
    B: Array  # (2 nv, nu)


class ParametricLinearization(NamedTuple):
    """x' = A x + B u + P p: p are the parameters of the simulation."""

    A: Array  # (2 nv, 2 nv) or (B, 2 nv, 2 nv)
    B: Array  # (2 nv, nu)
    P: Array  # (2 nv, n)


class Linearizer:
    """The linearization of a step of one kind, compiled."""

    def __init__(
        self,
        model: Model,
        traced: Model,
        symbols: tuple[Any, ...],
        settings: StepSettings,
        inputs: dict[str, Array],
        u: str,
        dt: float,
    ) -> None:
        """traced: the model with symbols, if it has any, which are then the input `parameters`, else the same;
        inputs: what the step takes beside the state, (B, n) each; u: which of them B is for.
        """
        self.model, self.traced, self.u, self._dt = model, traced, u, dt
        self.wrt = ("q", "v", u, *(["parameters"] if symbols else []))
        self._how: dict[str, Any] = {"parameters": symbols or None}
        self._stages = STAGES[settings.integrator]
        if settings.integrator == "implicit":
            self.stepped, settings = implicit_step(traced, settings)
        else:
            self.stepped = traced
        shapes = {name: x.shape[1:] for name, x in inputs.items() if name not in ("external_forces", "parameters")}
        self._ends = np.cumsum([2 * model.nv, *shapes[u]])
        algorithm = open_step_algorithm(self.stepped, settings, shapes)
        holes = tuple(f"qdd{i}" for i in range(self._stages))
        self._open: Kernel = compile(self.stepped, algorithm, settings=settings, **self._how)
        self._slopes: Kernel = compile(
            self.stepped, algorithm, settings=settings, derivative="jacobian", wrt=(*self.wrt, *holes), **self._how
        )
        names = ("q", "v", "tau", *(x for x in ("external_forces",) if x in inputs))
        dynamics: dict[str, Any] = {"inputs": names, "derivative": "jacobian", **dict(settings.options), **self._how}
        self._dynamics: Kernel = compile(self.stepped, find(settings.method), wrt=("q", "v", "tau"), **dynamics)
        # Columns of parameters are few, and have no closed form.
        self._by_parameters: Kernel | None = None
        if symbols:
            self._by_parameters = compile(self.stepped, find(settings.method), wrt="parameters", **dynamics)

    def __call__(
        self, q: Array, v: Array, steps: Array, inputs: dict[str, Array]
    ) -> tuple[Linearization | ParametricLinearization, NearState]:
        """Of states (B, n) and inputs (B, n), and the states after; steps: (B,) the number of each step."""
        nv, count = self.model.nv, len(q)
        given = {"q": q, "v": v, "dt": np.full(count, self._dt), "step": steps.astype(float)} | inputs
        given |= {f"qdd{i}": np.zeros((count, nv)) for i in range(self._stages)}
        dynamics = []
        for i in range(self._stages):
            at = self._of(self._open, given)
            found = self._solved(self._dynamics, inputs | {x: getattr(at, f"{x}{i}") for x in ("q", "v", "tau")})
            given[f"qdd{i}"] = found.qdd
            dynamics.append(found)
        slopes = self._of(self._slopes, given)
        total: list[Array] = []  # qdd_i' with respect to (x, u)

        def varied(name: str) -> Array:
            own = np.concatenate([getattr(slopes, f"d{name}_d{x}") for x in self.wrt], axis=-1)
            return sum((getattr(slopes, f"d{name}_dqdd{j}") @ total[j] for j in range(len(total))), own)

        for i, found in enumerate(dynamics):
            state = np.concatenate([varied(f"q{i}"), varied(f"v{i}")], axis=1)
            if hasattr(found, "unique") and np.any(found.unique < 0.5):
                q, v = (getattr(slopes, f"{x}{i}") for x in ("q", "v"))
                state = self.onto_constraints(q, v, state, inputs.get("parameters"))
            by_state = np.concatenate([found.dqdd_dq, found.dqdd_dv], axis=2)
            total.append(by_state @ state + found.dqdd_dtau @ varied(f"tau{i}"))
            if self._by_parameters is not None:
                given = inputs | {x: getattr(slopes, f"{x}{i}") for x in ("q", "v", "tau")}
                total[i][..., self._ends[-1] :] += self._solved(self._by_parameters, given).dqdd_dparameters
        both = np.concatenate([varied("q"), varied("v")], axis=1)
        return self.parts(both), NearState(slopes.q, slopes.v)

    def parts(self, columns: Array) -> Linearization | ParametricLinearization:
        """Matrices of all that a step varies with, one beside the other, apart."""
        kind = ParametricLinearization if self._by_parameters else Linearization
        return kind(*np.split(columns, self._ends[: len(kind._fields) - 1], axis=-1))

    def is_projected(self, q: Array, due: Array) -> Array:
        """(B,) whether states that a step led to are projected, because it is due (B,) or loops are open."""
        return due | (closure_error(self.model, q) > OPEN)

    def onto_constraints(self, q: Array, v: Array, changes: Array, parameters: Array | None = None) -> Array:
        """What a projection of states onto the constraints makes of changes (B, 2 nv, k) of them, the last ones of
        which are those with the parameters.
        """
        batch, size, k = changes.shape
        given = dict(
            zip(("dq", "dv"), np.split(changes.swapaxes(1, 2).reshape(batch * k, size), 2, axis=1), strict=True)
        )
        given |= {name: np.repeat(x, k, axis=0) for name, x in (("q", q), ("v", v))}
        if parameters is not None:
            unit = np.eye(k)[:, k - parameters.shape[1] :]
            given |= {"parameters": np.repeat(parameters, k, axis=0), "dparameters": np.tile(unit, (batch, 1))}
        found = self._of(self._projection_along, given)
        return np.concatenate([found.dq, found.dv], axis=1).reshape(batch, k, size).swapaxes(1, 2)

    def back_through_projection(
        self, q: Array, v: Array, bar: Array, parameters: Array | None = None
    ) -> tuple[Array, Array]:
        """What weights (B, 2 nv) of projected states are for the states before, and for the parameters."""
        given = dict(zip(("q_bar", "v_bar"), np.split(bar, 2, axis=1), strict=True)) | {"q": q, "v": v}
        given |= {} if parameters is None else {"parameters": parameters}
        found = self._of(self._projection_back, given)
        by_parameters = np.zeros((len(q), 0)) if parameters is None else found.parameters_bar
        return np.concatenate([found.q_bar, found.v_bar], axis=1), by_parameters

    @cached_property
    def _projection_along(self) -> Kernel:
        return compile(self.traced, TOWARDS_CONSTRAINTS, derivative="jvp", wrt=self._state, **self._how)

    @cached_property
    def _projection_back(self) -> Kernel:
        return compile(self.traced, TOWARDS_CONSTRAINTS, derivative="vjp", wrt=self._state, **self._how)

    @property
    def _state(self) -> tuple[str, ...]:
        """What a projection varies with."""
        return tuple(name for name in self.wrt if name != self.u)

    def _solved(self, kernel: Kernel, given: dict[str, Array]) -> Any:
        """Accelerations and derivatives of them; an error if there are none."""
        found = self._of(kernel, given)
        status = getattr(found, "status", np.zeros(len(found.qdd)))
        finite = np.all([np.isfinite(x).reshape(len(status), -1).all(axis=1) for x in found], axis=0)
        if np.any(status != Status.OK) or not finite.all():
            bad = np.flatnonzero((status != Status.OK) | ~finite)
            words = Status(int(status[bad[0]]) or Status.NOT_FINITE).words
            raise StateError(f"no derivative of the dynamics at state {bad[0]} of {len(status)}: {words}")
        return found

    @staticmethod
    def _of(kernel: Kernel, given: dict[str, Array]) -> Any:
        return kernel(*(np.ascontiguousarray(given[name], float) for name in kernel.input_names))


class NearState(NamedTuple):
    """A state almost on the constraints."""

    q: Array
    v: Array


def towards_constraints(model: Model, q: Array, v: Array) -> NearState:
    """What a projection onto the constraints does to a state close by: two steps of positions, then velocities."""
    for _ in range(2):
        rows = _rows_at(model, q)
        q = moved(model, q, rows.step(-rows.error, 0.0))
    return NearState(q, without_opening(_rows_at(model, q), v))


def _rows_at(model: Model, q: Array) -> Linearized:
    at = mechanism(model, q, spanning=True)
    return linearized(at, composite_bodies(at.nodes))


TOWARDS_CONSTRAINTS = kernel_algorithm(towards_constraints, {"q": None, "v": None}, ())
