"""Eliminating links of a mechanism with loops, from the leaves inwards (LCABA paper, section IV), about the bias motion.

Rows with a penalty couple the accelerations of links that are not parent and child. The paper keeps a 6x6 block H_ij per pair of such
neighbours. That block has at most the rank of the rows which made it, so here it is kept as a product: a *port* c on a link j is

    y_c = E_c a_j + e_c qdd_j          (the rows' share of link j; e_c for relations between joint coordinates)

and a link i that is coupled with j has G_ci (m, 6) in place of H_ji = E_c^T G_ci. So a ball joint's coupling has three rows, a gear's one.
When j is eliminated while link i is still coupled with c, the roles change: y = G_ci a_i is a port on i, with which j is coupled
by E_c. Where a link's ports would have more than six rows, its acceleration is the port, as in the paper.

What is factored (H, G, W) is separate from what is solved (f, l), which the iterations repeat.
"""

from __future__ import annotations

from itertools import combinations
from typing import NamedTuple

import numpy as np

from sarrus.algorithms.elimination_order import nodes_of
from sarrus.algorithms.proximal import weighted_gram
from sarrus.algorithms.rows import Rows
from sarrus.model.tree import Kinematics, Node, Tree
from sarrus.spatial.arrays import Array
from sarrus.spatial.linear_algebra import Ldl, ldl, ldl_solve, subtract_product, symmetric_product
from sarrus.spatial.stages import stage
from sarrus.spatial.transforms import Transform

Matrix = Array | None  # None: zero


class Port(NamedTuple):
    """A linear image of a node's acceleration and of its joint's."""

    node: int
    E: Matrix  # (m, 6)
    e: Matrix  # (m, n)

    def image(self, a: Array, qdd: Array) -> Array:
        parts = [M @ x for M, x in ((self.E, a), (self.e, qdd)) if M is not None]
        return parts[0] if len(parts) == 1 else parts[0] + parts[1]


class Eliminated(NamedTuple):
    """A node whose joint was eliminated."""

    node: Node
    X: Transform
    S: Array  # (6, n)
    D: Ldl  # S^T H S + armature + penalties of the joint's own coordinate
    UD: Array  # (6, n) U D^-1
    ports: list[int]  # those on it
    coupled: list[tuple[int, Array]]  # (port c, (m, n) G_c S D^-1)


class Share(NamedTuple):
    """One node's share of a constraint's rows: through a port, or directly on the first of its nodes to be eliminated."""

    node: int
    port: int | None
    E: Matrix
    e: Matrix


class Elimination(NamedTuple):
    order: list[int]
    nodes: dict[int, Eliminated]
    ports: list[Port]
    shares: list[list[Share]]  # per constraint


