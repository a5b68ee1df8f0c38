"""What motors are asked for: a Python function, or a controller that is compiled into the step.

Actuators under controls are such a controller, too (`actuation.py`).

A compiled controller says which arrays it takes and what torque it gives. Gains are constants of the kernel, targets
are inputs: new targets need no new kernel.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from sarrus.codegen.tape import casadi_import
from sarrus.errors import StateError, UnsupportedError
from sarrus.model.model import Model
from sarrus.simulation.manifold import difference_to, joints_of
from sarrus.spatial.arrays import Array, Scalar, vector

PythonController = Callable[[float, Array, Array], Any]  # (t, q, v) -> tau, or controls


@dataclass(frozen=True)
class AbstractController(ABC):
    """A controller that is compiled into the step. Its `repr` is part of the kernel's name: it tells all constants."""

    lookahead: tuple[float, ...] = field(default=(), kw_only=True)  # seconds, per velocity

    @property
    def uses_time(self) -> bool:
        return False

    def inputs(self, model: Model) -> dict[str, tuple[int, Any]]:
        """Inputs of the kernel by name: their size n, and their values (n,), (T, n) or (B, T, n)."""
        return {}

    def gains(self, model: Model) -> tuple[Array, Array]:
        """Stiffness and damping per velocity, which implicit integration treats like those of joints."""
        return np.zeros(model.nv), np.zeros(model.nv)

    def with_lookahead(self, time: Array) -> AbstractController:
        """The same controller on positions as they will be, per velocity so much later (implicit integration)."""
        return replace(self, lookahead=tuple(time.tolist()))

    @abstractmethod
    def torque(self, model: Model, q: Array, v: Array, t: Scalar, inputs: dict[str, Array]) -> Array:
        """(nv,), for floats and symbols alike."""


Gains = float | tuple[float, ...]


@dataclass(frozen=True)
class PD(AbstractController):
    """See `pd`."""

    kp: Gains
    kd: Gains
    targets: dict[str, Any] = field(repr=False, compare=False)  # q_target, v_target, feedforward
    given: tuple[str, ...]  # which of them there are

    def inputs(self, model: Model) -> dict[str, tuple[int, Any]]:
        return {name: (model.nq if name == "q_target" else model.nv, self.targets[name]) for name in self.given}

    def gains(self, model: Model) -> tuple[Array, Array]:
        return _per_velocity("kp", self.kp, model), _per_velocity("kd", self.kd, model)

    def torque(self, model: Model, q: Array, v: Array, t: Scalar, inputs: dict[str, Array]) -> Array:
        kp, kd = self.gains(model)
        stiffer, damped = inputs.get("gains_factor", (1.0, 1.0))
        lookahead = np.array(self.lookahead or np.zeros(model.nv))
        parts = [np.zeros(0)]
        for joint, of_q, of_v in joints_of(model):
            wanted = inputs["v_target"][of_v] if "v_target" in inputs else np.zeros(joint.type.nv)
            tau = damped * kd[of_v] * (wanted - v[of_v])
            if kp[of_v].any():
                error = difference_to(joint.type, q[of_q], inputs["q_target"][of_q])
                tau = tau + stiffer * kp[of_v] * (error - lookahead[of_v] * v[of_v])
            parts.append(tau)
        tau = np.concatenate(parts)
        return tau + inputs["feedforward"] if "feedforward" in inputs else tau


