"""What is the matter with a robot's constraints: closure, rank, redundancy, conflict, mobility, conditioning.

Plain dense NumPy, one state at a time: this is for people, not for control loops.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from sarrus.algorithms.position.closure import closure as _closure
from sarrus.algorithms.tree.crba import crba as _crba
from sarrus.calls.eager import eager
from sarrus.errors import StateError, UnsupportedError
from sarrus.mechanics.bodies.motion import joint_kinematics, outward_motion
from sarrus.mechanics.constraints.all_rows import all_rows
from sarrus.model.bodies import WORLD, WORLD_NAME
from sarrus.model.constraints import CenterOfMass, Constraint, Contact, Coupling, Distance, LinkConstraint, LoopClosure
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

_ASSEMBLED = 1e-7  # metres or radians: what files with seven digits leave open
_RANK = 1e-7  # of the largest singular value; rows have unit length in the kinetic metric
_CONFLICT = 1e-8
_CONTRACTION = 100.0  # mu times the smallest eigenvalue: each proximal iteration then gains two digits

closure, crba = eager(_closure), eager(_crba)


@dataclass(frozen=True)
class ConstraintDiagnosis:
    """One constraint among the others."""

    name: str
    kind: str
    between: str  # bodies, or joints
    rows: int
    rank: int  # of its rows alone
    redundant: int  # rows that depend on constraints declared before it, or on its own others
    error: float  # metres or radians: how far from closed, at the configuration that was given
    conflict: float  # acceleration that no motion gives; 0: none


@dataclass(frozen=True)
class Diagnosis:
    """What `diagnose` found. `str()` says it in words."""

    model: str
    q: Array  # (nq,) where rank and all that follows were determined
    assembled: bool  # whether every loop is closed there
    projected: bool  # whether it is another configuration than the one that was given
    moved: float  # the largest change of a joint, in radians or metres
    error: float  # closure error at the configuration that was given
    remaining: float  # ... and at q
    outside_limits: tuple[str, ...]  # joints that are outside their limits at q
    constraints: tuple[ConstraintDiagnosis, ...]
    nv: int
    rows: int
    rank: int
    generic_rank: int  # at a configuration near by
    gap: float  # smallest singular value that counts over the largest that does not; inf: none is left out
    singular_values: Array  # of the rows, scaled to unit length in the kinetic metric
    mobility: int
    condition: float  # of J M^-1 J^T, on its range
    suggested_mu: float  # penalty (LCABA's convention: large is stiff) that gains two digits per iteration
    groups: tuple[tuple[str, ...], ...]  # constraints that share a redundancy

    @property
    def redundant(self) -> dict[str, int]:
        """Redundant rows by constraint: they can be dropped without losing rank."""
        return {c.name: c.redundant for c in self.constraints if c.redundant}

    @property
    def in_conflict(self) -> dict[str, float]:
        """Accelerations that contradict other constraints, by constraint."""
        return {c.name: c.conflict for c in self.constraints if c.conflict > 0.0}

    @property
    def is_singular(self) -> bool:
        """Whether rows are dependent here that are not elsewhere."""
        return self.rank < self.generic_rank

    @property
    def ok(self) -> bool:
        """Whether loops close and nothing contradicts; redundancy is no fault."""
        return self.assembled and not self.in_conflict

    def as_dict(self) -> dict[str, Any]:
        """Plain numbers, lists and strings, for JSON (no infinities: None)."""
        found = asdict(self) | {"redundant": self.redundant, "in_conflict": self.in_conflict, "ok": self.ok}
        found |= {"singular": self.is_singular, "q": self.q.tolist(), "singular_values": self.singular_values.tolist()}
        return {key: None if isinstance(x, float) and not np.isfinite(x) else x for key, x in found.items()}

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def lines(self) -> list[str]:
        """The diagnosis in words."""
        if not self.constraints:
            return [f"{self.model}: no constraints; mobility {self.nv}"]
        said = [
            f"{self.model}: {_counted(len(self.constraints), 'constraint')}, {_counted(self.rows, 'row')}, "
            f"rank {self.rank}, mobility {self.mobility} (nv {self.nv})"
        ]
        said.append(self._closure_in_words())
        if self.outside_limits:
            said.append(f"joints outside their limits there: {_listed(self.outside_limits)}")
        if self.rows == self.rank:
            said.append("rank: full, no row is redundant")
        else:
            dropped = ", ".join(
                f"{c.redundant} of {c.rows} of {c.name} ({c.between})" for c in self.constraints if c.redundant
            )
            said.append(
                f"redundant: {_counted(self.rows - self.rank, 'row')} can be dropped without losing rank: {dropped}"
            )
            for group in self.groups:
                alone = (
                    "by itself: its rows depend on each other"
                    if len(group) == 1
                    else "together: their rows depend on each other"
                )
                said.append(f"  {', '.join(group)}: {alone}")
        if np.isfinite(self.gap):
            said.append(f"gap: the singular values that count are at least {self.gap:.1e} times those that do not")
        if self.is_singular:
            said.append(f"singular configuration: rank {self.rank} here, {self.generic_rank} near by")
        for name, size in self.in_conflict.items():
            said.append(
                f"conflict: {name} asks for an acceleration that the others forbid (off by {size:.3g}): "
                f"least squares at best"
            )
        said.append(
            f"conditioning: {self.condition:.3g} (of J M^-1 J^T, on its range); suggested mu: {self.suggested_mu:.2g}"
        )
        return said

    def _closure_in_words(self) -> str:
        if self.error <= _ASSEMBLED:
            return f"closure: assembled, error {self.error:.1e}"
        worst = max(self.constraints, key=lambda c: c.error)
        given = f"closure: the given configuration is not assembled, error {self.error:.3g} ({worst.name})"
        if self.assembled:
            return (
                f"{given}; an assembled configuration was found by projection, joints moved by up to {self.moved:.3g}"
            )
        return f"{given}; projection found none near by, error {self.remaining:.3g} remains"


def diagnose(model: Model, q: Any = None, v: Any = None, k: Any = None) -> Diagnosis:
    """Closure error, rank, redundant and conflicting rows, mobility, conditioning and a penalty, of active constraints.

    q  a configuration; default: `model.home`, or neutral, moved into the joints' limits. Open loops are closed
       first, by projection
    v  velocity, and k accelerations declared as "input", for the search for conflicts; default: zero
    """
    if not model.is_numeric:
        raise UnsupportedError("diagnose: the model has symbols in it; give them numbers first")
    model = model.spanning  # what is embedded must hold as well
    given = starting_configuration(model) if q is None else check_configuration(model, q)
    if given.ndim != 1:
        raise StateError(f"diagnose takes one configuration of shape ({model.nq},), got {given.shape}")
    spans = _spans(model)
    at_given = closure_errors(model, given)
    error = _largest(at_given)
    projection = project(model, given) if error > _ASSEMBLED else Projection(given, error)
    here, closed = projection.q, projection.error <= _ASSEMBLED
    J = closure(model, here).jacobian
    inverse_root = _inverse_root(model, here)
    A = J @ inverse_root  # rows in the kinetic metric: A A^T = J M^-1 J^T
    unit = _unit_rows(A)
    sigma = np.linalg.svd(unit, compute_uv=False)
    rank = _rank(sigma)
    kept = _independent_rows(unit, rank)
    conflict = _conflict(model, here, v, k, J, A, rank)
    eigenvalues = np.linalg.eigvalsh(A @ A.T)[::-1][:rank] if rank else np.ones(1)
    return Diagnosis(
        model=model.name, q=here, assembled=closed, projected=here is not given,
        moved=_largest(difference(model, given, here)), error=error, remaining=projection.error,
        outside_limits=_outside_limits(model, here),
        constraints=tuple(
            ConstraintDiagnosis(
                c.name, _kind(c), _between(model, c), c.size, _rank(np.linalg.svd(unit[s], compute_uv=False)),
                int(np.sum(~kept[s])), _largest(at_given[s]), _largest(conflict[s]),
            )
            for c, s in zip(model.active_constraints, spans, strict=True)
        ),
        nv=model.nv, rows=len(J), rank=rank,
        generic_rank=max(rank, _rank_near(model, here, J, inverse_root) if closed else 0),
        gap=_gap(sigma, rank), singular_values=sigma, mobility=model.nv - rank,
        condition=float(eigenvalues[0] / eigenvalues[-1]), suggested_mu=float(_CONTRACTION / eigenvalues[-1]),
        groups=_groups(model, unit, rank, spans),
    )  # fmt: skip


# --- configurations ----------------------------------------------------------------------------------


class Projection(NamedTuple):
    """A configuration, and the closure error that remains there."""

    q: Array
    error: float


def closure_errors(model: Model, q: Array) -> Array:
    """In metres and radians: angles, since a sine is also zero after half a turn."""
    return closure(model, q).position


def project(model: Model, q: Array) -> Projection:
    """A configuration near q at which all constraints hold, within the joints' limits if there is one."""
    rng = np.random.default_rng(0)
    aside = integrate(model, q, 0.1 * rng.normal(size=model.nv))  # where q is singular, nothing pulls
    close = Projector(with_position_constraints(model))
    best = Projection(q, _largest(closure_errors(model, q)))
    for start in (q, aside):
        (found,), (error,) = project_within_limits(close, start[None])
        best = min(best, Projection(found, float(error)), key=lambda p: p.error)
        if best.error <= _ASSEMBLED:
            break
    return best