class _Form:
    """The quadratic form (23) of the nodes that are left, in node accelerations a, joint accelerations and ports y."""

    def __init__(self, tree: Tree) -> None:
        self.H = [node.inertia.matrix() for node in tree.nodes]
        self.C: dict[int, Array] = {}  # (6, n) between a and qdd of one node
        self.B: dict[int, Array] = {}  # (n, n) on qdd
        self.ports: list[Port] = []
        self.at: list[list[int]] = [[] for _ in tree.nodes]  # ports on a node that still count
        self.G: dict[int, dict[int, Array]] = {}  # port, node: (m, 6)
        self.g: dict[int, dict[int, Array]] = {}  # port, node: (m, n) on the node's qdd
        self.W: dict[tuple[int, int], Array] = {}  # ports c <= d: (m_c, m_d)

    def add_port(self, port: Port) -> int:
        self.ports.append(port)
        c = len(self.ports) - 1
        self.at[port.node].append(c)
        self.G[c], self.g[c] = {}, {}
        return c

    def between(self, c: int, d: int) -> Matrix:
        if c <= d:
            return self.W.get((c, d))
        other = self.W.get((d, c))
        return None if other is None else other.T

    def couple(self, c: int, d: int, M: Array) -> None:
        key, M = ((c, d), M) if c <= d else ((d, c), M.T)
        self.W[key] = self.W[key] + M if key in self.W else M

    def rows(self, r: Rows, mu: Array, rank: dict[int, int]) -> list[Share]:
        """Add a constraint: eq. (25), multi-link rows included (36); those of one link only touch that (35)."""
        for block in () if r.relation else r.blocks:
            self.H[block.node] = self.H[block.node] + weighted_gram(block, mu)
        for i, s in r.relation:
            _add(self.B, i, symmetric_product(s.T * mu, s))
        matrices = {i: (None, s) for i, s in r.relation} if r.relation else {b.node: (b.K, None) for b in r.blocks}
        first, *others = sorted(nodes_of(r), key=lambda i: rank[i])
        E, e = matrices[first]
        shares = [Share(first, None, E, e)]
        for i in others:
            c = self.add_port(Port(i, *matrices[i]))
            shares.append(Share(i, c, *matrices[i]))
            if E is not None:
                self.G[c][first] = (E.T * mu).T
            if e is not None:
                self.g[c][first] = (e.T * mu).T
        for one, other in combinations(shares[1:], 2):
            self.couple(one.port, other.port, np.diag(mu))
        return shares

    def merge_ports(self, i: int) -> None:
        """Where the ports on a node have more than six rows, its acceleration takes their place."""
        found = [c for c in self.at[i] if self.ports[c].e is None]
        if len(found) < 2 or sum(len(self.ports[c].E) for c in found) <= 6:
            return
        self.at[i] = [c for c in self.at[i] if c not in found]
        whole = self.add_port(Port(i, np.eye(6), None))
        for c in found:
            E = self.ports[c].E
            for j, G in self.G.pop(c).items():
                _add(self.G[whole], j, E.T @ G)
            for j, g in self.g.pop(c).items():
                _add(self.g[whole], j, E.T @ g)
            for key in [key for key in self.W if c in key]:
                d = key[0] if key[1] == c else key[1]
                M = self.between(c, d)
                del self.W[key]
                if d == c:
                    self.H[i] = self.H[i] + symmetric_product(E.T @ M, E)
                else:
                    self.couple(whole, d, E.T @ M)

    def fold_ports(self, i: int) -> None:
        """Ports on a node that is to be eliminated become terms of its own, and whatever was coupled with them gets a port."""
        for c in self.at[i]:
            _, E, e = self.ports[c]
            W, G, g = self.W.pop((c, c), None), self.G[c].pop(i, None), self.g[c].pop(i, None)
            if E is not None and G is not None:  # the parent was a neighbour: eq. (34)
                A = E.T @ (G if W is None else G + 0.5 * (W @ E))
                self.H[i] = self.H[i] + (A + A.T)
            elif E is not None and W is not None:
                self.H[i] = self.H[i] + symmetric_product(E.T @ W, E)
            if e is not None and W is not None:
                _add(self.B, i, symmetric_product(e.T @ W, e))
            if e is not None and g is not None:
                _add(self.B, i, e.T @ g + g.T @ e)
            if E is not None and W is not None and e is not None:
                _add(self.C, i, E.T @ (W @ e))
            if G is not None and e is not None:
                _add(self.C, i, G.T @ e)
            if E is not None and g is not None:
                _add(self.C, i, E.T @ g)
            for d in [key[0] if key[1] == c else key[1] for key in self.W if c in key]:
                M = self.between(d, c)
                del self.W[min(c, d), max(c, d)]
                if E is not None:
                    _add(self.G[d], i, M @ E)
                if e is not None:
                    _add(self.g[d], i, M @ e)
            for j in {*self.G[c], *self.g[c]}:
                turned = self.add_port(Port(j, self.G[c].pop(j, None), self.g[c].pop(j, None)))
                if E is not None:
                    self.G[turned][i] = E
                if e is not None:
                    self.g[turned][i] = e
                self.merge_ports(j)


def _add(table: dict[int, Array], key: int, M: Array) -> None:
    table[key] = table[key] + M if key in table else M


def eliminate(
    tree: Tree, joints: list[Kinematics], rows: list[Rows], mu: list[Array], order: list[int]
) -> Elimination:
    """All links, in that order: H, G and W, that is Algorithm 1 without its forces."""
    form = _Form(tree)
    rank = {i: position for position, i in enumerate(order)}
    with stage("constraints"):
        shares = [form.rows(r, m, rank) for r, m in zip(rows, mu, strict=True)]
        for i in order:
            form.merge_ports(i)
    nodes: dict[int, Eliminated] = {}
    for i in order:
        node, (X, S, _, _) = tree.nodes[i], joints[i]
        with stage("coupling"):
            form.fold_ports(i)
        with stage("inward"):
            U, B = form.H[i] @ S, S.T @ (form.H[i] @ S) + np.diag(node.armature)
            plain = i not in form.C and i not in form.B  # then S^T Ha = 0
            if i in form.C:
                B = B + (S.T @ form.C[i] + form.C[i].T @ S)
                U = U + form.C[i]
            if i in form.B:
                B = B + form.B[i]
            D = ldl(B)
            UD = ldl_solve(D, U.T).T
            if node.parent >= 0:
                Ha = subtract_product(form.H[i], UD, U, node.zero_rows if plain else ())
                form.H[node.parent] = form.H[node.parent] + X.congruence(Ha)  # eq. (30a)
        with stage("coupling"):
            coupled = _uncouple(form, i, node, X, S, D, U, UD, plain)
        nodes[i] = Eliminated(node, X, S, D, UD, [], coupled)
    for c, port in enumerate(form.ports):
        nodes[port.node].ports.append(c)
    return Elimination(order, nodes, form.ports, shares)


