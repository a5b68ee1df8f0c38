"""Ports: small linear images of a link's acceleration, by which LCABA couples links at the rank of their rows.

The paper keeps a 6x6 block H_ij per pair of neighbours that are not parent and child. That block has at most the rank
of the rows which made it, so here it is kept as a product: a *port* c on a link j is

    y_c = E_c a_j + e_c qdd_j          (the rows' share of link j; e_c for relations between joint coordinates)

and a link i that is coupled with j has G_ci (m, 6) in place of H_ji = E_c^T G_ci. So a ball joint's coupling has three
rows, a gear's one. Where a link is coupled with more than six rows of another one's ports, and where j is eliminated
while link i is still coupled with c, the port is the link's whole acceleration, as in the paper; beyond a ball joint it
is that of a point.
"""

from __future__ import annotations

from typing import NamedTuple

from sarrus.spatial.arrays import Array

Matrix = Array | None  # None: zero


class Port(NamedTuple):
    """A linear image of a node's acceleration and of its joint's."""

    node: int
    E: Matrix  # (m, 6)
    e: Matrix  # (m, n)

    def image(self, a: Array, qdd: Array) -> Array:
        parts = [M @ x for M, x in ((self.E, a), (self.e, qdd)) if M is not None]
        return parts[0] if len(parts) == 1 else parts[0] + parts[1]


class Share(NamedTuple):
    """One node's share of a constraint's rows: through a port, or directly on the node that is eliminated first."""

    node: int
    port: int | None
    E: Matrix
    e: Matrix
