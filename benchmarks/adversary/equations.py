"""The equations of motion of a batch of states: M qdd + c = tau + J^T f, J qdd = k, with how large their terms are."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from benchmarks.adversary.kinematics import Array, Motion, apply, bodies, cross, moment_columns
from benchmarks.adversary.rows import Rows, rows_of
from sarrus.model.model import Model


class Equations(NamedTuple):
    """Sizes say what rounding is relative to: terms cancel in c, in k and in J."""

    M: Array  # (B, n, n)
    c: Array  # (B, n)
    J: Array  # (B, m, n)
    k: Array  # (B, m)
    error: Array  # (B, m) of positions
    c_size: Array  # (B, n) sum of the magnitudes of the terms of c
    J_size: Array  # (B, m) of those of an element of a row
    k_size: Array  # (B, m)


def equations(model: Model, q: Array, v: Array, seen_from_a: bool = False) -> Equations:
    """Of the model with all of its constraints as rows, embedded ones too.

    seen_from_a  how the acceleration of an open loop's gap is meant: as seen from frame a, or in its momentary axes
    """
    motion = bodies(model, q, v)
    M, c, c_size = mass_and_bias(model, motion)
    r: Rows = rows_of(model.spanning, motion, q, v, seen_from_a)
    return Equations(M, c, r.J, r.k, r.error, c_size, r.J_size, r.k_size)


def mass_and_bias(model: Model, motion: list[Motion]) -> tuple[Array, Array, Array]:
    """Newton and Euler, body by body, about centres of mass."""
    x = motion[0]
    dtype, nv = x.p.dtype, model.nv
    armature = np.concatenate([np.asarray(b.joint.armature, dtype) for b in model.bodies])
    M = np.broadcast_to(np.diag(armature), (len(x.p), nv, nv)).copy()
    c, size = np.zeros((2, len(x.p), nv), dtype)
    gravity = np.asarray(model.gravity, dtype)
    for body, x in zip(model.bodies, motion, strict=True):
        m, com, Ic = inertia_of(body, dtype)
        r = apply(x.R, com)
        Jc = x.Jv + moment_columns(x.Jw, r)
        a = x.a + cross(x.alpha, r) + cross(x.w, cross(x.w, r)) - gravity
        world = x.R @ Ic @ np.swapaxes(x.R, 1, 2)
        moment = apply(world, x.alpha) + cross(x.w, apply(world, x.w))
        M += m * np.swapaxes(Jc, 1, 2) @ Jc + np.swapaxes(x.Jw, 1, 2) @ world @ x.Jw
        c += apply(np.swapaxes(Jc, 1, 2), m * a) + apply(np.swapaxes(x.Jw, 1, 2), moment)
        far = np.sqrt(np.sum(r * r, axis=1))
        spin = np.sum(x.w * x.w, axis=1) + np.sqrt(np.sum(x.alpha * x.alpha, axis=1))
        terms = np.sqrt(np.sum(x.a * x.a, axis=1)) + far * spin + np.sqrt(gravity @ gravity)
        turned = np.max(np.abs(Ic)) * spin
        size += m * terms[:, None] * np.sqrt(np.sum(Jc * Jc, axis=1))
        size += turned[:, None] * np.sqrt(np.sum(x.Jw * x.Jw, axis=1))
    return M, c, size


def inertia_of(body, dtype) -> tuple[Array, Array, Array]:
    """Mass, centre of mass and inertia about it, from the declared first and second moments."""
    m, h = dtype.type(body.inertia.mass), np.asarray(body.inertia.h, dtype)
    com = h / m if m else np.zeros(3, dtype)
    second = np.asarray(body.inertia.Sigma, dtype) - m * np.outer(com, com)
    return m, com, np.trace(second) * np.eye(3, dtype=dtype) - second
