"""States that mean harm, by class. Each is a function of a mechanism and a number of states; all are seeded."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import sarrus
from benchmarks.adversary.kinematics import apply, bodies
from benchmarks.adversary.rows import rows_of
from sarrus.model.constraints import Coupling, Distance, LoopClosure
from sarrus.model.model import Model
from sarrus.model.state import integrate, neutral, normalize, random_state

Array = np.ndarray
State = tuple[Array, Array, Array]  # q, v, tau
CLOSED = 1e-11


def has_loops(model: Model) -> bool:
    return any(isinstance(c, (LoopClosure, Distance, Coupling)) for c in model.spanning.active_constraints)


def of_positions(model: Model) -> Model:
    """Only with what holds positions: loops, distances and couplings."""
    kept = [c for c in model.spanning.active_constraints if isinstance(c, (LoopClosure, Distance, Coupling))]
    return model.without_constraints().with_constraints(*kept)


def closed(model: Model, q: Array, v: Array, steps: int = 25) -> tuple[Array, Array, Array]:
    """(q, v, which are closed): damped Gauss-Newton on the oracle's own rows, then v made to leave loops closed."""
    if not has_loops(model):
        return q, v, np.ones(len(q), bool)
    only, q = of_positions(model), np.array(q)
    going = np.arange(len(q))
    for _ in range(steps):
        motion = bodies(only, q[going], np.zeros((len(going), model.nv)))
        rows = rows_of(only, motion, q[going], np.zeros((len(going), model.nv)))
        far = np.abs(rows.error).max(axis=1) > 1e-14
        going = going[far]
        if not len(going):
            break
        move = -apply(np.linalg.pinv(rows.J[far], rcond=1e-9), rows.error[far])
        long = np.abs(move).max(axis=1, keepdims=True) / 0.4
        q[going] = normalize(model, integrate(model, q[going], move / np.maximum(1.0, long)))
    e = rows_of(only, bodies(only, q, v), q, v)
    v = v - apply(np.linalg.pinv(e.J, rcond=1e-9), apply(e.J, v))
    return q, v, np.abs(e.error).max(axis=1) < CLOSED


def home(model: Model, count: int) -> Array:
    start = neutral(model) if model.home is None else model.home
    return np.tile(start, (count, 1))


def _noise(model: Model, count: int, rng: np.random.Generator, size: float = 1.0) -> Array:
    return size * rng.normal(size=(count, model.nv))


def _only_closed(model: Model, q: Array, v: Array, tau: Array) -> State:
    q, v, good = closed(model, q, v)
    return q[good], v[good], tau[good]


def generic(model: Model, count: int, rng: np.random.Generator) -> State:
    """Anywhere; loops closed, from starts near the pose in which they are known to close."""
    v, tau = _noise(model, count, rng), _noise(model, count, rng, 5.0)
    if not has_loops(model):
        return random_state(model.without_constraints(), rng, count)[0], v, tau
    return _only_closed(model, integrate(model, home(model, count), _noise(model, count, rng, 0.4)), v, tau)


def at_neutral(model: Model, count: int, rng: np.random.Generator) -> State:
    """The neutral configuration (or the pose of the file), in motion and at rest, with torques and without."""
    v, tau = _half_zero(_noise(model, count, rng), rng), _half_zero(_noise(model, count, rng), rng)
    return _only_closed(model, home(model, count), v, tau)


def quarter_turns(model: Model, count: int, rng: np.random.Generator) -> State:
    """Joints at multiples of a quarter turn, where chains stretch and fold; loops closed from there."""
    v, tau = _half_zero(_noise(model, count, rng), rng), _half_zero(_noise(model, count, rng), rng)
    return _only_closed(model, _quarters(model, count, rng), v, tau)


