"""A configuration in which some joints are where they are wanted and every loop is closed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from sarrus.errors import AssemblyError, StateError, UnsupportedError, check_name
from sarrus.model.model import Model
from sarrus.model.state import check_configuration, difference, limits, moved, outside_limits, starting_configuration
from sarrus.simulation.configuration_result import ConfigurationResult
from sarrus.simulation.projection import CLOSED, Projector, most_violated_constraint, with_position_constraints
from sarrus.simulation.random_states import project_within_limits, random_configurations
from sarrus.spatial.arrays import Array
from sarrus.status import Status

_STEP = 0.1  # radians or metres that a known joint moves at a time
_LONGEST = 500.0  # radians or metres that the way there may have, at most: minutes of steps would follow
_FINER = 8  # so many steps for one where that fails
_FARTHEST = 0.7  # radians or metres that another joint may move in such a step, on the same branch


def assemble(
    model: Model,
    known: Mapping[str, Any] | None = None,
    near: Any = None,
    *,
    attempts: int = 64,
    rng: np.random.Generator | int | None = 0,
    strict: bool = True,
) -> ConfigurationResult:
    """The configuration in which some joints have given positions: `assemble(model, {"crank": 0.3}).q`.

    Loops can have several assemblies (elbow up, elbow down). This function starts from a reference, moves the known
    joints to their targets in small steps, and lets the others follow. If that path is blocked, random restarts look
    for other assemblies, and the one nearest to the reference is returned.

    known     position by joint name, a number (several for joints with several coordinates); with a first dimension of
              B, a batch of assemblies
    near      the reference (nq,) or (B, nq); default: the pose in the file, or neutral. Its loops do not have to be
              closed
    attempts  random restarts
    strict    raise an AssemblyError if nothing is found; otherwise the status says so, and q is the best attempt
    rng       for the restarts: a generator, or a seed
    returns   a `ConfigurationResult`: q, error, status, joints outside their limits
    errors    `AssemblyError`: nothing was found, and `strict`; `UnknownNameError`: no such joint

    >>> sarrus.assemble(sarrus.zoo.four_bar(), {"crank_joint": 0.3}).in_words()
    ['ok']
    """
    if not model.is_numeric:
        raise UnsupportedError("assemble: the model contains symbols; give them values first")
    closing = with_position_constraints(model)
    reference = starting_configuration(model) if near is None else check_configuration(model, near)
    wanted, single = _wanted(model, known or {}, reference)
    count = len(wanted)
    held = np.zeros(model.nv)
    for name in known or {}:
        held[model.layout.v_of(name)] = 1.0
    close = Projector(closing)
    open_start = np.array(np.broadcast_to(reference, (count, model.nq)))
    start, error = project_within_limits(close, open_start)
    start = np.where((error <= CLOSED)[:, None], start, open_start)  # a reference that cannot be closed serves as it is
    _check_way(model, start, wanted, known or {})
    q, error = _followed(close, start, wanted, held)
    status = np.where(error <= CLOSED, Status.OK, Status.NO_ASSEMBLY)
    for k in np.flatnonzero(status):  # each has restarts of its own
        found, left = _restarted(close, wanted[k], start[k], held, attempts, np.random.default_rng(rng))
        if left < error[k]:
            q[k], error[k] = found, left
        status[k] = Status.OTHER_BRANCH if error[k] <= CLOSED else Status.NO_ASSEMBLY
    if strict and (status == Status.NO_ASSEMBLY).any():
        raise _impossible(closing, known or {}, q, error, status)
    names = tuple(model.joint_names[k] for k in np.flatnonzero(outside_limits(model, q).any(axis=0)))
    found = ConfigurationResult(q, error, status, names)
    return found.only() if single else found


def _wanted(model: Model, known: Mapping[str, Any], reference: Array) -> tuple[Array, bool]:
    """The reference with the known joints where they are wanted, (B, nq), and whether it is a single one."""
    lower, upper = limits(model)
    values: dict[str, Array] = {}
    sizes = [len(reference)] if reference.ndim == 2 else []
    for name, value in known.items():
        check_name("joint", name, model.joint_names)
        s = model.layout.q_of(name)
        n = s.stop - s.start
        x = np.asarray(value, dtype=float)
        x = x[..., None] if n == 1 and x.ndim < 2 else x
        if x.ndim not in (1, 2) or x.shape[-1] != n:
            raise StateError(f"known: joint {name!r} has {n} coordinates, got an array of shape {np.shape(value)}")
        if not np.isfinite(x).all():
            raise StateError(f"known: joint {name!r} is wanted at {value}: every number must be finite")
        beyond = (x < lower[s] - 1e-6) | (x > upper[s] + 1e-6)
        if beyond.any():
            raise StateError(
                f"known: joint {name!r} is wanted at {x[beyond][0]:.6g}, outside its limits "
                f"{lower[s].tolist()} to {upper[s].tolist()}"
            )
        values[name] = x
        sizes += [len(x)] if x.ndim == 2 else []
    if len(set(sizes)) > 1:
        raise StateError(f"known and near: batches of different sizes: {', '.join(map(str, sorted(set(sizes))))}")
    wanted = np.array(np.broadcast_to(reference, (sizes[0] if sizes else 1, model.nq)))
    for name, x in values.items():
        wanted[:, model.layout.q_of(name)] = x
    return check_configuration(model, wanted), not sizes


def _check_way(model: Model, start: Array, wanted: Array, known: Mapping[str, Any]) -> None:
    way = np.abs(difference(model, start, wanted))
    for name in known:
        far = way[:, model.layout.v_of(name)].max(initial=0.0)
        if far > _LONGEST:
            raise StateError(
                f"known: joint {name!r} is wanted {far:.3g} from the reference, and the way there is followed in steps "
                f"of {_STEP}: it may be {_LONGEST:g} long. Take full turns off the angle, or give a reference `near` it"
            )


def _followed(close: Projector, start: Array, wanted: Array, held: Array) -> tuple[Array, Array]:
    """Where it ends to move the known joints from start to wanted, all others following on the loop, and the error:
    infinite where it did not get there. Where steps are too large for that, they are made smaller.
    """
    q, error = _walk(close, start, wanted, held, _STEP)
    again = error > CLOSED
    if again.any():
        q[again], error[again] = _walk(close, start[again], wanted[again], held, _STEP / _FINER)
    return q, np.where(error <= CLOSED, error, np.inf)


def _walk(close: Projector, start: Array, wanted: Array, held: Array, step: float) -> tuple[Array, Array]:
    """Move in steps of at most that size. The other joints first go on as they did in the step before."""
    model, rng = close.model, np.random.default_rng(0)
    total, known = difference(model, start, wanted) * held, _held_coordinates(model, held)
    count = max(1, int(np.ceil(np.abs(total).max(initial=0.0) / step)))
    q, before, error = np.array(start), np.zeros_like(total), np.zeros(len(start))
    for k in range(1, count + 1):
        left = np.flatnonzero(error <= CLOSED)
        for nudge in (0.0, step, 4.0 * step):  # where loops are singular nothing tells where to go
            if not len(left):
                break
            others = moved(model, q[left], before[left] + nudge * rng.normal(size=total[left].shape))
            goal = (
                moved(model, start[left], total[left] * (k / count)) if k < count else wanted[left]
            )  # to the last bit
            result = close(np.where(known, goal, others), held=held)
            change = difference(model, q[left], result.q)
            far = np.abs(change).max(axis=-1, initial=0.0) > max(_FARTHEST, 4.0 * step)
            error[left] = np.where(far, np.inf, result.error)
            closed = error[left] <= CLOSED
            q[left[closed]], before[left[closed]] = result.q[closed], change[closed]
            left = left[~closed]
    return q, error


def _held_coordinates(model: Model, held: Array) -> Array:
    """(nq,) whether an element of q belongs to a joint that is held."""
    mask = np.zeros(model.nq, bool)
    for s, t in zip(model.layout.q, model.layout.v, strict=True):
        mask[s] = held[t].any()
    return mask


def _restarted(
    close: Projector, wanted: Array, start: Array, held: Array, attempts: int, rng: np.random.Generator
) -> tuple[Array, float]:
    """The assembly nearest to the start that is found from random ones; what comes nearest to one if none is."""
    model = close.model
    tries = random_configurations(model, rng, attempts + 1)
    tries[0] = start
    known = _held_coordinates(model, held)
    tries[:, known] = wanted[known]
    found, error = project_within_limits(close, tries, held)
    fits = (error <= CLOSED) & ~outside_limits(model, found).any(axis=-1)
    good = fits if fits.any() else error <= CLOSED
    away = np.linalg.norm(difference(model, start, found), axis=-1) if good.any() else error
    best = int(np.argmin(np.where(good | ~good.any(), away, np.inf)))
    return found[best], float(error[best])


def _impossible(model: Model, known: Mapping[str, Any], q: Array, error: Array, status: Array) -> AssemblyError:
    k = int(np.argmax(status == Status.NO_ASSEMBLY))
    where = ", ".join(f"{name} = {np.array2string(q[k, model.layout.q_of(name)], precision=4)}" for name in known)
    which = "" if len(q) == 1 else f" for {int(np.sum(status == Status.NO_ASSEMBLY))} of {len(q)} (first: number {k})"
    return AssemblyError(
        f"assemble: {model.name!r} cannot be assembled{which}{' with ' + where if where else ''}: the smallest error "
        f"found is {error[k]:.3g}, in constraint {most_violated_constraint(model, q[k])!r}"
    )
