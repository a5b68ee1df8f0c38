"""Numbers in the place of a model's symbols."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

import sarrus
from sarrus.errors import ModelError, UnknownNameError
from sarrus.model.values import typical_values, with_typical_values, with_values
from sarrus.model.visuals import Sphere

VALUES = {"m": 1.3, "l": 0.4, "r": 6.0}


def geared(**values: float) -> sarrus.Model:
    """A motor, an arm that it drives, and a ball on it; symbols where no value is given."""
    m, l, r = (values.get(name, ca.SX.sym(name)) for name in "mlr")
    builder = sarrus.ModelBuilder("geared").add_body("motor", mass=0.3, inertia=0.01 * np.eye(3))
    builder.add_body("arm", mass=m, com=(0.0, 0.1, -l), inertia=0.1 * np.eye(3), axis=(0, 1, 0))
    builder.add_frame("tip", "arm", position=(0.0, 0.0, -2.0 * l))
    builder.add_geometry("arm", Sphere(0.05), name="ball", position=(0.0, 0.0, -2.0 * l))
    builder.add_constraint(sarrus.coupling({"motor_joint": 1.0, "arm_joint": -r}))
    return builder.build()


def test_bodies_frames_geometries_and_constraints_have_the_numbers():
    model, plain = with_values(geared(), VALUES), geared(**VALUES)
    assert model.is_numeric
    assert with_values(model, {}).is_numeric
    assert model.bodies[1].inertia.mass == 1.3
    assert model.geometries[0].placement.p[2] == pytest.approx(-0.8)
    q, v = sarrus.random_state(plain, 0)
    for method in (sarrus.crba, sarrus.rnea):
        given = (q,) if method is sarrus.crba else (q, v, np.zeros(2))
        np.testing.assert_allclose(method(model, *given), method(plain, *given), rtol=1e-14)
    np.testing.assert_allclose(
        sarrus.lcaba(model, q, v, np.ones(2)).qdd, sarrus.lcaba(plain, q, v, np.ones(2)).qdd, rtol=1e-12
    )


def test_the_same_numbers_are_the_same_model():
    model = geared()
    assert with_values(model, VALUES) is with_values(model, dict(reversed(VALUES.items())))
    assert with_values(model, VALUES) is not with_values(model, VALUES | {"m": 1.4})


def test_what_is_missing_unknown_or_no_number_is_said():
    model = geared()
    with pytest.raises(UnknownNameError, match="'mass'"):
        with_values(model, VALUES | {"mass": 1.0})
    with pytest.raises(ModelError, match="'r' needs a finite number, got 'not given'"):
        with_values(model, {"m": 1.0, "l": 0.4})
    with pytest.raises(ModelError, match="'m' needs a finite number, got nan"):
        with_values(model, VALUES | {"m": np.nan})
    with pytest.raises(ModelError, match="numbers by name"):
        with_values(model, [1.0, 0.4, 6.0])  # type: ignore[arg-type]


def test_typical_values_are_those_of_the_model_or_the_first_ones_given():
    model = geared()
    assert typical_values(model) is None
    known = with_typical_values(model, VALUES)
    assert with_typical_values(model, VALUES) is known
    assert with_typical_values(known, VALUES | {"m": 2.0}) is known
    there = typical_values(known)
    assert there is not None
    assert there.bodies[1].inertia.mass == 1.3
    plain = geared(**VALUES)
    assert with_typical_values(plain, VALUES) is plain
