"""What every contact, limit and dry friction of a solved step does, as equations of impulses x and row velocities c.

With c = G x + g, and of bounded rows |x| <= b (`mechanics/contact/problem.py`):

    dry friction   sticks: c = 0       slips: x = -b or b
    a limit        pushes: c = 0       else:  x = 0
    a contact      open:   x = 0       sticks: c = 0        slips: c_n = 0,    |c_T| x_T + mu x_n c_T = 0

where T are the tangents, and what resists turning. (Of the relaxed problem, what slips has c_n = mu |c_T|.) While these
stay what they are, x varies smoothly: with r(x, c) = 0 all of them, and t the state and what acts,

    (dr/dx + dr/dc G) dx = -dr/dc dc/dt

as in Le Lidec et al., "End-to-end and highly-efficient differentiable simulation for robotics" (2024). Where a row is
just about to do something else, the step has a derivative to either side and none in between.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sarrus.mechanics.contact.problem import row_spans
from sarrus.simulation.contact.contact_problem import BOUNCE_SPEED
from sarrus.simulation.contact.penetrations import is_on_edge
from sarrus.spatial.arrays import Array

EDGE = 1e-6  # of the largest scaled impulse or velocity: what is nearer to an edge is on it
_CLOSED = 1e-9  # metres (or m/s): a gap that is neither open nor a penetration
_RANK = 1e-10  # of the largest singular value
_SLOWEST = 1e-150  # m/s, of what slips: it is on the edge anyway, and must be a number
_FREE = 1e-6  # of a unit vector
_OTHER = 1e-2  # of all impulses, by which others differ
_NEWTON = 8  # steps, of a problem that is almost solved


class RowKinds(NamedTuple):
    """Which rows there are, in this order."""

    bounds: Array  # (b,) N s of dry friction that is a row
    limits: int
    friction: Array  # (contacts,) coefficients
    sizes: tuple[int, ...]  # rows of each contact
    convex: bool = False

    @property
    def first(self) -> int:
        """The first row of the contacts."""
        return len(self.bounds) + self.limits

    @property
    def total(self) -> int:
        return self.first + sum(self.sizes)

    @property
    def contacts(self) -> list[slice]:
        return row_spans(self.first, self.sizes)

    def sizes_of(self, G: Array) -> Array:
        """w (m,) by which impulses of different rows are of one size."""
        own = np.maximum(np.diagonal(G), 1e-300)
        blocks = [np.full(rows.stop - rows.start, own[rows].mean()) for rows in self.contacts]
        return np.sqrt(np.concatenate([own[: self.first], *blocks]))


class Sizes(NamedTuple):
    """What decides what each row does, in rows of one size."""

    slack: Array  # (b,) of dry friction, up to its bound
    speed: Array  # (b,)
    push: Array  # (limits,)
    opening: Array  # (limits,)
    normal: Array  # (contacts,)
    parting: Array  # (contacts,)
    grip: Array  # (contacts,) mu x_n - |x_T|
    sliding: Array  # (contacts,) |c_T|

    @staticmethod
    def of(kinds: RowKinds, x: Array, c: Array, G: Array) -> Sizes:
        w = kinds.sizes_of(G)
        nb, first, spans = len(kinds.bounds), kinds.first, kinds.contacts
        x, c, bounds = w * x, c / w, w[: len(kinds.bounds)] * kinds.bounds
        normal, parting = (np.array([y[rows.stop - 1] for rows in spans]) for y in (x, c))
        T, cT = (np.array([np.linalg.norm(y[rows.start : rows.stop - 1]) for rows in spans]) for y in (x, c))
        parting = parting - kinds.friction * cT if kinds.convex and len(spans) else parting
        return Sizes(
            bounds - np.abs(x[:nb]), np.abs(c[:nb]), x[nb:first], c[nb:first], normal, parting,
            kinds.friction * normal - T, cT,
        )  # fmt: skip


class Modes(NamedTuple):
    """What every row of a state does."""

    kinds: RowKinds
    rubs: Array  # (b,) -1 or 1: the sign of x of what slips; 0: it sticks
    pushes: Array  # (limits,) whether
    closed: Array  # (contacts,) whether
    slips: Array  # (contacts,) whether, of those that are closed

    @staticmethod
    def of(kinds: RowKinds, x: Array, c: Array, G: Array) -> Modes:
        """By what is larger, in rows of one size."""
        by = Sizes.of(kinds, x, c, G)
        rubs = np.where(by.speed > by.slack, np.sign(x[: len(kinds.bounds)]), 0.0)
        return Modes(kinds, rubs, by.push > by.opening, by.normal > by.parting, by.sliding > by.grip)

    def equations(self, x: Array, c: Array) -> tuple[Array, Array, Array]:
        """r(x, c) and its derivatives with respect to both."""
        kinds, m = self.kinds, len(x)
        r, by_x, by_c = np.array(x), np.eye(m), np.zeros((m, m))  # open
        held = [np.repeat(yes, size) for yes, size in zip(self.closed, kinds.sizes, strict=True)]
        holds = np.concatenate([self.rubs == 0.0, self.pushes, *held]).astype(bool)
        r[holds], by_x[holds], by_c[holds] = c[holds], 0.0, np.eye(m)[holds]
        slips = self.rubs != 0.0
        r[: len(slips)][slips] -= (self.rubs * kinds.bounds)[slips]
        for k in np.flatnonzero(self.closed & (self.slips | (kinds.friction == 0.0))):
            rows, mu = kinds.contacts[k], kinds.friction[k]
            T, n = slice(rows.start, rows.stop - 1), rows.stop - 1
            r[T], by_x[T], by_c[T] = x[T], np.eye(m)[T], 0.0  # without friction
            if mu > 0.0:
                speed = max(float(np.sqrt(np.sum(c[T] * c[T]))), _SLOWEST)
                r[T] = speed * x[T] + mu * x[n] * c[T]
                by_x[T, T], by_x[T, n] = speed * np.eye(n - rows.start), mu * c[T]
                by_c[T, T] = np.outer(x[T], c[T] / speed) + mu * x[n] * np.eye(n - rows.start)
                if kinds.convex:
                    r[n], by_c[n, T] = c[n] - mu * speed, -mu * c[T] / speed
        return r, by_x, by_c

    def solved(self, x: Array, G: Array, g: Array) -> Array:
        """x made exact, where c = G x + g."""
        for _ in range(_NEWTON if len(x) else 0):
            r, by_x, by_c = self.equations(x, G @ x + g)
            x = x - np.linalg.lstsq(by_x + by_c @ G, r, rcond=_RANK)[0]
        return x

    def variation(self, x: Array, c: Array, G: Array, by_t: Array) -> tuple[Array, bool]:
        """dx/dt (m, k), and whether it varies c as rows that depend on each other ask for."""
        if not len(x):
            return np.zeros(by_t.shape), True
        _, by_x, by_c = self.equations(x, c)
        matrix, right = by_x + by_c @ G, -(by_c @ by_t)
        dx = np.linalg.lstsq(matrix, right, rcond=_RANK)[0]
        left = np.abs(matrix @ dx - right).max(initial=0.0)
        return dx, bool(left <= EDGE * (1.0 + np.abs(right).max(initial=0.0)))

    def others(self, x: Array, c: Array, G: Array) -> Array:
        """(m,) a change of x after which the equations still hold, and contacts that slip push differently; else zero.

        Of what sticks it does not matter how contacts share a load: velocities follow from rows alone.
        """
        normals = np.array([rows.stop - 1 for rows in self.kinds.contacts], int)[self._rub]
        if not len(normals):
            return np.zeros(len(x))
        _, by_x, by_c = self.equations(x, c)
        w = self.kinds.sizes_of(G)
        _, sizes, axes = np.linalg.svd((by_x + by_c @ G) / w)
        loose = axes[(sizes > _RANK * sizes.max(initial=0.0)).sum() :]  # (k, m) in impulses of one size
        along = loose.T @ (loose[:, normals] @ np.cos(np.arange(len(normals))))  # any, that all of them are part of
        size = np.linalg.norm(along)
        if size < _FREE:
            return np.zeros(len(x))
        return (_OTHER * np.linalg.norm(w * x) / size) * along / w

    @property
    def _rub(self) -> Array:
        """(contacts,) whether they slip and are braked."""
        return self.closed & self.slips & (self.kinds.friction > 0.0)

    def within(self, x: Array, c: Array, G: Array) -> tuple[Modes, Array]:
        """What rows do, with impulses that are not on an edge if smaller ones with the same effect are not.

        Where contacts share a load, how they do so is any of many: some may be said to push or hold as much as they
        can, while nothing slips.
        """
        if not len(x) or self.is_clear(x, c, G):
            return self, x
        w = self.kinds.sizes_of(G)
        axes, sizes, _ = np.linalg.svd(G / w / w[:, None], hermitian=True)
        axes = axes[:, sizes > _RANK * sizes[0]]
        smallest = axes @ (axes.T @ (w * x)) / w
        modes = Modes.of(self.kinds, smallest, c, G)
        if np.any(modes.closed & modes.slips) or not modes.is_clear(smallest, c, G):
            return self, x
        return modes, smallest

    def is_clear(self, x: Array, c: Array, G: Array) -> bool:
        """Whether no row is on the edge to doing something else."""
        w, by = self.kinds.sizes_of(G), Sizes.of(self.kinds, x, c, G)
        least = EDGE * max(np.abs(w * x).max(initial=0.0), 1e-3 * np.abs(c / w).max(initial=0.0), 1e-12)
        rough = self.closed & (self.kinds.friction > 0.0)
        wide = [np.where(self.rubs == 0.0, by.slack, by.speed), np.where(self.pushes, by.push, by.opening)]
        wide += [np.where(self.closed, by.normal, by.parting)]
        wide += [np.where(rough, np.where(self.slips, by.sliding, by.grip), np.inf)]
        return bool(np.concatenate(wide).min(initial=np.inf) > least)

    def gaps_are_clear(self, gaps: Array, speeds: Array, velocities: Array, dt: float, restitution: float) -> bool:
        """Whether nothing that holds has a gap at which another opening begins: one that is just closed, or that is
        about to bounce or not; and whether nothing has one at which it is undone in another way.

        speeds      along the normals of contacts, before the step
        velocities  of all rows, after it
        """
        kinds, limits = self.kinds, len(self.pushes)
        bounces = np.zeros(len(speeds), bool)
        if restitution > 0.0:
            hits = gaps[limits:] + dt * speeds
            fast = speeds < -BOUNCE_SPEED
            bounces = fast & (hits < 0.0)
            if np.any(np.abs(speeds + BOUNCE_SPEED)[hits < 0.0] <= _CLOSED) or np.any(np.abs(hits[fast]) <= _CLOSED):
                return False
        held = np.concatenate([self.pushes, self.closed & ~bounces])
        normals = [*range(len(kinds.bounds), kinds.first), *(rows.stop - 1 for rows in kinds.contacts)]
        undone = [is_on_edge(gap, dt, dt * v, _CLOSED) for gap, v in zip(gaps, velocities[normals], strict=True)]
        return bool(np.all(np.abs(gaps[held]) > _CLOSED)) and not any(undone)
