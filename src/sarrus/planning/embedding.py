"""Embedding constraints: clusters, and which of their velocities are independent.

The choice is made with numbers, at configurations on the constraints, once per model:

1. the rank r of a cluster's rows K says how many velocities depend on the others;
2. those are taken greedily, the least wanted as independent first: those that the user or the file calls independent
   last, then those of actuated joints (where the model has no actuators: with an effort limit), then those that carry
   most of the robot (their motion subspace is then a unit vector). Within a kind, the column that is farthest from
   those taken already. They are chosen at one configuration; where that makes another one singular, at all;
3. r rows are taken likewise; the others are redundant;
4. the rows are ordered into blocks (`block_order.py`).
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from sarrus.algorithms.position.project import project
from sarrus.errors import ModelError, RankWarning, StateError, UnsupportedError, unknown_name
from sarrus.mechanics.clusters.rows import rows_of_cluster
from sarrus.model.actuators import actuated_joints
from sarrus.model.clusters import find_clusters
from sarrus.model.constraints import Coupling, Distance, LoopClosure
from sarrus.model.embedding import Cluster, Embedding, with_coordinates
from sarrus.model.model import Model
from sarrus.model.state import check_configuration, integrate, neutral, random_state
from sarrus.planning.block_order import block_order
from sarrus.spatial.arrays import Array

_SAMPLES = 4
_RANK = 1e-7  # how much of a column must be new for it to be taken at all
_TOLERANCE = 1e-4  # what an exporter's rounding may make of a singular value that should be zero
_ROUNDING = 1e-11  # what ours does
_ZERO = 1e-13  # elements of K, relative to its largest or to the cluster's size, that are rounding
_FAR = 0.05  # how much of a column must be new for it to be taken before those of a more wanted kind
_SINGULAR = 1e-4  # conditioning of dependent velocities at which others are looked for
_CLOSED = 1e-9
_STEPS = 30  # of a search for a configuration


def embed(
    model: Model,
    constraints: Sequence[str] | None = None,
    *,
    independent: Sequence[str] = (),
    at: Array | None = None,
    tolerance: float = _TOLERANCE,
) -> Model:
    """The same robot with loops and couplings embedded: they hold by construction, and cost no rows.

    constraints  names of loop closures, distances and couplings; default: all active ones
    independent  names of joints whose coordinates are to be independent; default: chosen
    at           a configuration on the constraints to choose from; default: some are looked for
    tolerance    singular values of a cluster's rows below this part of the largest count as zero: axes that a file has
                 with six digits are parallel, and a planar loop made of them is no lock. Where the rank hangs on such a
                 value, a `RankWarning` says how large it is

    Contacts and constraints that were not named stay, for lcaba, pv and all other methods; without any, use `ce_aba`.
    """
    if model.embedding is not None:
        raise ModelError(f"model {model.name!r} is embedded already; begin with `model.spanning`")
    if not model.is_numeric:
        raise UnsupportedError(f"model {model.name!r} has symbols: which velocities are independent depends on numbers")
    chosen = _chosen(model, constraints)
    for joint in independent:
        model.joint_index(joint)
    if not (isinstance(tolerance, (int, float)) and _ROUNDING <= tolerance < 1.0):
        raise UnsupportedError(f"tolerance is {tolerance!r}: expected a number from {_ROUNDING:g} to 1, such as 1e-4")
    clusters = find_clusters(model, chosen)
    samples = _samples(model, {c.name for c in chosen}, at, tolerance)
    wanted = {k for name in independent for k in _span(model, model.joint_index(name))}
    divided = tuple(_divide(model, cluster, samples, wanted, tolerance) for cluster in clusters)
    return replace(model, embedding=Embedding(divided, tuple(samples)))


def _chosen(model: Model, names: Sequence[str] | None) -> list[LoopClosure | Distance | Coupling]:
    valid = {c.name: c for c in model.active_constraints if isinstance(c, (LoopClosure, Distance, Coupling))}
    if names is None:
        if not valid:
            raise UnsupportedError(f"model {model.name!r} has no loop closures, distances or couplings to embed")
        return list(valid.values())
    for name in names:
        if name not in valid:
            raise unknown_name("constraint to embed:", name, valid)
    return [c for name, c in valid.items() if name in names]


def _span(model: Model, joint: int) -> range:
    v = model.layout.v[joint]
    return range(v.start, v.stop)


def _samples(model: Model, names: set[str], at: Array | None, tolerance: float) -> list[Array]:
    """A few configurations on the constraints that are to be embedded, the first near the robot's home.

    Loops that a file's rounding keeps from closing are closed as far as they can be.
    """
    only = replace(model, constraints=tuple(c for c in model.constraints if c.name in names))
    home = neutral(model) if model.home is None else model.home
    if at is not None:
        home = check_configuration(model, at)
    if _is_constant(model, names):
        return [home]
    found, almost = [], []
    rng = np.random.default_rng(0)
    near, _ = random_state(model, rng, batch=8 * _SAMPLES)
    tangents = 0.3 * rng.normal(size=(2 * _SAMPLES, model.nv))
    seeds = [home, *(integrate(model, home, t) for t in tangents), *near]
    for seed in seeds:
        result = project(only, np.asarray(seed, dtype=float), max_iterations=_STEPS)
        if float(result.error) < _CLOSED:
            found.append(np.asarray(result.q, dtype=float))
        elif float(result.error) < tolerance:
            almost.append(np.asarray(result.q, dtype=float))
        if len(found) == _SAMPLES or len(found) + len(almost) == 2 * _SAMPLES:
            break
    found += almost[: _SAMPLES - len(found)]
    if not found:
        raise StateError(
            f"no configuration of {model.name!r} was found that closes {', '.join(sorted(names))}; give one as `at`"
        )
    return found


def _divide(model: Model, cluster: Cluster, samples: list[Array], wanted: set[int], tolerance: float) -> Cluster:
    extent = _extent(model, cluster)
    K_at = [_without_rounding(rows_of_cluster(model, cluster, q), extent) for q in samples]
    K_at = _without_faint_rows(model, cluster, K_at, extent, tolerance)
    velocities = [k for i in cluster.bodies for k in _span(model, i)]
    ranks = [_rank(cluster, K, tolerance) for K in K_at]
    best = max(range(len(samples)), key=lambda x: (ranks[x], _conditioning(K_at[x], ranks[x])))
    K, r = K_at[best], ranks[best]
    classes = [_preference(model, cluster, v, wanted) for v in velocities]
    dependent = _greedy([K], r, classes)
    regular = [M for M, rank in zip(K_at, ranks, strict=True) if rank == r]
    if any(_conditioning(M[:, dependent], r) < _SINGULAR for M in regular):
        elsewhere = _greedy(regular, r, classes)
        dependent = elsewhere if len(elsewhere) == r else dependent
    free = [velocities[x] for x in range(len(velocities)) if x not in dependent]
    missing = sorted(wanted & {velocities[x] for x in dependent})
    if missing:
        names = ", ".join(
            repr(b.joint.name)
            for b, s in zip(model.bodies, model.layout.v, strict=True)
            if set(missing) & set(range(s.start, s.stop))
        )
        raise ModelError(
            f"the constraints {', '.join(map(repr, cluster.constraints))} leave {len(free)} of {len(velocities)} "
            f"velocities independent, and {names} cannot be among them together with the others"
        )
    rows = _greedy([K[:, dependent].T], r, [(0.0,)] * len(K))
    if not len(dependent) == len(rows) == r:
        raise ModelError(
            f"the constraints {', '.join(map(repr, cluster.constraints))} have rank {r}, but their rows are almost "
            f"dependent: which velocities follow cannot be said. Leave some of them to lcaba or prox_bbo"
        )
    A = K[np.ix_(rows, dependent)]
    pattern = np.any([M[np.ix_(rows, dependent)] != 0.0 for M in K_at], axis=0)
    if len(K_at) == 1 and not _is_constant(model, set(cluster.constraints)):
        pattern[:] = True  # what is zero at one configuration may not be so at others
    blocks = [([rows[x] for x in b], [velocities[dependent[x]] for x in c]) for b, c in block_order(A, pattern)]
    longest = np.max([np.sum(M * M, axis=1) for M in K_at], axis=0)
    # Powers of two: what is written into kernels does not depend on the last digits of a search.
    lengths = [float(2.0 ** np.round(np.log2(x))) if x > 0.0 else 1.0 for x in longest]
    return with_coordinates(cluster, free, blocks, lengths)


def _is_constant(model: Model, names: set[str]) -> bool:
    """Whether K is the same everywhere: gears, belts and bevel differentials."""
    chosen = [c for c in model.constraints if c.name in names]
    return all(isinstance(c, Coupling) and not any(c.polynomial[2:]) for c in chosen)


def _without_rounding(K: Array, extent: float) -> Array:
    """A velocity that moves a row by rounding only does not move it: of a row that nothing moves, nothing is left."""
    return np.where(np.abs(K) > _ZERO * max(np.abs(K).max(initial=0.0), extent), K, 0.0)


def _extent(model: Model, cluster: Cluster) -> float:
    """The largest offset of its bodies and loops, metres: rows are made of such lengths, which may cancel."""
    loops = [c for c in model.constraints if c.name in cluster.constraints and not isinstance(c, Coupling)]
    frames = [model.frame(name) for c in loops for name in (c.frame_a, c.frame_b)]  # type: ignore[attr-defined]
    offsets = [model.bodies[i].placement.p for i in cluster.bodies] if loops else []
    return max((float(np.linalg.norm(p)) for p in [*offsets, *(f.placement.p for f in frames)]), default=0.0)


def _without_faint_rows(
    model: Model, cluster: Cluster, K_at: list[Array], extent: float, tolerance: float
) -> list[Array]:
    """Rows that move much less than others of their constraint, at all configurations, are left out.

    They are those out of the plane of a loop whose axes are parallel but for a file's rounding.
    """
    longest = np.max([np.linalg.norm(K, axis=1) for K in K_at], axis=0)
    usual, start = np.empty(len(longest)), 0
    for constraint in (c for c in model.constraints if c.name in cluster.constraints):
        mine = slice(start, start + constraint.size)
        start += constraint.size
        least = 0.0 if isinstance(constraint, Coupling) else 1e-3 * min(extent, 1.0)
        usual[mine] = max(longest[mine].max(initial=0.0), least)
    faint = longest <= tolerance * usual
    _warn_of(cluster, longest[faint] / np.where(usual[faint] > 0.0, usual[faint], 1.0), tolerance)
    return [np.where(faint[:, None], 0.0, K) for K in K_at]


def _rank(cluster: Cluster, K: Array, tolerance: float) -> int:
    """Whatever the rows' units: of rows of length one, those of zeros apart."""
    lengths = np.linalg.norm(K, axis=1)
    rows = K[lengths > 0.0] / lengths[lengths > 0.0, None]
    values = np.linalg.svd(rows, compute_uv=False)
    if not values.size:
        return 0
    share = values / values[0]
    _warn_of(cluster, share[share <= tolerance], tolerance)
    return int(np.sum(share > tolerance))


