"""Early elimination on its own, without a fallback: what it can do, it does; what it says is right."""

from __future__ import annotations

import numpy as np
import pytest

import sarrus
from sarrus import Status
from tests.oracles.loops import kkt, solve

AXES = {"X": (1, 0, 0), "Y": (0, 1, 0), "Z": (0, 0, 1)}


def arm(builder: sarrus.ModelBuilder, parent: str, name: str, mass: float, light: float, straight: bool = False) -> str:
    """Six joints, the last three on links that are lighter than the first; its last link."""
    for k, letter in enumerate("ZXYXYX"):
        m, at = mass if k < 3 else light, (0.0, 0.0, 0.2) if straight else (0.05, 0.02 * k, 0.2)
        builder.add_body(
            f"{name}{k}", parent, axis=AXES[letter], position=at, mass=m, com=(0.01, 0.02, 0.1),
            inertia=np.eye(3) * 0.01 * m,
        )  # fmt: skip
        parent = f"{name}{k}"
    return parent


def errors(model: sarrus.Model, q: np.ndarray, v: np.ndarray, tau: np.ndarray, qdd: np.ndarray) -> np.ndarray:
    expected = np.array([solve(kkt(model, *state[:2]), state[2])[0] for state in zip(q, v, tau, strict=True)])
    return np.abs(qdd - expected).max(axis=1) / (1.0 + np.abs(expected).max(axis=1))


@pytest.mark.parametrize("off", [0.0, 1e-17, 2e-14, 1e-9])
def test_a_point_on_an_axis_is_resolved_by_the_joints_below(off):
    """That the last joint does not move the point is known while tracing, up to the rounding of a file."""
    builder = sarrus.ModelBuilder("arm")
    last = arm(builder, "world", "a", 1.0, 1.0)
    builder.add_frame("tool", last, position=(0.3, off, 0.0))
    model = builder.build().with_constraints(sarrus.contact("tool", 3))
    q, v = sarrus.random_state(model, 0, batch=64)
    tau = np.random.default_rng(0).normal(size=v.shape)
    found = sarrus.compile(model, "pv_early", fallback=None)(q, v, tau)
    assert np.mean(found.status == Status.OK) > 0.95
    assert errors(model, q, v, tau, found.qdd)[found.status == Status.OK].max() < 1e-8


def held_by_hands(straight: bool) -> sarrus.Model:
    builder = sarrus.ModelBuilder("robot")
    builder.add_body("trunk", joint="free", mass=50.0, com=(0, 0, 0), inertia=np.eye(3) * 3.0)
    hands = [arm(builder, "trunk", name, 4.0, 0.005, straight) for name in ("left", "right")]
    return builder.build().with_constraints(*(sarrus.contact(hand, 6) for hand in hands))


def test_light_hands_of_a_heavy_robot_are_no_reason_to_fall_back():
    """What the rows of a hand add to the trunk is measured beside the trunk, not beside the hand."""
    model = held_by_hands(straight=False)
    q, v = sarrus.random_state(model, 0, batch=1024)
    tau = np.random.default_rng(0).normal(size=v.shape)
    found = sarrus.compile(model, "pv_early", fallback=None)(q, v, tau)
    robust = sarrus.compile(model, "prox_ltl")(q, v, tau)
    right = found.status == Status.OK
    assert np.mean(right) > 0.995
    off = np.abs(found.qdd - robust.qdd).max(axis=1) / (1.0 + np.abs(robust.qdd).max(axis=1))
    assert off[right & (robust.status == Status.OK)].max() < 1e-8


def test_with_light_hands_close_to_stretched_it_is_right_or_told():
    model = held_by_hands(straight=True)
    rng = np.random.default_rng(1)
    distance = 10.0 ** rng.uniform(-12.0, -2.0, size=(64, 1))
    start = np.tile(sarrus.neutral(model), (64, 1))
    q = sarrus.integrate(model, start, distance * rng.normal(size=(64, model.nv)))
    v, tau = rng.normal(size=(2, 64, model.nv))
    found = sarrus.compile(model, "pv_early", fallback=None)(q, v, tau)
    ok = found.status == Status.OK
    assert ok.any()
    assert not ok.all()
    assert errors(model, q[ok], v[ok], tau[ok], found.qdd[ok]).max() < 1e-6
