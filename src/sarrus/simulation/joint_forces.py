"""Forces that joints have of themselves: damping, springs, dry friction, limits; and what motors can do.

- damping: -damping v
- spring: stiffness times the way to `rest` (of a ball joint: the rotation vector to it)
- dry friction: -friction clamp(v / s, -1, 1): Coulomb's, with a slope instead of a jump below the speed s. Default s:
  so large that one step cannot turn the velocity around, 2 dt friction / inertia, and at least 1e-3.
- limits: beyond a limit a spring and damper pushes back (never pulls). Default: critically damped with the time
  constant `limit_time` (5 steps) for the inertia that the joint feels, which is stable and as stiff as dt allows.
- efforts: what motors are asked for is cut at the joint's `effort_limit`.

The inertia that a joint feels is 1 / (M^-1)_kk of the tree, the smallest of a few configurations. Fixed tendons have
the same forces along their lengths (`tendon_forces`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sarrus.errors import UnsupportedError
from sarrus.model.model import Model
from sarrus.model.state import neutral, random_state
from sarrus.registry.table import find
from sarrus.simulation.manifold import difference_to, joints_of
from sarrus.simulation.tendon_forces import TendonNumbers, tendons_of
from sarrus.spatial.arrays import Array, Scalar, vector
from sarrus.spatial.choice import choose

_SAMPLES = 3
_LIMIT_STEPS = 5.0  # time constant of a limit, in steps
_SLOWEST = 1e-3  # friction's speed at least


@dataclass(frozen=True)
class JointForces:
    """Which of the forces act (`sarrus.simulate(..., joint_forces=JointForces(limits=False))`), and how stiff.

    limit_time      seconds in which a limit brings a joint back; None: five steps
    friction_speed  below which dry friction is proportional to the speed; None: from the inertia
    """

    damping: bool = True
    stiffness: bool = True
    friction: bool = True
    limits: bool = True
    effort: bool = True
    limit_time: float | None = None
    friction_speed: float | None = None


NONE = JointForces(damping=False, stiffness=False, friction=False, limits=False, effort=False)


@dataclass(frozen=True)
class JointForceNumbers:
    """The same with all numbers, one per velocity; zero where there is nothing. Part of a kernel's key."""

    damping: tuple[float, ...]
    stiffness: tuple[float, ...]
    friction: tuple[float, ...]
    friction_speed: tuple[float, ...]
    limit_stiffness: tuple[float, ...]
    limit_damping: tuple[float, ...]
    effort: bool
    ahead: float = 0.0  # springs are evaluated so much later, at q + ahead v (implicit integration)
    tendons: tuple[
        tuple[TendonNumbers, float, float, float], ...
    ] = ()  # and speed of friction, spring, damper of limits


def numbers_of(model: Model, which: JointForces, dt: float) -> JointForceNumbers:
    """The numbers for this robot at this step size."""
    zero = np.zeros(model.nv)

    def field(wanted: bool, name: str) -> Array:
        parts = [np.asarray(getattr(body.joint, name), float) for body in model.bodies]
        return np.concatenate(parts) if wanted and parts else zero

    damping, stiffness = field(which.damping, "damping"), field(which.stiffness, "stiffness")
    friction = field(which.friction, "friction")
    limited = zero.copy()
    for joint, _, at in joints_of(model):
        if which.stiffness and joint.type.name == "free" and np.any(joint.stiffness):
            raise UnsupportedError(f"joint {joint.name!r}: a spring on a free joint is not supported")
        if which.limits and joint.type.nq == joint.type.nv:
            limited[at] = np.isfinite(joint.lower) | np.isfinite(joint.upper)
    tendons = [_only(tendon, which) for tendon in tendons_of(model)]
    sampled = limited.any() or friction.any() or any(tendon.friction or tendon.limited for tendon in tendons)
    inverses = _inverse_inertias(model) if sampled else [np.eye(model.nv)]
    inertia = np.min([1.0 / np.diag(inverse) for inverse in inverses], axis=0)

    def contact_numbers(inertia: Array, friction: Array, limited: Array) -> tuple[Array, Array, Array]:
        """The speed of dry friction, and the spring and damper of limits."""
        speed = np.maximum(_SLOWEST, 2.0 * dt * friction / inertia)
        if which.friction_speed is not None:
            speed = np.full_like(inertia, float(which.friction_speed))
        T = _LIMIT_STEPS * dt if which.limit_time is None else float(which.limit_time)
        return speed, limited * inertia / T**2, limited * 2.0 * inertia / T

    along = []
    for tendon in tendons:
        c = tendon.moment(model.nv)
        felt = np.array(min(1.0 / (c @ inverse @ c) for inverse in inverses) if c.any() else 1.0)
        numbers = contact_numbers(felt, np.array(tendon.friction), np.array(float(tendon.limited)))
        along.append((tendon, *(float(x) for x in numbers)))
    numbers = (damping, stiffness, friction, *contact_numbers(inertia, friction, limited))
    return JointForceNumbers(*(tuple(x.tolist()) for x in numbers), effort=which.effort, tendons=tuple(along))