def _warn_of(cluster: Cluster, values: Array, tolerance: float) -> None:
    """Singular values that were taken for zero and are more than rounding."""
    doubtful = values[values > _ROUNDING]
    if len(doubtful):
        names = ", ".join(map(repr, cluster.constraints))
        warnings.warn(
            f"the rank of the constraints {names} hangs on a singular value of {doubtful.max():.2g} (relative), which "
            f"is taken for zero: axes or lengths in the file are rounded, or this is near a singularity. "
            f"`embed(..., tolerance=...)`, now {tolerance:g}, sets what counts",
            RankWarning, stacklevel=4,
        )  # fmt: skip


def _conditioning(K: Array, r: int) -> float:
    values = np.linalg.svd(K, compute_uv=False)
    return float(values[r - 1] / values[0]) if r else 1.0


def _preference(model: Model, cluster: Cluster, velocity: int, wanted: set[int]) -> tuple[float, ...]:
    """How much a velocity is wanted as an independent one: small is taken as dependent first."""
    i = next(i for i in cluster.bodies if velocity in _span(model, i))
    joint = model.bodies[i].joint
    carried = sum(float(model.bodies[k].inertia.mass) for k in range(model.nb) if _carries(model, i, k))
    single = float(joint.type.nv == 1)  # an angle is a better coordinate than a component of an angular velocity
    motors = actuated_joints(model.actuators)
    actuated = float(joint.name in motors if motors else bool(np.isfinite(joint.effort_limit).any()))
    return (float(velocity in wanted), float(joint.independent is True), single, actuated, carried)


def _carries(model: Model, i: int, k: int) -> bool:
    while k > i:
        k = model.bodies[k].parent
    return k == i


def _greedy(K_at: list[Array], r: int, classes: list[tuple[float, ...]]) -> list[int]:
    """r columns that are far from depending on each other in every K, those of a lower class first."""
    taken: list[int] = []
    rests = [K.copy() for K in K_at]
    lengths = np.array([np.linalg.norm(K, axis=0) for K in K_at])
    for least in (_FAR, 1e-3, _RANK):
        for kind in sorted(set(classes)):
            while len(taken) < r:
                new = np.array([np.linalg.norm(rest, axis=0) for rest in rests])
                least_new = np.min(new / np.where(lengths > 0.0, lengths, np.inf), axis=0)
                share = [y if classes[x] == kind and x not in taken else 0.0 for x, y in enumerate(least_new)]
                x = int(np.argmax(share))
                if share[x] < least:
                    break
                taken.append(x)
                for k, rest in enumerate(rests):
                    direction = rest[:, x] / new[k, x]
                    rests[k] = rest - np.outer(direction, direction @ rest)
    return taken