def pd(kp: Any, kd: Any, q_target: Any, v_target: Any = None, feedforward: Any = None) -> PD:
    """tau = kp (q_target - q) + kd (v_target - v) + feedforward, compiled into the step.

    kp, kd                 one number (for every joint except free ones) or one per velocity
    q_target               (nq,), (T, nq) for every step, or (B, T, nq); an axis of length 1 is held. Rotations are
                           compared as rotations.
    v_target, feedforward  likewise, with nv
    returns                a controller for `Simulation` and `simulate`
    errors                 `StateError`: gains or targets that are not finite, or of the wrong size

    >>> sarrus.simulate(sarrus.zoo.chain(2), controller=sarrus.pd(20.0, 2.0, [0.1, 0.2]), duration=0.01).q.shape
    (11, 2)
    """
    if q_target is None:
        raise StateError(
            "pd: q_target is None. A robot whose file shows it in no pose has no `home`: `sarrus.neutral(robot)`"
        )
    targets = {"q_target": q_target, "v_target": v_target, "feedforward": feedforward}
    given = tuple(name for name, x in targets.items() if x is not None)
    return PD(_gains("kp", kp), _gains("kd", kd), targets, given)


def _gains(name: str, value: Any) -> Gains:
    try:
        array = np.asarray(value, float)
    except (TypeError, ValueError):
        raise StateError(f"{name} is {value!r}: expected a number, or one per velocity") from None
    if array.ndim > 1 or not np.isfinite(array).all():
        raise StateError(f"{name}: expected a finite number, or one per velocity, got shape {array.shape}")
    return float(array) if array.ndim == 0 else tuple(array.tolist())


def _per_velocity(name: str, gains: Gains, model: Model) -> Array:
    if isinstance(gains, tuple):
        if len(gains) != model.nv:
            raise StateError(f"{name} has {len(gains)} numbers, and {model.name!r} has {model.nv} velocities")
        return np.array(gains)
    out = np.full(model.nv, gains)
    for joint, _, at in joints_of(model):
        if joint.type.name == "free":  # nothing drives a floating base
            out[at] = 0.0
    return out


@dataclass(frozen=True)
class CasadiController(AbstractController):
    """See `controller`."""

    digest: str
    function: Any = field(repr=False, compare=False)

    @property
    def uses_time(self) -> bool:
        return self.function.n_in() == 3

    def torque(self, model: Model, q: Array, v: Array, t: Scalar, inputs: dict[str, Array]) -> Array:
        return self.evaluate(model, q, v, t, ("tau", model.nv))

    def evaluate(self, model: Model, q: Array, v: Array, t: Scalar, wanted: tuple[str, int]) -> Array:
        """The function's value, which has this name and size."""
        f, (name, size) = self.function, wanted
        sizes = [model.nq, model.nv, 1][: f.n_in()]
        found = [f.numel_in(k) for k in range(f.n_in())]
        if found != sizes or f.n_out() != 1 or f.numel_out(0) != size:
            raise StateError(
                f"the controller {f.name()!r} takes {found} and gives {[f.numel_out(k) for k in range(f.n_out())]} "
                f"numbers; for {model.name!r} it must take q ({model.nq}), v ({model.nv}) and perhaps t (1), and give "
                f"{name} ({size})"
            )
        return casadi_import.evaluate(f, [q, v, vector(t)][: f.n_in()])[0]


def controller(function: Any) -> CasadiController:
    """A `casadi.Function` of (q, v) or (q, v, t) that returns tau (or controls), compiled into the step.

    function  returns nv joint forces, or as many controls as there are actuators
    returns   what `Simulation(controller=...)` and `simulate(controls=...)` take
    errors    `UnsupportedError`: not such a function

    >>> import casadi as ca
    >>> model = sarrus.zoo.chain(2)
    >>> q, v = ca.SX.sym("q", model.nq), ca.SX.sym("v", model.nv)
    >>> law = sarrus.controller(ca.Function("tau", [q, v], [-5.0 * ca.sin(q) - v]))
    >>> sarrus.simulate(model, controller=law, duration=0.01).torque("link_0_joint").shape
    (11,)
    """
    if not hasattr(function, "n_instructions") or function.n_in() not in (2, 3):
        raise UnsupportedError(f"a controller must be a casadi.Function of (q, v) or (q, v, t), got {function!r}")
    digest = hashlib.sha256(function.serialize().encode()).hexdigest()
    return CasadiController(digest, function)
