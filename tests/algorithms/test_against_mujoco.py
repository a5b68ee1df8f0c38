"""Random mechanisms in MuJoCo: hinges, slides, balls, and free roots."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sarrus
from tests.mechanisms import Mechanism, mechanisms, relative_error

peers = pytest.importorskip("tests.oracles.mujoco_peer", exc_type=ImportError)
TOLERANCE = 1e-9


@st.composite
def cases(draw) -> Mechanism:
    """Solid bodies (MuJoCo wants mass everywhere), one armature per joint, no link fixed to the ground; free roots."""
    case = draw(mechanisms(kinds=peers.KINDS, special=False))
    bodies = []
    for body in case.bodies:
        body = dict(body)
        if body["parent"] == "world" and (body["joint"] == "fixed" or draw(st.booleans())):
            body = {k: x for k, x in body.items() if k not in ("axis", "armature")} | {"joint": "free"}
            body |= {"position": np.zeros(3), "rotation": None}  # MuJoCo's free joint has no frame of its own
        if "armature" in body:
            body["armature"] = float(np.ravel(body["armature"])[0])
        bodies.append(body)
    return Mechanism(tuple(bodies), (), case.gravity, case.seed)


@given(cases())
@settings(max_examples=40)
def test_dynamics_and_totals(case):
    model, peer, s = case.model, peers.MujocoPeer(case.oracle), case.state()
    q, v = s.q, s.v
    assert relative_error(sarrus.crba(model, q), peer.crba(q, v)) < TOLERANCE
    assert relative_error(sarrus.rnea(model, q, v, s.a), peer.rnea(q, v, s.a)) < TOLERANCE
    for body in case.bodies:
        J = sarrus.frame_jacobian(model, q, frame=body["name"], reference="local_world_aligned")
        assert relative_error(J, peer.jacobian(q, v, body["name"]), 1.0) < TOLERANCE
    kinetic, potential = peer.energy(q, v)
    got = sarrus.energy(model, q, v)
    assert relative_error(got.kinetic, kinetic) < TOLERANCE
    assert relative_error(got.potential, potential, 1.0) < TOLERANCE
    position, velocity, angular = peer.center_of_mass(q, v)
    com = sarrus.center_of_mass(model, q, v)
    assert relative_error(com.position, position, 1.0) < TOLERANCE
    assert relative_error(com.velocity, velocity, 1.0) < TOLERANCE
    assert relative_error(sarrus.centroidal_momentum(model, q, v)[3:], angular, 1.0) < TOLERANCE
