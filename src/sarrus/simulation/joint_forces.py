"""Forces that joints and tendons have of themselves: damping, springs, dry friction, limits; and what motors can do.

- damping: -damping v
- spring: stiffness times the distance to `rest` (of a ball joint: the rotation vector to it)
- dry friction: -friction clamp(v / s, -1, 1): Coulomb's, with a slope instead of a jump below the speed s. Default s:
  so large that one step cannot turn the velocity around, 2 dt friction / inertia, and at least 1e-3.
- limits: beyond a limit a spring and damper pushes back (never pulls). Default: critically damped with the time
  constant `limit_time` (5 steps) for the effective inertia of the joint, which is stable and as stiff as dt allows.
  It brings a joint back no faster than 5 rad/s or m/s: one that starts far outside is not shot through its range.
- efforts: what motors are asked for is cut at the joint's `effort_limit`.

The effective inertia of a joint is 1 / (M^-1)_kk of the tree, the smallest of a few configurations.

Fixed tendons have lengths `sum_k c_k q_k`, the same forces along them, and pull on all of their joints, tau_k = c_k f;
but their springs are slack within a range of lengths, often one length. The armature of a tendon is inertia between
joints, which a model does not have: the importer reports it as lost.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from sarrus.errors import UnsupportedError
from sarrus.model.arguments import positive_number, true_or_false
from sarrus.model.constraints import Tendon
from sarrus.model.gravity_compensation import NOTHING_BORNE, GravityCompensation
from sarrus.model.model import Model
from sarrus.model.per_model import per_model
from sarrus.model.state import neutral, random_state
from sarrus.registry.table import find
from sarrus.simulation.gravity_compensation import bearing_forces
from sarrus.simulation.manifold import difference_to, joints_of
from sarrus.spatial.arrays import Array, Scalar, vector
from sarrus.spatial.choice import choose

_SAMPLES = 3
_LIMIT_STEPS = 5.0  # time constant of a limit, in steps
_SLOWEST = 1e-3  # friction's speed at least
_FASTEST_RETURN = 5.0  # rad/s or m/s: of a joint beyond its limit


@dataclass(frozen=True)
class JointForces:
    """Which joint forces act (`sarrus.simulate(..., joint_forces=JointForces(limits=False))`), and how stiff they are.

    limit_time      time constant in seconds with which a limit brings a joint back; None: five steps
    friction_speed  the speed below which dry friction is proportional to the speed; None: from the inertia

    >>> sarrus.JointForces(limits=False).limits
    False
    """

    damping: bool = True  # of joints
    stiffness: bool = True  # springs of joints
    friction: bool = True  # dry friction of joints
    limits: bool = True  # springs at the limits of positions
    effort: bool = True  # whether effort limits cut the forces of motors
    gravity_compensation: bool = True  # weights that something bears, other than by motors
    limit_time: float | None = None
    friction_speed: float | None = None

    def __post_init__(self) -> None:
        for name in ("damping", "stiffness", "friction", "limits", "effort", "gravity_compensation"):
            object.__setattr__(self, name, true_or_false(name, getattr(self, name)))
        for name in ("limit_time", "friction_speed"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, positive_number(name, getattr(self, name)))


NONE = JointForces(
    damping=False, stiffness=False, friction=False, limits=False, effort=False, gravity_compensation=False
)


@dataclass(frozen=True)
class PassiveParameters:
    """Numbers of the forces along some coordinates, one each; zero, or no limit, where there is nothing."""

    damping: tuple[float, ...]
    stiffness: tuple[float, ...]
    friction: tuple[float, ...]
    lower: tuple[float, ...]
    upper: tuple[float, ...]
    inertia: tuple[float, ...]
    friction_speed: float | None
    limit_time: float | None

    def without(self, friction: bool, limits: bool) -> PassiveParameters:
        """The same coordinates without some of their forces: where these are part of the contact problem."""
        count = len(self.friction)
        nothing = {"friction": (0.0,) * count} if friction else {}
        unlimited = {"lower": (-np.inf,) * count, "upper": (np.inf,) * count} if limits else {}
        left = replace(self, **nothing, **unlimited)
        acting = np.abs(left.friction) + np.isfinite([left.lower, left.upper]).any(axis=0)
        # What nothing depends on does not make a step another one.
        return replace(left, inertia=tuple(np.where(acting > 0.0, left.inertia, 1.0).tolist()))

    def forces(self, pull: Array, v: Array, dt: Scalar) -> Array:
        """Of springs, dampers and friction, along velocities v; pull: the distance to where springs rest; dt: of a
        step.
        """
        given = (self.damping, self.stiffness, self.friction, self.inertia)
        damping, stiffness, friction, inertia = (np.array(numbers) for numbers in given)
        force = -damping * v + stiffness * pull
        if friction.any():
            force = force - friction * clamp(v / self._speed(friction, inertia, dt), -1.0, 1.0)
        return force

    def limit_forces(self, x: Array, rates: Array, dt: Scalar) -> Array:
        """Along coordinates x that change at these rates."""
        inertia = np.array(self.inertia)
        rate = 1.0 / (_LIMIT_STEPS * dt if self.limit_time is None else self.limit_time)
        limits = zip(self.lower, self.upper, inertia * rate * rate, 2.0 * inertia * rate, x, rates, strict=True)
        return vector(*(_limit_force(*numbers) for numbers in limits))

    def _speed(self, friction: Array, inertia: Array, dt: Scalar) -> Array:
        """Below which dry friction is proportional to the speed."""
        if self.friction_speed is not None:
            return np.full(len(inertia), self.friction_speed)
        turned = 2.0 * dt * (friction / inertia)
        return vector(*(choose(_SLOWEST, x, x, _SLOWEST) for x in turned))


def _limit_force(lower: float, upper: float, spring: float, damper: float, x: Scalar, v: Scalar) -> Scalar:
    """Beyond a limit: a spring and a damper that push back and do not pull."""
    force: Scalar = 0.0
    if np.isfinite(lower):
        depth = lower - x
        push = _push(spring * depth, damper, -v)
        force = force + choose(0.0, depth, push, 0.0)
    if np.isfinite(upper):
        depth = x - upper
        push = _push(spring * depth, damper, v)
        force = force - choose(0.0, depth, push, 0.0)
    return force


def _push(pushed: Scalar, damper: float, outward: Scalar) -> Scalar:
    """Of a spring and a damper, at a velocity outward; nothing where it would pull, or returns fast enough."""
    most = damper * _FASTEST_RETURN
    push = choose(pushed, most, pushed, most) + damper * outward
    return choose(0.0, push, push, 0.0)


@dataclass(frozen=True)
class JointForceParameters:
    """The numbers of all joint forces of a robot. Part of a kernel's key."""

    joints: PassiveParameters  # along every velocity
    tendons: PassiveParameters
    effort: bool
    dt: float | None  # of a step; None: an input of the kernel
    borne: GravityCompensation = NOTHING_BORNE  # weights
    lookahead: float = 0.0  # springs are evaluated so much later, at q + lookahead v (implicit integration)


