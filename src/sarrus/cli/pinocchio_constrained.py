"""Pinocchio's constrained dynamics, their derivatives, and its Delassus matrices."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from sarrus.cli.peer import Peer
from sarrus.cli.pinocchio_twin import pinocchio_constraints
from sarrus.model.bodies import WORLD
from sarrus.model.constraints import Contact
from sarrus.model.model import Model
from sarrus.registry.table import find

_ACCURACY = 1e-8  # that the proximal methods are asked for
_MU = {"constraintDynamics": 1e-8, "lcaba": 1e-4}  # its regularisation, at which each is right to 1e-6


def of_constraints(twin: Any, model: Model, method: str, arrays: list[np.ndarray]) -> list[Peer | str]:
    """All that computes what this method does."""
    if method == "forward_dynamics_derivatives":
        return [_derivatives(twin, model, arrays)]
    if is_dynamics(method):
        return [_dynamics(twin, model, name, arrays) for name in _MU]
    if model.embedding is not None:
        return ["Pinocchio: it embeds no constraints, so its Delassus matrix is another one"]
    if method == "pv_osim_fast":
        return [_factored(twin, model, *arrays)]
    return [_matrix(twin, model, *arrays), _factored(twin, model, *arrays)]


def is_dynamics(method: str) -> bool:
    """Of constrained forward dynamics, derivatives among them."""
    return find(method).output_names[:2] == ("qdd", "forces")


def is_of_constraints(method: str) -> bool:
    """Whether it has a counterpart of the method where there are constraints."""
    return is_dynamics(method) or find(method).family == "delassus"


def _dynamics(twin: Any, model: Model, name: str, arrays: list[np.ndarray]) -> Peer | str:
    """To about our accuracy."""
    import pinocchio as pin

    if not hasattr(pin, name):
        return f"Pinocchio {pin.__version__} has no {name}"
    models, datas = pinocchio_constraints(model, twin)
    data = twin.createData()
    if name == "lcaba":
        pin.computeJointMinimalOrdering(twin, data, models)
    else:
        pin.initConstraintDynamics(twin, data, models, datas)
    settings = pin.ProximalSettings(_ACCURACY, _MU[name], 20)
    first = [np.ascontiguousarray(x[0]) for x in arrays[:3]]
    single = partial(getattr(pin, name), twin, data, *first, models, datas, settings)
    return Peer(f"Pinocchio {name}", single, None, {"qdd": np.array(single())}, agreement=1e-5)


def _derivatives(twin: Any, model: Model, arrays: list[np.ndarray]) -> Peer:
    """Of accelerations with respect to q, v and tau, at the solution of `constraintDynamics`."""
    import pinocchio as pin

    models, datas = pinocchio_constraints(model, twin)
    data, settings = twin.createData(), pin.ProximalSettings(1e-12, 0.0, 1)
    pin.initConstraintDynamics(twin, data, models, datas)
    first = [np.ascontiguousarray(x[0]) for x in arrays[:3]]

    def single() -> Any:
        pin.constraintDynamics(twin, data, *first, models, datas, settings)
        return pin.computeConstraintDynamicsDerivatives(twin, data, models, datas, settings)

    by = [np.array(part) for part in single()[:3]]
    results: dict[str, np.ndarray] = {"qdd": np.array(data.ddq)}
    results |= {f"dqdd_d{name}": part for name, part in zip(("q", "v", "tau"), by, strict=True)}
    return Peer("Pinocchio constraintDynamics and derivatives", single, None, results, agreement=1e-6)


def _matrix(twin: Any, model: Model, q: np.ndarray) -> Peer | str:
    """By sweeps over the tree."""
    import pinocchio as pin

    models, datas = pinocchio_constraints(model, twin)
    if any(WORLD not in (found.joint1_id - 1, found.joint2_id - 1) for found in models):
        # Measured on Pinocchio 4.1: it is not J M^-1 J^T with its own Jacobian.
        return "Pinocchio computeDelassusMatrix: it is wrong for loops between two moving bodies"
    single = partial(pin.computeDelassusMatrix, twin, twin.createData(), np.ascontiguousarray(q[0]), models, datas, 0.0)
    return Peer("Pinocchio computeDelassusMatrix", single, None, {"Lambda_inv": _as_ours(model, single())})


def _factored(twin: Any, model: Model, q: np.ndarray, rhs: np.ndarray | None = None) -> Peer | str:
    """From the sparse factors of the dynamics: the matrix, or what its inverse makes of a vector."""
    import pinocchio as pin

    name = "ConstraintCholeskyDecomposition"
    if not hasattr(pin, name):
        return f"Pinocchio {pin.__version__} has no {name}"
    models, datas = pinocchio_constraints(model, twin)
    data, first, pairs = twin.createData(), np.ascontiguousarray(q[0]), list(zip(models, datas, strict=True))

    def place() -> None:
        pin.crba(twin, data, first, pin.Convention.WORLD)
        for constraint, of in pairs:
            constraint.calc(twin, data, of)

    place()
    factors = pin.ConstraintCholeskyDecomposition(twin, data, models, datas)
    signs = _signs(model)
    given = None if rhs is None else signs * rhs[0]

    def single() -> Any:
        place()
        factors.compute(twin, data, models, datas, 0.0)
        delassus = factors.getDelassusOperatorCholeskyExpression()
        return delassus.matrix() if given is None else delassus.solve(given)

    found = single()
    first_result = {"Lambda_inv": _as_ours(model, found)} if given is None else {"solved": signs * np.ravel(found)}
    return Peer(f"Pinocchio {name}", single, None, first_result)


def _as_ours(model: Model, delassus: Any) -> np.ndarray:
    signs = _signs(model)
    return np.outer(signs, signs) * np.array(delassus)


def _signs(model: Model) -> np.ndarray:
    """Of Pinocchio's rows: those of loops are the other way round."""
    return np.concatenate([np.full(c.size, 1.0 if isinstance(c, Contact) else -1.0) for c in model.active_constraints])
