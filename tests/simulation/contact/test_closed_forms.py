"""Things that touch each other and the ground, against closed forms."""

from __future__ import annotations

import numpy as np
import pytest

import sarrus
from sarrus.model.geometries import Plane
from sarrus.model.visuals import Box, Capsule, Cylinder, Sphere

G = 9.81
EXACT = sarrus.ContactOptions(tolerance=1e-10)


def at(*position: float) -> np.ndarray:
    return np.array([*position, 0.0, 0.0, 0.0, 1.0])


def tilted(angle: float) -> np.ndarray:
    """About y."""
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, 0.0, s], [0.0, 1.0, 0.0], [-s, 0.0, c]])


def free(builder: sarrus.ModelBuilder, name: str, shape, mass: float, inertia, **numbers) -> None:
    builder.add_body(name, joint="free", mass=mass, inertia=inertia)
    builder.add_geometry(name, shape, name=f"{name}_shape", **numbers)


class TestNewtonsCradle:
    count, radius, gap, speed = 5, 0.05, 1e-4, 1.0

    def model(self) -> sarrus.Model:
        """Balls that slide along x."""
        builder = sarrus.ModelBuilder("cradle", gravity=(0, 0, 0))
        for k in range(self.count):
            builder.add_body(f"ball_{k}", joint="prismatic", axis=(1, 0, 0), mass=1.0, inertia=1e-3 * np.eye(3))
            builder.add_geometry(f"ball_{k}", Sphere(self.radius), name=f"shape_{k}")
        return builder.build()

    def run(self, moving: int) -> sarrus.Trajectory:
        q = np.arange(self.count) * (2.0 * self.radius + self.gap)
        v = np.zeros(self.count)
        q[:moving] -= 0.05
        v[:moving] = self.speed
        options = sarrus.ContactOptions(restitution=1.0, tolerance=1e-12)
        return sarrus.Simulation(self.model(), 1e-5, contacts=options).run(q, v, duration=0.08)

    @pytest.mark.parametrize("moving", [1, 2, 3])
    def test_as_many_leave_as_came(self, moving):
        found = self.run(moving)
        expected = np.zeros(self.count)
        expected[self.count - moving :] = self.speed
        np.testing.assert_allclose(found.v[-1], expected, atol=1e-9)
        np.testing.assert_allclose(found.energy.total, found.energy.total[0], rtol=1e-9)


def test_a_ball_in_a_corner_is_held_by_both_planes():
    """Two planes of 30 and 60 degrees, without friction: forces by the parallelogram."""
    builder = sarrus.ModelBuilder("corner")
    free(builder, "ball", Sphere(0.1), 2.0, 0.008 * np.eye(3), friction=0.0)
    angles = np.array([np.pi / 6.0, -np.pi / 3.0])
    for k, angle in enumerate(angles):
        builder.add_geometry("world", Plane(), name=f"plane_{k}", rotation=tilted(angle), friction=0.0)
    normals = np.array([tilted(angle)[:, 2] for angle in angles])
    start = np.linalg.solve(normals[:, [0, 2]], [0.1, 0.1])
    found = sarrus.Simulation(builder.build(), 1e-3, contacts=EXACT).run(at(start[0], 0, start[1] + 0.01), duration=0.5)
    np.testing.assert_allclose(found.q[-1, [0, 2]], start, atol=1e-6)
    assert np.abs(found.v[-1]).max() < 1e-6
    expected = np.linalg.solve(normals[:, [0, 2]].T, [0.0, 2.0 * G])
    forces = dict(zip(found.contacts.numbers[-1].tolist(), found.contacts.normal_forces[-1], strict=False))
    np.testing.assert_allclose([forces[0], forces[1]], expected, rtol=1e-6)