def _outside_limits(model: Model, q: Array) -> tuple[str, ...]:
    return tuple(name for name, out in zip(model.joint_names, outside_limits(model, q), strict=True) if out)


# --- rank --------------------------------------------------------------------------------------------


def _inverse_root(model: Model, q: Array) -> Array:
    """W (nv, nv) with W W^T = M^-1; directions without inertia (ill-posed models) count as very light ones."""
    d, V = np.linalg.eigh(crba(model, q))
    return V / np.sqrt(np.maximum(d, 1e-12 * max(d[-1], 1e-300)))


def _unit_rows(A: Array) -> Array:
    length = np.linalg.norm(A, axis=1, keepdims=True)
    return np.divide(A, length, out=np.zeros_like(A), where=length > 1e-12 * max(_largest(length), 1e-300))


def _rank(sigma: Array) -> int:
    return int(np.sum(sigma > _RANK * sigma[0])) if len(sigma) and sigma[0] > 0.0 else 0


def _gap(sigma: Array, rank: int) -> float:
    """The rows' length is one: what is lost is measured against rounding, at least."""
    return float(sigma[rank - 1] / max(sigma[rank], 1e-16)) if 0 < rank < len(sigma) else np.inf


def _independent_rows(unit: Array, rank: int) -> Array:
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


