"""What is the matter with a robot's constraints: closure, rank, redundancy, conflict, mobility, conditioning.

Plain dense NumPy, one state at a time: this is for people, not for control loops.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from sarrus.algorithms.position.closure import closure
from sarrus.algorithms.tree.crba import crba
from sarrus.diagnosis.report import ASSEMBLED, ConstraintDiagnosis, Diagnosis
from sarrus.errors import StateError, UnsupportedError
from sarrus.mechanics.bodies import joint_kinematics, outward_motion
from sarrus.mechanics.constraints.rows import constraint_rows
from sarrus.model.bodies import WORLD, WORLD_NAME
from sarrus.model.constraints import Constraint, Kind
from sarrus.model.model import Model
from sarrus.model.state import (
    as_state_array,
    check_configuration,
    difference,
    integrate,
    outside_limits,
    starting_configuration,
)
from sarrus.model.tree import tree_of
from sarrus.simulation.projection import Projector, with_position_constraints
from sarrus.simulation.random_states import project_within_limits
from sarrus.spatial.arrays import Array

_CONFLICT = 1e-8
_CONTRACTION = 100.0  # mu times the smallest eigenvalue: each proximal iteration then gains two digits
_RANK = 1e-7  # of the largest singular value; rows have unit length
_LINKED = 1e-6  # of an element of a projector: what is smaller is rounding


def diagnose(model: Model, q: Any = None, v: Any = None, k: Any = None) -> Diagnosis:
    """Closure error, rank, redundant and conflicting rows, mobility, conditioning and a suggested penalty of all active
    constraints.

    q        a configuration; default: `model.home`, or neutral, moved into the joint limits. Open loops are closed
             first, by projection
    v        (nv,) for the search for conflicts; default: zero
    k        accelerations declared as "input", for that search; default: zero
    returns  a `Diagnosis`; `print` describes it in words
    errors   `UnsupportedError`: a model with symbols; `StateError`: arrays of the wrong shape

    >>> sarrus.diagnose(sarrus.zoo.four_bar()).mobility
    1
    """
    if not model.is_numeric:
        raise UnsupportedError("diagnose: the model contains symbols; give them values first")
    model = model.spanning  # what is embedded must hold as well
    given = starting_configuration(model) if q is None else check_configuration(model, q)
    if given.ndim != 1:
        raise StateError(f"diagnose takes one configuration of shape ({model.nq},), got {given.shape}")
    spans = model.row_spans
    at_given = closure(model, given).position
    error = largest(at_given)
    here, remaining = project(model, given) if error > ASSEMBLED else Projection(given, error)
    closed = remaining <= ASSEMBLED
    J = closure(model, here).jacobian
    inverse_root = _inverse_root(model, here)
    A = J @ inverse_root  # rows in the kinetic metric: A A^T = J M^-1 J^T
    unit = unit_rows(A)
    sigma = singular_values(unit)
    rank = rank_of(sigma)
    kept = independent_rows(unit, rank)
    conflict = _conflict(model, here, v, k, J, rank)
    eigenvalues = np.linalg.eigvalsh(A @ A.T)[::-1][:rank] if rank else np.ones(1)
    names = [c.name for c in model.active_constraints]
    return Diagnosis(
        model=model.name, q=here, assembled=closed, projected=here is not given,
        moved=largest(difference(model, given, here)), error=error, remaining=remaining,
        outside_limits=tuple(np.array(model.joint_names)[outside_limits(model, here)].tolist()),
        constraints=tuple(
            ConstraintDiagnosis(
                c.name, c.in_words()[0], _between(model, c), c.size, rank_of(singular_values(unit[s])),
                int(np.sum(~kept[s])), largest(at_given[s]), largest(conflict[s]),
            )
            for c, s in zip(model.active_constraints, spans, strict=True)
        ),
        nv=model.nv, rows=len(J), rank=rank,
        generic_rank=max(rank, _rank_near(model, here, A, inverse_root) if closed else 0),
        gap=gap(sigma, rank), singular_values=sigma, mobility=model.nv - rank,
        condition=float(eigenvalues[0] / eigenvalues[-1]), suggested_mu=float(_CONTRACTION / eigenvalues[-1]),
        groups=tuple(tuple(names[i] for i in group) for group in groups(unit, rank, spans)),
    )  # fmt: skip


class Projection(NamedTuple):
    """A configuration, and the closure error that remains there."""

    q: Array
    error: float


def project(model: Model, q: Array) -> Projection:
    """A configuration near q at which all constraints hold, within the joints' limits if there is one."""
    rng = np.random.default_rng(0)
    aside = integrate(model, q, 0.1 * rng.normal(size=model.nv))  # where q is singular, nothing pulls
    close = Projector(with_position_constraints(model))
    best = Projection(q, largest(closure(model, q).position))
    for start in (q, aside):
        (found,), (error,) = project_within_limits(close, start[None])
        best = min(best, Projection(found, float(error)), key=lambda p: p.error)
        if best.error <= ASSEMBLED:
            break
    return best


