"""Fixed tendons: lengths `sum_k c_k q_k` that pull on all of their joints, tau_k = c_k f.

They have the forces of joints (`joint_forces`) along their lengths; but a spring is slack within a range of lengths,
often one length. The armature of a tendon is inertia between joints, which a model does not have: the importer reports
it as lost.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from sarrus.model.constraints import Tendon
from sarrus.model.model import Model
from sarrus.spatial.arrays import Array, vector
from sarrus.spatial.choice import choose


class Tendons(NamedTuple):
    """The tendons of a model, k in all, and their numbers; zero where there is nothing."""

    of_q: Array  # (k, nq) how lengths follow from q
    of_v: Array  # (k, nv) ... and speeds from v
    slack: Array  # (k, 2) lengths between which springs do not pull
    damping: Array  # (k,)
    stiffness: Array
    friction: Array
    lower: Array
    upper: Array

    def stretch(self, lengths: Array) -> Array:
        """How far lengths are out of where the springs are slack; negative: too short. For floats and symbols alike."""
        return vector(
            *(
                x - low if low == high else choose(x, low, x - low, choose(high, x, x - high, 0.0))
                for x, (low, high) in zip(lengths, self.slack, strict=True)
            )
        )


def tendons_of(model: Model) -> Tendons:
    """All tendons, also those without forces of their own."""
    found = [tendon for tendon in model.constraints if isinstance(tendon, Tendon)]
    of_q, of_v = np.zeros((len(found), model.nq)), np.zeros((len(found), model.nv))
    for k, tendon in enumerate(found):
        for name, coefficient in tendon.coefficients:
            of_q[k, model.layout.q_of(name).start] += coefficient
            of_v[k, model.layout.v_of(name).start] += coefficient
    properties = [dict(tendon.properties) for tendon in found]

    def numbers(name: str, default: Any) -> Array:
        rows = [np.broadcast_to(has.get(name, default), np.shape(default)) for has in properties]
        return np.array(rows, dtype=float).reshape(len(found), *np.shape(default))

    limited = numbers("limited", 0.0) != 0.0
    lower, upper = np.where(limited, numbers("range", (-np.inf, np.inf)).T, [[-np.inf], [np.inf]])
    damping, stiffness, friction = (numbers(name, 0.0) for name in ("damping", "stiffness", "frictionloss"))
    return Tendons(of_q, of_v, numbers("lengthspring", (0.0, 0.0)), damping, stiffness, friction, lower, upper)


def elastic_energy(model: Model, q: Array) -> Array:
    """(...,) joules in the springs of tendons, at q (..., nq)."""
    tendons = tendons_of(model)
    lengths = q @ tendons.of_q.T
    stretch = lengths - np.clip(lengths, *tendons.slack.T)
    return 0.5 * np.sum(tendons.stiffness * stretch * stretch, axis=-1)
