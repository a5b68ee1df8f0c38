"""Derivatives of constrained forward dynamics: every type of constraint, redundant and overconstrained ones too."""

from __future__ import annotations

import numpy as np
import pytest

import sarrus
from sarrus import Status, zoo
from tests.algorithms.embedded_cases import state_of
from tests.algorithms.kinds import limbs
from tests.derivatives.differences import along_the_constraints, differences, slope
from tests.mechanisms import relative_error

TOLERANCE = 1e-7
LOOPS = {
    "five_bar": zoo.five_bar, "four_bar": zoo.four_bar, "slider_crank": zoo.slider_crank, "stewart": zoo.stewart,
    "delta": zoo.delta, "hand_cube": zoo.hand_cube, "geared_quadruped": zoo.geared_quadruped,
}  # fmt: skip
OVERCONSTRAINED = {"bennett": zoo.bennett, "cycle": lambda: zoo.cycle(6), "biped": zoo.biped}


def truth(model: sarrus.Model, **given):
    """Accelerations and forces as a function, whose values are tested elsewhere."""

    def f(q, v, tau):
        x = sarrus.prox_ltl(model.spanning, q, v, tau, **given, tolerance=1e-14)
        return np.concatenate([x.qdd, x.forces])

    return f


@pytest.mark.parametrize("name", LOOPS)
def test_loops(name):
    model = LOOPS[name]()
    q, v, tau = state_of(model, 1)
    got = sarrus.forward_dynamics_derivatives(model, q, v, tau)
    assert (got.status, got.unique) == (Status.OK, 1.0)
    f, nv = truth(model), model.nv
    assert relative_error(got.qdd, f(q, v, tau)[:nv], 1.0) < 1e-8
    expected = differences(f, model, q, v, tau)
    for found, by in zip((got.dqdd_dq, got.dqdd_dv, got.dqdd_dtau), expected, strict=True):
        assert relative_error(found, by[:nv], 1.0) < TOLERANCE
    if got.rank == model.n_rows:
        forces = (got.dforces_dq, got.dforces_dv, got.dforces_dtau)
        for found, by in zip(forces, expected, strict=True):
            assert relative_error(found, by[nv:], 1.0) < TOLERANCE


@pytest.mark.parametrize("name", OVERCONSTRAINED)
def test_overconstrained_loops_along_motions_that_keep_them_closed(name):
    """What is not unique is marked; what is, is right."""
    model = OVERCONSTRAINED[name]()
    q, v, tau = state_of(model, 1)
    got, f = sarrus.forward_dynamics_derivatives(model, q, v, tau), truth(model)
    assert got.status == Status.OK
    assert got.unique == 0.0
    assert got.rank < model.n_rows
    for dq, dv in along_the_constraints(model, q, v):

        def moved(t, dq=dq, dv=dv):
            at = sarrus.project(model, sarrus.integrate(model, q, t * dq), v + t * dv)
            return f(at.q, at.v, tau)[: model.nv]

        found = got.dqdd_dq @ dq + got.dqdd_dv @ dv
        assert relative_error(found, slope(moved, 1e-3), 1.0) < TOLERANCE


@pytest.mark.parametrize(
    "constraint",
    [
        sarrus.contact("tip_a", 6, stabilization=0.05, at=(np.array([0.1, 0.2, 0.3]), np.eye(3))),
        sarrus.connect("tip_a", "tip_b", stabilization=0.1),
        sarrus.weld("tip_a", "tip_b", stabilization=0.1),
        sarrus.loop("tip_a", "tip_b", "revolute", axis=(0.0, 0.0, 1.0), stabilization=0.1),
        sarrus.loop("tip_a", "tip_b", "universal", axis=(1.0, 0.0, 0.0), stabilization=0.1),
        sarrus.loop("tip_a", "tip_b", "prismatic", axis=(0.0, 1.0, 0.0), stabilization=0.1),
        sarrus.loop("tip_a", "tip_b", "planar", axis=(0.0, 1.0, 0.0), stabilization=0.1),
        sarrus.distance("tip_a", "tip_b", 0.4, stabilization=0.1),
        sarrus.coupling({"a0_joint": 1.0, "b2_joint": -6.0}, stabilization=0.1),
        sarrus.center_of_mass_constraint("xz", stabilization=0.1),
    ],
    ids=lambda c: c.name,
)
def test_open_loops_with_feedback(constraint):
    """Far off the constraints, where common ancestors of a loop count as well."""
    model = limbs(constraint, root="free", middle=("spherical", "cylindrical"))
    q, v = sarrus.random_state(model, 5)
    tau = np.random.default_rng(2).normal(size=model.nv)
    external = np.random.default_rng(3).normal(size=(model.nb, 6))
    got = sarrus.forward_dynamics_derivatives(model, q, v, tau, external_forces=external)
    assert (got.status, got.unique) == (Status.OK, 1.0)
    f, nv = truth(model, external_forces=external), model.nv
    found = (got.dqdd_dq, got.dqdd_dv, got.dqdd_dtau), (got.dforces_dq, got.dforces_dv, got.dforces_dtau)
    for accelerations, forces, by in zip(*found, differences(f, model, q, v, tau), strict=True):
        assert relative_error(accelerations, by[:nv], 1.0) < TOLERANCE
        assert relative_error(forces, by[nv:], 1.0) < TOLERANCE
