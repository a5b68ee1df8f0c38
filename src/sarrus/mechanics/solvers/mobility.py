"""How easily a mechanism's constraints move: what pivots are compared with, and the penalty mu is chosen from."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from sarrus.errors import UnsupportedError
from sarrus.mechanics.constraints.rows import Rows
from sarrus.mechanics.mechanism import mechanism, rows_of
from sarrus.mechanics.solvers.loop_delassus import carry_rows
from sarrus.mechanics.solvers.propagators import Propagator, propagators
from sarrus.model.model import Model
from sarrus.model.per_model import per_model
from sarrus.model.state import random_state
from sarrus.model.values import typical_values
from sarrus.spatial.arrays import Array

_SAMPLES = 3
_IMMOBILE = 1e-9  # a row with so much less mobility than others of its kind has none: what is left is rounding
_LEAST = 1.0  # of the mobility of the whole robot as one lump: less is rounding, too


@per_model
def mobilities(model: Model) -> list[Array]:
    """w per row of every constraint: the mean diagonal element of J M^-1 J^T over its rows of one kind.

    The kinds are linear and angular rows: forces and moments have different units. w is that of the tree, a mean over
    a few random configurations, and hence a constant of the mechanism: mu decides how fast the iterations converge,
    not what they converge to. A row that nothing in the tree can move (w = 0, out of the plane of a planar mechanism)
    takes the w of the others of its kind, or, where none moves, that of the whole robot as one lump.
    """
    if not model.is_numeric:
        typical = typical_values(model)
        if typical is None:
            raise UnsupportedError(
                f"model {model.name!r} contains symbols, and the default mu cannot be computed from them. Pass "
                "mu=... (large is stiff, e.g. 1e4)"
            )
        return mobilities(typical)
    return _measured(model).rows


@per_model
def typical_mobilities(model: Model) -> Array:
    """(m,) w of all rows; of a model with symbols and no typical values of them, 1."""
    if not model.is_numeric and not model.typical:
        return np.ones(model.n_rows)
    parts = mobilities(model)
    return np.concatenate(parts) if parts else np.zeros(0)


@per_model
def carried_mobilities(model: Model) -> list[float]:
    """Per node: how easily the rows on it and beyond it would move if all joints beyond it were locked; all in all.

    A row k that is eliminated beyond a node adds k^T k / d to the node's inertia: beside what there was, that is as
    much as this mobility is beside d. Any direction counts as the easiest one, since rows turn with the joints. A mean
    over a few random configurations; of a model with symbols, 1.
    """
    if not model.is_numeric:
        return [1.0] * len(mechanism(model, random_state(model, 0)[0]).nodes)
    samples = [_sample(model, seed) for seed in range(_SAMPLES)]
    found = np.mean([_carried(sample, np.ones(model.n_rows)) for sample in samples], axis=0)
    return [_rounded(x) for x in found]


@per_model
def leverage(model: Model) -> float:
    """How much larger, beside a body's own inertia, what holds the rows is than beside what the rows move; at most.

    What is added to inertias for the rows is carried on to all bodies between them and the root. Long links (of 200 m)
    carry it far: beside their own inertias it is then by so much more, and so is what rounding leaves of these.
    """
    if not model.is_numeric:
        typical = typical_values(model)
        return 1.0 if typical is None else leverage(typical)
    return _measured(model).leverage


class _Measured(NamedTuple):
    """What is known of a mechanism from a few random configurations."""

    rows: list[Array]  # per constraint: (size,) w
    leverage: float  # of the first of them: only its order of magnitude matters


@per_model
def _measured(model: Model) -> _Measured:
    samples = [_sample(model, seed) for seed in range(_SAMPLES)]
    w = _of_rows(model, samples)
    relative = _carried(samples[0], np.concatenate(w) if w else np.zeros(0))
    return _Measured(w, _rounded(max(relative, default=0.0)))


def _of_rows(model: Model, samples: list[_Sample]) -> list[Array]:
    """w per row of every constraint."""
    kinds_of = _kinds(samples[0].rows)
    found = [_mobility(sample, kinds_of) for sample in samples]
    mobility = {key: _rounded(np.mean([of_one[key] for of_one in found])) for key in found[0]}
    lump = {"linear": 1.0 / float(model.mass or 1.0), "angular": 1.0 / (_rotational(model) or 1.0)}
    usual = {
        kind: max(_LEAST * lump[kind], *(w for (_, other), w in mobility.items() if other == kind))
        for _, kind in mobility
    }
    out = []
    for number, kinds in enumerate(kinds_of):
        w = [mobility[number, kind] for kind in kinds]
        moves = [x > _IMMOBILE * usual[kind] for x, kind in zip(w, kinds, strict=True)]
        chosen = [x if yes else usual[kind] for x, yes, kind in zip(w, moves, kinds, strict=True)]
        out.append(np.array(chosen))
    return out


def _rounded(x: Any) -> float:
    """To nine digits, which are the same on every machine; what is measured has no more than one or two that matter."""
    return float(f"{x:.9g}")


def _carried(sample: _Sample, w: Array) -> list[float]:
    """Per node: how easily the rows on it and beyond it would move if all joints beyond it were locked, relative to
    w of each row; all in all.
    """
    gram = [np.zeros((len(part.S), len(part.S))) for part in sample.parts]
    for r in sample.rows:
        for block in r.blocks:
            gram[block.node] += block.K.T @ (block.K / w[r.span, None])
    for i, part in reversed(list(enumerate(sample.parts))):
        if part.node.parent >= 0 and gram[i].any():
            gram[part.node.parent] += part.node.X.congruence(gram[i])
    # linear and angular apart, as they have different units
    apart = [
        [x.reshape(-1, 3).sum(axis=1) for x in both]
        for both in zip(_mobility_of_nodes(sample.parts), map(np.diag, gram), strict=True)
    ]
    return [float(mobile @ long) for mobile, long in apart]


def _rotational(model: Model) -> float:
    """The robot's moments of inertia, all in all: a scale for what turns."""
    armature = sum(float(np.sum(body.joint.armature)) for body in model.bodies)
    return armature + sum(float(np.trace(body.inertia.Io)) for body in model.bodies)


