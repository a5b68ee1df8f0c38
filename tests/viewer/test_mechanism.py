"""What the viewer computes: poses, forces as arrows, loops that stay closed when a joint is moved."""

from __future__ import annotations

import numpy as np
import pytest

import sarrus
from sarrus.errors import UnsupportedError
from sarrus.viewer.mechanism import CLOSED, Mechanism

GRAVITY = 9.81


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("SARRUS_CACHE_DIR", str(tmp_path / "cache"))


def brick(*constraints) -> sarrus.Model:
    builder = sarrus.ModelBuilder("brick")
    builder.add_body("brick", joint="free", mass=2.0, inertia=np.diag([0.1, 0.2, 0.3]))
    builder.add_frame("under", "brick", position=(0.0, 0.0, -0.1), rotation=(1.0, 0.5, 0.2))
    return builder.build().with_constraints(*constraints)


def test_poses_are_those_of_forward_kinematics():
    model = sarrus.zoo.stewart()
    q, _ = sarrus.random_state(model, rng=0)
    poses, expected = Mechanism(model).poses(q), sarrus.forward_kinematics(model, q)
    np.testing.assert_allclose(poses.R, expected.rotation, atol=1e-12)
    np.testing.assert_allclose(poses.p, expected.position, atol=1e-12)
    names = [c.frame_b for c in model.active_constraints]
    np.testing.assert_allclose(poses.b, sarrus.forward_kinematics(model, q, frames=names).position, atol=1e-12)


@pytest.mark.parametrize(
    ("constraint", "sign"),
    [
        (sarrus.contact("under", 6), 1.0),
        (sarrus.weld("world", "under"), 1.0),  # forces act on the second frame: the brick is carried,
        (sarrus.weld("under", "world"), -1.0),  # the world is pressed upon
    ],
)
def test_a_brick_that_is_held_is_carried_by_its_weight(constraint, sign):
    model = brick(constraint)
    mechanism = Mechanism(model)
    q = sarrus.neutral(model)
    (vector,) = mechanism.force_vectors(q, mechanism.forces_at_rest(q))
    np.testing.assert_allclose(vector, [0.0, 0.0, sign * 2.0 * GRAVITY], atol=1e-6)


def test_forces_of_a_hinge_between_bodies_obey_newton():
    """A four-bar: what acts on the rocker, with the reaction of its own hinge and its weight, accelerates it."""
    model = sarrus.zoo.four_bar()
    mechanism = Mechanism(model)
    q, zero = sarrus.neutral(model), np.zeros(3)
    result = sarrus.forward_dynamics(model, q, zero, zero)
    (force,) = mechanism.force_vectors(q, result.forces)
    poses = mechanism.poses(q)
    rocker = model.body_index("rocker")
    body = model.bodies[rocker]
    com = body.inertia.h / body.inertia.mass
    lever, arm = poses.R[rocker] @ com, poses.b[0] - poses.p[rocker]
    about_hinge = np.cross(lever, [0.0, 0.0, -GRAVITY * body.inertia.mass]) + np.cross(arm, force)
    inertia = np.trace(body.inertia.Sigma) - body.inertia.Sigma[1, 1]
    assert about_hinge[1] == pytest.approx(inertia * result.qdd[rocker], rel=1e-6)


@pytest.mark.parametrize("name", ["four_bar", "stewart", "sarrus_linkage", "delta", "bennett"])
def test_loops_stay_closed_when_a_joint_is_moved(name):
    model = getattr(sarrus.zoo, name)()
    mechanism = Mechanism(model)
    q = sarrus.neutral(model)
    k = next(s.start for b, s in zip(model.bodies, model.layout.q, strict=True) if b.joint.type.quaternion_at is None)
    moved, reached = mechanism.with_coordinate(q, k, q[k] + 0.1)
    assert reached
    assert moved[k] == q[k] + 0.1
    assert max(mechanism.errors(moved).values()) < CLOSED


def test_a_joint_stops_where_its_loop_would_open():
    model = sarrus.zoo.four_bar()
    mechanism = Mechanism(model)
    moved, reached = mechanism.with_coordinate(sarrus.neutral(model), 2, 3.0)  # the rocker of a crank-rocker swings
    assert not reached
    assert abs(moved[2]) < 3.0
    assert max(mechanism.errors(moved).values()) < CLOSED


def test_a_model_with_symbols_is_refused():
    casadi = pytest.importorskip("casadi")
    model = sarrus.ModelBuilder().add_body("b", mass=casadi.SX.sym("m"), com=(1, 0, 0)).build()
    with pytest.raises(UnsupportedError, match="symbols"):
        Mechanism(model)
