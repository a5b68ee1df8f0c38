"""How easily a mechanism's constraints move: what pivots are compared with, and the penalty mu is chosen from."""

from __future__ import annotations

import numpy as np

from sarrus.errors import UnsupportedError
from sarrus.mechanics.constraints.rows import Rows
from sarrus.mechanics.mechanism import Mechanism, mechanism, rows_of
from sarrus.mechanics.solvers.loop_delassus import carry_rows
from sarrus.mechanics.solvers.propagators import propagators
from sarrus.model.model import Model
from sarrus.model.per_model import per_model
from sarrus.model.state import random_state
from sarrus.model.values import typical_values
from sarrus.spatial.arrays import Array
from sarrus.spatial.stacked import rows_T

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
    posed = [_posed(model, random_state(model, seed)[0]) for seed in range(_SAMPLES)]
    kinds_of = _kinds(posed[0][1])
    samples = [_mobility(*at, kinds_of) for at in posed]
    mobility = {key: float(np.mean([sample[key] for sample in samples])) for key in samples[0]}
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
    samples = [_carried(*_posed(model, random_state(model, seed)[0])) for seed in range(_SAMPLES)]
    return [float(x) for x in np.mean(samples, axis=0)]


def _carried(at: Mechanism, rows: list[Rows]) -> list[float]:
    parts = propagators(at.nodes)
    response: list[Array] = []  # per node: its acceleration for a force on it, the inverse of its inertia as it is felt
    for part in parts:
        own, parent = part.acceleration(np.eye(len(part.S))), part.node.parent
        if parent >= 0:
            half = np.stack([part.outward(column) for column in response[parent]])
            own = own + np.stack([part.outward(row) for row in half.T])
        response.append(own)
    K = [[block.K for r in rows for block in r.blocks if block.node == i] for i in range(len(parts))]
    carried = [0.0] * len(parts)
    for i, part in reversed(list(enumerate(parts))):
        if K[i]:
            rigid = np.concatenate(K[i])
            # linear and angular apart, as they have different units
            mobile, long = (x.reshape(-1, 3).sum(axis=1) for x in (response[i].diagonal(), np.sum(rigid**2, axis=0)))
            carried[i] = mobile @ long
            if part.node.parent >= 0:
                K[part.node.parent].append(rows_T(part.node.X, rigid))
    return carried


def _rotational(model: Model) -> float:
    """The robot's moments of inertia, all in all: a scale for what turns."""
    armature = sum(float(np.sum(body.joint.armature)) for body in model.bodies)
    return armature + sum(float(np.trace(body.inertia.Io)) for body in model.bodies)


def _mobility(at: Mechanism, rows: list[Rows], kinds_of: list[list[str]]) -> dict[tuple[int, str], float]:
    """The mean of J M^-1 J^T over the diagonal elements of each constraint's linear and of its angular rows."""
    diagonal = carry_rows(propagators(at.nodes), rows, at.q.dtype).diagonal()
    out = {}
    for number, (r, kinds) in enumerate(zip(rows, kinds_of, strict=True)):
        w = diagonal[r.span]
        for kind in set(kinds):
            out[number, kind] = float(np.mean([x for x, other in zip(w, kinds, strict=True) if other == kind]))
    return out


def _kinds(rows: list[Rows]) -> list[list[str]]:
    """Per constraint and row, "linear" or "angular": whether the row's matrix has a linear part on some body."""
    linear = [[any(block.K[x, :3].any() for block in r.blocks) for x in range(len(r.k))] for r in rows]
    return [["linear" if x else "angular" for x in of_one] for of_one in linear]


def _posed(model: Model, q: Array) -> tuple[Mechanism, list[Rows]]:
    at = mechanism(model, q, tau=np.zeros(model.nv))
    return at, rows_of(at, np.zeros(model.n_input_rows), "default_mu")
