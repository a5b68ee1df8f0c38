"""Friction that resists spinning and rolling, against closed forms and integrals of our own."""

from __future__ import annotations

import numpy as np
import pytest

import sarrus
from sarrus.model.geometries import Friction, Plane
from sarrus.model.visuals import Box, Sphere

G, RADIUS, MASS = 9.81, 0.1, 1.5
INERTIA = 0.4 * MASS * RADIUS**2
EXACT = sarrus.ContactOptions(tolerance=1e-10, turning=True)


def ball(sliding: float, twisting: float = 0.0, rolling: float = 0.0) -> sarrus.Model:
    builder = sarrus.ModelBuilder("ball")
    builder.add_body("body", joint="free", mass=MASS, inertia=INERTIA * np.eye(3))
    builder.add_geometry("body", Sphere(RADIUS), name="shape", friction=0.0)
    friction = Friction(sliding, twisting, rolling)
    builder.add_geometry("world", Plane(), name="ground", friction=friction, dimensions=6 if rolling else 4)
    return builder.build()


def at(x: float, y: float, z: float) -> np.ndarray:
    return np.array([x, y, z, 0.0, 0.0, 0.0, 1.0])


def run(model: sarrus.Model, v, duration: float, dt: float = 1e-3, **more) -> sarrus.Trajectory:
    found = sarrus.Simulation(model, dt, contacts=EXACT).run(at(0, 0, RADIUS), v, duration=duration, **more)
    assert not np.any(found.status)
    return found


