"""The sweeps of the PV solver, on stages: Algorithm 1 with joints for controls and accelerations for states.

What a subtree costs is, as in equation (18a), a quadratic in its root's state a and the multipliers of its rows,

    1/2 a^T H a - f^T a + lam^T (K a + l) - 1/2 lam^T L lam

Rows whose stages all lie in the subtree are eliminated as soon as L has rank for them (the early elimination of section
VIII), so that never more rows go on than the state has elements; rows with a stage elsewhere go on until they meet.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from sarrus.control.problem import Stage
from sarrus.errors import IllPosedError
from sarrus.spatial.arrays import Array

_RANK = 1e-11  # singular values below this part of the largest are zero


@dataclass
class CostToGo:
    """Of a stage with all that follows it. labels: per row, which of all constraints' rows it is; -1: a mixture."""

    H: Array  # (n, n)
    f: Array  # (n,)
    K: Array  # (rows, n)
    L: Array  # (rows, rows)
    l: Array  # (rows,)
    labels: list[int]


@dataclass
class Passed:
    """What the outward sweep needs of a stage."""

    own: list[int]  # labels of the rows before the elimination
    back: Array  # (rows before, rows eliminated + rows that go on): multipliers of those before from these
    gain: Array  # (eliminated, n) multipliers of the eliminated rows: gain a + offset + cross lam
    offset: Array
    cross: Array
    missed: float = 0.0  # by how much rows that nothing can change are not met
    where: list[int] = field(default_factory=list)  # the rows that go on, among those of the parent
    Di: Array = field(default_factory=lambda: np.zeros((0, 0)))
    H: Array = field(default_factory=lambda: np.zeros((0, 0)))
    f: Array = field(default_factory=lambda: np.zeros(0))
    K: Array = field(default_factory=lambda: np.zeros((0, 0)))


def start(stage: Stage) -> CostToGo:
    n = stage.n
    return CostToGo(stage.Q.copy(), -stage.q, np.zeros((0, n)), np.zeros((0, 0)), np.zeros(0), [])


def with_rows(V: CostToGo, K: Array, L: Array, l: Array, labels: list[int]) -> tuple[CostToGo, list[int]]:
    """With more rows, and where they are; those of a label that is there already are the same, seen from elsewhere."""
    at = {label: k for k, label in enumerate(V.labels) if label >= 0}
    where, names = [], list(V.labels)
    for label in labels:
        if label < 0 or label not in at:
            where.append(len(names))
            names.append(label)
        else:
            where.append(at[label])
    m, n = len(names), V.K.shape[1]
    bigger = CostToGo(V.H, V.f, np.zeros((m, n)), np.zeros((m, m)), np.zeros(m), names)
    k = len(V.labels)
    bigger.K[:k], bigger.L[:k, :k], bigger.l[:k] = V.K, V.L, V.l
    bigger.K[where] += K
    bigger.L[np.ix_(where, where)] += L
    bigger.l[where] += l
    return bigger, where


