"""Torques and contact forces of a motion."""

from __future__ import annotations

import numpy as np
import pytest

import sarrus
from sarrus.errors import StateError, UnknownNameError, UnsupportedError
from sarrus.model.geometries import Plane
from sarrus.model.visuals import Box, Sphere


def crate(mu: float = 0.5) -> sarrus.Model:
    builder = sarrus.ModelBuilder("crate")
    builder.add_body("crate", joint="free", mass=4.0, inertia=0.03 * np.eye(3))
    builder.add_geometry("crate", Box((0.2, 0.2, 0.2)), name="crate", friction=0.0)
    builder.add_geometry("world", Plane(), name="ground", friction=mu)
    return builder.build()


EVERYTHING_RESTS = 10.0  # m/s: feet that move may push with any force within their cones
REST = [0.0, 0.0, 0.1, 0.0, 0.0, 0.0, 1.0]


def test_a_crate_at_rest_is_borne():
    found = sarrus.inverse_dynamics(crate(), REST, np.zeros(6), np.zeros(6))
    np.testing.assert_allclose(found.contacts.total_force, [0, 0, 4.0 * 9.81], rtol=1e-6, atol=1e-5)
    assert found.status == sarrus.Status.OK
    np.testing.assert_allclose(found.tau, 0.0, atol=1e-4)


def test_friction_can_push_it_so_far_and_no_further():
    pushed = sarrus.inverse_dynamics(crate(0.5), REST, np.zeros(6), [4.0, 0, 0, 0, 0, 0])
    assert pushed.status == sarrus.Status.OK
    np.testing.assert_allclose(pushed.contacts.total_force, [16.0, 0, 4.0 * 9.81], atol=1e-3)
    contacts = pushed.contacts
    assert (contacts.friction_forces <= 0.5 * contacts.normal_forces + 1e-4).all()
    for too_much in ([6.0, 0, 0, 0, 0, 0], [0, 0, -20.0, 0, 0, 0]):
        assert sarrus.inverse_dynamics(crate(0.5), REST, np.zeros(6), too_much).status == sarrus.Status.INFEASIBLE


def walker() -> sarrus.Model:
    """A trunk on two legs of two joints, feet as balls."""
    builder = sarrus.ModelBuilder("walker")
    builder.add_body("trunk", joint="free", mass=5.0, inertia=0.1 * np.eye(3))
    for side, y in (("left", 0.1), ("right", -0.1), ("back", 0.0)):
        x = -0.2 if side == "back" else 0.1
        builder.add_body(
            f"{side}_thigh", "trunk", joint="revolute", axis=(0, 1, 0), position=(x, y, 0), mass=1.0, com=(0, 0, -0.1),
            inertia=0.01 * np.eye(3),
        )  # fmt: skip
        builder.add_body(
            f"{side}_shin", f"{side}_thigh", joint="revolute", axis=(0, 1, 0), position=(0, 0, -0.2), mass=0.5,
            com=(0, 0, -0.1), inertia=0.005 * np.eye(3),
        )  # fmt: skip
        builder.add_geometry(f"{side}_shin", Sphere(0.02), name=side, position=(0, 0, -0.2))
    builder.add_geometry("world", Plane(), name="ground")
    return builder.build()


def test_momentum_balances_and_motors_do_the_rest():
    model = walker()
    q = np.zeros(model.nq)
    q[:7] = [0, 0, 0.42, 0, 0, 0, 1]
    rng = np.random.default_rng(0)
    a = 0.3 * rng.normal(size=(6, model.nv))
    found = sarrus.inverse_dynamics(model, np.tile(q, (6, 1)), np.zeros((6, model.nv)), a)
    assert (found.status == 0).all()
    for k in range(6):
        np.testing.assert_allclose(found.tau[k, :6], 0.0, atol=1e-3)
        force = found.contacts.total_force[k]
        momentum = sarrus.centroidal_momentum_matrix(model, q)[:3] @ a[k]
        np.testing.assert_allclose(force, momentum + np.array([0, 0, model.mass * 9.81]), atol=1e-2)


def test_what_it_cannot_do_is_said():
    with pytest.raises(UnsupportedError, match="rnea"):
        sarrus.inverse_dynamics(sarrus.zoo.chain(2), [0.0, 0.0], [0.0, 0.0], [0.0, 0.0])


def coupled_walker() -> sarrus.Model:
    """The knee of each leg turns with its hip, as linkages and belts make them."""
    coupled = [sarrus.coupling({f"{x}_shin_joint": 1.0, f"{x}_thigh_joint": 2.0}) for x in ("left", "right", "back")]
    return walker().with_constraints(*coupled)


