"""Configurations in which frames are where they are wanted, loops are closed and joints are within their limits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from sarrus.algorithms.position.project import ProjectResult, nearest_on
from sarrus.algorithms.tree.frame_jacobian import local_jacobian
from sarrus.calls.evaluator import evaluate
from sarrus.errors import AssemblyError, StateError, UnsupportedError
from sarrus.mechanics.constraints.center_of_mass_rows import center_of_mass_error
from sarrus.mechanics.constraints.rotation_errors import rotation_vector
from sarrus.mechanics.constraints.rows import KinematicState
from sarrus.mechanics.mechanism import Mechanism, mechanism
from sarrus.mechanics.solvers.constraint_metric import Linearized, linearized
from sarrus.model.constraints import CenterOfMass
from sarrus.model.model import Model
from sarrus.model.state import check_configuration, difference, moved, outside_limits, starting_configuration
from sarrus.registry.algorithm import Algorithm, Input
from sarrus.simulation.configuration_result import ConfigurationResult
from sarrus.simulation.projection import CLOSED, AbstractProjector, with_position_constraints
from sarrus.simulation.random_states import project_within_limits, random_configurations
from sarrus.simulation.targets import Targets, as_targets
from sarrus.spatial.arrays import Array
from sarrus.status import Status

_TOWARDS = 40  # steps towards the posture
_SHORTEST = 1e-3  # part of the way to it at which a search gives up


def inverse_kinematics(
    model: Model,
    targets: Mapping[str, Any] | None = None,
    near: Any = None,
    *,
    center_of_mass: Any = None,
    axes: str = "xyz",
    posture: Any = None,
    limits: bool = True,
    attempts: int = 32,
    rng: np.random.Generator | int | None = 0,
    strict: bool = False,
) -> ConfigurationResult:
    """The configuration in which frames reach targets: `inverse_kinematics(robot, {"hand": (0.4, 0.1, 0.8)}).q`.

    targets         by frame: a position (3,); or a pose, as (position, rotation), where the rotation is a 3x3 matrix, a
                    quaternion xyzw or roll-pitch-yaw; or as a 4x4 matrix. In the world, metres. With a first dimension
                    of B, a batch of configurations
    near            where to start (nq,) or (B, nq); default: the pose in the file, or neutral
    center_of_mass  target of the robot's centre of mass, along `axes` of the world
    posture         (nq,) or (B, nq): prefer the solution nearest to this posture that can be reached from the first one
                    found; default: no preference
    limits          keep joints within their limits
    attempts        random starts for targets that cannot be reached from `near`
    strict          raise an AssemblyError if nothing is found; otherwise the status says so, and q is the best attempt

    Loops and couplings stay closed; contacts with `at` stay there. The steps are damped Gauss-Newton steps as in
    `sarrus.project`, but by the shortest path of the joints, regardless of masses: radians and metres count alike.
    Calls compile by themselves once it pays; targets are inputs of the kernel, so other targets need no new code.

    axes            for the centre of mass: "xyz", "xy", ...
    rng             for the random starts: a generator, or a seed
    returns         a `ConfigurationResult`: q, error, status, joints outside their limits
    errors          `UnknownNameError`: no such frame; `AssemblyError`: nothing was found, and `strict`

    >>> arm = sarrus.zoo.chain(7)
    >>> sarrus.inverse_kinematics(arm, {"tip": (0.3, 0.2, -0.5)}).in_words()
    ['ok']
    """
    if not model.is_numeric:
        raise UnsupportedError("inverse_kinematics: the model contains symbols; give them values first")
    closing = with_position_constraints(model)
    reference = starting_configuration(model) if near is None else check_configuration(model, near)
    wanted = None if posture is None else check_configuration(model, posture)
    goal = as_targets(model, {} if targets is None else targets, center_of_mass, axes)
    sizes = {len(x) for x in (reference, wanted, *goal.values.values()) if x is not None and x.ndim == 2}
    if len(sizes) > 1:
        raise StateError(f"targets, near and posture: batches of different sizes: {', '.join(map(str, sorted(sizes)))}")
    count = max(sizes, default=1)
    reach = TargetProjector(closing, goal.repeated(count))
    start = np.array(np.broadcast_to(reference, (count, model.nq)))
    q, error = _reached(reach, start, limits)
    for k in np.flatnonzero(~_good(model, q, error, limits)):  # each has restarts of its own
        q[k], error[k] = _restarted(reach, int(k), q[k], float(error[k]), attempts, np.random.default_rng(rng), limits)
    good = _good(model, q, error, limits)
    if wanted is not None and good.any():
        at = np.flatnonzero(good)
        q[at] = _nearer(reach, q[at], np.broadcast_to(wanted, (count, model.nq))[at], at, limits)
        error[at] = reach(q[at], which=at, steps=False).error
    status = np.where(_good(model, q, error, limits), Status.OK, Status.NOT_CLOSER)
    if strict and status.any():
        raise AssemblyError(
            f"inverse_kinematics: {int(np.count_nonzero(status))} of {count} not met; the smallest error found is "
            f"{float(error[status > 0].min()):.3g} m or rad{'' if not limits else ', within the limits of joints'}"
        )
    outside = tuple(model.joint_names[k] for k in np.flatnonzero(outside_limits(model, q).any(axis=0)))
    found = ConfigurationResult(q, error, status, outside)
    return found if sizes else found.only()


class TargetProjector(AbstractProjector):
    """To the nearest configuration on loops and targets: one kernel, whatever the numbers of the targets are."""

    def __init__(self, model: Model, targets: Targets) -> None:
        super().__init__(model)
        self.targets = targets
        inputs = (
            Input("q", False), Input("v", False), Input("held", False),
            *(Input(name, False, (size,)) for name, size in targets.sizes.items()),
        )  # fmt: skip
        self.algorithm = Algorithm("meet", _meet, inputs, None, ("targets", "max_iterations"))

    def __call__(
        self,
        q: Array,
        v: Array | None = None,
        held: Array | None = None,
        which: Array | None = None,
        *,
        steps: bool = True,
    ) -> ProjectResult:
        zero, shape = np.zeros(self.model.nv), (len(q), self.model.nv)
        v, held = (np.broadcast_to(zero if x is None else x, shape) for x in (v, held))
        numbers = {name: x if which is None else x[which] for name, x in self.targets.values.items()}
        options = {"targets": self.targets.names, "max_iterations": 100 if steps else 0}
        return ProjectResult(
            **evaluate(self.model, self.algorithm, {"q": q, "v": v, "held": held} | numbers, **options)
        )


def _meet(
    model: Model,
    q: Array,
    v: Array,
    held: Array,
    targets: tuple[tuple[str, ...], tuple[str, ...], str],
    max_iterations: int,
    **numbers: Array,
) -> ProjectResult:
    """`project` with targets beside the constraints. targets: frames by position, frames by pose, axes of the centre of
    mass.
    """

    def rows_at(q: Array) -> Linearized:
        at = mechanism(model, q, spanning=True)
        return linearized(at, np.eye(model.nv, dtype=q.dtype), held, _target_rows(at, targets, numbers))

    return nearest_on(rows_at, model, q, v, 1e-12, max_iterations)


def _target_rows(at: Mechanism, targets: tuple[Any, ...], numbers: dict[str, Array]) -> tuple[Array, Array]:
    """Where frames are, less where they should be, in their own axes; and the Jacobian of that."""
    points, poses, axes = targets
    errors, jacobians = [np.zeros(0)], [np.zeros((0, at.model.nv))]
    for name in (*points, *poses):
        J, R, p = local_jacobian(at.model, at.joints, at.model.frame(name))
        errors.append(R.T @ (p - numbers[f"position {name}"]))
        jacobians.append(J[:3])
        if name in poses:
            wanted = numbers[f"rotation {name}"].reshape(3, 3)
            errors.append(rotation_vector(wanted.T @ R))
            jacobians.append(J[3:])
    if axes:
        still = KinematicState(at.model, at.joints, [], [], None, at.q, np.zeros(at.model.nv))  # type: ignore[arg-type]
        constraint = CenterOfMass("center of mass", axes, at=numbers["center of mass"])
        error, J = center_of_mass_error(constraint, still, of_dynamics=False)
        errors.append(error)
        jacobians.append(J)
    return np.concatenate(errors), np.concatenate(jacobians)


def _reached(reach: TargetProjector, q: Array, limits: bool, which: Array | None = None) -> tuple[Array, Array]:
    part = reach if which is None else TargetProjector(reach.model, reach.targets.of(which))
    if limits:
        return project_within_limits(part, q)
    result = part(q)
    return np.array(result.q), np.array(result.error)


def _good(model: Model, q: Array, error: Array, limits: bool) -> Array:
    """Comparisons that what is not a number fails."""
    met = error <= CLOSED
    return met & ~outside_limits(model, q).any(axis=-1) if limits else met


def _restarted(
    reach: TargetProjector, k: int, q: Array, error: float, attempts: int, rng: np.random.Generator, limits: bool
) -> tuple[Array, float]:
    """Target k from random configurations: of those that meet it the nearest to q, else what comes nearest to it."""
    model = reach.model
    if not attempts:
        return q, error
    tries = random_configurations(model, rng, attempts)
    found, errors = _reached(reach, tries, limits, np.full(attempts, k))
    good = _good(model, found, errors, limits)
    if good.any():
        away = np.linalg.norm(difference(model, q, found), axis=-1)
        best = int(np.argmin(np.where(good, away, np.inf)))
        return found[best], float(errors[best])
    best = int(np.argmin(np.where(np.isfinite(errors), errors, np.inf)))
    return (found[best], float(errors[best])) if errors[best] < error else (q, error)


def _nearer(reach: TargetProjector, q: Array, posture: Array, which: Array, limits: bool) -> Array:
    """Down to the posture along the configurations that meet the targets: a step along the tangent, and back onto
    them. What does not come nearer takes half the step.
    """
    model = reach.model
    part = TargetProjector(model, reach.targets.of(which))
    step = np.ones(len(q))
    away = np.linalg.norm(difference(model, q, posture), axis=-1)
    for _ in range(_TOWARDS):
        left = np.flatnonzero(step > _SHORTEST)
        if not len(left):
            break
        along = part(q[left], difference(model, q[left], posture[left]), which=left, steps=False).v
        tried = moved(model, q[left], step[left, None] * along)
        found, error = _reached(part, tried, limits, left)
        distance = np.linalg.norm(difference(model, found, posture[left]), axis=-1)
        taken = _good(model, found, error, limits) & (distance < away[left])
        much = distance < (1.0 - 1e-6) * away[left]
        q[left[taken]], away[left[taken]] = found[taken], distance[taken]
        step[left] = np.where(taken & much, np.minimum(1.0, 2.0 * step[left]), 0.5 * step[left])
    return q
