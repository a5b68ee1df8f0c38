"""States of a robot: checking them, moving along its configuration manifold. Arrays are (n,) or (B, n)."""

from __future__ import annotations

import numpy as np

from sarrus.errors import StateError
from sarrus.model.arguments import as_numbers, as_type
from sarrus.model.bodies import Joint
from sarrus.model.model import Model
from sarrus.spatial.arrays import Array

UNIT_TOLERANCE = 1e-6
_UNLIMITED_ANGLE = np.pi  # random_state's range where a joint has no limit
_UNLIMITED_LENGTH = 1.0
_FAR = 1e6


def as_state_array(name: str, value, shape: int | tuple[int, ...]) -> Array:
    """A finite float array of that shape, or of a batch (B, *shape); else an error that says what was expected."""
    shape = (shape,) if isinstance(shape, int) else shape
    expected = f"{name}: expected shape {shape} or {('B', *shape)}".replace("'", "")
    given = as_numbers(expected, value)
    if given.shape != shape and (given.ndim == 0 or given.shape[1:] != shape):
        raise StateError(f"{expected}, got {given.shape}")
    array = as_type(expected, given, float)
    if not np.isfinite(array).all():
        where = [int(i) for i in np.argwhere(~np.isfinite(array))[0]]
        raise StateError(f"{name}{where} is {array[tuple(where)]}: every number must be finite")
    return array


def check_configuration(model: Model, q) -> Array:
    """q as an array of the right shape, finite, with quaternions of length one."""
    array = as_state_array("q", q, model.nq)
    for joint, start in model.layout.quaternions:
        with np.errstate(over="ignore"):  # infinite is too long, too
            norm = np.linalg.norm(array[..., start : start + 4], axis=-1)
        if np.any(np.abs(norm - 1.0) > UNIT_TOLERANCE):
            worst = float(np.ravel(norm)[np.argmax(np.abs(np.ravel(norm) - 1.0))])
            raise StateError(
                f"q: the quaternion of joint {joint!r} (x y z w, from q[{start}]) has length {worst:.6g}, expected 1. "
                f"`sarrus.normalize(model, q)` makes it so"
            )
    return array


def neutral(model: Model) -> Array:
    """The configuration of zeros and identity rotations.

    returns  (nq,): rad, m, unit quaternions xyzw

    >>> sarrus.neutral(sarrus.zoo.chain(2))
    array([0., 0.])
    """
    parts = [body.joint.type.neutral() for body in model.bodies]
    return np.concatenate(parts) if parts else np.zeros(0)


def home_or_neutral(model: Model) -> Array:
    """The pose in the file, if it gives one."""
    return neutral(model) if model.home is None else model.home


def limits(model: Model) -> tuple[Array, Array]:
    """Of every element of q; infinite where there is none, and where a file says lower = upper: it does not know."""
    if not model.nq:
        return np.zeros(0), np.zeros(0)
    lower, upper = (np.concatenate([getattr(b.joint, side) for b in model.bodies]) for side in ("lower", "upper"))
    return np.where(lower < upper, lower, -np.inf), np.where(lower < upper, upper, np.inf)


def outside_limits(model: Model, q: Array, tolerance: float = 1e-6) -> Array:
    """(..., nb): which joints are outside their limits."""
    lower, upper = limits(model)
    outside = (q < lower - tolerance) | (q > upper + tolerance)
    parts = [outside[..., s].any(axis=-1) for s in model.layout.q]
    return np.stack(parts, axis=-1) if parts else np.zeros((*q.shape[:-1], 0), dtype=bool)


def starting_configuration(model: Model) -> Array:
    """The pose in the file; else neutral, but in the middle of its range wherever that is outside a joint's limits."""
    if model.home is not None:
        return model.home
    q = neutral(model)
    lower, upper = limits(model)
    inside = np.clip(q, lower, upper)
    middle = np.where(
        np.isfinite(lower) & np.isfinite(upper), 0.5 * (np.maximum(lower, -1e300) + np.minimum(upper, 1e300)), inside
    )
    return np.where(inside == q, q, middle)


