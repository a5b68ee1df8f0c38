"""The table of derivatives beside differences: right where they are right, and it sees where they are not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import sarrus
from sarrus import zoo
from sarrus.algorithms.derivatives.rnea_derivatives import RneaDerivativesResult
from sarrus.diagnosis import derivative_check
from sarrus.errors import SarrusError
from tests.mechanisms import MOVING_KINDS, mechanism

TIGHT = 1e-10


@pytest.mark.parametrize("kind", MOVING_KINDS)
def test_every_type_of_joint(kind):
    model = mechanism(3, ["free", kind, "revolute", kind, "revolute"], parents=[-1, 0, 1, 0, 3]).model
    found = sarrus.check_derivatives(model, tolerance=TIGHT)
    assert found.ok, str(found)
    assert {x.algorithm for x in found.errors} == set(derivative_check.VALUES)


@pytest.mark.parametrize("make", [zoo.stewart, zoo.delta, zoo.geared_quadruped, zoo.five_bar], ids=lambda f: f.__name__)
def test_loops(make):
    found = sarrus.check_derivatives(make(), algorithms=["forward_dynamics_derivatives"], tolerance=1e-9)
    assert found.ok, str(found)


def test_what_is_not_unique_is_said():
    found = sarrus.check_derivatives(zoo.bennett())
    assert found.ok
    notes = {x.output: x.note for x in found.errors if x.algorithm == "forward_dynamics_derivatives"}
    assert "keep loops closed" in notes["dqdd_dq"]
    assert notes["dqdd_dtau"] == ""


def test_a_wrong_derivative_is_seen(monkeypatch):
    real = sarrus.rnea_derivatives

    def wrong(model, q, v, a, external_forces=None, packed=False) -> RneaDerivativesResult:
        x = real.text(model, q, v, a)
        return x._replace(dtau_dv=x.dtau_dv + 1e-5)

    changed = replace(real, text=wrong)
    monkeypatch.setattr(derivative_check, "find", lambda name: changed if name == "rnea_derivatives" else sarrus.rnea)
    found = sarrus.check_derivatives(zoo.chain(3), algorithms=["rnea_derivatives"])
    assert not found.ok
    assert "WRONG" in str(found)


def test_the_state_is_the_one_given():
    model = zoo.chain(3)
    still = sarrus.check_derivatives(model, v=np.zeros(3), algorithms=["rnea_derivatives"])
    assert {x.output: x.largest for x in still.errors}["dtau_dv"] == 0.0
    with pytest.raises(SarrusError, match="rnea_derivatives"):
        sarrus.check_derivatives(model, algorithms=["rnea"])