@pytest.mark.parametrize("mu", [0.4, 0.7])
def test_a_ball_between_two_walls_is_held_by_friction_or_falls(mu):
    """Pressed together by a slider of force F, the ball holds if 2 mu F carries its weight."""
    mass, force, radius = 1.0, 10.0, 0.1
    builder = sarrus.ModelBuilder("walls")
    builder.add_body("jaw", joint="prismatic", axis=(1, 0, 0), mass=5.0, inertia=np.eye(3))
    builder.add_geometry("jaw", Box((0.1, 1.0, 1.0)), name="jaw_shape", friction=mu)
    free(builder, "ball", Sphere(radius), mass, 0.4 * mass * radius**2 * np.eye(3), friction=0.0)
    builder.add_geometry("world", Box((0.1, 1.0, 1.0)), name="wall", position=(0.25, 0, 0), friction=mu)
    model = builder.build()
    q = np.concatenate([[-0.05], at(0.1, 0.0, 0.0)])
    tau = np.array([force, *np.zeros(6)])
    found = sarrus.Simulation(model, 1e-3, contacts=EXACT).run(q, tau=tau, duration=0.1)
    holds = 2.0 * mu * force > mass * G
    expected = 0.0 if holds else -(G - 2.0 * mu * force / mass) * 0.1
    assert found.v[-1, 3] == pytest.approx(expected, abs=1e-6)
    touching = found.contacts.normal_forces[-1][found.contacts.touching[-1]]
    np.testing.assert_allclose(np.abs(touching), force, rtol=1e-6)


@pytest.mark.parametrize("mu", [0.1, 0.8])
def test_a_cylinder_rolls_down_a_tilted_plane(mu):
    """g sin(a) / (1 + 1/2) as long as friction holds it, else g (sin(a) - mu cos(a))."""
    angle, radius, mass = 0.4, 0.1, 1.5
    builder = sarrus.ModelBuilder("slope")
    inertia = mass * radius**2 * np.diag([0.5, 0.5, 0.5])
    builder.add_body("body", joint="free", mass=mass, inertia=inertia)
    lying = np.array([[1.0, 0, 0], [0, 0, 1.0], [0, -1.0, 0]])
    builder.add_geometry("body", Cylinder(radius, 0.3), name="shape", rotation=lying, friction=0.0)
    builder.add_geometry("world", Plane(), name="slope", rotation=tilted(angle), friction=mu)
    normal = tilted(angle)[:, 2]
    dt = 1e-4
    found = sarrus.Simulation(builder.build(), dt, contacts=EXACT).run(at(*(radius * normal)), duration=0.3)
    down = tilted(angle)[:, 0]
    speed = np.diff(found.q[:, :3] @ down) / dt
    rolls = mu > np.tan(angle) / 3.0
    expected = G * np.sin(angle) / 1.5 if rolls else G * (np.sin(angle) - mu * np.cos(angle))
    assert speed[-1] == pytest.approx(expected * 0.3, rel=2e-3)
    np.testing.assert_allclose(found.q[:, :3] @ normal, radius, atol=1e-5)


class TestBeltUnderABox:
    """A box on a sliding plate: it is carried along while friction can, else it lags behind."""

    @pytest.mark.parametrize("acceleration", [2.0, 8.0])
    def test_it_is_carried(self, acceleration):
        mu, heavy = 0.5, 1e4
        builder = sarrus.ModelBuilder("belt")
        builder.add_body("plate", joint="prismatic", axis=(1, 0, 0), mass=heavy, inertia=heavy * np.eye(3))
        builder.add_geometry("plate", Box((4.0, 1.0, 0.2)), name="plate_shape", friction=mu)
        free(builder, "box", Box((0.2, 0.2, 0.1)), 1.0, 0.005 * np.eye(3), friction=0.0)
        q = np.concatenate([[0.0], at(0.0, 0.0, 0.15)])
        found = sarrus.Simulation(builder.build(), 1e-3, contacts=EXACT).run(
            q, tau=[heavy * acceleration, *np.zeros(6)], duration=0.3
        )
        assert found.v[-1, 0] == pytest.approx(acceleration * 0.3, rel=1e-3)
        assert found.v[-1, 1] == pytest.approx(min(acceleration, mu * G) * 0.3, rel=2e-3)


@pytest.mark.parametrize(("rate", "holds"), [(4.0, True), (6.0, False)])
def test_a_box_on_a_turntable_stays_as_long_as_friction_holds_it(rate, holds):
    """omega^2 r against mu g, at r = 0.25 m and mu = 0.6: up to 4.85 rad/s."""
    mu, heavy, r = 0.6, 1e5, 0.25
    builder = sarrus.ModelBuilder("turntable")
    builder.add_body("table", joint="revolute", axis=(0, 0, 1), mass=heavy, inertia=heavy * np.eye(3))
    builder.add_geometry("table", Box((2.0, 2.0, 0.2)), name="table_shape", friction=mu)
    free(builder, "box", Box((0.02, 0.02, 0.01)), 1.0, 1e-4 * np.eye(3), friction=0.0)
    q = np.concatenate([[0.0], at(r, 0.0, 0.105)])
    v = np.array([rate, 0.0, rate * r, 0.0, 0.0, 0.0, rate])
    found = sarrus.Simulation(builder.build(), 2e-4, contacts=EXACT).run(q, v, duration=0.3)
    radius = np.hypot(found.q[:, 1], found.q[:, 2])
    if holds:
        assert np.abs(radius - r).max() < 2e-3
    else:
        assert radius[-1] > r + 0.02


