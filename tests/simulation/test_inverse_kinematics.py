"""`inverse_kinematics`: the oracle says where frames are; loops stay closed; limits hold; unreachable is said."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

import sarrus
from sarrus import zoo
from sarrus.errors import AssemblyError, StateError, UnknownNameError
from tests.oracles.dense import oracle_of_model

ARM = zoo.chain(7)


def poses(model: sarrus.Model, body: str, q: np.ndarray) -> np.ndarray:
    """(B, 4, 4) by the oracle, which shares no code."""
    oracle = oracle_of_model(model)
    return np.array([oracle.frame_motion(body, np.eye(4), x, np.zeros(model.nv))[0] for x in np.atleast_2d(q)])


def test_a_batch_of_poses_is_met():
    q, _ = sarrus.random_state(ARM, 0, batch=20)
    body = ARM.body_names[-1]
    wanted = poses(ARM, body, q)
    found = sarrus.inverse_kinematics(ARM, {body: wanted})
    assert found.in_words() == ["ok"] * 20
    assert np.abs(poses(ARM, body, found.q) - wanted).max() < 1e-9
    same = sarrus.inverse_kinematics(ARM, {body: (wanted[:, :3, 3], wanted[:, :3, :3])})
    assert np.array_equal(same.q, found.q)


def test_limits_hold_and_what_they_forbid_is_said():
    builder = sarrus.ModelBuilder("arm")
    for k in range(3):
        builder.add_body(
            f"b{k}", f"b{k - 1}" if k else "world", joint="revolute", axis=(0, 1, 0), position=(0, 0, 1.0 if k else 0),
            mass=1.0, inertia=0.1 * np.eye(3), lower=0.2, upper=1.2,
        )  # fmt: skip
    model = builder.add_frame("tip", "b2", position=(0, 0, 1)).build()
    rng = np.random.default_rng(0)
    inside = rng.uniform(0.2, 1.2, (30, 3))
    wanted = sarrus.forward_kinematics(model, inside, frames=("tip",)).position[:, 0]
    found = sarrus.inverse_kinematics(model, {"tip": wanted}, near=np.full(3, 0.7))
    assert (found.status == 0).all()
    assert (found.q >= 0.2 - 1e-6).all()
    assert (found.q <= 1.2 + 1e-6).all()
    beyond = sarrus.inverse_kinematics(model, {"tip": (0.0, 0.0, 3.0)}, near=np.full(3, 0.7))  # straight: q = 0
    assert beyond.status == sarrus.Status.NOT_CLOSER
    free = sarrus.inverse_kinematics(model, {"tip": (0.0, 0.0, 2.9)}, near=np.full(3, 0.7), limits=False)
    assert (free.status, bool(free.outside_limits)) == (0, True)
    far = sarrus.inverse_kinematics(model, {"tip": (9.0, 0.0, 0.0)})
    assert far.status == sarrus.Status.NOT_CLOSER
    assert far.error > 4.0
    with pytest.raises(AssemblyError, match="1 of 1 not met"):
        sarrus.inverse_kinematics(model, {"tip": (9.0, 0.0, 0.0)}, strict=True)


def test_the_posture_is_as_near_as_it_can_be():
    """Beside SciPy's SLSQP from the same start."""
    q, _ = sarrus.random_state(ARM, 5)
    target = sarrus.forward_kinematics(ARM, q, frames=("tip",)).position[0]
    posture = np.full(7, 0.3)
    plain = sarrus.inverse_kinematics(ARM, {"tip": target})
    found = sarrus.inverse_kinematics(ARM, {"tip": target}, posture=posture)
    assert found.status == 0

    def miss(x):
        return sarrus.forward_kinematics(ARM, x, frames=("tip",)).position[0] - target

    judge = minimize(lambda x: ((x - posture) ** 2).sum(), plain.q, constraints={"type": "eq", "fun": miss}, tol=1e-12)
    assert np.linalg.norm(found.q - posture) < np.sqrt(judge.fun) + 1e-4
    assert np.linalg.norm(found.q - posture) < np.linalg.norm(plain.q - posture)


def test_loops_stay_closed_and_the_centre_of_mass_goes_along():
    model = zoo.stewart()
    q, _ = sarrus.random_state(model, 0)
    wanted = poses(model, "platform", q)[0]
    found = sarrus.inverse_kinematics(model, {"platform": wanted})
    assert found.status == 0
    assert np.abs(sarrus.closure(model, found.q).position).max() < 1e-10
    biped = zoo.biped()
    both = sarrus.inverse_kinematics(biped, {"left_hand": (0.3, 0.3, 0.2)}, center_of_mass=(0.02, 0.01), axes="xy")
    assert both.status == 0
    assert np.abs(sarrus.closure(biped, both.q).position).max() < 1e-10
    assert np.allclose(sarrus.center_of_mass(biped, both.q).position[:2], (0.02, 0.01), atol=1e-9)
    assert np.allclose(sarrus.forward_kinematics(biped, both.q, frames=("left_hand",)).position, (0.3, 0.3, 0.2))


def test_arguments_are_checked():
    with pytest.raises(UnknownNameError, match="Valid"):
        sarrus.inverse_kinematics(ARM, {"hand": (0, 0, 0)})
    for wrong in ((0.0, 1.0), (0.0, np.nan, 0.0), "there", np.zeros((4, 4))):
        with pytest.raises(StateError):
            sarrus.inverse_kinematics(ARM, {"tip": wrong})
    with pytest.raises(StateError, match="expected positions or poses by frame"):
        sarrus.inverse_kinematics(sarrus.zoo.chain(3), [1.0, 2.0, 3.0])
    with pytest.raises(StateError, match="no target"):
        sarrus.inverse_kinematics(ARM)
    with pytest.raises(StateError, match="on the world"):
        sarrus.inverse_kinematics(ARM, {"world": (0, 0, 0)})
    with pytest.raises(StateError, match="different sizes"):
        sarrus.inverse_kinematics(ARM, {"tip": np.zeros((3, 3))}, near=np.zeros((2, 7)))
