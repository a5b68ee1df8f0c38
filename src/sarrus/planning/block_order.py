"""Block triangular form of a square sparse matrix: which unknowns can be solved before which.

Rows are matched with columns; the strongly connected components of what then needs what are the blocks (Dulmage and
Mendelsohn). A block needs only those before it.
"""

from __future__ import annotations

import numpy as np

from sarrus.errors import ModelError
from sarrus.spatial.arrays import Array


def block_order(A: Array, nonzero: Array) -> list[tuple[list[int], list[int]]]:
    """(rows, columns) of every block, in order. A: values, to match large elements; nonzero: its pattern."""
    row_of = _matching(A, nonzero)
    n = len(A)
    needs = [[c for c in range(n) if c != column and nonzero[row_of[column], c]] for column in range(n)]
    return [(sorted(row_of[c] for c in block), sorted(block)) for block in _components(needs)]


def _matching(A: Array, nonzero: Array) -> list[int]:
    """A row for every column: large elements first, then along augmenting paths."""
    n = len(A)
    row_of, column_of = [-1] * n, [-1] * n
    for flat in np.argsort(-np.abs(np.where(nonzero, A, 0.0)), axis=None):
        row, column = divmod(int(flat), n)
        if nonzero[row, column] and row_of[column] < 0 and column_of[row] < 0:
            row_of[column], column_of[row] = row, column

    def augment(column: int, tried: set[int]) -> bool:
        for row in np.flatnonzero(nonzero[:, column]):
            if int(row) in tried:
                continue
            tried.add(int(row))
            if column_of[row] < 0 or augment(column_of[row], tried):
                row_of[column], column_of[row] = int(row), column
                return True
        return False

    for column in range(n):
        if row_of[column] < 0 and not augment(column, set()):
            raise ModelError("the rows of a cluster do not determine its dependent velocities, whatever their values")
    return row_of


def _components(needs: list[list[int]]) -> list[list[int]]:
    """Tarjan's strongly connected components: what is needed comes first."""
    index: dict[int, int] = {}
    low: dict[int, int] = {}
    stack: list[int] = []
    found: list[list[int]] = []

    def visit(x: int) -> None:
        index[x] = low[x] = len(index)
        stack.append(x)
        for y in needs[x]:
            if y not in index:
                visit(y)
                low[x] = min(low[x], low[y])
            elif y in stack:
                low[x] = min(low[x], index[y])
        if low[x] == index[x]:
            cut = stack.index(x)
            found.append(stack[cut:])
            del stack[cut:]

    for x in range(len(needs)):
        if x not in index:
            visit(x)
    return found
