"""Who guards the guard: the oracle against differences of its own poses and against clouds of point masses."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import expm
from scipy.spatial.transform import Rotation

from tests.mechanisms import KINDS, mechanism, relative_error
from tests.oracles.dense import Dense, Link, exponential, factors, oracle_of_model, rotation_from_any, twist

ALL = mechanism(3, [*KINDS, "revolute"], parents=[-1, 0, 1, 1, 3, 4, -1, 6, 7, 8, 9, 10], armature=[True] * 12)


def moved(oracle: Dense, q: np.ndarray, v: np.ndarray, a: np.ndarray, t: float) -> list[np.ndarray]:
    """Poses after time t: every factor of a joint moves by SciPy's exponential of t v + t^2/2 a in its own frame."""
    poses: list[np.ndarray] = []
    for i, link in enumerate(oracle.links):
        T = link.placement if link.parent < 0 else poses[link.parent] @ link.placement
        at = oracle.v_at[i].start
        for pose, twists in factors(link, q[oracle.q_at[i]]):
            step = sum(
                (xi * (t * v[at + k] + 0.5 * t * t * a[at + k]) for k, xi in enumerate(twists)), np.zeros((4, 4))
            )
            T, at = T @ pose @ expm(step), at + len(twists)
        poses.append(T)
    return poses


def test_rates_are_those_of_the_poses():
    oracle, state = ALL.oracle, ALL.state()
    h = 1e-3

    def poses(t: float) -> np.ndarray:
        return np.array(moved(oracle, state.q, state.v, state.a, t))

    x = {k: poses(k * h) for k in (-3, -2, -1, 0, 1, 2, 3)}
    first = (45 * (x[1] - x[-1]) - 9 * (x[2] - x[-2]) + (x[3] - x[-3])) / (60 * h)
    second = (270 * (x[1] + x[-1]) - 27 * (x[2] + x[-2]) + 2 * (x[3] + x[-3]) - 490 * x[0]) / (180 * h * h)
    jets = oracle.motion(state.q, state.v, state.a)
    assert relative_error(np.array([jet.value for jet in jets]), x[0]) < 1e-14
    assert relative_error(np.array([jet.rate for jet in jets]), first) < 1e-10
    assert (
        relative_error(np.array([jet.second for jet in jets]), second) < 1e-7
    )  # a second difference has half the digits


def test_partials_are_the_rates_of_unit_velocities():
    oracle, q = ALL.oracle, ALL.state().q
    expected = [[jet.rate for jet in oracle.motion(q, unit)] for unit in np.eye(oracle.nv)]
    assert relative_error(oracle.partials(q), np.swapaxes(expected, 0, 1)) < 1e-14


def test_velocity_is_the_rate_of_the_state():
    """q(t) by the conventions: numbers add up, quaternions turn in the body frame, planar velocity is the body's."""
    oracle, state = ALL.oracle, ALL.state()
    h = 1e-6

    def stepped(t: float) -> np.ndarray:
        q = state.q.copy()
        for link, sq, sv in zip(oracle.links, oracle.q_at, oracle.v_at, strict=True):
            v, x = state.v[sv] * t, q[sq]
            if link.kind == "planar":
                c, s = np.cos(x[2]), np.sin(x[2])
                q[sq] = x + np.array([c * v[0] - s * v[1], s * v[0] + c * v[1], v[2]])
            elif link.kind in ("spherical", "free"):
                turned = Rotation.from_quat(x[-4:]) * Rotation.from_rotvec(v[-3:])
                q[sq] = (
                    [*(x[:3] + Rotation.from_quat(x[3:]).apply(v[:3])), *turned.as_quat()]
                    if len(x) == 7
                    else turned.as_quat()
                )
            else:
                q[sq] = x + v
        return q

    after, before = oracle.motion(stepped(h)), oracle.motion(stepped(-h))
    difference = np.array([(x.value - y.value) / (2 * h) for x, y in zip(after, before, strict=True)])
    rates = np.array([jet.rate for jet in oracle.motion(state.q, state.v)])
    assert relative_error(difference, rates) < 1e-8


def test_a_body_behaves_as_its_points():
    """Kinetic energy and forces of one free body equal those of the four points that make it up (by Newton)."""
    rng = np.random.default_rng(0)
    r, m = rng.normal(size=(4, 3)), rng.uniform(0.5, 1.5, size=4)
    mass, com = m.sum(), m @ r / m.sum()
    Ic = sum(
        mk * ((rk - com) @ (rk - com) * np.eye(3) - np.outer(rk - com, rk - com)) for mk, rk in zip(m, r, strict=True)
    )
    g = np.array([0.0, 0.0, -9.81])
    body = Link("b", -1, "free", (), 0.0, np.eye(4), mass, com, Ic, np.zeros(6))
    oracle = Dense([body], g)
    q, v, a = np.array([0.1, 0.2, 0.3, 0.5, -0.5, 0.5, 0.5]), rng.normal(size=6), rng.normal(size=6)
    R = Rotation.from_quat(q[3:]).as_matrix()
    velocity = [v[:3] + np.cross(v[3:], rk) for rk in r]  # in the body's axes
    acceleration = [
        a[:3] + np.cross(v[3:], v[:3]) + np.cross(a[3:], rk) + np.cross(v[3:], np.cross(v[3:], rk)) - R.T @ g
        for rk in r
    ]
    assert oracle.energy(q, v)[0] == pytest.approx(
        0.5 * sum(mk * x @ x for mk, x in zip(m, velocity, strict=True)), rel=1e-13
    )
    force = sum(mk * x for mk, x in zip(m, acceleration, strict=True))
    moment = sum(mk * np.cross(rk, x) for mk, rk, x in zip(m, r, acceleration, strict=True))
    assert relative_error(oracle.inverse_dynamics(q, v, a), np.concatenate([force, moment])) < 1e-13


def test_mass_matrix_and_bias_are_those_of_inverse_dynamics():
    oracle, state = ALL.oracle, ALL.state()
    q, v, a = state.q, state.v, state.a
    assert relative_error(oracle.inverse_dynamics(q, v, a), oracle.mass_matrix(q) @ a + oracle.bias(q, v)) < 1e-13


@pytest.mark.parametrize("angle", [0.0, 1e-9, 1e-4, 1.0, 3.14159, 20.0])
def test_exponential_is_scipys(angle):
    X = twist(np.array([0.3, -1.0, 2.0]), angle * np.array([0.48, 0.6, 0.64]))
    assert relative_error(exponential(X), expm(X)) < 1e-13


def test_rotations_are_scipys():
    assert (
        relative_error(rotation_from_any([0.3, -0.4, 0.5]), Rotation.from_euler("xyz", [0.3, -0.4, 0.5]).as_matrix())
        < 1e-14
    )
    x = Rotation.random(random_state=0)
    assert relative_error(rotation_from_any(x.as_quat()), x.as_matrix()) < 1e-14


def test_both_ways_to_the_oracle_agree():
    """From a user's arguments with fixed links, and from the built model without them."""
    state = ALL.state()
    from_model = oracle_of_model(ALL.model)
    assert relative_error(from_model.mass_matrix(state.q), ALL.oracle.mass_matrix(state.q)) < 1e-13
    assert relative_error(from_model.bias(state.q, state.v), ALL.oracle.bias(state.q, state.v)) < 1e-13