def coupled_state(model: sarrus.Model) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Feet on the ground, moving and accelerating as the couplings allow."""
    rng = np.random.default_rng(1)
    q, v, a = np.zeros(model.nq), 0.2 * rng.normal(size=model.nv), 0.3 * rng.normal(size=model.nv)
    q[:7] = [0, 0, 0.42, 0, 0, 0, 1]
    for thigh, shin in ((6, 7), (8, 9), (10, 11)):
        v[shin], a[shin] = -2.0 * v[thigh], -2.0 * a[thigh]
    return q, v, a


def rows_and_forces(model: sarrus.Model, q: np.ndarray, contacts) -> tuple[np.ndarray, np.ndarray]:
    """(3 n, nv) velocities of the points that touch, in the world, and (3 n,) the forces on them."""
    rows, forces = [], []
    for slot in np.flatnonzero(contacts.numbers >= 0):
        foot, ground = contacts.names[contacts.numbers[slot]]
        assert ground == "ground"
        link = f"{foot}_shin"
        J = sarrus.frame_jacobian(model, q, link, "local_world_aligned")
        x, y, z = contacts.points[slot] - sarrus.forward_kinematics(model, q, frames=[link]).position[0]
        rows.append(J[:3] - np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]]) @ J[3:])
        forces.append(contacts.forces[slot])
    return np.concatenate(rows), np.concatenate(forces)


def test_loops_and_gears_push_along_and_torques_are_the_smallest():
    minimize = pytest.importorskip("scipy.optimize").minimize
    model, driven = coupled_walker(), [6, 8, 10]
    q, v, a = coupled_state(model)
    hips = [f"{x}_thigh_joint" for x in ("left", "right", "back")]
    found = sarrus.inverse_dynamics(model, q, v, a, motors=hips, creep=EVERYTHING_RESTS)
    assert found.status == sarrus.Status.OK
    K = np.zeros((3, model.nv))
    K[range(3), [7, 9, 11]], K[range(3), driven] = 1.0, 2.0
    J, f = rows_and_forces(model, q, found.contacts)
    needed = sarrus.rnea(model, q, v, a)
    np.testing.assert_allclose(found.tau + J.T @ f + K.T @ found.forces, needed, atol=1e-8)
    undriven = [k for k in range(model.nv) if k not in driven]
    np.testing.assert_allclose(found.tau[undriven], 0.0, atol=1e-4)

    def left(x):
        return needed - J.T @ x[:9] - K.T @ x[9:]

    best = minimize(
        lambda x: np.sum(left(x)[driven] ** 2),
        np.concatenate([f, found.forces]) + 0.1,
        constraints=[
            {"type": "eq", "fun": lambda x: left(x)[undriven]},
            {"type": "ineq", "fun": lambda x: x[2:9:3] - np.hypot(x[0:9:3], x[1:9:3])},
        ],
        method="SLSQP",
        options={"maxiter": 500, "ftol": 1e-14},
    )
    assert best.success
    np.testing.assert_allclose(np.sum(found.tau[driven] ** 2), best.fun, rtol=1e-3)


def test_embedded_or_not_is_the_same_and_motions_that_open_loops_are_told():
    model = coupled_walker()
    q, v, a = coupled_state(model)

    def inverse(model: sarrus.Model):
        return sarrus.inverse_dynamics(model, q, v, a, creep=EVERYTHING_RESTS)

    rows, embedded = (inverse(x) for x in (model, sarrus.embed(model)))
    np.testing.assert_array_equal(rows.tau, embedded.tau)
    a[7] += 1e-3
    assert inverse(model).status == sarrus.Status.CONSTRAINTS_NOT_MET
    a[7] -= 1e-3
    q[8] += 1e-3
    assert inverse(model).status == sarrus.Status.CONSTRAINTS_NOT_MET


def test_motors_are_names_however_they_are_given():
    model = walker()
    q = np.zeros(model.nq)
    q[:7] = [0, 0, 0.42, 0, 0, 0, 1]
    names = [name for name in model.joint_names if name != "trunk_joint"]
    still = np.zeros(model.nv)
    taus = [sarrus.inverse_dynamics(model, q, still, still, motors=x).tau for x in (None, names, iter(names))]
    np.testing.assert_array_equal(taus[1], taus[0])
    np.testing.assert_array_equal(taus[2], taus[0])
    for motors in ("left_shin_joint", 5, [3]):
        with pytest.raises(StateError, match=r"motors is .*expected names"):
            sarrus.inverse_dynamics(model, q, still, still, motors=motors)
    with pytest.raises(UnknownNameError, match="unknown joint 'left_shin'"):
        sarrus.inverse_dynamics(model, q, still, still, motors=["left_shin"])


def test_what_slides_is_braked_by_all_of_its_friction():
    model, mu, weight = crate(0.5), 0.5, 4.0 * 9.81
    slides = np.array([0.6, -0.8, 0.0, 0.0, 0.0, 0.0])
    direction = slides[:3]
    for speed, status in ((0.9e-3, 0), (1.1e-3, sarrus.Status.INFEASIBLE), (2.0, sarrus.Status.INFEASIBLE)):
        assert sarrus.inverse_dynamics(model, REST, speed * slides, np.zeros(6)).status == status
    found = sarrus.inverse_dynamics(model, REST, 2.0 * slides, -mu * 9.81 * slides)
    contacts = found.contacts
    assert found.status == sarrus.Status.OK
    np.testing.assert_allclose(found.tau, 0.0, atol=1e-4)
    np.testing.assert_allclose(contacts.total_force, [*(-mu * weight * direction[:2]), weight], rtol=1e-5)
    touching = contacts.touching
    assert (contacts.states[touching] == sarrus.ContactState.SLIPS).all()
    np.testing.assert_allclose(contacts.velocities[touching], np.tile(2.0 * direction, (touching.sum(), 1)), atol=1e-12)
    for residual in contacts.residuals:
        np.testing.assert_allclose(residual, 0.0, atol=1e-9)
    # What creeps may be held by less, which the record tells.
    held = sarrus.inverse_dynamics(model, REST, 0.9e-3 * slides, np.zeros(6)).contacts
    assert (held.states[held.touching] == sarrus.ContactState.SLIPS).all()
    assert held.residuals.dissipation.sum() == pytest.approx(mu * weight * 0.9e-3, rel=1e-3)


def test_what_parts_does_not_push():
    rising = [0.0, 0.0, 1e-2, 0.0, 0.0, 0.0]
    assert sarrus.inverse_dynamics(crate(), REST, rising, np.zeros(6)).status == sarrus.Status.INFEASIBLE
    falls = sarrus.inverse_dynamics(crate(), REST, rising, [0.0, 0.0, -9.81, 0.0, 0.0, 0.0])
    assert falls.status == sarrus.Status.OK
    assert not falls.contacts.touching.any()


def test_it_is_the_inverse_of_a_step_in_which_a_robot_slides():
    builder = sarrus.ModelBuilder("sledge")
    builder.add_body("sledge", joint="free", mass=4.0, inertia=0.05 * np.eye(3))
    builder.add_body(
        "arm", "sledge", joint="revolute", axis=(0, 1, 0), mass=0.5, com=(0, 0, 0.2), inertia=0.005 * np.eye(3)
    )
    builder.add_geometry("sledge", Box((0.4, 0.3, 0.2)), name="sledge", friction=0.0)
    model, dt = builder.build().with_ground(friction=0.3), 1e-5
    simulation = sarrus.Simulation(model, dt)
    q, v = np.array([*REST, 0.4]), np.array([1.5, 0.0, 0.0, 0.0, 0.0, 0.0, -2.0])
    torque = np.zeros(model.nv)
    torque[6] = 1.2
    motion = simulation.run(q, v, steps=20, tau=torque)
    assert motion.contacts is not None
    a = np.diff(motion.v, axis=0) / dt
    found = sarrus.inverse_dynamics(model, motion.q[1:], motion.v[1:], a)
    np.testing.assert_allclose(found.tau, np.tile(torque, (20, 1)), atol=1e-3)  # the error of a step, of 44 N
    step = motion.contacts[:-1].total_force
    np.testing.assert_allclose(found.contacts.total_force, step, atol=1e-2)
    assert (step[:, 0] < -0.29 * step[:, 2]).all()


def test_one_foot_slides_and_torques_are_the_smallest():
    minimize = pytest.importorskip("scipy.optimize").minimize
    model = walker()
    q, v = np.zeros(model.nq), np.zeros(model.nv)
    q[:7] = [0, 0, 0.42, 0, 0, 0, 1]
    v[6] = 0.5  # of the left hip: its foot goes along x
    a = 0.1 * np.random.default_rng(2).normal(size=model.nv)
    found = sarrus.inverse_dynamics(model, q, v, a)
    assert found.status == sarrus.Status.OK
    slips = found.contacts.states == sarrus.ContactState.SLIPS
    assert [found.contacts.names[k][0] for k in found.contacts.numbers[slips]] == ["left"]
    J, f = rows_and_forces(model, q, found.contacts)
    needed = sarrus.rnea(model, q, v, a)
    np.testing.assert_allclose(found.tau + J.T @ f, needed, atol=1e-8)
    np.testing.assert_allclose(found.tau[:6], 0.0, atol=1e-4)
    order = [foot for foot, _ in (found.contacts.names[k] for k in found.contacts.numbers[found.contacts.numbers >= 0])]
    at = 3 * order.index("left")
    sliding = (J @ v)[at : at + 2]
    np.testing.assert_allclose(f[at : at + 2], -f[at + 2] * sliding / np.linalg.norm(sliding), atol=1e-8)  # mu is 1

    best = minimize(
        lambda x: np.sum((needed - J.T @ x)[6:] ** 2),
        f + 0.1,
        constraints=[
            {"type": "eq", "fun": lambda x: (needed - J.T @ x)[:6]},
            {"type": "eq", "fun": lambda x: x[at : at + 2] + x[at + 2] * sliding / np.linalg.norm(sliding)},
            {"type": "ineq", "fun": lambda x: x[2::3] - np.hypot(x[0::3], x[1::3])},
        ],
        method="SLSQP",
        options={"maxiter": 500, "ftol": 1e-14},
    )
    assert best.success
    np.testing.assert_allclose(np.sum(found.tau[6:] ** 2), best.fun, rtol=1e-3)
