"""The quadratic form that LCABA minimizes, as links are eliminated (LCABA paper, eq. 23).

Rows with a penalty couple the accelerations of links that are not parent and child: through ports, see `ports.py`.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np

from sarrus.mechanics.constraints.rows import Rows
from sarrus.mechanics.solvers.elimination_order import nodes_of
from sarrus.mechanics.solvers.penalty import weighted_gram
from sarrus.mechanics.solvers.ports import Port, Share
from sarrus.spatial.arrays import Array
from sarrus.spatial.linear_algebra import symmetric_product
from sarrus.spatial.sums import add_to


class Form:
    """The quadratic form (23) of the nodes that are left, in node accelerations a, joint accelerations and ports y."""

    def __init__(self, inertias: list[Array], order: list[int]) -> None:
        self.H = list(inertias)
        self._rank = {i: position for position, i in enumerate(order)}
        self.C: dict[int, Array] = {}  # (6, n) between a and qdd of one node
        self.B: dict[int, Array] = {}  # (n, n) on qdd
        self.ports: list[Port] = []
        self.at: list[list[int]] = [[] for _ in inertias]  # ports on a node that still count
        self.G: dict[int, dict[int, Array]] = {}  # port, node: (m, 6)
        self.g: dict[int, dict[int, Array]] = {}  # port, node: (m, n) on the node's qdd
        self.W: dict[tuple[int, int], Array] = {}  # ports c <= d: (m_c, m_d)

    def add_port(self, port: Port) -> int:
        self.ports.append(port)
        c = len(self.ports) - 1
        self.at[port.node].append(c)
        self.G[c], self.g[c] = {}, {}
        return c

    def partners(self, c: int) -> list[int]:
        """Ports that port c is coupled with, itself included."""
        return [key[0] if key[1] == c else key[1] for key in self.W if c in key]

    def uncouple(self, c: int, d: int) -> Array:
        """W_cd, which is then forgotten."""
        return self.W.pop((c, d)) if c <= d else self.W.pop((d, c)).T

    def couple(self, c: int, d: int, M: Array) -> None:
        key, M = ((c, d), M) if c <= d else ((d, c), M.T)
        self.W[key] = self.W[key] + M if key in self.W else M

    def is_before(self, i: int, j: int) -> bool:
        """Whether node i is eliminated before node j."""
        return self._rank[i] < self._rank[j]

    def rows(self, r: Rows, mu: Array) -> list[Share]:
        """Add a constraint: eq. (25), multi-link rows included (36); those of one link only touch that (35)."""
        for block in () if r.relation else r.blocks:
            self.H[block.node] = self.H[block.node] + weighted_gram(block, mu)
        for i, s in r.relation:
            add_to(self.B, i, symmetric_product(s.T * mu, s))
        matrices = {i: (None, s) for i, s in r.relation} if r.relation else {b.node: (b.K, None) for b in r.blocks}
        first, *others = sorted(nodes_of(r), key=lambda i: self._rank[i])
        E, e = matrices[first]
        shares = [Share(first, None, E, e)]
        for i in others:
            c = self.add_port(Port(i, *matrices[i]))
            shares.append(Share(i, c, *matrices[i]))
            if E is not None:
                self.G[c][first] = (E.T * mu).T
            if e is not None:
                self.g[c][first] = (e.T * mu).T
        for one, other in combinations([share.port for share in shares if share.port is not None], 2):
            self.couple(one, other, np.diag(mu))
        return shares

    def fold_ports(self, i: int) -> None:
        """Ports on a node that is to be eliminated become terms of its own; what was coupled with them gets a port."""
        for c in self.at[i]:
            _, E, e = self.ports[c]
            W, G, g = self.W.pop((c, c), None), self.G[c].pop(i, None), self.g[c].pop(i, None)
            if E is not None and G is not None:  # the parent was a neighbour: eq. (34)
                A = E.T @ (G if W is None else G + 0.5 * (W @ E))
                self.H[i] = self.H[i] + (A + A.T)
            elif E is not None and W is not None:
                self.H[i] = self.H[i] + symmetric_product(E.T @ W, E)
            if e is not None and W is not None:
                add_to(self.B, i, symmetric_product(e.T @ W, e))
            if e is not None and g is not None:
                add_to(self.B, i, e.T @ g + g.T @ e)
            if E is not None and W is not None and e is not None:
                add_to(self.C, i, E.T @ (W @ e))
            if G is not None and e is not None:
                add_to(self.C, i, G.T @ e)
            if E is not None and g is not None:
                add_to(self.C, i, E.T @ g)
            for d in self.partners(c):
                M = self.uncouple(d, c)
                if E is not None:
                    add_to(self.G[d], i, M @ E)
                if e is not None:
                    add_to(self.g[d], i, M @ e)
            for j in sorted({*self.G[c], *self.g[c]}):
                self.turn_port(c, i, j)

    def turn_port(self, c: int, i: int, j: int) -> None:
        """Node j was coupled with port c on node i, which is to be eliminated: i is now coupled with j's acceleration.

        A port y = G a would be smaller, but scaled by mu where links cannot move: it loses digits by mu's square.
        """
        _, E, e = self.ports[c]
        G, g = self.G[c].pop(j, None), self.g[c].pop(j, None)
        whole = self.port_on(j, np.eye(len(self.H[j]))) if G is not None else None
        joint = self.add_port(Port(j, None, np.eye(g.shape[1]))) if g is not None else None
        for port, M in ((whole, G), (joint, g)):
            if port is None or M is None:
                continue
            if E is not None:
                add_to(self.G[port], i, M.T @ E)
            if e is not None:
                add_to(self.g[port], i, M.T @ e)

    def port_on(self, i: int, E: Array) -> int:
        """The port E a on a node: the one that there is, or a new one."""
        for c in self.at[i]:
            port = self.ports[c]
            if port.E is not None and port.e is None and np.array_equal(port.E, E):
                return c
        return self.add_port(Port(i, E, None))
