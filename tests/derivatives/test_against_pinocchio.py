"""Derivatives of random mechanisms beside Pinocchio's."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings

import sarrus
from sarrus.model.meeting_pairs import depth_first_order
from tests.mechanisms import mechanisms, relative_error

peers = pytest.importorskip("tests.oracles.pinocchio_peer", exc_type=ImportError)
KINDS = tuple(
    kind for kind in peers.KINDS if kind != "universal"
)  # whose moving axes Pinocchio's derivatives leave out
MANY = settings(max_examples=40, suppress_health_check=[HealthCheck.filter_too_much])
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
