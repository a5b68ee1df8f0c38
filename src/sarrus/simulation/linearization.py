"""How the state after a step varies with the state before it and with what acts: A and B, of many states at once.

With x = (q, v) in the tangent space and u = tau or controls, x' = A x + B u. A step asks for accelerations at some
states s_i = (q_i, v_i, tau_i), each of which follows from x, u and the accelerations before:

    s_i' = ds_i/dx + sum over j < i of ds_i/dqdd_j qdd_j'        qdd_i' = dqdd/ds(s_i) s_i'

and so does the state after the step. Derivatives of the step (`open_step`) and of the dynamics are kernels; the method
of dynamics is differentiated at its solution, never through its iterations. A projection after the step comes on top
(`projection_variation.py`).

Where rows are redundant only while a loop is closed, accelerations have derivatives only along motions that keep it so:
of changes of the states s_i, what leaves the constraints is taken away as by a projection.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from sarrus.codegen.runtime.compile import compile
from sarrus.codegen.runtime.kernel import Kernel
from sarrus.errors import StateError
from sarrus.model.model import Model
from sarrus.registry.table import find
from sarrus.simulation.open_step import STAGES, open_step_algorithm
from sarrus.simulation.projection_variation import NearState, ProjectionVariation, called
from sarrus.simulation.step import StepSettings
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
        self.model, self.u, self._dt = model, u, dt
        self.projection = ProjectionVariation(model, traced, symbols)
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
            at = called(self._open, given)
            found = self._solved(self._dynamics, inputs | {x: getattr(at, f"{x}{i}") for x in ("q", "v", "tau")})
            given[f"qdd{i}"] = found.qdd
            dynamics.append(found)
        slopes = called(self._slopes, given)
        total: list[Array] = []  # qdd_i' with respect to (x, u)

        def varied(name: str) -> Array:
            own = np.concatenate([getattr(slopes, f"d{name}_d{x}") for x in self.wrt], axis=-1)
            return sum((getattr(slopes, f"d{name}_dqdd{j}") @ total[j] for j in range(len(total))), own)

        for i, found in enumerate(dynamics):
            state = np.concatenate([varied(f"q{i}"), varied(f"v{i}")], axis=1)
            if hasattr(found, "unique") and np.any(found.unique < 0.5):
                q, v = (getattr(slopes, f"{x}{i}") for x in ("q", "v"))
                state = self.projection.along(q, v, state, inputs.get("parameters"))
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

    def _solved(self, kernel: Kernel, given: dict[str, Array]) -> Any:
        """Accelerations and derivatives of them; an error if there are none."""
        found = called(kernel, given)
        status = getattr(found, "status", np.zeros(len(found.qdd)))
        finite = np.all([np.isfinite(x).all(axis=tuple(range(1, x.ndim))) for x in found], axis=0)
        if np.any(status != Status.OK) or not finite.all():
            bad = np.flatnonzero((status != Status.OK) | ~finite)
            words = Status(int(status[bad[0]]) or Status.NOT_FINITE).words
            raise StateError(f"no derivative of the dynamics at state {bad[0]} of {len(status)}: {words}")
        return found
