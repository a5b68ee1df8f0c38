"""The rows of a model's constraints on the nodes of its mechanism."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sarrus.mechanics.constraints.all_rows import all_rows
from sarrus.mechanics.constraints.link_rows import constraint_rows, row_matrices
from sarrus.mechanics.constraints.rows import Block, Rows
from sarrus.mechanics.mechanism import Mechanism
from sarrus.spatial.arrays import Array


def rows_of(at: Mechanism, k: Array | None, method: str, loops: bool = False, declared: bool = False) -> list[Rows]:
    """Of all active constraints, in order; with `loops`, of every type, else only of links against the world.

    declared: rows as they were declared, which costs more; least squares of rows in conflict are then those
    """
    if loops:
        rows = all_rows(at.model, at.joints, at.bias, at.q, at.v, k, method)
    else:
        rows = constraint_rows(at.model, at.joints, at.bias, k, method)
    if at.embedded is not None:
        rows = at.embedded.rows(rows)
    elif declared:
        rows = [r.declared() for r in rows]
    return numbered(rows)


def rows_of_links(at: Mechanism, method: str) -> list[Rows]:
    """The matrices K of constraints of links against the world, all that their Delassus matrix needs; k is zero."""
    found = row_matrices(at.model, method)
    rows = [Rows((Block(body, K),), np.zeros(len(K))) for body, K in found]
    return numbered(rows if at.embedded is None else at.embedded.rows(rows))


def numbered(rows: Sequence[Rows]) -> list[Rows]:
    """Rows that know where they lie among all."""
    out, start = [], 0
    for r in rows:
        out.append(r._replace(span=slice(start, start + len(r.k))))
        start += len(r.k)
    return out