def _groups(model: Model, unit: Array, rank: int, spans: list[slice]) -> tuple[tuple[str, ...], ...]:
    """Constraints that depend on each other: blocks of the projector onto the combinations of rows that vanish."""
    U = np.linalg.svd(unit)[0] if len(unit) else np.zeros((0, 0))
    null = U[:, rank:]
    projector = null @ null.T
    linked = [{j for j, t in enumerate(spans) if _largest(projector[s, t]) > 1e-6} for s in spans]
    groups: list[set[int]] = []
    for members in (x for x in linked if x):
        touching = [g for g in groups if g & members]
        groups = [g for g in groups if not g & members] + [set().union(members, *touching)]
    names = [c.name for c in model.active_constraints]
    return tuple(tuple(names[i] for i in sorted(g)) for g in sorted(groups, key=min))


def _rank_near(model: Model, q: Array, J: Array, inverse_root: Array) -> int:
    """The rank at an assembled configuration a little away, along motions that the constraints allow."""
    if not len(J):
        return 0
    A = J @ inverse_root
    V = np.linalg.svd(A)[2]
    free = V[_rank(np.linalg.svd(_unit_rows(A), compute_uv=False)) :]
    if not len(free):
        return 0
    step = inverse_root @ (free.T @ np.random.default_rng(0).normal(size=len(free)))
    near = project(model, integrate(model, q, 0.05 * step / max(_largest(step), 1e-300)))
    if near.error > _ASSEMBLED:
        return 0
    elsewhere = closure(model, near.q).jacobian @ _inverse_root(model, near.q)
    return _rank(np.linalg.svd(_unit_rows(elsewhere), compute_uv=False))


def _conflict(model: Model, q: Array, v: Any, k: Any, J: Array, A: Array, rank: int) -> Array:
    """What is left of the demanded accelerations after the motion that meets them best (least squares)."""
    if not len(J):
        return np.zeros(0)
    speed = np.zeros(model.nv) if v is None else as_state_array("v", v, model.nv)
    inputs = np.zeros(model.n_input_rows) if k is None else as_state_array("k", k, model.n_input_rows)
    joints = joint_kinematics(tree_of(model), q, speed)
    rows = all_rows(model, joints, outward_motion(tree_of(model), joints), q, speed, inputs, "diagnose")
    demanded = np.concatenate([r.declared_residual(r.k) for r in rows]).astype(float)
    range_ = np.linalg.svd(J, full_matrices=False)[0][:, :rank]
    left = demanded - range_ @ (range_.T @ demanded)
    return np.where(np.abs(left) > _CONFLICT * (1.0 + _largest(demanded)), np.abs(left), 0.0)


# --- constraints -------------------------------------------------------------------------------------


def _spans(model: Model) -> list[slice]:
    ends = np.cumsum([0, *(c.size for c in model.active_constraints)])
    return [slice(int(a), int(b)) for a, b in pairwise(ends)]


def _kind(constraint: Constraint) -> str:
    if isinstance(constraint, LoopClosure):
        return constraint.joint
    if isinstance(constraint, Contact):
        return f"contact {constraint.dim}D"
    if isinstance(constraint, CenterOfMass):
        return f"centre of mass, {constraint.axes}"
    return "coupling" if isinstance(constraint, Coupling) else type(constraint).__name__.lower()


def _between(model: Model, constraint: Constraint) -> str:
    """The bodies (or joints) that a constraint holds."""
    if isinstance(constraint, Coupling):
        return ", ".join(
            dict.fromkeys(
                [*(name for name, _ in constraint.ratios), *([constraint.driver] if constraint.driver else [])]
            )
        )
    if isinstance(constraint, CenterOfMass):
        return "all bodies"
    names: tuple[str, ...] = ()
    if isinstance(constraint, LinkConstraint):
        names = (constraint.frame, WORLD_NAME)
    elif isinstance(constraint, (LoopClosure, Distance)):
        names = (constraint.frame_a, constraint.frame_b)
    bodies = [model.frame(name).body for name in names]
    return " - ".join(WORLD_NAME if i == WORLD else model.bodies[i].name for i in bodies)


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _listed(names: tuple[str, ...], most: int = 8) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def _largest(x: Array) -> float:
    return float(np.max(np.abs(x))) if np.size(x) else 0.0
