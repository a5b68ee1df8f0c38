"""The Delassus matrix by the recursion of lowest order."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sarrus.mechanics.mechanism import mechanism, rows_of_links
from sarrus.mechanics.solvers.propagators import Propagator, Support, propagators, put_block, symmetric_part
from sarrus.model.model import Model
from sarrus.model.topology import AbstractTree
from sarrus.registry.features import Feature
from sarrus.registry.table import algorithm
from sarrus.spatial.arrays import Array
from sarrus.spatial.linear_algebra import ldl_forward
from sarrus.spatial.stages import stage


@algorithm(
    outputs="Lambda_inv",
    cost="O(n + m^2)",
    references=("sathya2025osimr",),
    supports=Feature.ON_LINKS | Feature.REDUNDANT,
)
def pv_osimr(model: Model, q: Array) -> Array:
    """Delassus matrix J M^-1 J^T (m, m) by PV-OSIMr (Algorithm 3 of its paper).

    PV-OSIM carries all rows through all joints. Here rows stop where they meet others, at a branching link; from there
    on, the six unit forces of that link are carried instead. The Delassus matrix is then assembled from the segments
    between branching links.

    A branching link of the paper where no more than six rows meet is left out of N: its rows continue as one
    end-effector.
    """
    at = mechanism(model, q)
    rows = rows_of_links(at, "pv_osimr")
    support = Support(at.nodes, rows)
    parts = propagators(at.nodes)
    N = branching_links(at.tree, support)

    # Inward: P^T and Omega of every segment, from its lower end (in N, or an end-effector) to A, the next link in N.
    carried: list[list[Segment]] = [[] for _ in parts]
    for r in rows:
        all_rows = list(range(r.span.start, r.span.stop))
        carried[r.node].append(Segment(None, all_rows, r.K, np.zeros((len(r.K), len(r.K)))))  # line 4
    lower: dict[int, list[Segment]] = {}  # by branching link: the segments that end there
    for i in range(len(parts) - 1, -1, -1):
        if not carried[i]:
            continue
        segment = _merged(carried[i])
        if i in N:
            lower[i] = carried[i]
            segment = Segment(i, [], np.eye(len(parts[i].S)), np.zeros((len(parts[i].S),) * 2))  # line 7
        parent = parts[i].node.parent
        if parent < 0 and i in N:
            continue  # a root in N: its inverse inertia stays factored
        with stage("segments"):
            Omega = segment.Omega + parts[i].response(segment.P_T)  # line 15
            P_T = segment.P_T if parent < 0 else parts[i].inward(segment.P_T)  # line 13
        segment = Segment(segment.link, segment.rows, P_T, Omega)
        if parent >= 0:
            carried[parent].append(segment)
        else:
            lower.setdefault(-1, []).append(segment)
    return _assemble(parts, lower, support.m, q.dtype)


class Segment(NamedTuple):
    """From a branching link (or an end-effector: link None) inward to the next one."""

    link: int | None
    rows: list[int]  # of an end-effector: which of all rows
    P_T: Array  # (c, 6) unit forces at the lower end, as the upper end feels them; c = 6 or the number of rows
    Omega: Array  # (c, c) inverse inertia at the lower end, the upper end at rest


def branching_links(tree: AbstractTree, support: Support) -> set[int]:
    """N without end-effectors and world: links where rows meet, and more than six."""
    sizes = [span.stop - span.start for span in support.spans]
    N = set()
    for i in range(len(tree.nodes)):
        children = [support.ES[k] for k in tree.children[i]] + [[e] for e, at in enumerate(support.at) if at == i]
        meet = all(len(ES) < len(support.ES[i]) for ES in children) and support.ES[i]
        if meet and sum(sizes[e] for e in support.ES[i]) > tree.nodes[i].size:
            N.add(i)
    return N


def _merged(segments: list[Segment]) -> Segment:
    """Several end-effectors as one, with block-diagonal Omega."""
    if len(segments) == 1:
        return segments[0]
    P_T = np.concatenate([s.P_T for s in segments])
    Omega = np.zeros((len(P_T), len(P_T)), dtype=np.result_type(*(s.Omega for s in segments)))
    start = 0
    for s in segments:
        Omega[start : start + len(s.P_T), start : start + len(s.P_T)] = s.Omega
        start += len(s.P_T)
    return Segment(None, [row for s in segments for row in s.rows], P_T, Omega)


def _assemble(parts: list[Propagator], lower: dict[int, list[Segment]], m: int, dtype: np.dtype) -> Array:
    Lambda_inv = np.zeros((m, m), dtype=dtype)
    # Outward over N: inverse inertias of branching links and end-effectors, with nothing but the world at rest.
    Omega_0: dict[int, Array] = {}
    with stage("inverse inertia"):
        for A in sorted(lower):
            for s in lower[A]:
                Omega = s.Omega
                if A in Omega_0:
                    Omega = Omega + symmetric_part(s.P_T @ Omega_0[A], s.P_T)  # line 17
                elif A >= 0:
                    Omega = Omega + parts[A].response(s.P_T)  # line 17 at a root
                if s.link is None:
                    Lambda_inv[np.ix_(s.rows, s.rows)] = Omega  # line 28
                else:
                    Omega_0[s.link] = Omega
    # Inward over N: the rows of all end-effectors beyond each branching link, and the blocks of those that meet there.
    K: dict[int, tuple[list[int], Array]] = {}
    for A in sorted((A for A in lower if A >= 0), reverse=True):
        with stage("constraint rows"):
            beyond = [
                (s.rows, s.P_T) if s.link is None else (K[s.link][0], K[s.link][1] @ s.P_T) for s in lower[A]
            ]  # line 22
            # End-effectors first: K Omega is known from line 17. The largest last: it needs no K Omega.
            order = sorted(range(len(beyond)), key=lambda x: (lower[A][x].link is not None, len(beyond[x][0])))
            beyond = [beyond[x] for x in order]
            K[A] = ([row for rows, _ in beyond for row in rows], np.concatenate([K_s for _, K_s in beyond]))
        with stage("delassus"):
            for y, (columns, K_j) in enumerate(beyond):
                for rows, K_i in beyond[:y]:  # line 25, with cca = A
                    put_block(Lambda_inv, rows, columns, _coupling(parts[A], Omega_0.get(A), K_i, K_j))
    return Lambda_inv


def _coupling(root: Propagator, Omega_0: Array | None, K_i: Array, K_j: Array) -> Array:
    """K_i Omega K_j^T, where a root's Omega = S D^-1 S^T stays factored (None)."""
    if Omega_0 is not None:
        return (K_i @ Omega_0) @ K_j.T
    Y_i, Y_j = ldl_forward(root.D, (K_i @ root.S).T), ldl_forward(root.D, (K_j @ root.S).T)
    return Y_i.T @ (Y_j.T * root.D.d_inv).T
