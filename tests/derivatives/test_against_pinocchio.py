"""Derivatives of random mechanisms beside Pinocchio's."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings

import sarrus
from sarrus.algorithms.tree.frame_jacobian import REFERENCES
from sarrus.model.meeting_pairs import depth_first_order
from tests.mechanisms import mechanisms, relative_error

peers = pytest.importorskip("tests.oracles.pinocchio_peer", exc_type=ImportError)
KINDS = tuple(
    kind for kind in peers.KINDS if kind != "universal"
)  # whose moving axes Pinocchio's derivatives leave out
MANY = settings(max_examples=40, suppress_health_check=[HealthCheck.filter_too_much])
FEW = settings(max_examples=15, suppress_health_check=[HealthCheck.filter_too_much])
TOLERANCE = 1e-9


def is_depth_first(model: sarrus.Model) -> bool:
    """Pinocchio's derivatives take what is beyond a joint to be the next joints."""
    return list(depth_first_order([body.parent for body in model.bodies])) == list(range(model.nb))


@given(mechanisms(kinds=KINDS))
@MANY
def test_inverse_dynamics(case):
    assume(is_depth_first(case.model))
    model, peer, s = case.model, peers.PinocchioPeer(case.oracle), case.state()
    got = sarrus.rnea_derivatives(model, s.q, s.v, s.a, s.external_forces)
    for found, wanted in zip(
        got[1:], peer.rnea_derivatives(s.q, s.v, s.a, case.forces_by_name(s.external_forces)), strict=True
    ):
        assert relative_error(found, wanted, 1.0) < TOLERANCE


@given(mechanisms(kinds=KINDS))
@MANY
def test_forward_dynamics(case):
    assume(is_depth_first(case.model))
    model, peer, s = case.model, peers.PinocchioPeer(case.oracle), case.state()
    allowed = max(TOLERANCE, 1e-13 * np.linalg.cond(peer.crba(s.q)))
    got = sarrus.aba_derivatives(model, s.q, s.v, s.tau, s.external_forces)
    for found, wanted in zip(
        got[1:], peer.aba_derivatives(s.q, s.v, s.tau, case.forces_by_name(s.external_forces)), strict=True
    ):
        assert relative_error(found, wanted, 1.0) < allowed


@pytest.mark.parametrize("reference", REFERENCES)
@given(mechanisms(kinds=KINDS))
@FEW
def test_frames(reference, case):
    """Pinocchio's are spatial in all references: if aligned with the world, of the point that passes the origin.

    In the world's reference its accelerations per position differ from differences, and from ours, where planar,
    spherical and free joints follow moving ones: only their derivatives by velocities and accelerations are compared.
    """
    model, peer, s = case.model, peers.PinocchioPeer(case.oracle), case.state()
    assume(is_depth_first(model) and peer.joint[-1] != 0)
    frame = model.body_names[-1]
    velocity_q, velocity_v, a_q, a_v, a_a, J_t = peer.frame_derivatives(s.q, s.v, s.a, frame, reference)
    got = sarrus.frame_velocity_derivatives(model, s.q, s.v, frame, reference)
    if reference == "local_world_aligned":
        velocity_q[:3] -= np.cross(got.dvelocity_dv[:3].T, got.velocity[3:]).T
    assert relative_error(got.dvelocity_dq, velocity_q, 1.0) < TOLERANCE
    assert relative_error(got.dvelocity_dv, velocity_v, 1.0) < TOLERANCE
    assert relative_error(sarrus.frame_jacobian_derivative(model, s.q, s.v, frame, reference), J_t, 1.0) < TOLERANCE
    if reference != "local_world_aligned":
        got = sarrus.frame_acceleration_derivatives(model, s.q, s.v, s.a, frame, reference)
        pairs = list(zip(got[1:], (a_q, a_v, a_a), strict=True))
        for found, wanted in pairs if reference == "local" else pairs[1:]:
            assert relative_error(found, wanted, 1.0) < TOLERANCE


@given(mechanisms(kinds=KINDS))
@FEW
def test_momentum(case):
    assume(is_depth_first(case.model))
    model, peer, s = case.model, peers.PinocchioPeer(case.oracle), case.state()
    assume(model.mass > 0.0)
    com_q, com_v_q, h_q = peer.momentum_derivatives(s.q, s.v)
    assume(np.isfinite(com_v_q).all())  # the peer divides by the mass beyond each joint, which may be zero
    com = sarrus.center_of_mass_derivatives(model, s.q, s.v)
    assert relative_error(com.dposition_dq, com_q, 1.0) < TOLERANCE
    assert relative_error(com.dvelocity_dq, com_v_q, 1.0) < TOLERANCE
    assert relative_error(sarrus.centroidal_momentum_derivatives(model, s.q, s.v).dh_dq, h_q, 1.0) < TOLERANCE
