"""The Delassus matrix of contacts with the world without a matrix: products and solutions by sweeps over the tree.

With rows J of all velocities y, G = V J M^-1 J^T V, V = diag(scale). J x and J^T x are sweeps (`world_tree.py`), and
M is factored anyway. Newton's system (`delassus.py`) becomes one of velocities,

    (M + J^T H J) y = J^T V (F + k N F),      H = V r N T V,      d = r N T V J y - (F + k N F)

and that is constrained ABA: each contact adds K^T H K to the inertia of the body that it touches. What it takes grows
with bodies and contacts, where a matrix grows with the cube of the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from sarrus.mechanics.contact.contact_rows import ContactPoint, on_body
from sarrus.mechanics.contact.delassus import MANY, AbstractDelassus, Piece
from sarrus.mechanics.contact.problem import row_spans
from sarrus.mechanics.contact.world_tree import Mobilities, WorldTree
from sarrus.spatial.arrays import Array, Scalar, add_to
from sarrus.spatial.linear_algebra import symmetric_product
from sarrus.spatial.orthogonal import is_structurally_zero


class Touching(NamedTuple):
    """Rows of a contact with the world."""

    rows: slice
    K: Array  # (rows, 6) on the twist of the body that touches
    on: Mapping[int, Scalar]  # by body that it may be: 1 where it is, else 0; bodies that it cannot be are not there

    def to_bodies(self, x: Array) -> dict[int, Array]:
        """An array for the body that touches, for every body that it may be."""
        return {b: x if isinstance(share, float) and share == 1.0 else share * x for b, share in self.on.items()}

    def of_body(self, values: Mapping[int, Array]) -> Array:
        """The array of the body that touches."""
        first, *others = [
            values[b] if isinstance(share, float) and share == 1.0 else share * values[b]
            for b, share in self.on.items()
        ]
        return sum(others, first)


class OnJoints(NamedTuple):
    """A row of velocities themselves: a limit, dry friction."""

    rows: slice
    e: Mapping[int, Array]  # by node: (n,); of several nodes, at most one is not zero


class TreeDelassus(AbstractDelassus):
    """G = V J M^-1 J^T V of a tree."""

    rounding = 1e1  # bodies' mobilities are sums about an origin that is not the point of contact

    def __init__(
        self,
        tree: WorldTree,
        solve: Callable[[Array], Array],  # M^-1 b
        rows: Sequence[Touching | OnJoints],
        scale: Array | None = None,
        mobilities: Mobilities | None = None,
    ) -> None:
        self.tree, self.solve, self.rows = tree, solve, list(rows)
        self.scale = np.ones(sum(r.rows.stop - r.rows.start for r in rows)) if scale is None else scale
        self.mobilities = tree.mobilities() if mobilities is None else mobilities
        bodies = [b for r in self.rows if isinstance(r, Touching) and len(r.on) == 1 for b in r.on]
        self.is_redundant = any(bodies.count(b) >= MANY for b in bodies)

    def wrenches(self, x: Array) -> Array:
        # J^T V x
        return self._forces(self.rows, self.scale * x)

    def along_rows(self, velocities: Array) -> Array:
        # V J velocities
        return self._along(self.rows, self.tree.twists(velocities), self._of_nodes(velocities))

    def along_contacts(self, twists: Mapping[int, Array]) -> Array:
        """Velocities of the contacts' rows where bodies have these twists about the tree's origin; not scaled."""
        touching = [r for r in self.rows if isinstance(r, Touching)]
        return np.concatenate([np.zeros(0), *(own.K @ own.of_body(twists) for own in touching)])

    def __matmul__(self, x: Array) -> Array:
        return self.along_rows(self.solve(self.wrenches(x)))

    def block(self, rows: slice) -> Array:
        (own,) = [r for r in self.rows if r.rows == rows]
        v = self.scale[rows]
        if isinstance(own, Touching):
            return symmetric_product(own.K @ own.of_body(self.mobilities.P), own.K.T) * np.outer(v, v)
        Q = self.mobilities.Q
        return (v[0] * v[0] * sum((e @ (Q[i] @ e) for i, e in own.e.items()), 0.0)) * np.eye(1)

    def scaled(self, scale: Array) -> TreeDelassus:
        return TreeDelassus(self.tree, self.solve, self.rows, self.scale * scale, self.mobilities)

    def response(self, rows: slice, x: Array) -> Array:
        (own,) = [r for r in self.rows if r.rows == rows]
        return self.solve(self._forces([own], self.scale * _alone(rows, x, len(self.scale))))

    def along(self, rows: slice, velocities: Array) -> Array:
        own = [r for r in self.rows if r.rows == rows]
        return self._along(own, self.tree.twists(velocities), self._of_nodes(velocities))

    def newton_direction(self, pieces: Sequence[Piece], r: Scalar, k: Scalar, F: Array) -> Array:
        NT = {piece.rows.start: r * (piece.N @ piece.T) for piece in pieces}
        e = np.concatenate([F[piece.rows] + piece.N @ (k * F[piece.rows]) for piece in pieces])
        moved = self._softly(NT, e)
        return np.concatenate([NT[piece.rows.start] @ moved[piece.rows] - e[piece.rows] for piece in pieces])

    def solve_shifted(self, shift: Scalar, b: Array) -> Array:
        over = 1.0 / shift
        return over * (
            b - self._softly({r.rows.start: over * np.eye(r.rows.stop - r.rows.start) for r in self.rows}, over * b)
        )

    def _softly(self, h: Mapping[int, Array], x: Array) -> Array:
        """V J (M + J^T V h V J)^-1 J^T V x, where h has a block for every contact, all of whose rows have one scale."""
        K: dict[int, Array] = {}
        B: dict[int, Array] = {}
        for own in self.rows:
            v = self.scale[own.rows.start]
            soft = (v * v) * h[own.rows.start]
            if isinstance(own, Touching):
                for b, part in own.to_bodies(own.K.T @ (soft @ own.K)).items():
                    add_to(K, b, part)
            else:
                for i, e in own.e.items():
                    add_to(B, i, soft[0, 0] * np.outer(e, e))
        pushed = self.scale * x
        twists, y = self.tree.response(K, B, _on_bodies(self.rows, pushed), _on_nodes(self.rows, pushed))
        return self._along(self.rows, twists, y)

    def _of_nodes(self, y: Array) -> dict[int, Array]:
        return {i: y[node.v] for i, node in self.tree.nodes.items()}

    def _forces(self, rows: Sequence[Touching | OnJoints], x: Array) -> Array:
        """(n,) J^T x of these rows."""
        forces = self.tree.forces(_on_bodies(rows, x))
        for i, own in _on_nodes(rows, x).items():
            add_to(forces, i, own)
        out = np.zeros(self.tree.n, dtype=np.result_type(float, *forces.values()))
        for i, own in forces.items():
            out[self.tree.nodes[i].v] = own
        return out

    def _along(self, rows: Sequence[Touching | OnJoints], twists: Mapping[int, Array], y: Mapping[int, Array]) -> Array:
        """Velocities of these rows, scaled."""
        parts = [np.zeros(0)]
        for own in rows:
            if isinstance(own, Touching):
                parts.append(self.scale[own.rows] * (own.K @ own.of_body(twists)))
            else:
                parts.append(self.scale[own.rows] * sum((e @ y[i] for i, e in own.e.items()), 0.0))
        return np.concatenate(parts)


def _alone(rows: slice, x: Array, count: int) -> Array:
    """(count,) x in these rows, and nothing else."""
    return np.concatenate([np.zeros(rows.start), x, np.zeros(count - rows.stop)])


def _on_bodies(rows: Sequence[Touching | OnJoints], x: Array) -> dict[int, Array]:
    """By body: the wrench (6,) of impulses x along rows."""
    found: dict[int, Array] = {}
    for own in (r for r in rows if isinstance(r, Touching)):
        for b, wrench in own.to_bodies(own.K.T @ x[own.rows]).items():
            add_to(found, b, wrench)
    return found


def _on_nodes(rows: Sequence[Touching | OnJoints], x: Array) -> dict[int, Array]:
    """By node: what impulses of rows on joints are on its velocities."""
    found: dict[int, Array] = {}
    for own in (r for r in rows if isinstance(r, OnJoints)):
        for i, e in own.e.items():
            add_to(found, i, x[own.rows.start] * e)
    return found


def rows_on_tree(tree: WorldTree, rows: Sequence[Array], contacts: Sequence[ContactPoint]) -> list[Touching | OnJoints]:
    """Rows (n,) on the tree's velocities, then those of each contact, all with the world."""
    found: list[Touching | OnJoints] = []
    for k, row in enumerate(rows):
        own = {i: row[node.v] for i, node in tree.nodes.items()}
        own = {i: e for i, e in own.items() if not all(is_structurally_zero(x) for x in e)}
        found.append(OnJoints(slice(k, k + 1), own))
    for span, contact in zip(row_spans(len(rows), [c.size for c in contacts]), contacts, strict=True):
        assert contact.on is not None
        found.append(Touching(span, on_body(contact, tree.origin), contact.on))
    return found
