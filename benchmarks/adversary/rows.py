"""Rows of every declared constraint, for a batch of states, from the motion of frames (`kinematics.py`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from benchmarks.adversary.kinematics import Array, Motion, apply, cross, ground, moment_columns, placed
from sarrus.model.constraints import CenterOfMass, Constraint, Contact, Coupling, Distance, LinkConstraint, LinkRows
from sarrus.model.model import Model


class Rows(NamedTuple):
    """J qdd = k."""

    J: Array  # (B, m, nv)
    k: Array  # (B, m)
    error: Array  # (B, m) of positions
    J_size: Array  # (B, m): what an element of the row may be large as, before terms cancel
    k_size: Array  # (B, m)


class Condition(NamedTuple):
    """Functions of the state with their first derivative J v and the second where qdd = 0; sizes as in `Rows`."""

    J: Array
    error: Array
    second: Array
    J_size: Array
    k_size: Array


def rows_of(model: Model, motion: list[Motion], q: Array, v: Array, seen_from_a: bool = False) -> Rows:
    """Of all active constraints, in order. Those declared with k="input" are not for this oracle."""
    batch, dtype = len(q), q.dtype
    parts = [
        Rows(np.zeros((batch, 0, model.nv), dtype), *(np.zeros((batch, 0), dtype) for _ in range(4))),
        *(_feedback(c, _condition(model, c, motion, q, v, seen_from_a), v) for c in model.active_constraints),
    ]
    return Rows(*(np.concatenate(x, axis=1) for x in zip(*parts, strict=True)))


def _feedback(c: Constraint, x: Condition, v: Array) -> Rows:
    """Baumgarte's terms and the desired acceleration."""
    t: float | None = getattr(c, "stabilization", None)
    desired = getattr(c, "desired", None)
    wanted = np.zeros(c.size) if desired is None else np.asarray(desired, float)
    k = wanted.astype(v.dtype) - x.second
    size = x.k_size + np.abs(wanted)
    if t is not None:
        rate = apply(x.J, v)
        t = v.dtype.type(t)
        k = k - 2 / t * rate - x.error / t**2
        size = size + 2 / t * np.abs(rate) + np.abs(x.error) / t**2
    return Rows(x.J, k, x.error, x.J_size, size)


def _condition(model: Model, c: Constraint, motion: list[Motion], q: Array, v: Array, seen_from_a: bool) -> Condition:
    if isinstance(c, Coupling):
        return _coupling(model, c, q, v)
    if isinstance(c, CenterOfMass):
        return _center_of_mass(model, c, motion)
    if isinstance(c, LinkConstraint):
        return _link(c, _frame(model, c.frame, motion))
    a, b = _frame(model, c.frame_a, motion), _frame(model, c.frame_b, motion)  # type: ignore[attr-defined]
    return _distance(c, a, b) if isinstance(c, Distance) else _closure(c, a, b, seen_from_a)


def _frame(model: Model, name: str, motion: list[Motion]) -> Motion:
    frame = model.frame(name)
    x = motion[0]
    on = ground(len(x.p), model.nv, x.p.dtype) if frame.body < 0 else motion[frame.body]
    return placed(on, frame.placement.R, frame.placement.p)


def _norm(x: Array) -> Array:
    return np.sqrt(np.sum(x * x, axis=-1))


def _reach(x: Motion) -> Array:
    """How large an element of a point's Jacobian may be before terms cancel."""
    return 1 + _norm(x.p)


def _pull(x: Motion) -> Array:
    """How large a point's acceleration may be before terms cancel."""
    spin = np.sum(x.w * x.w, axis=1) + _norm(x.alpha)
    return _norm(x.a) + spin * _reach(x) + _norm(x.w) * _norm(x.v)


def _link(c: LinkConstraint, x: Motion) -> Condition:
    Rt = np.swapaxes(x.R, 1, 2)
    spatial = np.concatenate([apply(Rt, x.a - cross(x.w, x.v)), apply(Rt, x.alpha)], axis=1)
    J = np.concatenate([Rt @ x.Jv, Rt @ x.Jw], axis=1)
    K = np.asarray(c.K if isinstance(c, LinkRows) else np.eye(6)[: c.size], J.dtype)
    second = spatial @ K.T
    if isinstance(c, Contact) and c.dim == 3:
        second = apply(Rt, x.a)
    lengths = _norm(K)
    return Condition(K @ J, _held(c, x), second, np.outer(_reach(x), lengths), np.outer(_pull(x), lengths))


