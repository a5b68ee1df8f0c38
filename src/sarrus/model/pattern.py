"""Where the matrices of a tree's dynamics can be other than zero."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sarrus.model.model import Model
from sarrus.model.tree import tree_of
from sarrus.spatial.arrays import Array


class Pattern(NamedTuple):
    """Rows and columns of elements of a matrix (nv, nv), in order of rows, as in SciPy's `coo_array`."""

    rows: Array  # (k,)
    columns: Array  # (k,)

    def dense(self, packed: Array, nv: int) -> Array:
        """Packed elements (k,), or (B, k), as matrices."""
        packed = np.asarray(packed)
        out = np.zeros((*packed.shape[:-1], nv, nv), dtype=packed.dtype)
        out[..., self.rows, self.columns] = packed
        return out


def mass_matrix_pattern(model: Model) -> Pattern:
    """The elements of the mass matrix, and of `rnea_derivatives`, that are not structurally zero: joints on one path to
    the root.

    returns  `rows` and `columns` (k,) of these elements, in order of rows

    >>> len(sarrus.mass_matrix_pattern(sarrus.zoo.chain(3)).rows)
    9
    """
    tree = tree_of(model)
    found = np.zeros((model.nv, model.nv), dtype=bool)
    for i, node in enumerate(tree.nodes):
        for j in tree.paths[i]:
            found[node.v, tree.nodes[j].v] = found[tree.nodes[j].v, node.v] = True
    return Pattern(*np.nonzero(found))
