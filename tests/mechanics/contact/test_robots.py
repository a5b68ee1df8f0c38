"""A quadruped on the ground, in time steps of Moreau's: how many Newton steps the solver takes, and that it stands."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

import sarrus
from sarrus.codegen.runtime.native import NativeKernel, build_native
from sarrus.mechanics.contact.problem import ContactProblem
from sarrus.status import Status
from tests.importers.shared_robots import shared_file
from tests.mechanics.contact.problems import NONE, traced

FEET = ("FR", "FL", "RR", "RL")
RADIUS, DT = 0.023, 1e-3
POSE = np.tile([0.0, 0.9, -1.8], 4)


@cache
def kernel() -> NativeKernel:
    """Of four contacts."""
    tape, _ = traced(ContactProblem(np.eye(12), np.zeros(12), NONE, np.ones(4), np.ones(4)))
    return build_native(tape)


@cache
def go1() -> sarrus.Model:
    return sarrus.load(shared_file("go1/go1.xml"))


@cache
def compiled(name: str, **options: Any) -> Callable[..., Any]:
    """An algorithm for a Go1."""
    return sarrus.compile(go1(), name, **options)


def walk(velocity: np.ndarray, height: float, mu: float, steps: int) -> dict[str, np.ndarray]:
    """Steps of a Go1 that holds its pose by servos, starting so high and so fast."""
    servo, damper = np.repeat([0.0, 60.0], [6, 12]), np.repeat([0.0, 2.0], [6, 12])
    q = np.concatenate([[0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0], POSE])
    lowest = min(pose[2] for pose in compiled("forward_kinematics", frames=FEET)(q).position)
    q[2] = RADIUS - lowest + height
    v, impulses = velocity, np.zeros(12)
    seen: dict[str, list] = {"newton": [], "status": [], "gap": [], "push": []}
    for _ in range(steps):
        gaps = np.array([pose[2] - RADIUS for pose in compiled("forward_kinematics", frames=FEET)(q).position])
        J = np.concatenate([_jacobian_below(q, foot) for foot in FEET])
        error = np.concatenate([np.zeros(6), POSE - q[7:]])
        force = servo * (error - DT * v) - damper * v - compiled("bias_forces")(q, v)
        M = compiled("crba")(q) + np.diag(DT * damper + DT**2 * servo)
        g = J @ (v + np.linalg.solve(M, DT * force))
        g[2::3] += np.where(gaps > 0.0, gaps, 0.1 * gaps) / DT
        inputs = [J @ np.linalg.solve(M, J.T), g, np.full(4, mu), np.where(gaps < 0.01, 1.0, 0.0), impulses]
        outputs = [np.empty((1, 12)), np.empty((1, 12)), *(np.empty((1, 1)) for _ in range(3))]
        kernel().run([x[None].copy() for x in inputs], outputs, 1)
        impulses = outputs[0][0]
        v = v + np.linalg.solve(M, DT * force + J.T @ impulses)
        q = sarrus.integrate(go1(), q, DT * v)
        for name, x in zip(seen, (outputs[3][0, 0], outputs[4][0, 0], gaps.min(), impulses[2::3].sum()), strict=True):
            seen[name].append(x)
    return {name: np.array(x) for name, x in seen.items()} | {"v": v}


def _jacobian_below(q: np.ndarray, foot: str) -> np.ndarray:
    """Of the point of a spherical foot that is lowest, in the world's axes."""
    J = compiled("frame_jacobian", frame=foot, reference="local_world_aligned")(q)
    x, y, z = 0.0, 0.0, -RADIUS
    return J[:3] - np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]]) @ J[3:]


def test_it_stands():
    seen = walk(np.zeros(18), 0.0, 0.8, 250)
    assert (seen["status"] == Status.OK).all()
    assert seen["newton"][1:].max() <= 1  # the first step has nothing to start from
    weight = 9.81 * sum(body.inertia.mass for body in go1().bodies)
    np.testing.assert_allclose(seen["push"][-50:].mean() / DT, weight, rtol=0.02)


@pytest.mark.parametrize(
    ("velocity", "height", "mu"),
    [([0.5, -0.2, -1.0, 0.2, 0.4, 0.1], 0.05, 0.6), ([1.2, 0.6, 0.0, 0.0, 0.0, 1.0], 0.0, 0.3)],
    ids=["landing", "sliding"],
)
def test_it_lands_and_slides(velocity, height, mu):
    seen = walk(np.array([*velocity, *np.zeros(12)]), height, mu, 250)
    assert (seen["status"] == Status.OK).all()
    assert np.percentile(seen["newton"], 95) <= 2
    assert seen["newton"].max() <= 4
    assert seen["gap"].min() > -1e-3