def near_singular(model: Model, count: int, rng: np.random.Generator) -> State:
    """1e-12 to 1e-2 from such a configuration."""
    distance = 10.0 ** rng.uniform(-12.0, -2.0, size=(count, 1))
    at_home = rng.random((count, 1)) < 0.5
    q = np.where(at_home, home(model, count), _quarters(model, count, rng))
    q, _, good = closed(model, q, np.zeros((count, model.nv)))
    q = integrate(model, q[good], distance[good] * _noise(model, count, rng)[good])
    v, tau = _half_zero(_noise(model, len(q), rng), rng), _noise(model, len(q), rng)
    return _only_closed(model, q, v, tau)


def open_loops(model: Model, count: int, rng: np.random.Generator) -> State:
    """Gaps of 1e-3 to 1 (m or rad), velocities that open them."""
    if not has_loops(model) or model.embedding is not None:
        return _none(model)
    q, _, tau = generic(model, count, rng)
    gap = 10.0 ** rng.uniform(-3.0, 0.0, size=(len(q), 1))
    return normalize(model, integrate(model, q, gap * _noise(model, len(q), rng))), _noise(model, len(q), rng), tau


def fast(model: Model, count: int, rng: np.random.Generator) -> State:
    """Velocities of 1e3."""
    q, v, tau = generic(model, count, rng)
    return q, 1e3 * v, tau


def huge(model: Model, count: int, rng: np.random.Generator) -> State:
    """Numbers whose squares, or squares of squares, overflow."""
    q, v, tau = generic(model, count, rng)
    kind = rng.integers(0, 4, size=(len(q), 1))
    speed, force = np.choose(kind, [1e40, 1e79, 1e160, 1.0]), np.choose(kind, [1.0, 1.0, 1.0, 1e300])
    return q, speed * v, force * tau


def denormal(model: Model, count: int, rng: np.random.Generator) -> State:
    """Velocities, torques and (where no loop minds) angles of 1e-160 to 1e-310."""
    q, v, tau = at_neutral(model, count, rng)
    small = 10.0 ** rng.uniform(-310.0, -160.0, size=(len(q), 1))
    angles = _angles(model) if not has_loops(model) else np.zeros(model.nq)
    return q + angles * small, _half_zero(v * small, rng), _half_zero(tau * small, rng)


def zeros(model: Model, count: int, rng: np.random.Generator) -> State:
    """Everything at rest, some torques one."""
    q = home(model, count)
    tau = (rng.random((count, model.nv)) < 0.3).astype(float)
    return _only_closed(model, q, np.zeros((count, model.nv)), tau)


def not_finite(model: Model, count: int, rng: np.random.Generator) -> State:
    """NaN or infinity in one velocity or torque."""
    q, v, tau = generic(model, count, rng)
    for x in range(len(q)):
        where = (v, tau)[rng.integers(2)]
        where[x, rng.integers(model.nv)] = rng.choice([np.nan, np.inf, -np.inf])
    return q, v, tau


CLASSES: dict[str, Callable[[Model, int, np.random.Generator], State]] = {
    "generic": generic, "neutral": at_neutral, "quarter turns": quarter_turns, "near singular": near_singular,
    "open loops": open_loops, "fast": fast, "huge": huge, "denormal": denormal, "zeros": zeros,
    "not finite": not_finite,
}  # fmt: skip


def _half_zero(x: Array, rng: np.random.Generator) -> Array:
    return x * (rng.random((len(x), 1)) < 0.5)


def _angles(model: Model) -> Array:
    """1 for elements of q that are not part of a quaternion."""
    parts = [np.full(b.joint.type.nq, float(b.joint.type.quaternion_at is None)) for b in model.bodies]
    return np.concatenate(parts)


def _quarters(model: Model, count: int, rng: np.random.Generator) -> Array:
    q = home(model, count)
    turns = 0.5 * np.pi * rng.integers(-2, 3, size=(count, model.nv))
    if model.home is not None or has_loops(model):  # most of it as it is, or nothing closes
        turns *= rng.random((count, model.nv)) < 0.3
    return sarrus.normalize(model, integrate(model, q, turns))


def _none(model: Model) -> State:
    return np.zeros((0, model.nq)), np.zeros((0, model.nv)), np.zeros((0, model.nv))
