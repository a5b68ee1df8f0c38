"""Regressors times parameters are forces and energies, of random mechanisms and geared robots; Pinocchio's beside."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

import sarrus
from sarrus import zoo
from sarrus.errors import SarrusError
from tests.algorithms.embedded_cases import state_of
from tests.mechanisms import mechanism, mechanisms, relative_error

FEW = settings(max_examples=25)


@given(mechanisms())
@FEW
def test_forces_and_energies_are_linear_in_the_parameters(case):
    model, s = case.model, case.state()
    pi = sarrus.inertial_parameters(model)
    armature = np.concatenate([body.joint.armature for body in model.bodies])
    Y = sarrus.inverse_dynamics_regressor(model, s.q, s.v, s.a)
    assert relative_error(Y @ pi + armature * s.a, sarrus.rnea(model, s.q, s.v, s.a), 1.0) < 1e-10
    energy = sarrus.energy(model, s.q, s.v)
    kinetic = sarrus.kinetic_energy_regressor(model, s.q, s.v) @ pi + 0.5 * armature @ (s.v * s.v)
    assert relative_error(kinetic, energy.kinetic, 1.0) < 1e-10
    assert relative_error(sarrus.potential_energy_regressor(model, s.q) @ pi, energy.potential, 1.0) < 1e-10


@given(mechanisms())
@FEW
def test_a_model_with_other_parameters(case):
    model, s = case.model, case.state()
    assert relative_error(
        sarrus.inertial_parameters(sarrus.with_inertial_parameters(model, sarrus.inertial_parameters(model))),
        sarrus.inertial_parameters(model), 1.0,
    ) < 1e-14  # fmt: skip
    theta = 0.3 * np.random.default_rng(1).normal(size=(model.nb, 10))
    pi = sarrus.physical_parameters(theta).reshape(-1)
    other = sarrus.with_inertial_parameters(model, pi)
    armature = np.concatenate([body.joint.armature for body in model.bodies])
    tau = sarrus.inverse_dynamics_regressor(model, s.q, s.v, s.a) @ pi + armature * s.a
    assert relative_error(tau, sarrus.rnea(other, s.q, s.v, s.a), 1.0) < 1e-10


def test_pinocchio_has_the_same_columns():
    pin = pytest.importorskip("pinocchio")
    peers = pytest.importorskip("tests.oracles.pinocchio_peer", exc_type=ImportError)
    case = mechanism(5, ["free", "revolute", "prismatic", "spherical"], parents=[-1, 0, 1, 0])
    s, peer = case.state(), peers.PinocchioPeer(case.oracle)
    expected = pin.computeJointTorqueRegressor(peer.model, peer.model.createData(), s.q, s.v, s.a)
    theirs = np.concatenate([peer.model.inertias[k].toDynamicParameters() for k in range(1, peer.model.njoints)])
    assert relative_error(sarrus.inertial_parameters(case.model), theirs) < 1e-12  # the same frames, the same order
    assert relative_error(sarrus.inverse_dynamics_regressor(case.model, s.q, s.v, s.a), expected) < 1e-10


@pytest.mark.parametrize("kind", ["link_and_rotor", "parallel_belt", "four_bar"])
def test_geared_and_looped_robots(kind):
    """On the independent velocities, and on the motors' side of the gears."""
    model = sarrus.embed(zoo.tree_of(kind, 1, 2))
    q, v, _ = state_of(model, 2)
    ydd = np.random.default_rng(3).normal(size=model.ny)
    motors = tuple(
        model.joint_names[k] for k in range(model.nb) if model.layout.v[k].start in sarrus_independent(model)
    )[-2:]
    found = sarrus.ce_inverse_dynamics_regressor(model, q, v, ydd=ydd, motors=motors)
    expected = sarrus.ce_rnea(model, q, v, ydd=ydd, motors=motors)
    pi = sarrus.inertial_parameters(model)
    assert relative_error(found.Y @ pi, expected.tau_y, 1.0) < 1e-9
    assert relative_error(found.motors @ pi, expected.motors, 1.0) < 1e-9


