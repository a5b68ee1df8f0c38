"""Embedding constraints: loops and couplings become clusters of bodies that move as one.

Which of a cluster's velocities are independent is decided with numbers, at configurations on the constraints, once per
model (`coordinates.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from sarrus.algorithms.position.project import project
from sarrus.errors import ModelError, StateError, UnsupportedError, check_name
from sarrus.model.clusters import find_clusters
from sarrus.model.constraints import Constraint
from sarrus.model.embedding import Embedding
from sarrus.model.model import Model
from sarrus.model.state import check_configuration, home_or_neutral, integrate, random_state
from sarrus.model.values import typical_values
from sarrus.planning.coordinates import ROUNDING, divide, is_constant
from sarrus.spatial.arrays import Array, is_numeric, vector
from sarrus.spatial.inertia import Inertia

_SAMPLES = 4
TOLERANCE = 1e-4  # what an exporter's rounding may make of a singular value that should be zero
_CLOSED = 1e-9
_STEPS = 30  # of a search for a configuration


def embed(
    model: Model,
    constraints: Sequence[str] | None = None,
    *,
    independent: Sequence[str] = (),
    at: Array | None = None,
    tolerance: float = TOLERANCE,
) -> Model:
    """The same robot with loops and couplings embedded: they hold by construction, and cost no rows.

    constraints  names of loop closures, distances and couplings; default: all active ones
    independent  names of joints whose coordinates are to be independent; default: chosen
    at           a configuration that satisfies the constraints, at which to choose; default: searched for
    tolerance    singular values of a cluster's rows below this fraction of the largest count as zero, so that axes
                 given with six digits count as parallel and a planar loop made of them can move. Where such a value
                 decides the rank, a `RankWarning` says how large it is

    Contacts and constraints that were not named remain, for lcaba, pv and all other methods; if there are none, use
    `ce_aba`. Masses, centres of mass, inertias and armatures may be symbols; lengths and axes must be numbers.

    returns      a `Model` with an `embedding`; `model.spanning` is the original model
    errors       `ModelError`: the model is already embedded; `UnsupportedError`: nothing to embed; `UnknownNameError`:
                 no such constraint or joint; `StateError`: loops that are open at `at`

    >>> sarrus.embed(sarrus.zoo.four_bar()).ny
    1
    """
    if model.embedding is not None:
        raise ModelError(f"model {model.name!r} already has embedded constraints; use `model.spanning`")
    structure = _with_numbers(model)
    chosen = _chosen(model, constraints)
    wanted = {k for name in independent for k in range(model.nv)[model.layout.v_of(name)]}
    if not (isinstance(tolerance, (int, float)) and ROUNDING <= tolerance < 1.0):
        raise UnsupportedError(f"tolerance is {tolerance!r}: expected a number from {ROUNDING:g} to 1, such as 1e-4")
    clusters = find_clusters(structure, chosen)
    samples = configurations_on(structure, {c.name for c in chosen}, at, tolerance)
    divided = tuple(divide(structure, cluster, samples, wanted, tolerance) for cluster in clusters)
    return replace(model, embedding=Embedding(divided, tuple(samples)))


def _with_numbers(model: Model) -> Model:
    """The same kinematics, bodies with symbols alike: which velocities follow from which goes by kinematics alone."""
    if model.is_numeric:
        return model
    typical = typical_values(model)
    if typical is not None:
        return typical
    alike = Inertia.from_com(1.0, np.zeros(3), np.eye(3))
    bodies = []
    for body in model.bodies:
        known = all(is_numeric(x) for x in (vector(body.inertia.mass), body.inertia.h, body.inertia.Sigma))
        joint = (
            body.joint
            if is_numeric(body.joint.armature)
            else replace(body.joint, armature=np.zeros(body.joint.type.nv))
        )
        bodies.append(replace(body, inertia=body.inertia if known else alike, joint=joint))
    found = replace(model, bodies=tuple(bodies))
    if not found.is_numeric:
        raise UnsupportedError(
            f"model {model.name!r} has symbols in lengths or axes: which velocities are independent depends on those. "
            f"Typical values of all symbols decide: dataclasses.replace(model, typical=((name, value), ...))"
        )
    return found


def _chosen(model: Model, names: Sequence[str] | None) -> list[Constraint]:
    valid = {c.name: c for c in model.active_constraints if c.kind.embeddable}
    if names is None:
        if not valid:
            raise UnsupportedError(
                f"model {model.name!r} has no loop closures, distances or couplings to embed: use it as it is"
            )
        return list(valid.values())
    for name in names:
        check_name("constraint to embed:", name, valid)
    return [c for name, c in valid.items() if name in names]


def configurations_on(
    model: Model, names: set[str], at: Array | None = None, tolerance: float = TOLERANCE
) -> list[Array]:
    """A few configurations on the constraints that are to be embedded, the first near the robot's home.

    Loops that a file's rounding keeps from closing are closed as far as they can be.
    """
    only = replace(model, constraints=tuple(c for c in model.constraints if c.name in names))
    home = home_or_neutral(model) if at is None else check_configuration(model, at)
    if is_constant(model, names):
        return [home]
    found, almost = [], []
    rng = np.random.default_rng(0)
    near, _ = random_state(model, rng, batch=8 * _SAMPLES)
    tangents = 0.3 * rng.normal(size=(2 * _SAMPLES, model.nv))
    seeds = [home, *(integrate(model, home, t) for t in tangents), *near]
    for seed in seeds:
        result = project.text(only, np.asarray(seed, dtype=float), max_iterations=_STEPS)
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
