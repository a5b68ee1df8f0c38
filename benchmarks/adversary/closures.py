"""Rows of loop closures of every type, for a batch of states, from the motion of their two frames."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from benchmarks.adversary.kinematics import Array, Motion, apply, cross, moment_columns
from sarrus.model.constraints import LoopClosure


class Condition(NamedTuple):
    """Functions of the state with their first derivative J v and the second where qdd = 0; sizes as in `Rows`."""

    J: Array
    error: Array
    second: Array
    J_size: Array
    k_size: Array


def norm(x: Array) -> Array:
    return np.sqrt(np.sum(x * x, axis=-1))


def reach(x: Motion) -> Array:
    """How large an element of a point's Jacobian may be before terms cancel."""
    return 1 + norm(x.p)


def pull(x: Motion) -> Array:
    """How large a point's acceleration may be before terms cancel."""
    spin = np.sum(x.w * x.w, axis=1) + norm(x.alpha)
    return norm(x.a) + spin * reach(x) + norm(x.w) * norm(x.v)


def sine(E: Array) -> Array:
    return 0.5 * np.stack([E[:, 2, 1] - E[:, 1, 2], E[:, 0, 2] - E[:, 2, 0], E[:, 1, 0] - E[:, 0, 1]], axis=1)


def closure_condition(c: LoopClosure, a: Motion, b: Motion, seen_from_a: bool) -> Condition:
    """The rows of a closure, in order."""
    dtype = a.p.dtype
    u = np.array([0.0, 0.0, 1.0], dtype) if c.axis is None else np.asarray(c.axis, dtype)
    u = u / np.sqrt(u @ u)
    t1 = np.cross(u, np.eye(3, dtype=dtype)[int(np.argmin(np.abs(u)))])
    t1 = t1 / np.sqrt(t1 @ t1)
    t2 = np.cross(u, t1)
    pair = _Pair(a, b)
    coincide = pair.coordinates(np.eye(3, dtype=dtype)) if seen_from_a else pair.coincide()
    aligned = pair.perpendicular([t1, t2], u)
    on_axis = pair.coordinates(np.array([t1, t2]))
    if c.joint == "universal":
        second = t1 if c.second_axis is None else np.asarray(c.second_axis, dtype)
        return _joined([coincide, pair.perpendicular([u], second)])
    parts: dict[str, list[Condition]] = {
        "weld": [coincide, pair.no_rotation()], "connect": [coincide], "spherical": [coincide],
        "revolute": [coincide, aligned], "prismatic": [on_axis, pair.no_rotation()], "cylindrical": [on_axis, aligned],
        "planar": [pair.coordinates(u[None]), aligned], "helical": [on_axis, aligned, pair.screw(u, t1, c.pitch)],
    }  # fmt: skip
    return _joined(parts[c.joint])


def _joined(parts: list[Condition]) -> Condition:
    return Condition(*(np.concatenate(x, axis=1) for x in zip(*parts, strict=True)))


class _Pair:
    """Conditions between two frames."""

    def __init__(self, a: Motion, b: Motion) -> None:
        self.a, self.b = a, b
        self.Rt = np.swapaxes(a.R, 1, 2)
        self.d = b.p - a.p
        self.reach, self.pull = reach(a) + reach(b), pull(a) + pull(b)

    def _condition(self, J: Array, error: Array, second: Array, turning: bool = False) -> Condition:
        m = J.shape[1]
        reach = np.ones_like(self.reach) if turning else self.reach
        return Condition(J, error, second, np.repeat(reach[:, None], m, 1), np.repeat(self.pull[:, None], m, 1))

    def coincide(self) -> Condition:
        """Origins are one point: in the axes of a, which take no part in the derivative."""
        a, b = self.a, self.b
        return self._condition(self.Rt @ (b.Jv - a.Jv), apply(self.Rt, self.d), apply(self.Rt, b.a - a.a))

    def coordinates(self, directions: Array) -> Condition:
        """b's origin as seen from a, along directions of a."""
        a, b, d = self.a, self.b, self.d
        D = directions @ self.Rt
        rate = b.v - a.v - cross(a.w, d)
        second = b.a - a.a - cross(a.alpha, d) - cross(a.w, cross(a.w, d)) - 2 * cross(a.w, rate)
        return self._condition(D @ (b.Jv - a.Jv - moment_columns(a.Jw, d)), apply(D, d), apply(D, second))

    def no_rotation(self) -> Condition:
        a, b = self.a, self.b
        turned = b.R @ self.Rt  # in the world: a's axes to b's
        error = apply(self.Rt, sine(turned))
        return self._condition(self.Rt @ (b.Jw - a.Jw), error, apply(self.Rt, b.alpha - a.alpha), turning=True)

    def perpendicular(self, directions: list[Array], w: Array) -> Condition:
        """Direction w of b stays perpendicular to these of a."""
        a, b = self.a, self.b
        n = apply(b.R, w)
        parts = []
        for t in directions:
            T = apply(a.R, t)
            T1, n1 = cross(a.w, T), cross(b.w, n)
            T2, n2 = cross(a.alpha, T) + cross(a.w, T1), cross(b.alpha, n) + cross(b.w, n1)
            second = np.sum(T2 * n + 2 * T1 * n1 + T * n2, axis=1)
            J = cross(n, T)[:, None] @ (b.Jw - a.Jw)
            parts.append(self._condition(J, np.sum(T * n, axis=1)[:, None], second[:, None], turning=True))
        return _joined(parts)

    def screw(self, u: Array, t: Array, pitch: float) -> Condition:
        """The advance along u is `pitch` times the angle about u, which is measured from t."""
        a, b = self.a, self.b
        along = self.coordinates(u[None])
        axis, turned = apply(a.R, u), apply(b.R, t)
        angle = np.arctan2(np.sum(apply(a.R, np.cross(u, t)) * turned, axis=1), np.sum(apply(a.R, t) * turned, axis=1))
        spin = b.w - a.w
        alpha = np.sum(axis * (b.alpha - a.alpha - cross(a.w, spin)), axis=1)
        return along._replace(
            J=along.J - pitch * (axis[:, None] @ (b.Jw - a.Jw)),
            error=along.error - (pitch * angle)[:, None],
            second=along.second - (pitch * alpha)[:, None],
        )