def test_a_ball_that_spins_on_its_point_comes_to_rest():
    """With the angular deceleration mu_t N / I; its torque is recorded."""
    found = run(ball(0.8, 0.02), [0, 0, 0, 0, 0, 30.0], 1.0)
    rate = 0.02 * MASS * G / INERTIA
    np.testing.assert_allclose(found.v[:, 5], np.maximum(0.0, 30.0 - rate * found.time), atol=1e-8 + rate * 1e-3)
    moving = found.time < 30.0 / rate - 2e-3
    np.testing.assert_allclose(found.v[moving, 5], 30.0 - rate * found.time[moving], atol=1e-7)
    assert np.abs(found.v[-1]).max() < 1e-9
    np.testing.assert_allclose(found.contacts.torques[50, 0], [0.0, 0.0, -0.02 * MASS * G], rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(found.contacts.torques[-1, 0], 0.0, atol=1e-9)


def test_unless_it_is_asked_for_it_spins_on_and_that_is_said():
    simulation = sarrus.Simulation(ball(0.8, 0.02), 1e-3)
    assert any("neither spinning nor rolling" in note for note in simulation.notes)
    np.testing.assert_allclose(simulation.run(at(0, 0, RADIUS), [0, 0, 0, 0, 0, 30.0], duration=0.3).v[-1, 5], 30.0)
    assert not any("spinning" in note for note in sarrus.Simulation(ball(0.8, 0.02), 1e-3, contacts=EXACT).notes)


@pytest.mark.parametrize(("part", "turns"), [(1.0 - 1e-6, False), (1.0 + 1e-6, True)])
def test_it_holds_a_torque_up_to_its_size(part, turns):
    torque = part * 0.02 * MASS * G
    found = run(ball(0.8, 0.02), np.zeros(6), 0.5, tau=[0, 0, 0, 0, 0, torque])
    assert (found.v[-1, 5] > 1e-6) == turns
    assert found.v[-1, 5] == pytest.approx(max(0.0, torque - 0.02 * MASS * G) / INERTIA * 0.5, abs=2e-7)


def integral(sliding: float, twisting: float, rolling: float, v: list[float], duration: float) -> np.ndarray:
    """v_x, omega_y, omega_z of a ball by small steps: force and torques against (v_t, mu_t / mu w_z, mu_r / mu w_y)."""
    x, roll, spin = v
    steps = 20_000
    h = duration / steps
    for _ in range(steps):
        moves = np.array([x - RADIUS * roll, twisting / sliding * spin, rolling / sliding * roll])
        size = np.linalg.norm(moves)
        if size > 0.0:
            f = -sliding * MASS * G * moves / size
            x += h * f[0] / MASS
            roll += h * (-RADIUS * f[0] + rolling / sliding * f[2]) / INERTIA
            spin += h * twisting / sliding * f[1] / INERTIA
    return np.array([x, roll, spin])


@pytest.mark.parametrize(
    ("coefficients", "v"),
    [
        ((0.3, 0.03, 0.0), [1.5, 0.0, 40.0]),  # it slides and spins: the one takes from the other
        ((0.3, 0.0, 0.01), [1.0, 3.0, 0.0]),
        ((0.5, 0.02, 0.01), [1.0, 10.0, 20.0]),
    ],
)
def test_sliding_rolling_and_spinning_share_one_cone(coefficients, v):
    duration, dt = 0.15, 1e-4
    found = run(ball(*coefficients), [v[0], 0, 0, 0, v[1], v[2]], duration, dt=dt)
    speed = (found.q[-1, 0] - found.q[-2, 0]) / dt
    # Angular velocities are in the ball's axes, which turn about y and z.
    x, y, z, w = found.q[-1, 3:]
    omega = found.v[-1, 3:]
    world = omega + 2.0 * np.cross([x, y, z], np.cross([x, y, z], omega) + w * omega)
    np.testing.assert_allclose([speed, world[1], world[2]], integral(*coefficients, v, duration), rtol=4e-3, atol=4e-3)


def test_a_ball_that_rolls_is_braked_as_the_textbook_says():
    """mu_r N / (7/5 m r), where friction of sliding is so large that it does not creep."""
    rolling = 0.004
    found = run(ball(50.0, 0.0, rolling), [1.0, 0, 0, 0, 1.0 / RADIUS, 0], 1.0)
    rate = rolling * G / (1.4 * RADIUS)
    speeds = np.diff(found.q[:, 0]) / 1e-3
    np.testing.assert_allclose(speeds, 1.0 - rate * found.time[1:], rtol=1e-3)
    stopped = run(ball(50.0, 0.0, rolling), [0.1, 0, 0, 0, 0.1 / RADIUS, 0], 1.0)
    assert np.abs(stopped.v[-1]).max() < 1e-8


@pytest.mark.parametrize("twisting", [0.0, 0.05])
def test_a_box_that_spins_on_four_corners(twisting):
    """mu m g sqrt(d^2 + s^2) / I with corners at the distance d, and s = mu_t / mu: sliding alone stops it, too."""
    mu, half, mass = 0.4, 0.1, 2.0
    builder = sarrus.ModelBuilder("box")
    inertia = np.diag([0.02, 0.02, 0.03])
    builder.add_body("body", joint="free", mass=mass, inertia=inertia)
    builder.add_geometry("body", Box((2 * half, 2 * half, 0.02)), name="shape", friction=0.0)
    builder.add_geometry("world", Plane(), name="ground", friction=Friction(mu, twisting), dimensions=4)
    found = sarrus.Simulation(builder.build(), 1e-4, contacts=EXACT).run(
        at(0, 0, 0.01), [0, 0, 0, 0, 0, 8.0], steps=500
    )
    assert not np.any(found.status)
    rate = mu * mass * G * np.hypot(np.sqrt(2.0) * half, twisting / mu) / inertia[2, 2]
    np.testing.assert_allclose(found.v[-1, 5], 8.0 - rate * found.time[-1], rtol=2e-3)


def test_a_ball_that_spins_on_a_thing():
    """What touches something else than the world finds a slot: the torque acts on both."""
    builder = sarrus.ModelBuilder("two")
    builder.add_body("plate", joint="revolute", axis=(0, 0, 1), mass=4.0, inertia=0.05 * np.eye(3))
    builder.add_geometry("plate", Box((1.0, 1.0, 0.1)), name="top", friction=Friction(0.8, 0.02), dimensions=4)
    builder.add_body("ball", joint="free", mass=MASS, inertia=INERTIA * np.eye(3))
    builder.add_geometry("ball", Sphere(RADIUS), name="shape", friction=0.0)
    q = np.concatenate([[0.0], at(0.0, 0.0, 0.05 + RADIUS)])
    found = sarrus.Simulation(builder.build(), 1e-3, contacts=EXACT).run(q, [0, 0, 0, 0, 0, 0, 30.0], duration=0.2)
    assert not np.any(found.status)
    torque = 0.02 * MASS * G
    np.testing.assert_allclose(found.v[-1, 6], 30.0 - torque / INERTIA * 0.2, rtol=1e-5)
    np.testing.assert_allclose(found.v[-1, 0], torque / 0.05 * 0.2, rtol=1e-5)


def test_an_impact_stops_what_spins():
    """In an impact the torque is bounded by the normal impulse: m v mu_t."""
    model = ball(0.8, 0.02)
    after = sarrus.impulse(model, at(0, 0, RADIUS), [0, 0, -1.0, 0, 0, 30.0], EXACT)
    np.testing.assert_allclose(after.v[5], 30.0 - 0.02 * MASS / INERTIA, rtol=1e-8)
    np.testing.assert_allclose(after.contacts.torques[0], [0.0, 0.0, -0.02 * MASS], rtol=1e-6, atol=1e-12)
