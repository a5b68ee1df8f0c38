"""Moving along the configuration manifold."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sarrus
from sarrus.errors import StateError, UnknownNameError
from tests.mechanisms import MOVING_KINDS, mechanism, mechanisms, relative_error

EVERY = mechanism(2, list(MOVING_KINDS))
MODEL = EVERY.model


@given(mechanisms(), st.sampled_from([1e-12, 1e-6, 1e-2, 1.0, 3.0]))
@settings(max_examples=60)
def test_difference_undoes_integrate(case, size):
    """As long as no rotation exceeds pi (a longer way round comes back as the shorter one)."""
    model = case.model
    q, v = sarrus.random_state(model, rng=case.seed)
    v = v / np.linalg.norm(v) * size
    got = sarrus.difference(model, q, sarrus.integrate(model, q, v))
    assert relative_error(got, v, scale=1e-3) < 1e-10  # q itself is only known to 1e-16


@given(mechanisms())
@settings(max_examples=60)
def test_integrate_undoes_difference(case):
    model = case.model
    q, _ = sarrus.random_state(model, rng=case.seed, batch=2)
    reached = sarrus.integrate(model, q[0], sarrus.difference(model, q[0], q[1]))
    assert relative_error(np.abs(sarrus.difference(model, reached, q[1])), np.zeros(model.nv), scale=1.0) < 1e-9


@pytest.mark.parametrize("kind", ["spherical", "free"])
@pytest.mark.parametrize("short_of_pi", [1e-3, 1e-7, 1e-12, 0.0])
def test_rotations_near_half_a_turn(kind, short_of_pi):
    model = mechanism(1, [kind]).model
    q0, v = sarrus.random_state(model, rng=5)
    v[-3:] *= (np.pi - short_of_pi) / np.linalg.norm(v[-3:])
    q1 = sarrus.integrate(model, q0, v)
    back = sarrus.difference(model, q0, q1)
    assert np.linalg.norm(back[-3:]) <= np.pi + 1e-12
    assert relative_error(sarrus.forward_kinematics(model, sarrus.integrate(model, q0, back)).rotation,
                          sarrus.forward_kinematics(model, q1).rotation) < 1e-12  # fmt: skip
    if short_of_pi > 0.0:
        assert relative_error(back, v) < 1e-9


def test_the_shortest_way_ignores_the_sign_of_quaternions():
    model = mechanism(1, ["spherical"]).model
    q = sarrus.random_state(model, rng=0)[0]
    assert np.abs(sarrus.difference(model, q, -q)).max() < 1e-15


def test_nothing_moves_by_zero():
    q, _ = sarrus.random_state(MODEL, rng=0)
    assert relative_error(sarrus.integrate(MODEL, q, np.zeros(MODEL.nv)), q) < 1e-15
    assert np.abs(sarrus.difference(MODEL, q, q)).max() < 1e-15


def test_integrate_follows_a_constant_body_velocity():
    """Two halves are one whole, for every joint type (universal angles and the like simply add up)."""
    q, v = sarrus.random_state(MODEL, rng=1)
    half = sarrus.integrate(MODEL, sarrus.integrate(MODEL, q, 0.5 * v), 0.5 * v)
    assert relative_error(half, sarrus.integrate(MODEL, q, v)) < 1e-14


def test_the_rate_of_integrate_is_the_velocity_of_the_bodies():
    q, v = sarrus.random_state(MODEL, rng=1)
    h = 1e-6
    x = [sarrus.forward_kinematics(MODEL, sarrus.integrate(MODEL, q, t * v)) for t in (-h, h)]
    now = sarrus.forward_kinematics(MODEL, q, v)
    linear = np.einsum("bij,bj->bi", now.rotation, now.velocity[:, :3])
    assert relative_error((x[1].position - x[0].position) / (2 * h), linear) < 1e-8


def test_batches_are_loops():
    q, v = sarrus.random_state(MODEL, rng=0, batch=5)
    p, _ = sarrus.random_state(MODEL, rng=1, batch=5)
    for function, a, b in ((sarrus.integrate, q, v), (sarrus.difference, q, p)):
        together = function(MODEL, a, b)
        assert relative_error(together, np.array([function(MODEL, x, y) for x, y in zip(a, b, strict=True)])) < 1e-14
    assert relative_error(sarrus.integrate(MODEL, q[0], v)[3], sarrus.integrate(MODEL, q[0], v[3])) < 1e-15
    assert sarrus.normalize(MODEL, 2.0 * q).shape == q.shape


def test_neutral_puts_bodies_on_their_joint_frames():
    q = sarrus.neutral(MODEL)
    T = np.eye(4)
    for link, position in zip(EVERY.oracle.links, sarrus.forward_kinematics(MODEL, q).position, strict=True):
        T = T @ link.placement
        assert relative_error(position, T[:3, 3], 1.0) < 1e-13


def test_random_states_respect_limits():
    builder = sarrus.ModelBuilder()
    inertia = {"mass": 1.0, "com": (0.1, 0.1, 0.1), "inertia": np.eye(3)}
    builder.add_body("both", lower=-0.1, upper=0.2, **inertia)
    builder.add_body("low", joint="prismatic", lower=5.0, **inertia)
    builder.add_body("high", upper=-7.0, **inertia)
    builder.add_body(
        "base", joint="free", lower=[0.0, 1.0, 2.0, *[-np.inf] * 4], upper=[0.5, 1.5, 2.5, *[np.inf] * 4], **inertia
    )
    builder.add_body("fixed_value", lower=0.25, upper=0.25, **inertia)
    model = builder.build()
    q, v = sarrus.random_state(model, rng=0, batch=500)
    lower = np.concatenate([body.joint.lower for body in model.bodies])
    upper = np.concatenate([body.joint.upper for body in model.bodies])
    assert (q >= lower).all()
    assert (q <= upper).all()
    assert np.isfinite(q).all()
    assert (q[:, model.layout.q_of("fixed_value_joint")] == 0.25).all()
    assert v.shape == (500, model.nv)
    sarrus.forward_kinematics(model, q)  # valid: quaternions have length one


def test_random_states_of_one_seed_are_the_same():
    a, b = sarrus.random_state(MODEL, rng=3), sarrus.random_state(MODEL, rng=3)
    assert np.array_equal(a[0], b[0])
    assert np.array_equal(a[1], b[1])


def test_rows_lie_in_the_order_of_declaration():
    model = sarrus.zoo.chain(3).with_constraints(sarrus.contact("tip", 6), sarrus.contact("link_1", 3))
    assert model.row_spans == (slice(0, 6), slice(6, 9))
    assert sarrus.zoo.chain(3).row_spans == ()


def test_layout_names():
    layout = MODEL.layout
    assert layout.q_of("b4_joint") == slice(4, 6)
    assert layout.v_of("b9_joint") == slice(17, 23)
    assert layout.coordinate_name(0) == "b0_joint"
    assert layout.coordinate_name(5) == "b4_joint[1]"
    with pytest.raises(IndexError):
        layout.coordinate_name(MODEL.nq)
    with pytest.raises(UnknownNameError, match=r"unknown joint 'b44_joint'.*b4_joint"):
        layout.q_of("b44_joint")


def test_normalize():
    q, _ = sarrus.random_state(MODEL, rng=0)
    stretched = q.copy()
    stretched[MODEL.layout.q_of("b8_joint")] *= 3.0
    stretched[MODEL.layout.q_of("b9_joint")][3:] *= 0.2
    assert relative_error(sarrus.normalize(MODEL, stretched), q) < 1e-15
    stretched[MODEL.layout.q_of("b8_joint")] = 0.0
    with pytest.raises(StateError, match="quaternion of joint 'b8_joint' is zero"):
        sarrus.normalize(MODEL, stretched)


@pytest.mark.parametrize("batch", [None, 4])
def test_a_quaternion_of_wrong_length_is_named(batch):
    q, v = sarrus.random_state(MODEL, rng=0, batch=batch)
    q[..., MODEL.layout.q_of("b9_joint").start + 3 :] *= 1.1
    for call in (lambda: sarrus.integrate(MODEL, q, v), lambda: sarrus.crba(MODEL, q)):
        with pytest.raises(StateError, match=r"quaternion of joint 'b9_joint'.*length 1\.1.*normalize"):
            call()


@pytest.mark.parametrize("function", [sarrus.integrate, sarrus.difference])
def test_bad_arrays(function):
    q, v = sarrus.random_state(MODEL, rng=0)
    with pytest.raises(StateError, match=rf"q: expected shape \({MODEL.nq},\) or \(B, {MODEL.nq}\), got \(3,\)"):
        function(MODEL, q[:3], q)
    with pytest.raises(StateError, match=r"q: expected shape .*, got text"):
        function(MODEL, ["x"] * MODEL.nq, q)
    q_bad = q.copy()
    q_bad[2] = np.nan
    with pytest.raises(StateError, match=r"q\[2\] is nan: every number must be finite"):
        function(MODEL, q_bad, q)
    q2, v3 = np.tile(q, (2, 1)), np.tile(v if function is sarrus.integrate else q, (3, 1))
    with pytest.raises(StateError, match="batches of different sizes: 2 and 3"):
        function(MODEL, q2, v3)


def test_a_model_without_bodies_has_an_empty_state():
    empty = sarrus.ModelBuilder().build()
    q, v = sarrus.random_state(empty, rng=0)
    assert q.shape == v.shape == sarrus.neutral(empty).shape == (0,)
    assert sarrus.random_state(empty, batch=3)[0].shape == (3, 0)
    assert (
        sarrus.integrate(empty, q, v).shape
        == sarrus.difference(empty, q, q).shape
        == sarrus.normalize(empty, q).shape
        == (0,)
    )
    assert sarrus.integrate(empty, np.zeros((3, 0)), np.zeros((3, 0))).shape == (3, 0)
