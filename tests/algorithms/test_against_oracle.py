"""Every tree algorithm against the dense oracle on random mechanisms, to a relative 1e-9 (usually 1e-13)."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

import sarrus
from tests.mechanisms import GEOMETRIES, MOVING_KINDS, Mechanism, mechanism, mechanisms, relative_error

TOLERANCE = 1e-9


def check_dynamics(case: Mechanism) -> None:
    model, oracle, state = case.model, case.oracle, case.state()
    q, v, a, tau, f = state.q, state.v, state.a, state.tau, state.external_forces
    forces = case.forces_by_name(f)
    M = oracle.mass_matrix(q)
    assert relative_error(sarrus.crba(model, q), M) < TOLERANCE
    assert relative_error(sarrus.rnea(model, q, v, a, f), oracle.inverse_dynamics(q, v, a, forces)) < TOLERANCE
    assert relative_error(sarrus.bias_forces(model, q, v, f), oracle.bias(q, v, forces)) < TOLERANCE
    at_rest = oracle.bias(q, np.zeros(model.nv))
    weight = model.mass * np.linalg.norm(model.gravity)  # in balance g(q) is rounding: compare with the weight
    assert relative_error(sarrus.gravity_forces(model, q), at_rest, scale=weight) < TOLERANCE

    qdd = sarrus.aba(model, q, v, tau, f)
    # What the accelerations are for: with them the equation of motion holds. This does not depend on conditioning.
    left = oracle.inverse_dynamics(q, v, qdd, forces)
    assert relative_error(left, tau, scale=np.abs(M).max() * np.abs(qdd).max()) < TOLERANCE
    # Accelerations themselves lose as many digits as the mass matrix has in its condition number.
    allowed = max(TOLERANCE, 1e-14 * np.linalg.cond(M))
    assert relative_error(qdd, oracle.forward_dynamics(q, v, tau, forces)) < allowed


@given(mechanisms())
@settings(max_examples=120)
def test_dynamics_of_random_mechanisms(case):
    check_dynamics(case)


@pytest.mark.parametrize("geometry", GEOMETRIES)
@pytest.mark.parametrize("kind", MOVING_KINDS)
def test_dynamics_of_every_joint_type_in_every_place(kind, geometry):
    """As root, in the middle and as leaf; the frames around it are chosen by different rules."""
    for seed in range(3):
        kinds = [kind, "revolute", kind, "prismatic", kind]
        check_dynamics(mechanism(seed, kinds, parents=[-1, 0, 1, 2, 1], geometries=[geometry] * 5))


def test_dynamics_of_a_long_branching_robot():
    rng = np.random.default_rng(5)
    kinds = ["free", *rng.choice(["revolute", "universal", "spherical", "fixed", "prismatic"], 24)]
    parents = [-1, *(int(rng.integers(max(0, i - 4), i)) for i in range(1, 25))]
    geometries = list(rng.choice(GEOMETRIES, 25))
    check_dynamics(mechanism(11, kinds, parents, geometries, armature=list(rng.random(25) < 0.5)))


@given(mechanisms())
def test_poses_velocities_and_accelerations_of_every_frame(case):
    model, oracle, state = case.model, case.oracle, case.state()
    names = model.frame_names
    got = sarrus.forward_kinematics(model, state.q, state.v, state.a, frames=names)
    for k, name in enumerate(names):
        T, velocity, acceleration = oracle.frame_motion(*case.frame_on_link(name), state.q, state.v, state.a)
        assert relative_error(got.rotation[k], T[:3, :3]) < TOLERANCE
        assert relative_error(got.position[k], T[:3, 3], scale=1.0) < TOLERANCE
        assert relative_error(got.velocity[k], velocity, scale=1.0) < TOLERANCE
        assert relative_error(got.acceleration[k], acceleration, scale=1.0) < TOLERANCE


@given(mechanisms())
def test_frame_jacobians_in_every_reference(case):
    model, oracle, state = case.model, case.oracle, case.state()
    for name in model.frame_names:
        link, placement = case.frame_on_link(name)
        T, _, _ = oracle.frame_motion(link, placement, state.q)
        local = oracle.frame_jacobian(link, placement, state.q)
        R, p = T[:3, :3], T[:3, 3]
        linear, angular = R @ local[:3], R @ local[3:]
        at_origin = linear + np.cross(p, angular, axisb=0, axisc=0) if model.nv else linear
        expected = {
            "local": local,
            "local_world_aligned": np.vstack([linear, angular]),
            "world": np.vstack([at_origin, angular]),
        }
        for reference, J in expected.items():
            got = sarrus.frame_jacobian(model, state.q, frame=name, reference=reference)
            assert relative_error(got, J, scale=1.0) < TOLERANCE, (name, reference)


@given(mechanisms())
def test_frame_jacobian_bias_is_the_acceleration_without_joint_acceleration(case):
    model, oracle, state = case.model, case.oracle, case.state()
    for name in model.frame_names:
        T, velocity, acceleration = oracle.frame_motion(*case.frame_on_link(name), state.q, state.v)
        R, p = T[:3, :3], T[:3, 3]
        point = acceleration[:3] + np.cross(velocity[3:], velocity[:3])
        linear, angular = R @ acceleration[:3], R @ acceleration[3:]
        expected = {
            "local": acceleration,
            "local_world_aligned": np.concatenate([R @ point, angular]),
            "world": np.concatenate([linear + np.cross(p, angular), angular]),
        }
        for reference, bias in expected.items():
            got = sarrus.frame_jacobian_bias(model, state.q, state.v, frame=name, reference=reference)
            assert relative_error(got, bias, scale=1.0) < TOLERANCE, (name, reference)


@given(mechanisms())
def test_energy_centre_of_mass_and_momentum(case):
    model, oracle, state = case.model, case.oracle, case.state()
    q, v = state.q, state.v
    kinetic, potential = oracle.energy(q, v)
    got = sarrus.energy(model, q, v)
    weight = model.mass * np.linalg.norm(model.gravity)
    assert relative_error(got.kinetic, kinetic) < TOLERANCE
    assert relative_error(got.potential, potential, scale=weight) < TOLERANCE
    position, velocity = oracle.center_of_mass(q, v)
    com = sarrus.center_of_mass(model, q, v)
    assert relative_error(com.position, position, scale=1.0) < TOLERANCE
    assert relative_error(com.velocity, velocity, scale=1.0) < TOLERANCE
    momentum = sarrus.centroidal_momentum(model, q, v)
    assert relative_error(momentum, oracle.centroidal_momentum(q, v), scale=model.mass) < TOLERANCE
    A = np.array([oracle.centroidal_momentum(q, unit) for unit in np.eye(model.nv)]).T
    assert relative_error(sarrus.centroidal_momentum_matrix(model, q), A, scale=model.mass) < TOLERANCE