def _mobility(sample: _Sample, kinds_of: list[list[str]]) -> dict[tuple[int, str], float]:
    """The mean of J M^-1 J^T over the diagonal elements of each constraint's linear and of its angular rows."""
    diagonal = carry_rows(sample.parts, sample.rows, sample.dtype).diagonal()
    out = {}
    for number, (r, kinds) in enumerate(zip(sample.rows, kinds_of, strict=True)):
        w = diagonal[r.span]
        for kind in set(kinds):
            out[number, kind] = float(np.mean([x for x, other in zip(w, kinds, strict=True) if other == kind]))
    return out


def _kinds(rows: list[Rows]) -> list[list[str]]:
    """Per constraint and row, "linear" or "angular": whether the row's matrix has a linear part on some body."""
    linear = [[any(block.K[x, :3].any() for block in r.blocks) for x in range(len(r.k))] for r in rows]
    return [["linear" if x else "angular" for x in of_one] for of_one in linear]


class _Sample(NamedTuple):
    """A mechanism at some configuration."""

    rows: list[Rows]
    parts: list[Propagator]
    dtype: np.dtype


def _sample(model: Model, seed: int) -> _Sample:
    at = mechanism(model, random_state(model, seed)[0], tau=np.zeros(model.nv))
    rows = rows_of(at, np.zeros(model.n_input_rows), "default_mu")
    return _Sample(rows, propagators(at.nodes), at.q.dtype)


def _mobility_of_nodes(parts: list[Propagator]) -> list[Array]:
    response: list[Array] = []  # per node: its acceleration for a force on it, the inverse of its inertia as it is felt
    for part in parts:
        own, parent = part.acceleration(np.eye(len(part.S))), part.node.parent
        if parent >= 0:
            carries = part.inward(np.eye(len(part.S)))
            own = own + carries @ response[parent] @ carries.T
        response.append(own)
    return [x.diagonal() for x in response]
