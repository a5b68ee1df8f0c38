"""The Delassus matrix of a model's constraints, damped, factored and inverted.

`delassus` is J M^-1 J^T: accelerations along the constraints' rows for unit forces along them, in the declared basis
and order. Its inverse is the operational-space inertia. Arrays `q` are (nq,) or (B, nq).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sarrus.calls.defaults import is_auto
from sarrus.codegen.tape.trace import trace
from sarrus.errors import StateError, UnsupportedError, check_name
from sarrus.model.model import Model
from sarrus.model.per_model import per_model
from sarrus.planning.cost import cost_of
from sarrus.registry.table import catalog, check_model, find, unknown_to
from sarrus.spatial.arrays import Array
from sarrus.spatial.parameter import is_casadi

_DEPENDENT = 1e-12  # of a row's own diagonal: what a dependent row leaves of it is rounding
_CANDIDATES = ("pv_osimr", "pv_osim", "ltl_osim")  # of these one is the cheapest, on every robot so far


def delassus_methods() -> tuple[str, ...]:
    """The algorithms that compute the Delassus matrix, as the registry has them."""
    return tuple(name for name, x in catalog().items() if x.outputs == "Lambda_inv")


@per_model
def default_delassus_method(model: Model) -> str:
    """The method that costs least on this robot, among those that take its constraints: counted, kinds weighted."""
    able = [m for m in _CANDIDATES if not unknown_to(find(m), model)]
    if not able:
        check_model(find(_CANDIDATES[0]), model)  # which says why
    return min(able, key=lambda m: cost_of(trace(model, m)).weighted)


def delassus(model: Model, q: Any, method: str | None = None, damping: float = 0.0) -> Any:
    """J M^-1 J^T (m, m) of the declared constraints, plus `damping` on its diagonal.

    The matrix is singular where rows depend on each other (redundant constraints, singular configurations);
    damping > 0 makes it positive definite.

    q        (nq,) or (B, nq)
    method   the name of an algorithm: ltl_osim, pv_osim, pv_osimr, efpa or kjr; default or "auto": the cheapest on this
             robot among those that support its constraints
    damping  added to the diagonal
    returns  (m, m) or (B, m, m): 1/kg, 1/(kg m^2)
    errors   `UnsupportedError`: no constraints, or some that the method does not support


    >>> robot = sarrus.zoo.chain_welded_tip(7)
    >>> sarrus.delassus(robot, sarrus.random_state(robot, rng=0)[0]).shape
    (6, 6)
    """
    method = default_delassus_method(model) if method is None or is_auto(method) else method
    check_name("method of delassus:", method, delassus_methods())
    if not (np.isfinite(damping) and damping >= 0.0):
        raise StateError(f"delassus: damping is {damping!r}: expected a finite number, zero or positive")
    Lambda_inv = find(method)(model, q)
    return Lambda_inv if damping == 0.0 else Lambda_inv + damping * np.eye(Lambda_inv.shape[-1])


def delassus_cholesky(model: Model, q: Any, method: str | None = None, damping: float = 0.0) -> Array:
    """Lower triangular L with L L^T = `delassus(...)`. If rows depend on each other, an error names them.

    q        (nq,) or (B, nq)
    method   the name of an algorithm: ltl_osim, pv_osim, pv_osimr, efpa or kjr; default: as in `delassus`
    damping  added to the diagonal
    returns  (m, m) or (B, m, m): roots of 1/kg and of 1/(kg m^2)
    errors   `UnsupportedError`: no constraints, or some that the method does not support;
             `StateError`: rows that depend on each other


    >>> robot = sarrus.zoo.chain_welded_tip(7)
    >>> sarrus.delassus_cholesky(robot, sarrus.random_state(robot, rng=0)[0]).shape
    (6, 6)
    """
    A = delassus(model, q, method, damping)
    if is_casadi(A):
        raise UnsupportedError("delassus_cholesky takes numbers; for symbols use casadi.chol(sarrus.delassus(...)).T")
    L = np.zeros_like(A)
    for j in range(A.shape[-1]):
        d = A[..., j, j] - (L[..., j, :j] ** 2).sum(axis=-1)
        _check_pivot(model, d, A[..., j, j], j)
        L[..., j, j] = np.sqrt(d)
        below = A[..., j + 1 :, j] - (L[..., j + 1 :, :j] @ L[..., j, :j, None])[..., 0]
        L[..., j + 1 :, j] = below / L[..., j, j, None]
    return L


def operational_space_inertia(model: Model, q: Any, method: str | None = None, damping: float = 0.0) -> Array:
    """Lambda = (J M^-1 J^T + damping)^-1 (m, m). If rows depend on each other, an error names them.

    q        (nq,) or (B, nq)
    method   the name of an algorithm: ltl_osim, pv_osim, pv_osimr, efpa or kjr; default: as in `delassus`
    damping  added to the diagonal
    returns  (m, m) or (B, m, m): kg, kg m^2
    errors   `UnsupportedError`: no constraints, or some that the method does not support;
             `StateError`: rows that depend on each other


    >>> robot = sarrus.zoo.chain_welded_tip(7)
    >>> sarrus.operational_space_inertia(robot, sarrus.random_state(robot, rng=0)[0]).shape
    (6, 6)
    """
    L = delassus_cholesky(model, q, method, damping)
    inverse = np.linalg.solve(L, np.broadcast_to(np.eye(L.shape[-1]), L.shape))
    return np.swapaxes(inverse, -1, -2) @ inverse


def _check_pivot(model: Model, d: Array, diagonal: Array, row: int) -> None:
    dependent = np.atleast_1d(d <= _DEPENDENT * diagonal)
    if not dependent.any():
        return
    name, local = [(c.name, k) for c in model.active_constraints for k in range(c.size)][row]
    where = f" in {int(dependent.sum())} of {len(dependent)} states (the first is {int(dependent.argmax())})"
    raise UnsupportedError(
        f"the Delassus matrix is singular{where if np.ndim(d) else ''}: row {local} of constraint {name!r} depends on "
        f"the rows before it. Drop redundant rows or pass damping > 0"
    )