def _only(tendon: TendonNumbers, which: JointForces) -> TendonNumbers:
    """Of a tendon's forces, those that are asked for."""
    return replace(
        tendon, damping=which.damping * tendon.damping, stiffness=which.stiffness * tendon.stiffness,
        friction=which.friction * tendon.friction, lower=tendon.lower if which.limits else -np.inf,
        upper=tendon.upper if which.limits else np.inf,
    )  # fmt: skip


def _inverse_inertias(model: Model) -> list[Array]:
    """M^-1 in a few configurations."""
    crba = find("crba").text
    samples = [neutral(model), *(random_state(model, seed)[0] for seed in range(_SAMPLES))]
    if model.home is not None:
        samples.append(model.home)
    return [np.linalg.inv(crba(model, q)) for q in samples]


def joint_forces(model: Model, numbers: JointForceNumbers, q: Array, v: Array) -> Array:
    """(nv,) the generalized forces that joints have of themselves."""
    parts = []
    for joint, of_q, of_v in joints_of(model):
        qj, vj = q[of_q], v[of_v]

        def mine(name: str, of_v: slice = of_v) -> Array:
            return np.array(getattr(numbers, name)[of_v])

        force = -mine("damping") * vj
        stiffness, friction, spring = mine("stiffness"), mine("friction"), mine("limit_stiffness")
        if stiffness.any():
            to_rest = difference_to(joint.type, qj, joint.rest)
            force = force + stiffness * (to_rest - numbers.ahead * vj)
        if friction.any():
            force = force - friction * clamped(vj / mine("friction_speed"), -1.0, 1.0)
        if spring.any():
            force = force + _limit(qj, vj, joint.lower, joint.upper, spring, mine("limit_damping"))
        parts.append(force)
    total = np.concatenate(parts) if parts else np.zeros(0)
    for tendon, *numbers_of_limit in numbers.tendons:
        total = total + tendon.moment(len(v)) * _tendon_force(tendon, q, v, *numbers_of_limit)
    return total


def _tendon_force(tendon: TendonNumbers, q: Array, v: Array, slow: float, spring: float, damper: float) -> Scalar:
    """The force along a tendon's length. It is explicit: no integrator looks ahead for it."""
    length, speed = tendon.length(q), sum((c * v[at] for _, at, c in tendon.terms), 0.0)
    force = -tendon.damping * speed
    if tendon.stiffness:
        force = force - tendon.stiffness * tendon.stretch(length)
    if tendon.friction:
        force = force - tendon.friction * clamped(vector(speed / slow), -1.0, 1.0)[0]
    if tendon.limited:
        bounds = (np.array([tendon.lower]), np.array([tendon.upper]), np.array([spring]), np.array([damper]))
        force = force + _limit(vector(length), vector(speed), *bounds)[0]
    return force


def unlimited(model: Model, numbers: JointForceNumbers) -> Array:
    """1 per velocity whose motor can do everything, else 0."""
    most = [np.asarray(body.joint.effort_limit, float) for body in model.bodies]
    return np.where(np.isfinite(np.concatenate(most)) & numbers.effort, 0.0, 1.0) if most else np.zeros(0)


def within_effort(model: Model, numbers: JointForceNumbers, tau: Array) -> Array:
    """What the motors can do of `tau`, where that counts."""
    return cut_effort(model, tau) if numbers.effort else tau


def cut_effort(model: Model, tau: Array) -> Array:
    """`tau` cut at the effort limits of joints."""
    if not len(tau):
        return tau
    most = np.concatenate([np.asarray(body.joint.effort_limit, float) for body in model.bodies])
    return clamped(tau, -most, most)


def with_implicit_forces(
    model: Model, numbers: JointForceNumbers, dt: float, gains: tuple[Array, Array] | None = None
) -> tuple[Model, JointForceNumbers]:
    """The robot for which an explicit step is the step with damping and stiffness implicit.

    M a = f - D (v + dt a) - K (q + dt (v + dt a) - rest): D and K belong to joints, as armature does, so the whole
    effect is an armature of dt D + dt^2 K and a spring that looks ahead. Every method of dynamics serves.

    gains  stiffness and damping that a controller adds
    """
    K, D = (x + np.array(y) for x, y in zip(gains or (0.0, 0.0), (numbers.stiffness, numbers.damping), strict=True))
    added = dt * D + dt**2 * K
    bodies = []
    for body, at in zip(model.bodies, model.layout.v, strict=True):
        armature = body.joint.armature + added[at]
        armature.flags.writeable = False
        bodies.append(replace(body, joint=replace(body.joint, armature=armature)))
    return replace(model, bodies=tuple(bodies)), replace(numbers, ahead=dt)


def _limit(q: Array, v: Array, lower: Array, upper: Array, spring: Array, damper: Array) -> Array:
    """Beyond a limit: a spring and a damper that push back and do not pull."""
    forces = []
    for k in range(len(v)):
        force = 0.0
        if np.isfinite(lower[k]):
            depth = lower[k] - q[k]
            push = spring[k] * depth - damper[k] * v[k]
            force = force + choose(0.0, depth, choose(0.0, push, push, 0.0), 0.0)
        if np.isfinite(upper[k]):
            depth = q[k] - upper[k]
            push = spring[k] * depth + damper[k] * v[k]
            force = force - choose(0.0, depth, choose(0.0, push, push, 0.0), 0.0)
        forces.append(force)
    return vector(*forces)


def clamped(x: Array, low: Array | float, high: Array | float) -> Array:
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
