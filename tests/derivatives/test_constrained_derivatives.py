"""Derivatives of constrained forward dynamics: every type of constraint, redundant and overconstrained ones too."""

from __future__ import annotations

import numpy as np
import pytest

import sarrus
from benchmarks import derivative_peers
from sarrus import Status, zoo
from sarrus.algorithms.tree.crba import composite_bodies
from sarrus.errors import SarrusError
from sarrus.importers.load import example_robots
from sarrus.mechanics.mechanism import mechanism, rows_of
from sarrus.mechanics.solvers.joint_space import ltdl
from sarrus.mechanics.solvers.kkt_columns import Kkt
from sarrus.mechanics.solvers.loop_jacobian import loop_jacobian
from sarrus.mechanics.solvers.mobility import typical_mobilities
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


K = np.array([[1.0, 2.0, 0.0, 0.0, 0.3, 0.0], [0.0, 0.0, 1.0, 1.0, 0.0, 0.0]])
INPUT_ROWS = sarrus.link_rows("tip_b", K, k="input")
HELD = sarrus.contact("tip_a", 6, stabilization=0.05, at=(np.array([0.1, 0.2, 0.3]), np.eye(3)))


@pytest.mark.parametrize("method", [None, "prox_ltl", "pv_soft", "ltl_soft"])
def test_methods_and_accelerations_that_are_given(method):
    """Rigid and soft: derivatives with respect to everything, k too."""
    model = limbs(HELD, INPUT_ROWS, root="free", middle=("spherical", "cylindrical"))
    q, v = sarrus.random_state(model.without_constraints(), 5)
    tau, k = np.random.default_rng(2).normal(size=model.nv), np.array([0.3, -0.2])
    soft = {"weight": 50.0} if method in ("pv_soft", "ltl_soft") else {}
    got = sarrus.forward_dynamics_derivatives(model, q, v, tau, k, method=method, **soft)
    assert (got.status, got.unique, got.rank) == (Status.OK, 1.0, model.n_rows)
    options = soft or {"tolerance": 1e-14}

    def f(*state):
        x = sarrus.catalog()[method or "prox_ltl"](model, *state, **options)
        return np.concatenate([x.qdd, x.forces])

    n, now = model.nv, f(q, v, tau, k)
    assert relative_error(got.qdd, now[:n], 1.0) < 1e-9
    assert relative_error(got.forces, now[n:], 1.0) < 1e-9
    accelerations = got.dqdd_dq, got.dqdd_dv, got.dqdd_dtau, got.dqdd_dk
    forces = got.dforces_dq, got.dforces_dv, got.dforces_dtau, got.dforces_dk
    for x, y, by in zip(accelerations, forces, differences(f, model, q, v, tau, k), strict=True):
        assert relative_error(x, by[:n], 1.0) < TOLERANCE
        assert relative_error(y, by[n:], 1.0) < TOLERANCE


@pytest.mark.parametrize("name", ["five_bar", "bennett"])
def test_ok_means_that_every_derivative_is_finite(name):
    """Rates so fast that products of them overflow, in values or in derivatives only."""
    model = zoo.five_bar() if name == "five_bar" else zoo.bennett()
    q, v = sarrus.random_state(model, 0)
    told = 0
    for exponent in (0, 76, 100, *range(140, 162, 2)):
        with np.errstate(all="ignore"):
            found = sarrus.forward_dynamics_derivatives.text(model, q, v * 10.0**exponent, np.zeros(model.nv))
        is_finite = all(np.isfinite(np.asarray(x, float)).all() for x in found)
        assert is_finite or found.status.item() != Status.OK
        told += not is_finite
    assert told


def test_a_column_that_is_not_finite_is_seen_in_its_sum():
    model = zoo.five_bar()
    at = mechanism(model, *state_of(model, 1), None)
    mass = ltdl(at.nodes, composite_bodies(at.nodes))
    rows = rows_of(at, None, "a test")
    J, supports = loop_jacobian(at, rows)
    kkt = Kkt.factored(mass, J, supports, np.zeros(len(J)), typical_mobilities(model))
    r = np.ones((model.nv, 3))
    r[2, 1] = np.inf
    with np.errstate(all="ignore"):
        sums = kkt.solve(r, np.zeros((len(J), 3))).sums
    assert np.isfinite(sums).tolist() == [True, False, True]


def test_a_model_without_joints_has_empty_derivatives():
    nothing, none = sarrus.ModelBuilder("nothing").build(), np.zeros(0)
    found = sarrus.forward_dynamics_derivatives(nothing, none, none, none)
    assert found.status == Status.OK
    assert found.dqdd_dq.shape == found.dqdd_dtau.shape == (0, 0)
    assert sarrus.check_derivatives(nothing).errors == ()


def test_external_forces_are_joint_forces_by_the_jacobian():
    """dqdd / df of a body is dqdd / dtau J^T."""
    model = limbs(HELD, root="free")
    q, v = sarrus.random_state(model.without_constraints(), 5)
    tau, body = np.zeros(model.nv), 3
    got = sarrus.forward_dynamics_derivatives(model, q, v, tau)
    J = sarrus.frame_jacobian(model, q, model.body_names[body])

    def f(force):
        external = np.zeros((model.nb, 6))
        external[body] = force
        return sarrus.prox_ltl(model, q, v, tau, external_forces=external, tolerance=1e-14).qdd

    by_force = np.stack([slope(lambda t, e=e: f(t * e)) for e in np.eye(6)], axis=1)
    assert relative_error(got.dqdd_dtau @ J.T, by_force, 1.0) < TOLERANCE


def test_a_method_that_is_none_is_an_error_in_words():
    model = limbs(HELD)
    q, v = sarrus.random_state(model.without_constraints(), 0)
    with pytest.raises(SarrusError, match="prox_ltl"):
        sarrus.forward_dynamics_derivatives(model, q, v, v, method="aba")
    with pytest.raises(SarrusError, match="weight"):
        sarrus.forward_dynamics_derivatives(model, q, v, v, method="pv_soft")


@pytest.mark.parametrize(("name", "feet", "size"), [("solo12", 4, 3), ("talos_full_v2", 2, 6)])
def test_contacts_beside_pinocchio(name, feet, size):
    pytest.importorskip("pinocchio")
    if name not in example_robots():
        pytest.skip("example-robot-data is not here")
    contest = next(x for x in derivative_peers.CONTESTS if x.robot == name and x.feet)
    assert (len(contest.feet), contest.size) == (feet, size)
    model, path = derivative_peers.robot_of(contest)
    q, v = sarrus.random_state(model.without_constraints(), 0)
    tau = np.random.default_rng(1).normal(size=model.nv)
    got = sarrus.forward_dynamics_derivatives(model, q, v, tau)
    peer = derivative_peers.Peer(contest, path)  # which keeps what it returns
    for found, wanted in zip(got[2:8], peer(q, v, tau), strict=True):
        assert relative_error(found, wanted, 1.0) < 1e-8
