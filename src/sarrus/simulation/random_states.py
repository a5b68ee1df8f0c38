"""Random states on the constraints."""

from __future__ import annotations

import numpy as np

from sarrus.errors import AssemblyError
from sarrus.model import state as model_state
from sarrus.model.arguments import whole_number
from sarrus.model.model import Model
from sarrus.model.state import difference, integrate, limits, outside_limits, starting_configuration
from sarrus.simulation.projection import (
    CLOSED,
    AbstractProjector,
    Projector,
    most_violated_constraint,
    with_position_constraints,
)
from sarrus.spatial.arrays import Array

_STILL = 1e-9  # rate at which a loop may open, relative to velocities; singular configurations leave more
_ROUNDS = 8  # of going back into the joints' limits, then closing the loops again


def random_state(
    model: Model, rng: np.random.Generator | int | None = None, batch: int | None = None, attempts: int = 30
) -> tuple[Array, Array]:
    """(q, v): a random configuration and velocity on the constraints; with `batch`, arrays (batch, n).

    Without loops, couplings or other constraints on positions: q within the joints' limits (angles in [-pi, pi],
    lengths in [-1, 1] where there are none), rotations uniform, v standard normal. With them, such states are
    projected (`sarrus.project`): loops are closed and stay closed, if possible within the joints' limits.

    attempts  how often to start again if a loop does not close, in the second half of the attempts between a random
              configuration and the pose in the file; after that, an AssemblyError is raised
    rng       a generator, or the seed of one
    batch     how many states; None: one, (n,)
    returns   q (nq,) or (batch, nq), and v (nv,) or (batch, nv)
    errors    `AssemblyError`: loops that do not close from any start

    >>> q, v = sarrus.random_state(sarrus.zoo.chain(3), rng=0, batch=5)
    >>> q.shape, v.shape
    ((5, 3), (5, 3))
    """
    if batch is not None:
        whole_number("batch", batch, 0)
    rng = np.random.default_rng(rng)
    closing = with_position_constraints(model)
    if not closing.active_constraints:
        return model_state.random_state(model, rng, batch)
    count = 1 if batch is None else batch
    q, v = np.empty((count, model.nq)), rng.normal(size=(count, model.nv))
    closed, inside = np.zeros(count, dtype=bool), np.zeros(count, dtype=bool)
    close = Projector(closing)
    finish = close if closing is model else Projector(model)
    smallest, nearest = np.inf, np.zeros(model.nq)
    for attempt in range(attempts):
        pending = np.flatnonzero(~inside if attempt < attempts // 2 else ~closed)
        if not len(pending):
            break
        start = random_configurations(model, rng, len(pending))
        if attempt >= attempts // 2:  # where hardly anything closes, nearer to the pose in the file
            home = starting_configuration(model)
            start = integrate(model, home, rng.uniform(size=(len(pending), 1)) * difference(model, home, start))
        found, error = project_within_limits(close, start)
        best = int(np.argmin(error))
        if error[best] < smallest:
            smallest, nearest = float(error[best]), found[best]
        result = finish(found, v[pending])
        fits = np.logical_not(outside_limits(model, result.q).any(axis=-1))
        good = (result.error <= CLOSED) & (result.opening <= _STILL * (1.0 + np.abs(v[pending]).max(axis=-1)))
        taken = good & (fits | ~closed[pending])
        q[pending[taken]], v[pending[taken]] = result.q[taken], result.v[taken]
        closed[pending[taken]], inside[pending[taken]] = True, fits[taken]
    if not closed.all():
        raise AssemblyError(
            f"random_state: no configuration on the constraints of {model.name!r} was found from {attempts} random "
            f"ones, for {np.sum(~closed)} of {count}; smallest error {smallest:.3g} "
            f"({most_violated_constraint(closing, nearest)})"
        )
    return (q[0], v[0]) if batch is None else (q, v)


def random_configurations(model: Model, rng: np.random.Generator, count: int) -> Array:
    """Random configurations, loops open: within limits, and everywhere where a file does not know them."""
    q, _ = model_state.random_state(model, rng, count)
    for body, s in zip(model.bodies, model.layout.q, strict=True):
        joint = body.joint
        if joint.type.nq == joint.type.nv and np.any(joint.lower == joint.upper):
            size = 1.0 if joint.type.name in ("prismatic", "translation") else np.pi
            q[:, s] = np.where(joint.lower == joint.upper, rng.uniform(-size, size, (count, joint.type.nq)), q[:, s])
    return q


def project_within_limits(close: AbstractProjector, q: Array, held: Array | None = None) -> tuple[Array, Array]:
    """Project. Joints that are then far outside their limits are put there and held; the others are projected again.

    Returns configurations and errors; where loops do not close within limits, they are closed outside.
    """
    model = close.model
    lower, upper = limits(model)
    result = close(q, held=held)
    q, error = np.array(result.q), np.array(result.error)
    known = np.broadcast_to(np.zeros(model.nv) if held is None else held, (len(q), model.nv))
    stuck, rng = np.array(known), np.random.default_rng(0)
    for _ in range(_ROUNDS):
        beyond = np.maximum(np.maximum(lower - q, q - upper), 0.0) * rng.uniform(size=q.shape)  # not always the same
        again = np.flatnonzero((error <= CLOSED) & outside_limits(model, q).any(axis=-1))
        if not len(again):
            break
        far = beyond > 0.5 * beyond.max(axis=-1, keepdims=True)
        for s, t in zip(model.layout.q, model.layout.v, strict=True):
            stuck[far[:, s].any(axis=-1), t] = 1.0
        result = close(np.clip(q[again], lower, upper), held=stuck[again], which=again)
        closed = result.error <= CLOSED
        q[again[closed]], error[again[closed]] = result.q[closed], result.error[closed]
        stuck[again[~closed]] = known[again[~closed]]  # too many: begin anew
    return q, error
