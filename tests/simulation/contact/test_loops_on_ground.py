"""A parallelogram of rods with a foot on the ground: forces by virtual work, embedded or as rows."""

from __future__ import annotations

import numpy as np
import pytest

import sarrus
from sarrus.model.visuals import Sphere

DT, G, LENGTH, ANGLE, RADIUS = 1e-3, 9.81, 0.3, 0.4, 0.02


def leg(friction: float = 0.0, embedded: bool = False) -> sarrus.Model:
    """It hangs from the world; turned by ANGLE its foot, below the coupler, touches the ground."""
    builder = sarrus.ModelBuilder("leg")
    rod = {"mass": 0.5, "inertia": 1e-3 * np.eye(3), "joint": "revolute", "axis": (0, 1, 0)}
    builder.add_body("crank", com=(0, 0, -0.5 * LENGTH), **rod)
    builder.add_body("coupler", parent="crank", position=(0, 0, -LENGTH), com=(0.1, 0, 0), **rod)
    builder.add_body("rocker", position=(0.2, 0, 0), com=(0, 0, -0.5 * LENGTH), **rod)
    builder.add_frame("end", "coupler", position=(0.2, 0, 0))
    builder.add_frame("tip", "rocker", position=(0, 0, -LENGTH))
    builder.add_constraint(sarrus.loop("end", "tip", "revolute", axis=(0, 1, 0), name="closed"))
    builder.add_geometry("coupler", Sphere(RADIUS), name="foot", position=(0.1, 0, -0.1), friction=0.0)
    model = builder.build().with_ground(friction=friction, height=-LENGTH * np.cos(ANGLE) - 0.1 - RADIUS)
    return sarrus.embed(model) if embedded else model


def turned(angle: float) -> np.ndarray:
    return np.array([angle, -angle, angle])


@pytest.mark.parametrize("embedded", [False, True])
@pytest.mark.parametrize("torque", [0.0, -2.0])
def test_the_foot_is_pressed_on_the_ground_as_virtual_work_says(embedded, torque):
    """N dz = dV - torque dangle, with z = -L cos(angle) of the foot and V = -g (m/2 + m/2 + m) L cos(angle)."""
    model = leg(embedded=embedded)
    found = sarrus.Simulation(model, DT, contacts=sarrus.ContactOptions(tolerance=1e-10)).run(
        turned(ANGLE), tau=[torque, 0.0, 0.0], duration=0.3
    )
    lever = LENGTH * np.sin(ANGLE)
    expected = G * 1.0 - torque / lever
    assert np.abs(found.v).max() < 1e-5
    np.testing.assert_allclose(found.contacts.total_force[-2], [0.0, 0.0, expected], rtol=1e-4, atol=1e-4 * expected)
    assert not found.status.any()


def test_rows_and_embedding_give_the_same_landing():
    start = turned(ANGLE + 0.3)
    options = sarrus.ContactOptions(tolerance=1e-10)
    found = [
        sarrus.Simulation(leg(0.5, embedded), 2e-4, contacts=options, project_every=1).run(start, duration=0.4)
        for embedded in (False, True)
    ]
    assert found[0].contacts.touching.any()
    np.testing.assert_allclose(found[0].q, found[1].q, atol=2e-4)
    assert max(x.closure_error.max() for x in found) < 1e-8
    height = -LENGTH * np.cos(found[0].q[:, 0])
    assert height.min() > -LENGTH * np.cos(ANGLE) - 1e-4


@pytest.mark.parametrize("torque", [0.0, -2.0])
def test_forces_of_the_loop_hold_what_stands_on_the_ground(torque):
    """M qdd + c = tau + J^T f + contacts, with the smallest f: three of the five rows of this loop are enough."""
    model = leg(friction=0.5)
    found = sarrus.Simulation(model, DT, contacts=sarrus.ContactOptions(tolerance=1e-10)).run(
        turned(ANGLE), tau=[torque, 0.0, 0.0], duration=0.3
    )
    assert_balanced(model, found, -2, 1e-4)


def test_forces_of_a_bipeds_loops_hold_it_on_its_feet():
    model = sarrus.zoo.biped().with_ground(friction=0.8)
    q = sarrus.put_down(model, sarrus.neutral(model))
    simulation = sarrus.Simulation(
        model, 2e-4, controller=sarrus.pd(400.0, 8.0, q), joint_forces=False, integrator="semi_implicit_euler"
    )
    found = simulation.run(q, duration=0.2)
    assert np.abs(found.forces[-2]).max() > 100.0
    assert_balanced(model, found, -2, 1e-3)


def assert_balanced(model: sarrus.Model, found, k: int, atol: float) -> None:
    """What moves is moved by motors, contacts and loops as they are recorded, and loops push no more than they must."""
    q, v, contacts = found.q[k], found.v[k], found.contacts[k]
    qdd = (found.v[k + 1] - v) / (found.time[k + 1] - found.time[k])
    held = sarrus.rnea(model, q, v, qdd) - found.tau[k]
    body_of = {geometry.name: geometry.body for geometry in model.geometries}
    for number, force, point in zip(contacts.numbers, contacts.forces, contacts.points, strict=True):
        if number >= 0:
            body = body_of[found.contacts.names[int(number)][0]]
            J = sarrus.frame_jacobian(model, q, frame=model.bodies[body].name, reference="local_world_aligned")
            _, origins = sarrus.forward_kinematics(model, q)[:2]
            held = held - J.T @ np.concatenate([force, np.cross(point - origins[body], force)])
    J = sarrus.closure(model, q, v).jacobian
    np.testing.assert_allclose(J.T @ found.forces[k], held, atol=atol)
    np.testing.assert_allclose(found.forces[k], np.linalg.lstsq(J.T, held, rcond=1e-6)[0], atol=atol)
