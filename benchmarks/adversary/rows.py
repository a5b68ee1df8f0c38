"""Rows of every declared constraint, for a batch of states, from the motion of frames (`kinematics.py`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from benchmarks.adversary.closures import Condition, closure_condition, norm, pull, reach, sine
from benchmarks.adversary.kinematics import Array, Motion, apply, cross, ground, placed
from sarrus.model.constraints import CenterOfMass, Constraint, Contact, Coupling, Distance, LinkConstraint, LinkRows
from sarrus.model.model import Model


class Rows(NamedTuple):
    """J qdd = k."""

    J: Array  # (B, m, nv)
    k: Array  # (B, m)
    error: Array  # (B, m) of positions
    J_size: Array  # (B, m): what an element of the row may be large as, before terms cancel
    k_size: Array  # (B, m)


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
    return _distance(c, a, b) if isinstance(c, Distance) else closure_condition(c, a, b, seen_from_a)


def _frame(model: Model, name: str, motion: list[Motion]) -> Motion:
    frame = model.frame(name)
    x = motion[0]
    on = ground(len(x.p), model.nv, x.p.dtype) if frame.body < 0 else motion[frame.body]
    return placed(on, frame.placement.R, frame.placement.p)


def _link(c: LinkConstraint, x: Motion) -> Condition:
    Rt = np.swapaxes(x.R, 1, 2)
    spatial = np.concatenate([apply(Rt, x.a - cross(x.w, x.v)), apply(Rt, x.alpha)], axis=1)
    J = np.concatenate([Rt @ x.Jv, Rt @ x.Jw], axis=1)
    K = np.asarray(c.K if isinstance(c, LinkRows) else np.eye(6)[: c.size], J.dtype)
    second = spatial @ K.T
    if isinstance(c, Contact) and c.dim == 3:
        second = apply(Rt, x.a)
    lengths = norm(K)
    return Condition(K @ J, _held(c, x), second, np.outer(reach(x), lengths), np.outer(pull(x), lengths))


def _held(c: LinkConstraint, x: Motion) -> Array:
    """Where a contact is, less where it is held, in its axes; rotations by their sine."""
    if not isinstance(c, Contact) or c.at is None:
        return np.zeros((len(x.p), c.size), x.p.dtype)
    position, rotation = (c.at, None) if c.dim == 3 else c.at
    offset = apply(np.swapaxes(x.R, 1, 2), x.p - np.asarray(position))
    return offset if rotation is None else np.concatenate([offset, sine(np.asarray(rotation).T @ x.R)], axis=1)


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
    sizes = (np.repeat(mean(of)[:, None], len(axes), axis=1) for of in (reach, pull))
    return Condition(J, error, second, *sizes)


def _distance(c: Distance, a: Motion, b: Motion) -> Condition:
    d, rate = b.p - a.p, b.v - a.v
    length = norm(d)
    far = length > 1e-12  # else there is no direction: the row holds nothing
    n = np.where(far[:, None], d / np.where(far, length, 1)[:, None], 0)
    along = np.sum(n * rate, axis=1)
    turning = np.where(far, (np.sum(rate * rate, axis=1) - along**2) / np.where(far, length, 1), 0)
    second = np.sum(n * (b.a - a.a), axis=1) + turning
    J = n[:, None] @ (b.Jv - a.Jv)
    J_size, k_size = reach(a) + reach(b), pull(a) + pull(b) + turning
    return Condition(J, (length - c.length)[:, None], second[:, None], J_size[:, None], k_size[:, None])