def test_a_rod_that_slides_down_a_wall_leaves_as_the_textbook_says():
    """Without friction, from upright: the angle to the wall at which its top leaves has cos = 2/3."""
    length, mass, radius, dt = 1.0, 1.0, 1e-3, 1e-4
    builder = sarrus.ModelBuilder("ladder")
    inertia = mass * length**2 / 12.0
    builder.add_body("rod", joint="free", mass=mass, inertia=np.diag([inertia, inertia, 1e-6]))
    builder.add_geometry("rod", Capsule(radius, length), name="shape", friction=0.0)
    builder.add_geometry("world", Plane(), name="floor", friction=0.0)
    builder.add_geometry("world", Plane(), name="wall", rotation=tilted(0.5 * np.pi), friction=0.0)
    start = 0.1
    q = np.array([
        radius + 0.5 * length * np.sin(start), 0.0, radius + 0.5 * length * np.cos(start),
        0.0, np.sin(-0.5 * start), 0.0, np.cos(0.5 * start),
    ])  # fmt: skip
    found = sarrus.Simulation(builder.build(), dt, contacts=sarrus.ContactOptions(tolerance=1e-9)).run(q, duration=1.2)
    contacts = found.contacts
    on_wall = np.array([names == ("shape", "wall") for names in contacts.names])[contacts.numbers]
    pressed = ((contacts.normal_forces > 1e-6) & on_wall & (contacts.numbers >= 0)).any(axis=-1)
    left = np.flatnonzero(pressed)[-1]
    angle = -2.0 * np.arctan2(found.q[left, 4], found.q[left, 6])
    assert np.cos(angle) == pytest.approx(2.0 / 3.0 * np.cos(start), abs=5e-3)
    low = found.q[:, 2] - 0.5 * length * np.cos(2.0 * np.arctan2(found.q[:, 4], found.q[:, 6])) - radius
    assert low.min() > -1e-4


def test_a_top_that_spins_on_its_point_precesses():
    """A heavy symmetric top, fast: the slow root W of I1 cos(tilt) W^2 - I3 spin W + m g h = 0."""
    mass, height, spin, tilt = 1.0, 0.1, 300.0, 0.3
    side, axial = 2e-3, 1e-3  # about its centre of mass
    about_point = side + mass * height**2
    builder = sarrus.ModelBuilder("top")
    builder.add_body("top", joint="free", mass=mass, inertia=np.diag([side, side, axial]))
    tip = 1e-6  # a point: it does not roll away
    builder.add_geometry("top", Sphere(tip), name="tip", position=(0, 0, -height), friction=0.0)
    builder.add_geometry("world", Plane(), name="ground", friction=50.0)  # the point stays where it is
    a, b, c = about_point * np.cos(tilt), -axial * spin, mass * G * height
    slow = 2.0 * c / (-b + np.sqrt(b**2 - 4.0 * a * c))
    axis = np.array([np.sin(tilt), 0.0, np.cos(tilt)])
    R = tilted(tilt)
    omega = R.T @ np.array([0.0, 0.0, slow]) * [1.0, 1.0, 0.0] + [0.0, 0.0, spin]
    point = np.array([0.0, 0.0, -height])
    v = np.concatenate([-np.cross(omega, point), omega])
    q = np.array([*(height * axis + [0, 0, tip]), 0.0, np.sin(0.5 * tilt), 0.0, np.cos(0.5 * tilt)])
    dt, duration = 5e-5, 0.3
    found = sarrus.Simulation(builder.build(), dt, contacts=sarrus.ContactOptions(tolerance=1e-9), record_every=20).run(
        q, v, duration=duration
    )
    x, y, z, w = found.q[:, 3:].T
    turned = np.unwrap(np.arctan2(2.0 * (y * z - w * x), 2.0 * (x * z + w * y)))
    assert (turned[-1] - turned[0]) / duration == pytest.approx(slow, rel=0.01)
    assert np.abs(1.0 - 2.0 * (x**2 + y**2) - np.cos(tilt)).max() < 0.01