def sarrus_independent(model: sarrus.Model) -> tuple[int, ...]:
    from sarrus.model.independent import independent_velocities

    return tuple(k for k in independent_velocities(model) if k >= 6 or model.bodies[0].joint.type.name != "free")


# --- base parameters ---------------------------------------------------------------------------------------


def test_base_parameters_of_a_pendulum():
    builder = sarrus.ModelBuilder("pendulum")
    builder.add_body("rod", axis=(0.0, 1.0, 0.0), mass=1.0, com=(0.1, 0.2, -0.3), inertia=0.1 * np.eye(3))
    base = sarrus.base_parameters(builder.build())
    assert base.names == ("mx of rod", "mz of rod", "Iyy of rod")


def test_base_parameters_say_it_all_and_nothing_twice():
    model = mechanism(3, ["revolute", "prismatic", "revolute", "spherical"], parents=[-1, 0, 1, 1]).model
    base = sarrus.base_parameters(model)
    assert len(base.names) == len(base.columns) == len(base.matrix) < 40
    q, v = sarrus.random_state(model, 9, batch=200)
    a = np.random.default_rng(1).normal(size=v.shape)
    Y = sarrus.inverse_dynamics_regressor(model, q, v, a).reshape(-1, 40)
    assert relative_error(Y[:, base.columns] @ base.matrix, Y) < 1e-7
    assert np.linalg.matrix_rank(Y, tol=1e-8 * np.linalg.norm(Y, 2)) == len(base.names)


def test_a_planar_arm_has_the_parameters_of_the_book():
    """Two links that turn about y: mass and moments of the outer one appear with the inner one's."""
    builder = sarrus.ModelBuilder("arm")
    builder.add_body("inner", axis=(0.0, 1.0, 0.0), mass=1.0, com=(0.2, 0.0, 0.0), inertia=0.1 * np.eye(3))
    builder.add_body(
        "outer", "inner", axis=(0.0, 1.0, 0.0), position=(0.5, 0.0, 0.0), mass=1.0, com=(0.2, 0.0, 0.0),
        inertia=0.1 * np.eye(3),
    )  # fmt: skip
    assert sarrus.base_parameters(builder.build()).names == (
        "mx of inner + 0.5 m of outer", "mz of inner", "Iyy of inner + 0.25 m of outer", "mx of outer", "mz of outer",
        "Iyy of outer",
    )  # fmt: skip


def test_base_parameters_on_the_motor_side():
    model = sarrus.embed(zoo.tree_of("link_and_rotor", 1, 2))
    base = sarrus.base_parameters(model)
    assert 0 < len(base.names) < 10 * model.nb


def test_base_parameters_of_almost_nothing():
    empty = mechanism(0, []).model
    assert sarrus.base_parameters(empty).names == ()
    with pytest.raises(SarrusError, match="has no embedded constraints"):
        sarrus.base_parameters(zoo.chain(2), ("joint",))


# --- physical parameters -------------------------------------------------------------------------------------


def test_log_cholesky_there_and_back():
    theta = np.random.default_rng(0).normal(size=(5, 10))
    pi = sarrus.physical_parameters(theta)
    for x, y in zip(theta, pi, strict=True):
        assert relative_error(sarrus.log_cholesky(y), x) < 1e-9
    real = sarrus.inertial_parameters(zoo.biped()).reshape(-1, 10)
    for x in real:
        assert relative_error(sarrus.physical_parameters(sarrus.log_cholesky(x)), x) < 1e-10


@pytest.mark.parametrize("break_it", [{0: -1.0}, {4: 0.3}, {1: 9.0}])
def test_what_no_density_of_mass_has_is_refused(break_it):
    pi = np.array([1.0, 0.0, 0.0, 0.0, 0.1, 0.0, 0.1, 0.0, 0.0, 0.1])
    for k, x in break_it.items():
        pi[k] = x
    with pytest.raises(SarrusError, match="no density of mass"):
        sarrus.log_cholesky(pi)
