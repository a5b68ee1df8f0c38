"""The rows of a model's constraints on the nodes of its mechanism."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sarrus.mechanics.constraints.equations import constraint_rows
from sarrus.mechanics.constraints.link_rows import row_matrices
from sarrus.mechanics.constraints.rows import Block, Rows
from sarrus.mechanics.mechanism import Mechanism
from sarrus.spatial.arrays import Array


def rows_of(at: Mechanism, k: Array | None, method: str, declared: bool = False) -> list[Rows]:
    """Of all active constraints, in order of declaration.

    declared: rows of links as they were declared, which costs more; least squares of rows in conflict are then those
    """
    rows = constraint_rows(at.model, at.joints, at.bias, at.q, at.v, k, method)
    if at.embedded is not None:
        rows = at.embedded.rows(rows)
    elif declared:
        rows = [r.declared() for r in rows]
    return numbered(rows)


def rows_of_links(at: Mechanism, method: str) -> list[Rows]:
    """The matrices K of constraints of links against the world, all that their Delassus matrix needs; k is zero."""
    found = row_matrices(at.model)
    rows = [Rows((Block(body, K),), np.zeros(len(K))) for body, K in found]
    return numbered(rows if at.embedded is None else at.embedded.rows(rows))


def numbered(rows: Sequence[Rows]) -> list[Rows]:
    """Rows that know where they lie among all."""
    out, start = [], 0
    for r in rows:
        out.append(r._replace(span=slice(start, start + len(r.k))))
        start += len(r.k)
    return out