def _held(c: LinkConstraint, x: Motion) -> Array:
    """Where a contact is, less where it is held, in its axes; rotations by their sine."""
    if not isinstance(c, Contact) or c.at is None:
        return np.zeros((len(x.p), c.size), x.p.dtype)
    position, rotation = (c.at, None) if c.dim == 3 else c.at
    offset = apply(np.swapaxes(x.R, 1, 2), x.p - np.asarray(position))
    return offset if rotation is None else np.concatenate([offset, _sine(np.asarray(rotation).T @ x.R)], axis=1)


def _sine(E: Array) -> Array:
    return 0.5 * np.stack([E[:, 2, 1] - E[:, 1, 2], E[:, 0, 2] - E[:, 2, 0], E[:, 1, 0] - E[:, 0, 1]], axis=1)


def _coupling(model: Model, c: Coupling, q: Array, v: Array) -> Condition:
    reference = dict(c.references)
    J = np.zeros((len(q), 1, model.nv), q.dtype)
    error, second = np.full((len(q), 1), -c.polynomial[0], q.dtype), np.zeros((len(q), 1), q.dtype)
    for name, ratio in c.ratios:
        i = model.joint_index(name)
        J[:, 0, model.layout.v[i].start] += ratio
        error[:, 0] += ratio * (q[:, model.layout.q[i].start] - reference.get(name, 0.0))
    if c.driver is not None:
        i = model.joint_index(c.driver)
        x, rate = q[:, model.layout.q[i].start] - reference.get(c.driver, 0.0), v[:, model.layout.v[i].start]
        for power, coefficient in enumerate(c.polynomial[1:], 1):
            error[:, 0] -= coefficient * x**power
            J[:, 0, model.layout.v[i].start] -= coefficient * power * x ** (power - 1)
            if power > 1:
                second[:, 0] -= coefficient * power * (power - 1) * x ** (power - 2) * rate**2
    return Condition(J, error, second, np.max(np.abs(J), axis=2), np.abs(second))


def _center_of_mass(model: Model, c: CenterOfMass, motion: list[Motion]) -> Condition:
    axes = ["xyz".index(axis) for axis in c.axes]
    parts = []
    for body, x in zip(model.bodies, motion, strict=True):
        m, h = body.inertia.mass, np.asarray(body.inertia.h)
        parts.append((m, placed(x, np.eye(3), h / m if m else 0 * h)))
    total = sum(m for m, _ in parts)

    def mean(of: Callable[[Motion], Array]) -> Array:
        return sum(m * of(x) for m, x in parts) / total

    position, second, J = mean(lambda x: x.p)[:, axes], mean(lambda x: x.a)[:, axes], mean(lambda x: x.Jv)[:, axes]
    error = np.zeros_like(position) if c.at is None else position - np.asarray(c.at)
    reach, pull = (np.repeat(mean(of)[:, None], len(axes), axis=1) for of in (_reach, _pull))
    return Condition(J, error, second, reach, pull)


def _distance(c: Distance, a: Motion, b: Motion) -> Condition:
    d, rate = b.p - a.p, b.v - a.v
    length = _norm(d)
    far = length > 1e-12  # else there is no direction: the row holds nothing
    n = np.where(far[:, None], d / np.where(far, length, 1)[:, None], 0)
    along = np.sum(n * rate, axis=1)
    turning = np.where(far, (np.sum(rate * rate, axis=1) - along**2) / np.where(far, length, 1), 0)
    second = np.sum(n * (b.a - a.a), axis=1) + turning
    reach, pull = _reach(a) + _reach(b), _pull(a) + _pull(b) + turning
    J = n[:, None] @ (b.Jv - a.Jv)
    return Condition(J, (length - c.length)[:, None], second[:, None], reach[:, None], pull[:, None])


def _closure(c, a: Motion, b: Motion, seen_from_a: bool) -> Condition:
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
        self.reach, self.pull = _reach(a) + _reach(b), _pull(a) + _pull(b)

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
        error = apply(self.Rt, _sine(turned))
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