def joint_force_parameters(model: Model, which: JointForces, dt: float | None) -> JointForceParameters:
    """The numbers for this robot; dt: the step size, if that is known."""
    lower, upper = np.full((2, model.nv), np.inf) * [[-1.0], [1.0]]
    for joint, _, at in joints_of(model):
        if which.stiffness and joint.type.name == "free" and np.any(joint.stiffness):
            raise UnsupportedError(f"joint {joint.name!r}: a spring on a free joint is not supported")
        if joint.type.nq == joint.type.nv:
            lower[at], upper[at] = joint.lower, joint.upper
    tendons = tendons_of(model)
    joints = [joint_property(model, name) for name in ("damping", "stiffness", "friction")]
    along_joints, along_tendons = _chosen(which, *joints, lower, upper), _chosen(which, *tendons[3:])
    acting = np.concatenate([np.abs(x[2]) + np.isfinite(x[3:]).any(axis=0) for x in (along_joints, along_tendons)])
    inverses = inverse_inertias(model) if acting.any() else [np.eye(model.nv)]
    inertia = np.min([1.0 / np.diag(inverse) for inverse in inverses], axis=0)
    of_tendons = [min(1.0 / (c @ inverse @ c) for inverse in inverses) if c.any() else 1.0 for c in tendons.of_v]
    return JointForceParameters(
        _passive_parameters(which, along_joints, inertia),
        _passive_parameters(which, along_tendons, np.array(of_tendons)),
        which.effort,
        dt,
        model.gravity_compensation if which.gravity_compensation else NOTHING_BORNE,
    )


def _chosen(which: JointForces, damping: Array, stiffness: Array, friction: Array, *limits: Array) -> list[Array]:
    """Of these numbers, those of forces that are asked for."""
    lower, upper = limits if which.limits else (np.full(len(damping), bound) for bound in (-np.inf, np.inf))
    return [which.damping * damping, which.stiffness * stiffness, which.friction * friction, lower, upper]


def _passive_parameters(which: JointForces, given: list[Array], inertia: Array) -> PassiveParameters:
    """Of coordinates of this inertia."""
    damping, stiffness, friction, lower, upper = (tuple(x.tolist()) for x in given)
    speed, time = (None if x is None else float(x) for x in (which.friction_speed, which.limit_time))
    return PassiveParameters(damping, stiffness, friction, lower, upper, tuple(inertia.tolist()), speed, time)