def _uncouple(
    form: _Form, i: int, node: Node, X: Transform, S: Array, D: Ldl, U: Array, UD: Array, plain: bool
) -> list[tuple[int, Array]]:
    """Couplings of a node that is eliminated go on to its parent and to each other."""
    found = []
    for c in range(len(form.ports)):
        if c not in form.G or (i not in form.G[c] and i not in form.g[c]):
            continue
        G, direct = form.G[c].pop(i, None), form.g[c].pop(i, None)
        GS = direct if G is None else G @ S if direct is None else G @ S + direct  # (m, n)
        GSD = ldl_solve(D, GS.T).T
        if node.parent >= 0:
            left = -(GS @ UD.T) if G is None else G - GS @ UD.T  # G P^T
            if plain and direct is None:
                left[:, list(node.zero_rows)] = 0.0
            _add(form.G[c], node.parent, np.stack([X.apply_T(row) for row in left]))  # eq. (30c)
        found.append((c, GS, GSD))
    for x, (c, GS, GSD) in enumerate(found):
        form.couple(c, c, -symmetric_product(GSD, GS.T))  # eq. (30d)
        for d, _, other in found[x + 1 :]:
            form.couple(c, d, -(GS @ other.T))
    return [(c, GSD) for c, _, GSD in found]


class Loads(NamedTuple):
    """Right-hand sides: forces on nodes, on joints and on ports."""

    f: dict[int, Array]
    u: dict[int, Array]
    l: dict[int, Array]


def row_loads(e: Elimination, w: list[Array], loads: Loads) -> Loads:
    """Add forces w along the rows: K^T w."""
    f, u, l = dict(loads.f), dict(loads.u), dict(loads.l)
    for shares, x in zip(e.shares, w, strict=True):
        for share in shares:
            if share.port is not None:
                _add(l, share.port, x)
                continue
            if share.E is not None:
                _add(f, share.node, share.E.T @ x)
            if share.e is not None:
                _add(u, share.node, share.e.T @ x)
    return Loads(f, u, l)


def inward(e: Elimination, nodes: list[int], loads: Loads) -> dict[int, Array]:
    """D^-1 u of those nodes, in order: line 11 of Algorithm 1 for forces only, and the reduced sweep of Algorithm 2."""
    f, u, l = dict(loads.f), dict(loads.u), dict(loads.l)
    Du: dict[int, Array] = {}
    for i in nodes:
        node, X, S, D, UD, ports, coupled = e.nodes[i]
        for c in ports:
            if c in l:
                port = e.ports[c]
                if port.E is not None:
                    _add(f, i, port.E.T @ l[c])
                if port.e is not None:
                    _add(u, i, port.e.T @ l[c])
        if i in f:
            _add(u, i, S.T @ f[i])
        if i not in u:
            continue
        Du[i] = ldl_solve(D, u[i])
        for c, GSD in coupled:
            _add(l, c, -(GSD @ u[i]))  # eq. (30e)
        if node.parent >= 0:
            fa = -(UD @ u[i]) if i not in f else f[i] - UD @ u[i]  # eq. (30b)
            _add(f, node.parent, X.apply_T(fa))
    return Du


def outward(
    e: Elimination, nodes: list[int], Du: dict[int, Array], a: dict[int, Array], y: dict[int, Array]
) -> dict[int, Array]:
    """Joint accelerations of those nodes, last first, eq. (29); fills in the accelerations of nodes and ports."""
    qdd: dict[int, Array] = {}
    for i in reversed(nodes):
        node, X, S, _, UD, ports, coupled = e.nodes[i]
        own = Du.get(i, np.zeros(node.m))
        for c, GSD in coupled:
            own = own - GSD.T @ y[c]
        carried = None
        if node.parent >= 0:
            carried = X.apply(a[node.parent])
            own = own - UD.T @ carried
        qdd[i] = own
        a[i] = S @ own if carried is None else carried + S @ own
        for c in ports:
            y[c] = e.ports[c].image(a[i], own)
    return qdd


def images(e: Elimination, a: dict[int, Array], qdd: dict[int, Array], y: dict[int, Array]) -> list[Array]:
    """K a of every constraint."""
    out = []
    for shares in e.shares:
        terms = [y[s.port] if s.port is not None else Port(s.node, s.E, s.e).image(a[s.node], qdd[s.node]) for s in shares]
        out.append(sum(terms[1:], terms[0]))
    return out