def eliminate_rows(V: CostToGo, closed: list[bool]) -> tuple[CostToGo, Passed]:
    """Without the closed rows that L has rank for, and without closed rows that say the same as others."""
    c, o = np.flatnonzero(closed), np.flatnonzero(~np.array(closed, dtype=bool))
    size, U = np.linalg.eigh(V.L[np.ix_(c, c)]) if len(c) else (np.zeros(0), np.zeros((0, 0)))
    full = size > _RANK * max(size.max(initial=0.0), np.abs(V.K[c]).max(initial=0.0) ** 2 * 1e-3)
    U1, U0, s = U[:, full], U[:, ~full], size[full]
    K1, l1, L1o = U1.T @ V.K[c], U1.T @ V.l[c], U1.T @ V.L[np.ix_(c, o)]
    Ko, lo, Lo = V.K[o], V.l[o], V.L[np.ix_(o, o)]
    # lam1 = (K1 a + l1 - L1o lam_o) / s, put into what is left.
    weighted = K1.T / s
    H, f = V.H + weighted @ K1, V.f - weighted @ l1
    Ko, lo, Lo = Ko - (L1o.T / s) @ K1, lo - (L1o.T / s) @ l1, Lo - (L1o.T / s) @ L1o
    # What is left of the closed rows has no L: it must hold as it is. No more of it than it has rank.
    K0, l0 = U0.T @ V.K[c], U0.T @ V.l[c]
    W, sigma, Vt = np.linalg.svd(K0, full_matrices=False)
    kept = sigma > _RANK * max(sigma.max(initial=0.0), np.abs(V.K).max(initial=0.0))
    Wk = W[:, kept]
    missed = float(np.abs(l0 - Wk @ (Wk.T @ l0)).max(initial=0.0))
    Kn, ln = sigma[kept, None] * Vt[kept], Wk.T @ l0
    labels = [*([-1] * len(Kn)), *(V.labels[k] for k in o)]
    left = CostToGo(H, f, np.vstack([Kn, Ko]), np.zeros((len(labels),) * 2), np.concatenate([ln, lo]), labels)
    left.L[len(Kn) :, len(Kn) :] = Lo
    back = np.zeros((len(closed), len(s) + len(labels)))
    back[np.ix_(c, np.arange(len(s)))] = U1
    back[np.ix_(c, len(s) + np.arange(len(Kn)))] = U0 @ Wk
    back[o, len(s) + len(Kn) + np.arange(len(o))] = 1.0
    cross = np.hstack([np.zeros((len(s), len(Kn))), -L1o / s[:, None]])
    return left, Passed(list(V.labels), back, K1 / s[:, None], l1 / s, cross, missed)


def through(stage: Stage, V: CostToGo, passed: Passed, number: int) -> tuple[Array, Array, Array, Array, Array]:
    """H, f, K, L, l that the parent gets: equations (20a) to (20e), and what the outward sweep needs."""
    A, B, c, H, f, K = stage.A, stage.B, stage.c, V.H, V.f, V.K
    D = stage.R + B.T @ H @ B
    lowest = np.linalg.eigvalsh(D) if len(D) else np.ones(1)
    if not lowest[0] > _RANK * max(lowest[-1], np.abs(stage.R).max(initial=0.0)):
        raise IllPosedError(
            f"stage {number}: its control is not determined: R + B^T (cost to go) B is not positive "
            f"definite (lowest eigenvalue {lowest[0]:.3g})"
        )
    Di = np.linalg.inv(D)
    P = np.eye(len(H)) - H @ B @ Di @ B.T
    KB, h = K @ B, f - H @ c
    passed.Di = Di
    u = Di @ (B.T @ h - stage.r)  # without multipliers, at x_parent = 0
    return (
        A.T @ P @ H @ A, A.T @ (P @ h + H @ B @ Di @ stage.r), K @ P.T @ A, V.L + KB @ Di @ KB.T, V.l + K @ (c + B @ u),
    )  # fmt: skip


def control(stage: Stage, passed: Passed, x: Array, lam: Array) -> tuple[Array, Array]:
    """u of equation (19), and the state that it leads to."""
    z = stage.A @ x + stage.c if stage.A.shape[1] else stage.c
    u = passed.Di @ (stage.B.T @ (passed.f - passed.H @ z - passed.K.T @ lam) - stage.r)
    return u, z + stage.B @ u


def closed_at(parents: list[int], stages_of: list[list[int]]) -> list[int]:
    """Per constraint, the stage below which all of its stages lie, or START."""
    found = []
    for stages in stages_of:
        left = set(stages)
        while len(left) > 1:  # parents have smaller numbers: the last stage cannot be an ancestor of the others
            last = max(left)
            left = (left - {last}) | {parents[last]}
        found.append(left.pop())
    return found
