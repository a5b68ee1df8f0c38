"""One pass over all rows and contacts, each solved exactly while the others stay: block Gauss-Seidel."""

from __future__ import annotations

import numpy as np

from sarrus.mechanics.contact.cone import clipped, onto_cone, with_sliding
from sarrus.mechanics.contact.one_contact import solve_one
from sarrus.mechanics.contact.problem import Scaled
from sarrus.spatial.arrays import Array, vector
from sarrus.spatial.extremes import larger

_PROXIMAL = 1e-9  # of a contact's own block, which may be singular: it stays where it is in directions that do nothing


def sweep(p: Scaled, x: Array, c: Array, contacts: bool = True) -> tuple[Array, Array]:
    """Better impulses x and their velocities c = G x + g; contacts: whether theirs change, too."""
    moved = None  # what this sweep has changed, as velocities of the rows from which G was made
    for i in range(p.first):
        row = slice(i, i + 1)
        free = x[i] - _now(p, c, row, moved)[0]  # the diagonal of G is 1
        new = clipped(free, p.bounds[i]) if i < p.nb else larger(free, 0.0)
        moved = _sum(moved, p.G.response(row, vector(new - x[i])))
        x = _with(x, row, vector(new))
    for rows, block, mu in zip(p.contacts, p.blocks, p.friction, strict=True) if contacts else ():
        size = len(block)
        A = block + _PROXIMAL * np.eye(size)
        own = _now(p, c, rows, moved)
        if p.convex or size > 3:  # size: the trace of A, which is at least its largest eigenvalue
            new = onto_cone(x[rows] - with_sliding(own, 0.0 if p.convex else mu) / size, mu)
        else:
            new = solve_one(A, own - A @ x[rows], mu)
        moved = _sum(moved, p.G.response(rows, new - x[rows]))
        x = _with(x, rows, new)
    return x, c if moved is None else c + p.G.along_rows(moved)


def _now(p: Scaled, c: Array, rows: slice, moved: Array | None) -> Array:
    """The velocities of these rows."""
    return c[rows] if moved is None else c[rows] + p.G.along(rows, moved)


def _sum(moved: Array | None, more: Array) -> Array:
    return more if moved is None else moved + more


def _with(x: Array, rows: slice, new: Array) -> Array:
    return np.concatenate([x[: rows.start], new, x[rows.stop :]])
