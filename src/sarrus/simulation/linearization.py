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

from functools import cached_property
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


class Linearizer:
    """The linearization of a step of one kind, compiled."""

    def __init__(self, model: Model, settings: StepSettings, inputs: dict[str, Array], u: str, dt: float) -> None:
        """inputs: what the step takes beside the state, (B, n) each; u: which of them B is for."""
        self.model, self.u, self._dt = model, u, dt
        self._stages = STAGES[settings.integrator]
        if settings.integrator == "implicit":
            self.stepped, settings = implicit_step(model, settings)
        else:
            self.stepped = model
        shapes = {name: x.shape[1:] for name, x in inputs.items() if name != "external_forces"}
        algorithm = open_step_algorithm(self.stepped, settings, shapes)
        holes = tuple(f"qdd{i}" for i in range(self._stages))
        self._open: Kernel = compile(self.stepped, algorithm, settings=settings)
        self._slopes: Kernel = compile(
            self.stepped, algorithm, settings=settings, derivative="jacobian", wrt=("q", "v", u, *holes)
        )
        names = ("q", "v", "tau", *(x for x in ("external_forces",) if x in inputs))
        self._dynamics: Kernel = compile(
            self.stepped, find(settings.method), inputs=names, derivative="jacobian", wrt=("q", "v", "tau"),
            **dict(settings.options),
        )  # fmt: skip

    def __call__(self, q: Array, v: Array, steps: Array, inputs: dict[str, Array]) -> tuple[Linearization, NearState]:
        """Of states (B, n) and inputs (B, n), and the states after; steps: (B,) the number of each step."""
        nv, count = self.model.nv, len(q)
        given = {"q": q, "v": v, "dt": np.full(count, self._dt), "step": steps.astype(float)} | inputs
        given |= {f"qdd{i}": np.zeros((count, nv)) for i in range(self._stages)}
        dynamics = []
        for i in range(self._stages):
            at = self._of(self._open, given)
            found = self._accelerations({x: getattr(at, f"{x}{i}") for x in ("q", "v", "tau")}, inputs)
            given[f"qdd{i}"] = found.qdd
            dynamics.append(found)
        slopes = self._of(self._slopes, given)
        total: list[Array] = []  # qdd_i' with respect to (x, u)

        def varied(name: str) -> Array:
            own = np.concatenate([getattr(slopes, f"d{name}_d{x}") for x in ("q", "v", self.u)], axis=-1)
            return sum((getattr(slopes, f"d{name}_dqdd{j}") @ total[j] for j in range(len(total))), own)

        for i, found in enumerate(dynamics):
            state = np.concatenate([varied(f"q{i}"), varied(f"v{i}")], axis=1)
            if hasattr(found, "unique") and np.any(found.unique < 0.5):
                state = self.onto_constraints(getattr(slopes, f"q{i}"), getattr(slopes, f"v{i}"), state)
            by_state = np.concatenate([found.dqdd_dq, found.dqdd_dv], axis=2)
            total.append(by_state @ state + found.dqdd_dtau @ varied(f"tau{i}"))
        both = np.concatenate([varied("q"), varied("v")], axis=1)
        return Linearization(both[..., : 2 * nv], both[..., 2 * nv :]), NearState(slopes.q, slopes.v)

    def is_projected(self, q: Array, due: Array) -> Array:
        """(B,) whether states that a step led to are projected, because it is due (B,) or loops are open."""
        return due | (closure_error(self.model, q) > OPEN)

    def onto_constraints(self, q: Array, v: Array, changes: Array) -> Array:
        """What a projection of states onto the constraints makes of changes (B, 2 nv, k) of them."""
        batch, size, k = changes.shape
        columns = changes.swapaxes(1, 2).reshape(batch * k, size)
        found = self._projection_along(
            np.repeat(q, k, axis=0), np.repeat(v, k, axis=0), *np.ascontiguousarray(np.split(columns, 2, axis=1))
        )
        return np.concatenate([found.dq, found.dv], axis=1).reshape(batch, k, size).swapaxes(1, 2)

    def back_through_projection(self, q: Array, v: Array, bar: Array) -> Array:
        """What weights (B, 2 nv) of projected states are for the states before."""
        found = self._projection_back(q, v, *np.ascontiguousarray(np.split(bar, 2, axis=1)))
        return np.concatenate([found.q_bar, found.v_bar], axis=1)

    @cached_property
    def _projection_along(self) -> Kernel:
        return compile(self.model, TOWARDS_CONSTRAINTS, derivative="jvp")

    @cached_property
    def _projection_back(self) -> Kernel:
        return compile(self.model, TOWARDS_CONSTRAINTS, derivative="vjp")

    def _accelerations(self, at: dict[str, Array], inputs: dict[str, Array]) -> Any:
        more = {x: inputs[x] for x in ("external_forces",) if x in inputs}
        found = self._of(self._dynamics, at | more)
        status = getattr(found, "status", np.zeros(len(at["q"])))
        if np.any(status != Status.OK) or not np.isfinite(found.qdd).all():
            bad = np.flatnonzero((status != Status.OK) | ~np.isfinite(found.qdd).all(axis=1))
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
