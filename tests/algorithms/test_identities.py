"""What holds for every mechanism, whoever computes it."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import sarrus
from sarrus.model.tree import tree_of
from tests.mechanisms import MOVING_KINDS, Mechanism, mechanisms, relative_error
from tests.oracles.dense import placed, rotation_from_any

TOLERANCE = 1e-9
MANY = settings(max_examples=30)


def conditioned(M: np.ndarray) -> float:
    """The tolerance that the conditioning of a mass matrix allows."""
    return max(TOLERANCE, 1e-14 * float(np.linalg.cond(M)))


@given(mechanisms())
@MANY
def test_inverse_dynamics_undoes_forward_dynamics(case):
    model, s = case.model, case.state()
    qdd = sarrus.aba(model, s.q, s.v, s.tau, s.external_forces)
    scale = np.abs(sarrus.crba(model, s.q)).max() * np.abs(qdd).max()
    assert relative_error(sarrus.rnea(model, s.q, s.v, qdd, s.external_forces), s.tau, scale) < TOLERANCE


@given(mechanisms())
@MANY
def test_equation_of_motion(case):
    """M a + c = rnea(a), and external forces enter as J^T f."""
    model, s = case.model, case.state()
    M, c = sarrus.crba(model, s.q), sarrus.bias_forces(model, s.q, s.v)
    JTf = sum(
        sarrus.frame_jacobian(model, s.q, frame=name).T @ f
        for name, f in zip(model.body_names, s.external_forces, strict=True)
    )
    tau = sarrus.rnea(model, s.q, s.v, s.a, s.external_forces)
    assert relative_error(M @ s.a + c - JTf, tau, np.abs(c).max()) < TOLERANCE


@given(mechanisms())
@MANY
def test_mass_matrix_is_symmetric_to_the_bit_and_positive_definite(case):
    M = sarrus.crba(case.model, case.state().q)
    assert np.array_equal(M, M.T)
    assert np.linalg.eigvalsh(M).min() > 0.0


@given(mechanisms())
@MANY
def test_jacobian_times_velocity_is_the_frames_velocity(case):
    model, s = case.model, case.state()
    names = model.frame_names
    velocity = sarrus.forward_kinematics(model, s.q, s.v, frames=names).velocity
    for k, name in enumerate(names):
        assert relative_error(sarrus.frame_jacobian(model, s.q, frame=name) @ s.v, velocity[k], 1.0) < TOLERANCE


@given(mechanisms(), st.sampled_from(["local", "world", "local_world_aligned"]))
@MANY
def test_jacobian_bias_is_the_rate_of_the_jacobian(case, reference):
    """dJ/dt v by a sixth-order difference along the motion: 1e-7 is what the difference is worth."""
    model, s = case.model, case.state()
    frame, h = model.frame_names[-1], 2e-3

    def J(t: float) -> np.ndarray:
        return sarrus.frame_jacobian(model, sarrus.integrate(model, s.q, t * s.v), frame=frame, reference=reference)

    rate = (45 * (J(h) - J(-h)) - 9 * (J(2 * h) - J(-2 * h)) + (J(3 * h) - J(-3 * h))) / (60 * h)
    bias = sarrus.frame_jacobian_bias(model, s.q, s.v, frame=frame, reference=reference)
    assert relative_error(bias, rate @ s.v, 1.0) < 1e-7


@given(mechanisms())
@MANY
def test_energy_changes_by_the_power_of_the_joint_forces(case):
    """dE/dt = v . tau, with qdd from aba: the difference is taken along the true motion."""
    model, s = case.model, case.state()
    qdd = sarrus.aba(model, s.q, s.v, s.tau)
    h = 1e-3 / max(1.0, np.abs(s.v).max(), np.abs(qdd).max())

    def E(t: float) -> float:
        # v + t qdd along the path that starts with v: the path is exact to second order, odd errors cancel.
        q = sarrus.integrate(model, s.q, t * s.v + 0.5 * t * t * qdd)
        return sum(sarrus.energy(model, q, s.v + t * qdd))

    rate = (8 * (E(h) - E(-h)) - (E(2 * h) - E(-2 * h))) / (12 * h)
    size = sum(abs(x) for x in sarrus.energy(model, s.q, s.v)) / h * 1e-15 + np.abs(s.v * s.tau).sum()
    assert abs(rate - s.v @ s.tau) / max(size, 1.0) < 1e-4


@given(mechanisms())
@MANY
def test_power_of_external_forces(case):
    """v . (change of rnea by f) = - sum of f . velocity."""
    model, s = case.model, case.state()
    with_f = sarrus.rnea(model, s.q, s.v, s.a, s.external_forces)
    without = sarrus.rnea(model, s.q, s.v, s.a)
    power = np.sum(s.external_forces * sarrus.forward_kinematics(model, s.q, s.v).velocity)
    assert abs((without - with_f) @ s.v - power) < TOLERANCE * max(1.0, np.abs(without).max())


@given(mechanisms())
@MANY
def test_centroidal_momentum_is_matrix_times_velocity_and_mass_times_com_velocity(case):
    model, s = case.model, case.state()
    A, h = sarrus.centroidal_momentum_matrix(model, s.q), sarrus.centroidal_momentum(model, s.q, s.v)
    assert relative_error(A @ s.v, h, model.mass) < TOLERANCE
    com = sarrus.center_of_mass(model, s.q, s.v)
    assert relative_error(h[:3] / model.mass, com.velocity, 1.0) < TOLERANCE


@given(mechanisms())
@MANY
def test_kinetic_energy_is_that_of_the_mass_matrix(case):
    model, s = case.model, case.state()
    assert relative_error(sarrus.energy(model, s.q, s.v).kinetic, 0.5 * s.v @ sarrus.crba(model, s.q) @ s.v) < TOLERANCE


@given(mechanisms())
@MANY
def test_bias_is_inverse_dynamics_without_acceleration_and_gravity_without_velocity(case):
    model, s = case.model, case.state()
    zero = np.zeros(model.nv)
    assert np.array_equal(sarrus.bias_forces(model, s.q, s.v), sarrus.rnea(model, s.q, s.v, zero))
    assert relative_error(sarrus.gravity_forces(model, s.q), sarrus.rnea(model, s.q, zero, zero), 1.0) < TOLERANCE
    floating = model.with_gravity((0.0, 0.0, 0.0))
    assert not sarrus.gravity_forces(floating, s.q).any()


@given(mechanisms())
@MANY
def test_armature_enters_the_diagonal_exactly(case):
    model, s = case.model, case.state()
    bare = Mechanism(tuple({k: x for k, x in b.items() if k != "armature"} for b in case.bodies), (), case.gravity)
    added = sarrus.crba(model, s.q) - _crba_or_skip(bare, s.q)
    armature = np.concatenate([np.zeros(0), *(body.joint.armature for body in model.bodies)])
    assert relative_error(added, np.diag(armature), np.abs(sarrus.crba(model, s.q)).max()) < 1e-14


def _crba_or_skip(case: Mechanism, q: np.ndarray) -> np.ndarray:
    from hypothesis import assume

    from sarrus.errors import IllPosedError

    try:
        return sarrus.crba(case.model, q)
    except IllPosedError:
        assume(False)
        raise


def moved_world(case: Mechanism, T: np.ndarray) -> Mechanism:
    """The mechanism, its roots and gravity included, moved as a whole."""
    bodies = []
    for body in case.bodies:
        if body["parent"] == "world":
            new = T @ placed(rotation_from_any(body["rotation"]), body["position"])
            body = body | {"rotation": new[:3, :3], "position": new[:3, 3]}
        bodies.append(body)
    return Mechanism(tuple(bodies), (), tuple(T[:3, :3] @ case.gravity), case.seed)


@given(mechanisms(), st.integers(0, 1000))
@MANY
def test_moving_the_world_changes_nothing_in_the_joints(case, seed):
    rng = np.random.default_rng(seed)
    other = moved_world(case, placed(rotation_from_any(rng.normal(size=3)), rng.normal(size=3)))
    assert_same_joint_space(case, other, case.state().external_forces)


@given(mechanisms(special=False), st.integers(0, 1000))
@MANY
def test_results_do_not_depend_on_the_choice_of_body_frames(case, seed):
    """Give every body another frame: where bodies start, axes, centres of mass change; the joints' results do not.

    Joints whose velocity is written in the body frame (free, spherical, planar, translation) keep theirs; axes and
    universal joints may be described from any frame whose origin slides along (or stays on) the axis.
    """
    rng = np.random.default_rng(seed)
    changes: dict[str, np.ndarray] = {"world": np.eye(4)}  # the new frame in the old one
    bodies, forces = [], []
    for body in case.bodies:
        kind = body["joint"]
        change = np.eye(4)
        if kind in ("revolute", "continuous", "helical", "cylindrical", "prismatic", "universal", "fixed"):
            change[:3, :3] = rotation_from_any(rng.normal(size=3))
        if kind in ("prismatic", "fixed"):
            change[:3, 3] = rng.normal(size=3)
        elif kind in ("revolute", "continuous", "helical", "cylindrical"):
            change[:3, 3] = rng.normal() * np.asarray(body["axis"])
        changes[body["name"]] = change
        R, p = change[:3, :3], change[:3, 3]
        old = placed(rotation_from_any(body["rotation"]), body["position"])
        new = np.linalg.inv(changes[body["parent"]]) @ old @ change
        other = body | {"rotation": new[:3, :3], "position": new[:3, 3]}
        for key in ("axis", "second_axis"):
            if key in body:
                other[key] = R.T @ body[key]
        other["com"] = R.T @ (body["com"] - p)
        other["inertia"] = R.T @ body["inertia"] @ R
        bodies.append(other)
    old_forces = case.state().external_forces
    for name, f in zip(case.model.body_names, old_forces, strict=True):
        R, p = changes[name][:3, :3], changes[name][:3, 3]
        forces.append(np.concatenate([R.T @ f[:3], R.T @ (f[3:] - np.cross(p, f[:3]))]))
    assert_same_joint_space(case, Mechanism(tuple(bodies), (), case.gravity, case.seed), np.array(forces))


def assert_same_joint_space(case: Mechanism, other: Mechanism, other_forces: np.ndarray) -> None:
    s = case.state()
    M = sarrus.crba(case.model, s.q)
    assert relative_error(sarrus.crba(other.model, s.q), M) < TOLERANCE
    expected = sarrus.rnea(case.model, s.q, s.v, s.a, s.external_forces)
    assert relative_error(sarrus.rnea(other.model, s.q, s.v, s.a, other_forces), expected) < TOLERANCE
    expected = sarrus.aba(case.model, s.q, s.v, s.tau, s.external_forces)
    assert relative_error(sarrus.aba(other.model, s.q, s.v, s.tau, other_forces), expected) < conditioned(M)
    kinetic = sarrus.energy(case.model, s.q, s.v).kinetic
    assert relative_error(sarrus.energy(other.model, s.q, s.v).kinetic, kinetic) < TOLERANCE


@given(mechanisms(kinds=MOVING_KINDS))
@MANY
def test_sharing_inertia_with_parents_keeps_the_totals(case):
    """What bodies give away arrives: mass and first moment of nodes and ground are those of the bodies."""
    model, q = case.model, case.state().q
    tree = tree_of(model)
    total = tree.ground.mass + sum(node.inertia.mass for node in tree.nodes)
    assert relative_error(total, model.mass) < TOLERANCE
    com, _ = case.oracle.center_of_mass(q, np.zeros(model.nv))
    assert relative_error(sarrus.center_of_mass(model, q).position, com, 1.0) < TOLERANCE