def random_state(model: Model, rng: np.random.Generator | int | None = None, batch: int | None = None):
    """(q, v): q within the joints' limits (angles in [-pi, pi], lengths in [-1, 1] where there are none),
    rotations uniform, v standard normal. With `batch`, arrays (batch, n)."""
    rng = np.random.default_rng(rng)
    size = () if batch is None else (batch,)
    parts = []
    for body in model.bodies:
        lower, upper = _random_range(body.joint)
        parts.append(body.joint.type.random(rng, lower, upper, size))
    q = np.concatenate(parts, axis=-1) if parts else np.zeros((*size, 0))
    return q, rng.normal(size=(*size, model.nv))


def _random_range(joint: Joint) -> tuple[Array, Array]:
    reach = np.full(joint.type.nq, _UNLIMITED_LENGTH)
    reach[list(joint.type.angles)] = _UNLIMITED_ANGLE
    low = np.where(joint.lower > -_FAR, joint.lower, -np.inf)  # what is so far away is no limit
    high = np.where(joint.upper < _FAR, joint.upper, np.inf)
    lower = np.where(np.isfinite(low), low, np.minimum(-reach, high - reach))
    upper = np.where(np.isfinite(high), high, np.maximum(reach, low + reach))
    return lower, np.maximum(upper, lower)


def integrate(model: Model, q, v) -> Array:
    """q moved along the tangent v for unit time; rotations use the exponential map instead of addition."""
    q, v = check_configuration(model, q), as_state_array("v", v, model.nv)
    return moved(model, *_broadcast(q, v))


def moved(model: Model, q: Array, v: Array) -> Array:
    """`integrate` on arrays that need no checking: floats, batches of floats, or symbols."""
    return _per_joint(model, q, lambda joint, sq, sv: joint.integrate(q[..., sq], v[..., sv]))


def difference(model: Model, q0, q1) -> Array:
    """The shortest tangent v with integrate(q0, v) = q1."""
    q0, q1 = check_configuration(model, q0), check_configuration(model, q1)
    return difference_of(model, *_broadcast(q0, q1))


def difference_of(model: Model, q0: Array, q1: Array) -> Array:
    """`difference` on arrays that need no checking: floats, batches of floats, or symbols."""
    return _per_joint(model, q0, lambda joint, sq, sv: joint.difference(q0[..., sq], q1[..., sq]))


def normalize(model: Model, q) -> Array:
    """q with its quaternions scaled to length one.

    q        (nq,) or (B, nq)
    returns  what q is: an array of its shape
    errors   `StateError`: the wrong shape, or a quaternion without a direction

    >>> stone = sarrus.zoo.chain(1, floating=True)
    >>> q = sarrus.neutral(stone)
    >>> bool(np.allclose(sarrus.normalize(stone, 2.0 * q)[3:7], q[3:7]))
    True
    """
    q = as_state_array("q", q, model.nq)
    for joint, start in model.layout.quaternions:
        if np.any(np.linalg.norm(q[..., start : start + 4], axis=-1) == 0.0):
            raise StateError(f"q: the quaternion of joint {joint!r} is zero: it has no direction")
    return _per_joint(model, q, lambda joint, sq, sv: joint.normalize(q[..., sq]))


def _per_joint(model: Model, q: Array, step) -> Array:
    """step(joint type, slice of q, slice of v) of every joint, one after the other; q gives the batch."""
    layout = model.layout
    parts = [step(b.joint.type, sq, sv) for b, sq, sv in zip(model.bodies, layout.q, layout.v, strict=True)]
    return np.concatenate(parts, axis=-1) if parts else np.zeros((*q.shape[:-1], 0))


def _broadcast(a: Array, b: Array) -> tuple[Array, Array]:
    if a.ndim == b.ndim == 2 and len(a) != len(b):
        raise StateError(f"batches of different sizes: {len(a)} and {len(b)}")
    batch = np.broadcast_shapes(a.shape[:-1], b.shape[:-1])
    return np.broadcast_to(a, (*batch, a.shape[-1])), np.broadcast_to(b, (*batch, b.shape[-1]))
