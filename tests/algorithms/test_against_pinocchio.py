"""Random mechanisms in Pinocchio. Where it differs from our conventions, `PinocchioPeer` says so."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sarrus
from tests.mechanisms import MOVING_KINDS, mechanism, mechanisms, relative_error

peers = pytest.importorskip("tests.oracles.pinocchio_peer", exc_type=ImportError)
pin = peers.pin
TOLERANCE = 1e-9
MANY = settings(max_examples=40)


@given(mechanisms(kinds=peers.KINDS))
@MANY
def test_dynamics(case):
    model, peer, s = case.model, peers.PinocchioPeer(case.oracle), case.state()
    forces = case.forces_by_name(s.external_forces)
    M = peer.crba(s.q)
    assert relative_error(sarrus.crba(model, s.q), M) < TOLERANCE
    tau = peer.rnea(s.q, s.v, s.a, forces)
    assert relative_error(sarrus.rnea(model, s.q, s.v, s.a, s.external_forces), tau) < TOLERANCE
    allowed = max(TOLERANCE, 1e-14 * np.linalg.cond(M))
    qdd = peer.aba(s.q, s.v, s.tau, forces)
    assert relative_error(sarrus.aba(model, s.q, s.v, s.tau, s.external_forces), qdd) < allowed


@given(mechanisms(kinds=peers.KINDS), st.sampled_from(["local", "world", "local_world_aligned"]))
@MANY
def test_frames(case, reference):
    model, peer, s = case.model, peers.PinocchioPeer(case.oracle), case.state()
    for body in case.bodies:
        name = body["name"]
        J = sarrus.frame_jacobian(model, s.q, frame=name, reference=reference)
        assert relative_error(J, peer.frame_jacobian(s.q, name, reference), 1.0) < TOLERANCE
        bias = sarrus.frame_jacobian_bias(model, s.q, s.v, frame=name, reference=reference)
        peer_bias = peer.frame_bias(s.q, s.v, name, reference)
        assert relative_error(bias, peer_bias, 1.0) < TOLERANCE
        velocity = sarrus.frame_velocity(model, s.q, s.v, frame=name, reference=reference)
        assert relative_error(velocity, peer.frame_jacobian(s.q, name, reference) @ s.v, 1.0) < TOLERANCE
        acceleration = sarrus.frame_acceleration(model, s.q, s.v, s.a, frame=name, reference=reference)
        expected = peer.frame_jacobian(s.q, name, reference) @ s.a + peer_bias
        assert relative_error(acceleration, expected, 1.0) < TOLERANCE


@given(mechanisms(kinds=peers.KINDS))
@MANY
def test_totals(case):
    model, peer, s = case.model, peers.PinocchioPeer(case.oracle), case.state()
    weight = model.mass * np.linalg.norm(model.gravity)
    got = sarrus.energy(model, s.q, s.v)
    # Pinocchio 4.1 counts the rotors of prismatic unaligned joints but not of revolute unaligned ones: without.
    peer.model.armature = np.zeros(model.nv)
    kinetic = peer.kinetic_energy(s.q, s.v) + 0.5 * peer.armature @ s.v**2
    assert relative_error(got.kinetic, kinetic) < TOLERANCE
    assert relative_error(got.potential, peer.potential_energy(s.q), weight) < TOLERANCE
    com = sarrus.center_of_mass(model, s.q, s.v)
    position, velocity = peer.center_of_mass(s.q, s.v)
    assert relative_error(com.position, position, 1.0) < TOLERANCE
    assert relative_error(com.velocity, velocity, 1.0) < TOLERANCE
    h = peer.centroidal_momentum(s.q, s.v)
    assert relative_error(sarrus.centroidal_momentum(model, s.q, s.v), h, model.mass) < TOLERANCE
    A = peer.centroidal_momentum_matrix(s.q)
    assert relative_error(sarrus.centroidal_momentum_matrix(model, s.q), A, model.mass) < TOLERANCE


@pytest.mark.parametrize("kind", [k for k in MOVING_KINDS if k != "cylindrical"])  # composites do not integrate alike
@pytest.mark.parametrize("size", [0.0, 1e-9, 1e-3, 1.0, 3.0])
def test_integrate_and_difference(kind, size):
    case = mechanism(1, [kind])
    model, peer = case.model, peers.PinocchioPeer(case.oracle)
    q0, v = sarrus.random_state(model, rng=3)
    v = v / np.linalg.norm(v) * size
    q1 = sarrus.integrate(model, q0, v)
    expected = pin.integrate(peer.model, peer.configuration(q0), v)
    assert relative_error(peer.configuration(q1), expected, 1.0) < 1e-12
    tangent = pin.difference(peer.model, peer.configuration(q0), peer.configuration(q1))
    # Pinocchio switches to a series for small angles and is good to 1e-8 there; ours is checked by round trips.
    assert relative_error(sarrus.difference(model, q0, q1), tangent, 1.0) < 1e-8
