"""The humanoid with loops in its legs: it stands where q is neutral, and its motors drive all freedoms of its loops."""

from __future__ import annotations

import numpy as np
import pytest

import sarrus
from sarrus import zoo


@pytest.mark.parametrize(("arms", "nv", "motors"), [(True, 40, 18), (False, 34, 12)])
def test_motors_drive_every_freedom_but_those_of_the_base(arms, nv, motors):
    model = zoo.biped(arms=arms)
    found = sarrus.diagnose(model)
    driven = [b.name for b in model.bodies if np.isfinite(b.joint.effort_limit).any()]
    assert (model.nv, found.rows, found.rank, len(driven)) == (nv, 18, 16, motors)
    assert found.mobility == 6 + motors


def test_the_knees_have_the_redundant_rows():
    found = sarrus.diagnose(zoo.biped(contacts=True))
    assert (found.rows, found.rank) == (30, 28)
    assert found.redundant == {"left_knee": 1, "right_knee": 1}


def test_it_stands_upright_with_its_soles_on_the_ground():
    model = zoo.biped(contacts=True)
    q = sarrus.neutral(model)
    assert np.abs(sarrus.closure(model, q).position).max() < 1e-12
    soles = sarrus.forward_kinematics(model, q, frames=("left_sole", "right_sole")).position
    np.testing.assert_allclose(soles, [[0.0, 0.1, 0.0], [0.0, -0.1, 0.0]], atol=1e-12)
    assert abs(sarrus.center_of_mass(model, q).position[0]) < 0.06  # above its feet
    assert 35.0 < float(model.mass) < 50.0


def test_its_joints_are_in_depth_first_order():
    """Pinocchio relies on it."""
    model = zoo.biped()
    parents = [b.parent for b in model.bodies]
    for i in range(len(parents)):
        below = [k for k in range(i, len(parents)) if k == i or _is_under(parents, k, i)]
        assert below == list(range(i, i + len(below)))


def _is_under(parents: list[int], k: int, i: int) -> bool:
    while k > i:
        k = parents[k]
    return k == i