def _inverse_root(model: Model, q: Array) -> Array:
    """W (nv, nv) with W W^T = M^-1; directions without inertia (ill-posed models) count as very light ones."""
    d, V = np.linalg.eigh(crba(model, q))
    return V / np.sqrt(np.maximum(d, 1e-12 * d.max(initial=1e-300)))


def _rank_near(model: Model, q: Array, A: Array, inverse_root: Array) -> int:
    """The rank at an assembled configuration a little away, along motions that the constraints allow.

    0 where there is none: no constraint, no motion, or none was found.
    """
    if not len(A):
        return 0
    free = np.linalg.svd(A)[2][rank_of(singular_values(unit_rows(A))) :]
    if not len(free):
        return 0
    step = inverse_root @ (free.T @ np.random.default_rng(0).normal(size=len(free)))
    near = project(model, integrate(model, q, 0.05 * step / max(largest(step), 1e-300)))
    if near.error > ASSEMBLED:
        return 0
    elsewhere = closure(model, near.q).jacobian @ _inverse_root(model, near.q)
    return rank_of(singular_values(unit_rows(elsewhere)))


def _conflict(model: Model, q: Array, v: Any, k: Any, J: Array, rank: int) -> Array:
    """What is left of the demanded accelerations after the motion that meets them best (least squares)."""
    if not len(J):
        return np.zeros(0)
    speed = np.zeros(model.nv) if v is None else as_state_array("v", v, model.nv)
    inputs = np.zeros(model.n_input_rows) if k is None else as_state_array("k", k, model.n_input_rows)
    joints = joint_kinematics(tree_of(model), q, speed)
    rows = constraint_rows(model, joints, outward_motion(tree_of(model), joints), q, speed, inputs, "diagnose")
    demanded = np.concatenate([r.declared_residual(r.k) for r in rows]).astype(float)
    range_ = np.linalg.svd(J, full_matrices=False)[0][:, :rank]
    left = demanded - range_ @ (range_.T @ demanded)
    return np.where(np.abs(left) > _CONFLICT * (1.0 + largest(demanded)), np.abs(left), 0.0)


def _between(model: Model, constraint: Constraint) -> str:
    """The bodies (or joints) that a constraint holds."""
    if constraint.joints:
        return ", ".join(dict.fromkeys(constraint.joints))
    bodies = [model.frame(name).body for name in constraint.frames]
    if constraint.kind is Kind.LINK:
        bodies.append(WORLD)
    return " - ".join(WORLD_NAME if i == WORLD else model.bodies[i].name for i in bodies) or "all bodies"


def unit_rows(A: Array) -> Array:
    """A with rows of length one; rows that are rounding are zero."""
    length = np.linalg.norm(A, axis=1, keepdims=True)
    return np.divide(A, length, out=np.zeros_like(A), where=length > 1e-12 * max(largest(length), 1e-300))


def singular_values(A: Array) -> Array:
    return np.linalg.svd(A, compute_uv=False)


def rank_of(sigma: Array) -> int:
    """The rank of what has these singular values."""
    return int(np.sum(sigma > _RANK * sigma[0])) if len(sigma) and sigma[0] > 0.0 else 0


def gap(sigma: Array, rank: int) -> float:
    """The smallest singular value that counts over the largest that does not, which is rounding, at least."""
    return float(sigma[rank - 1] / max(sigma[rank], 1e-16)) if 0 < rank < len(sigma) else np.inf


def independent_rows(unit: Array, rank: int) -> Array:
    """Which rows to keep: the first ones that span all (greedy; the last declared are dropped first)."""
    kept = np.zeros(len(unit), dtype=bool)
    basis = np.zeros((0, unit.shape[1]))
    for i, row in enumerate(unit):
        if kept.sum() == rank:
            break
        for _ in range(2):  # twice is enough
            row = row - basis.T @ (basis @ row)
        left = float(np.linalg.norm(row))
        if left > _RANK:
            kept[i] = True
            basis = np.vstack([basis, row / left])
    return kept


def groups(unit: Array, rank: int, spans: Sequence[slice]) -> list[list[int]]:
    """Which of the spans of rows depend on each other.

    They are blocks of the projector onto the combinations of rows that vanish.
    """
    null = np.linalg.svd(unit)[0][:, rank:] if len(unit) else np.zeros((0, 0))
    projector = null @ null.T
    found: list[set[int]] = []
    for s in spans:
        members = {j for j, t in enumerate(spans) if largest(projector[s, t]) > _LINKED}
        if members:
            touching = [g for g in found if g & members]
            found = [g for g in found if g not in touching] + [members.union(*touching)]
    return [sorted(g) for g in sorted(found, key=min)]


def largest(x: Array) -> float:
    return float(np.max(np.abs(x))) if np.size(x) else 0.0
