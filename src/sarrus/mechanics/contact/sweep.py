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
    for i in range(p.first):
        row = slice(i, i + 1)
        free = x[i] - c[i]  # the diagonal of G is 1
        new = clipped(free, p.bounds[i]) if i < p.nb else larger(free, 0.0)
        c = c + p.G.change(row, vector(new - x[i]))
        x = _with(x, row, vector(new))
    for rows, block, mu in zip(p.contacts, p.blocks, p.friction, strict=True) if contacts else ():
        size = len(block)
        A = block + _PROXIMAL * np.eye(size)
        if p.convex or size > 3:  # size: the trace of A, which is at least its largest eigenvalue
            new = onto_cone(x[rows] - with_sliding(c[rows], 0.0 if p.convex else mu) / size, mu)
        else:
            new = solve_one(A, c[rows] - A @ x[rows], mu)
        c = c + p.G.change(rows, new - x[rows])
        x = _with(x, rows, new)
    return x, c


def _with(x: Array, rows: slice, new: Array) -> Array:
    return np.concatenate([x[: rows.start], new, x[rows.stop :]])
