"""Up to which step springs and dampers are stable that stay explicit: they look only at where a step begins.

With stiffness K and damping D along velocities, v' = v - dt M^-1 (K q + D v), q' = q + dt v' is stable as long as no
eigenvalue of M^-1 (2 dt D + dt^2 K) reaches 4. Tendons over several joints stay explicit in every integrator: implicit,
one would add the inertia (dt d + dt^2 k) w w^T between its joints, which belongs to no body of a tree.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from sarrus.errors import listed
from sarrus.model.constraints import Tendon
from sarrus.model.model import Model
from sarrus.simulation.actuation import Actuated, servos_of
from sarrus.simulation.controllers import AbstractController
from sarrus.simulation.joint_forces import (
    JointForces,
    effort_limits,
    inverse_inertias,
    joint_property,
    tendons_of,
)
from sarrus.spatial.arrays import Array

_LARGEST = 4.0  # eigenvalue
_REACH = {"rk4": 1.29}  # times the step of the others: of springs, and less than of dampers (1.39)
_HALVINGS = 30
_TENDON = "forces of tendons stay explicit in every integrator: use a smaller dt"
_SERVO = "servos on tendons and those with a force range stay explicit: use smaller gains or a smaller dt"
_CUT = (
    "they stay explicit, since effort limits may cut them: use smaller gains or a smaller dt, or let nothing cut them "
    "(JointForces(effort=False) or --no-effort)"
)
_JOINT = "this integrator is explicit: use integrator='implicit' (--integrator implicit), or a smaller dt"


class _Pull(NamedTuple):
    """A spring and a damper along some velocities."""

    name: str
    row: Array  # (nv,)
    stiffness: float
    damping: float
    what: str  # in words, what is too stiff ...
    why: str  # ... and why, and what to do


class TooStiff(NamedTuple):
    """Springs and dampers that are too stiff for a step."""

    names: tuple[str, ...]  # the stiffest first
    what: str
    why: str
    largest: float  # seconds: a step for which all that stays explicit is stable, rounded down to two digits

    @property
    def in_words(self) -> str:
        who = listed(self.names, most=1)
        return f"{self.what} too stiff for this step: {who} (dt at most {self.largest:g} s); {self.why}"


def too_stiff(
    model: Model, which: JointForces, controllers: Sequence[AbstractController], dt: float, integrator: str
) -> list[TooStiff]:
    """What stays explicit with this integrator and is not stable in steps of this size; nothing if all is.

    The adaptive integrator finds steps that are stable by itself.
    """
    if not model.is_numeric or model.ill_posed or integrator == "adaptive":
        return []
    step, pulls = dt / _REACH.get(integrator, 1.0), list(_pulls(model, which, controllers))
    implicit = [pull for pull in pulls if integrator == "implicit" and pull.why == _JOINT]
    explicit = [pull for pull in pulls if integrator != "implicit" or pull.why != _JOINT]
    samples = [np.linalg.inv(x) for x in inverse_inertias(model)] if explicit else []
    if _eigenvalue(explicit, implicit, samples, step) < _LARGEST:
        return []
    low, high = 0.0, step
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        is_stable = _eigenvalue(explicit, implicit, samples, middle) < _LARGEST
        low, high = (middle, high) if is_stable else (low, middle)
    alone = [_eigenvalue([pull], implicit, samples, step) for pull in explicit]
    least = min(_LARGEST, max(alone))  # together they may be too stiff where none is so alone
    found: dict[tuple[str, str], list[str]] = {}
    for k in np.argsort(-np.array(alone), kind="stable"):
        if alone[k] >= least:
            found.setdefault((explicit[k].what, explicit[k].why), []).append(explicit[k].name)
    largest = _rounded_down(low * _REACH.get(integrator, 1.0))
    return [TooStiff(tuple(dict.fromkeys(names)), *words, largest) for words, names in found.items()]


def _pulls(model: Model, which: JointForces, controllers: Sequence[AbstractController]) -> Iterator[_Pull]:
    """All springs and dampers along velocities that do something."""
    return (pull for pull in _all_pulls(model, which, controllers) if pull.stiffness > 0.0 or pull.damping > 0.0)


def _all_pulls(model: Model, which: JointForces, controllers: Sequence[AbstractController]) -> Iterator[_Pull]:
    axes, names = np.eye(model.nv), _names_of_velocities(model)
    stiffness, damping = (
        acts * joint_property(model, name)
        for name, acts in (("stiffness", which.stiffness), ("damping", which.damping))
    )
    for k, name in enumerate(names):
        yield _Pull(name, axes[k], float(stiffness[k]), float(damping[k]), "springs and dampers", _JOINT)
    cut = np.isfinite(effort_limits(model)) & which.effort
    for controller in controllers:
        if not isinstance(controller, Actuated):  # those of the file are looked at one by one
            kp, kd = controller.gains(model)
            for k, name in enumerate(names):
                yield _Pull(name, axes[k], float(kp[k]), float(kd[k]), "gains", _CUT if cut[k] else _JOINT)
    for servo in servos_of(model):
        why = _SERVO if not servo.implicit else _CUT if cut[servo.row != 0.0].any() else _JOINT
        yield _Pull(servo.name, servo.row, servo.stiffness, servo.damping, "servos", why)
    tendons = [constraint.name for constraint in model.constraints if isinstance(constraint, Tendon)]
    along = tendons_of(model)
    for name, row, k, d in zip(tendons, along.of_v, along.stiffness, along.damping, strict=True):
        yield _Pull(name, row, float(which.stiffness * k), float(which.damping * d), "tendons", _TENDON)


def _eigenvalue(explicit: Sequence[_Pull], implicit: Sequence[_Pull], samples: Sequence[Array], dt: float) -> float:
    """The largest of M^-1 (2 dt D + dt^2 K) in a few configurations; M with what is implicit."""
    if not explicit:
        return 0.0
    rows = np.array([pull.row for pull in explicit])
    sizes = np.array([2.0 * dt * pull.damping + dt * dt * pull.stiffness for pull in explicit])
    added = sum(((dt * x.damping + dt * dt * x.stiffness) * np.outer(x.row, x.row) for x in implicit), np.zeros(()))
    scaled = np.sqrt(sizes)[:, None] * rows
    return max(float(np.linalg.eigvalsh(scaled @ np.linalg.solve(M + added, scaled.T))[-1]) for M in samples)


def _names_of_velocities(model: Model) -> list[str]:
    return [name for name in model.joint_names for _ in range(model.nv)[model.layout.v_of(name)]]


def _rounded_down(x: float) -> float:
    """To two digits."""
    unit = 10.0 ** (np.floor(np.log10(max(x, 1e-300))) - 1.0)
    return float(f"{np.floor(x / unit + 1e-9) * unit:.2g}")