@per_model
def inverse_inertias(model: Model) -> list[Array]:
    """M^-1 in a few configurations."""
    crba = find("crba").text
    samples = [neutral(model), *(random_state(model, seed)[0] for seed in range(_SAMPLES))]
    if model.home is not None:
        samples.append(model.home)
    return [np.linalg.inv(crba(model, q)) for q in samples]


def joint_forces(model: Model, parameters: JointForceParameters, q: Array, v: Array, dt: Scalar | None = None) -> Array:
    """(nv,) the generalized forces that joints and tendons have of themselves. dt: of a step, if that is not known."""
    dt = parameters.dt if dt is None else dt
    pulls, positions = [], []
    for joint, of_q, of_v in joints_of(model):
        has_spring, is_plain = any(parameters.joints.stiffness[of_v]), joint.type.nq == joint.type.nv
        pulls.append(difference_to(joint.type, q[of_q], joint.rest) if has_spring else np.zeros(joint.type.nv))
        positions.append(q[of_q] if is_plain else np.zeros(joint.type.nv))
    pull = _joined(pulls) - parameters.lookahead * v
    total = parameters.joints.forces(pull, v, dt)
    total = total + _forces_of_limits(model, parameters.joints, q, _joined(positions), v, dt)
    tendons = tendons_of(model)
    if len(tendons.of_v):  # explicit: no integrator looks ahead for them
        lengths, speeds = tendons.of_q @ q, tendons.of_v @ v
        of_tendons = parameters.tendons.forces(-tendons.stretch(lengths), speeds, dt)
        total = total + tendons.of_v.T @ (of_tendons + parameters.tendons.limit_forces(lengths, speeds, dt))
    return total + bearing_forces(model, parameters.borne, q, by_motors=False)


def _forces_of_limits(model: Model, joints: PassiveParameters, q: Array, x: Array, v: Array, dt: Scalar) -> Array:
    """(nv,) of limits of the joints' coordinates x; a planar joint's do not turn with the axes of its velocity."""
    limited = np.isfinite(joints.lower) | np.isfinite(joints.upper)
    turned = [
        (at, joint.type.rate_map(q[of_q]))
        for joint, of_q, at in joints_of(model)
        if joint.type.name == "planar" and limited[at].any()
    ]
    rates = v
    for at, N in turned:
        rates = _replaced(rates, at, N @ v[at])
    forces = joints.limit_forces(x, rates, dt)
    for at, N in turned:
        forces = _replaced(forces, at, N.T @ forces[at])
    return forces


def _replaced(x: Array, at: slice, part: Array) -> Array:
    """x with another part."""
    return np.concatenate([x[: at.start], part, x[at.stop :]])


def within_effort(model: Model, parameters: JointForceParameters, tau: Array) -> Array:
    """What the motors can do of `tau`, where effort limits count."""
    return clamp_effort(model, tau) if parameters.effort else tau


def clamp_effort(model: Model, tau: Array) -> Array:
    """`tau` cut at the effort limits of joints."""
    limit = effort_limits(model)
    least = _joined(
        -b.joint.effort_limit if b.joint.effort_lower is None else b.joint.effort_lower for b in model.bodies
    )
    return clamp(tau, least, limit)


def effort_limits(model: Model) -> Array:
    """(nv,), infinite where there is none."""
    return joint_property(model, "effort_limit")


def joint_property(model: Model, name: str) -> Array:
    """(nv,) a property of joints."""
    return _joined(np.asarray(getattr(body.joint, name), float) for body in model.bodies)


def _joined(parts: Iterable[Array]) -> Array:
    return np.concatenate([np.zeros(0), *parts])


def clamp(x: Array, low: Array | float, high: Array | float) -> Array:
    """x cut to a range; infinite bounds leave no trace."""
    low, high = np.broadcast_to(low, x.shape), np.broadcast_to(high, x.shape)
    out = []
    for value, a, b in zip(x, low, high, strict=True):
        if np.isfinite(a):
            value = choose(value, a, a, value)
        if np.isfinite(b):
            value = choose(b, value, b, value)
        out.append(value)
    return vector(*out)


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
    """(...,) joules in the springs of joints and tendons, at q (..., nq)."""
    tendons = tendons_of(model)
    lengths = q @ tendons.of_q.T
    springs = [(tendons.stiffness, lengths - np.clip(lengths, *tendons.slack.T))]
    for joint, of_q, _ in joints_of(model):
        if np.any(joint.stiffness):
            rest, is_plain = np.broadcast_to(joint.rest, q[..., of_q].shape), joint.type.nq == joint.type.nv
            # Springs of a planar joint are straight, as in `difference_to`; the path along which it goes there is not.
            stretch = q[..., of_q] - rest if is_plain else joint.type.difference(rest, q[..., of_q])
            springs.append((joint.stiffness, stretch))
    return 0.5 * np.sum([np.sum(k * stretch * stretch, axis=-1) for k, stretch in springs], axis=0)
