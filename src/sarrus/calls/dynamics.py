"""Forward dynamics by any method: which there are, and which one a model gets if nobody names one."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from sarrus.algorithms.tree.bias_forces import bias_forces
from sarrus.algorithms.tree.rnea import rnea
from sarrus.calls.defaults import default_dynamics, is_auto, pay, planned_dynamics
from sarrus.errors import check_name, unknown_name
from sarrus.mechanics.solvers.result import ConstrainedDynamicsResult
from sarrus.model.model import Model, check_is_model
from sarrus.model.per_model import per_model
from sarrus.planning.candidates import EMBEDDED, TREE, structural_method
from sarrus.registry.algorithm import Algorithm, AnyAlgorithm
from sarrus.registry.table import catalog, check_model, find
from sarrus.spatial.parameter import is_casadi
from sarrus.status import Status

_BALANCED = 1e-6  # of the forces on the joints


def methods() -> dict[str, AnyAlgorithm]:
    """Every method of forward dynamics, by name: `.cost`, `.supports`, `.summary`, `.references`.

    returns  algorithms by name

    >>> "lcaba" in sarrus.methods()
    True
    """
    return {name: x for name, x in catalog().items() if x.output_names[0] == "qdd" and x.family != "derivatives"}


def method_for(model: Model, method: str | AnyAlgorithm | None) -> str:
    """The method's name, or the default one; an error in words if there is none of that name, or not for this model."""
    if not (method is None or isinstance(method, (str, Algorithm))):
        raise unknown_name("method of forward dynamics", method, methods())
    answers = _answers(model)
    if method not in answers:
        answers[method] = _checked_method(model, structural_method(model) if method is None else method)
    return answers[method]


@per_model
def _answers(model: Model) -> dict[str | AnyAlgorithm | None, str]:
    """What `method_for` has said of this model: it is asked at every call."""
    return {}


def _checked_method(model: Model, method: str | AnyAlgorithm) -> str:
    name, known = method.name if isinstance(method, Algorithm) else method, methods()
    check_name("method of forward dynamics", name, known)
    check_model(known[name], model, strict=True)
    return name


def forward_dynamics(
    model: Model, q: Any, v: Any, tau: Any, method: str | AnyAlgorithm | None = None, **arguments: Any
) -> ConstrainedDynamicsResult:
    """Accelerations and constraint forces: M qdd + c = tau + J^T forces, subject to the model's constraints.

    method     one of `sarrus.methods()` or its name; "auto": the model's plan (`sarrus.plan`), which is made if
               necessary. Default: the plan if there is one; otherwise aba without constraints (ce_aba if all are
               embedded), constrained_aba for constraints of links against the world, lcaba for loops, prox_bbo if the
               centre of mass is constrained
    arguments  further inputs and options of the method: `k`, `external_forces`, `weight`, ...

    Arrays are (n,) or (B, n). If a method does not support the model, an error explains why.

    q          (nq,) or (B, nq)
    v, tau     (nv,) or (B, nv): rad/s, m/s; N m, N
    returns    `qdd`, `forces`, `residual`, `iterations`, `status`, `fallback`, as `lcaba` does
    errors     `StateError`: arrays of the wrong shape, or not finite; `UnknownNameError`: no such method;
               `UnsupportedError`: the method does not support this model

    >>> robot = sarrus.zoo.chain_welded_tip(7)
    >>> q, v = sarrus.random_state(robot, rng=0)
    >>> sarrus.Status(sarrus.forward_dynamics(robot, q, v, np.zeros(7)).status).words
    'ok'
    """
    check_is_model("forward_dynamics", model)
    if is_auto(method):
        planned_dynamics(model)
        method = None
    if method is None:
        default, start = default_dynamics(model, arguments), time.perf_counter()
        name = default.method if default.planned else method_for(model, None)
        result = find(name)(model, q, v, tau, **(default.options | arguments))
        if not default.planned:
            pay(model, time.perf_counter() - start)
    else:
        name = method_for(model, method)
        result = find(name)(model, q, v, tau, **arguments)
    if name == TREE:
        external = arguments.get("external_forces")
        return _without_forces(result, _balance(model, q, v, tau, result, external))
    return _without_forces(result.qdd, result.status) if name == EMBEDDED else result


def _balance(model: Model, q: Any, v: Any, tau: Any, qdd: Any, external_forces: Any) -> Any:
    """The status of a tree's accelerations: do they give the torques back? Where M is singular they do not."""
    if any(is_casadi(x) for x in (q, v, tau, qdd)) or not model.is_numeric:
        return None
    finite = np.isfinite(qdd).all(axis=-1)
    more = () if external_forces is None else (external_forces,)  # (arrays by position: that is quicker)
    back = rnea(model, q, v, np.where(finite[..., None], qdd, 0.0), *more)
    still = bias_forces(model, q, v)
    with np.errstate(all="ignore"):
        off = np.abs(back - tau).max(axis=-1, initial=0.0)
        scale = 1.0 + np.abs(tau).max(axis=-1, initial=0.0) + np.abs(still).max(axis=-1, initial=0.0)
        # Joints on light links feel the rounding of what heavy ones carry.
        balanced = off <= _BALANCED * scale
    return np.where(finite, np.where(balanced, Status.OK, Status.NOT_DETERMINED), Status.NOT_FINITE)[()]


def _without_forces(qdd: Any, status: Any = None) -> ConstrainedDynamicsResult:
    """The result of a method that knows no rows."""
    batch = np.shape(qdd)[:-1]
    empty = np.zeros((*batch, 0))
    none = np.zeros(batch)
    return ConstrainedDynamicsResult(qdd, empty, empty, none, none if status is None else status, none)
