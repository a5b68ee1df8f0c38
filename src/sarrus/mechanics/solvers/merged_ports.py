"""Ports of one link in LCABA's form that become its whole acceleration, where that is smaller (`ports.py`)."""

from __future__ import annotations

import numpy as np

from sarrus.mechanics.solvers.link_form import Form
from sarrus.mechanics.solvers.ports import Port
from sarrus.spatial.arrays import Array
from sarrus.spatial.linear_algebra import symmetric_product
from sarrus.spatial.orthogonal import is_structurally_zero
from sarrus.spatial.sums import add_to


def merge_ports(form: Form, i: int) -> None:
    """Where node i is coupled with more rows of another node's ports than that has accelerations, those take over.

    Not before: links that see few of these ports would have to carry six rows.
    """
    for j in sorted({form.ports[c].node for c, G in form.G.items() if i in G}):
        found = {c: E for c in form.at[j] if (E := form.ports[c].E) is not None and form.ports[c].e is None}
        coupled = [G for c in found if (G := form.G[c].get(i)) is not None]
        if len(coupled) > 1 and sum(map(_rows_in_use, coupled)) > len(form.H[j]):
            merge(form, j, found)


def merge(form: Form, i: int, found: dict[int, Array]) -> None:
    """The ports `found` (and their E) of node i become one, its acceleration."""
    form.at[i] = [c for c in form.at[i] if c not in found]
    whole = form.add_port(Port(i, np.eye(len(form.H[i])), None))
    for c, E in found.items():
        for j, G in form.G.pop(c).items():
            add_to(form.G[whole], j, E.T @ G)
        for j, g in form.g.pop(c).items():
            add_to(form.g[whole], j, E.T @ g)
        for d in form.partners(c):
            M = form.uncouple(c, d)
            if d == c:
                form.H[i] = form.H[i] + symmetric_product(E.T @ M, E)
            elif d == whole:  # another of these ports was coupled with c
                A = E.T @ M
                form.H[i] = form.H[i] + (A + A.T)
            else:
                form.couple(whole, d, E.T @ M)


def _rows_in_use(G: Array) -> int:
    return sum(not all(map(is_structurally_zero, row)) for row in G)
