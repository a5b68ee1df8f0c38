"""The Delassus matrix of constraints of every type: rows on several nodes and relations between joints."""

from __future__ import annotations

import numpy as np

from sarrus.mechanics.constraints.rows import Block, Rows, turned
from sarrus.mechanics.mechanism import Mechanism, mechanism, rows_of
from sarrus.mechanics.solvers.propagators import Propagator
from sarrus.model.constraints import Kind
from sarrus.model.model import Model
from sarrus.spatial.arrays import Array
from sarrus.spatial.linear_algebra import ldl_congruence
from sarrus.spatial.stacked import rows_T
from sarrus.spatial.stages import stage


def has_loops(model: Model) -> bool:
    """Whether some active constraint is not of a link against the world."""
    return any(c.kind is not Kind.LINK for c in model.active_constraints)


def rows_at_rest(model: Model, q: Array, method: str) -> tuple[Mechanism, list[Rows]]:
    """The mechanism and the rows of every constraint, in the declared basis; their k is of no use."""
    at = mechanism(model, q, tau=np.zeros(model.nv))
    return at, [_declared(r) for r in rows_of(at, np.zeros(model.n_input_rows), method)]


def _declared(r: Rows) -> Rows:
    if r.axes is None:
        return r.declared()
    blocks = tuple(Block(b.node, turned(r.axes.T, r.vectors, b.K)) for b in r.blocks)
    return r._replace(blocks=blocks, axes=None, vectors=())


def carry_rows(parts: list[Propagator], rows: list[Rows], dtype: np.dtype) -> Array:
    """J M^-1 J^T by PV-OSIM's inward sweep; blocks of a constraint add up where its branches meet.

        K' = (K - K S D^-1 U^T) X      L' = L + K S D^-1 S^T K^T

    For a relation between joints, E on the joint's own acceleration is added to K S.
    """
    m = sum(len(r.k) for r in rows)
    L = np.zeros((m, m), dtype=dtype)
    K: list[dict[int, Array]] = [{} for _ in parts]  # row: (6,)
    E: list[dict[int, Array]] = [{} for _ in parts]  # row: (n,)
    start = 0
    for r in rows:
        for target, i, block in [(E, i, e) for i, e in r.relation] or [(K, b.node, b.K) for b in r.blocks]:
            _add(target[i], dict(enumerate(block, start)))
        start += len(r.k)
    with stage("constraint rows"):
        for i in range(len(parts) - 1, -1, -1):
            part, N = parts[i], sorted({*K[i], *E[i]})
            if not N:
                continue
            own = np.stack([E[i].get(x, np.zeros(part.S.shape[1])) for x in N])
            K_i = np.stack([K[i].get(x, np.zeros(len(part.S))) for x in N])
            KS = K_i @ part.S + own
            with stage("delassus"):
                block = np.ix_(N, N)
                L[block] = L[block] + ldl_congruence(part.D, KS.T)
            if part.node.parent >= 0:
                carried = rows_T(part.node.X, K_i - KS @ part.UD.T)
                _add(K[part.node.parent], dict(zip(N, carried, strict=True)))
    return L


def _add(target: dict[int, Array], rows: dict[int, Array]) -> None:
    for x, row in rows.items():
        target[x] = target[x] + row if x in target else row
