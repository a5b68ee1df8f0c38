"""Limbs that whirl keep their energy: a step has the velocity products of its middle."""

from __future__ import annotations

import numpy as np
import pytest

import sarrus
from sarrus.mechanics.mechanism import mechanism
from sarrus.model.geometries import Plane
from sarrus.model.visuals import Box, Ellipsoid, Sphere
from sarrus.simulation.contact.free_motion import free_motion
from sarrus.simulation.contact.step_start import velocity_midway
from sarrus.simulation.contact.straight_motion import velocities_between
from sarrus.simulation.trajectory import Trajectory
from sarrus.spatial.rotations import conjugate, rotate_by_quaternion


def whirling(root: str, geared: bool, height: float = 100.0, hands: bool = False) -> sarrus.Model:
    """A trunk with two limbs of two links, high above the ground; geared: one forearm turns as the other does.

    hands  that may touch the ground, too
    """
    builder = sarrus.ModelBuilder("whirling")
    builder.add_body("trunk", joint=root, mass=5.0, inertia=np.diag([0.08, 0.06, 0.05]))
    for side, y in (("left", 0.2), ("right", -0.2)):
        for parent, name, axis, at in (
            ("trunk", f"{side}_upper", (1, 0, 0), (0, y, 0.1)),
            (f"{side}_upper", f"{side}_lower", (0, 1, 0), (0.25, 0, 0.02)),
        ):
            builder.add_body(
                name, parent=parent, joint="revolute", axis=axis, position=at, mass=0.6, com=(0.12, 0.01, 0.02),
                inertia=np.diag([4e-4, 3e-3, 3e-3]),
            )  # fmt: skip
    trunk = Box((0.2, 0.2, 0.3)) if hands else Sphere(0.05)
    builder.add_geometry("trunk", trunk, name="chest", friction=0.6)
    for side in ("left", "right") if hands else ():
        builder.add_geometry(f"{side}_lower", Sphere(0.03), name=f"{side}_hand", position=(0.25, 0, 0), friction=0.6)
    builder.add_geometry("world", Plane(), name="ground", position=(0, 0, -height), friction=0.6)
    model = builder.build()
    gear = sarrus.coupling({"right_lower_joint": 1.0, "left_lower_joint": -0.5})
    return model.with_constraints(gear) if geared else model


def growth(found: Trajectory, dt: float) -> float:
    """The most by which energy grew, relative to the largest kinetic one."""
    v = velocities_between(found.model, found.v[:, :-1], found.v[:, 1:], dt)
    energy = Trajectory(found.model, found.time[:-1], found.q[:, :-1], v).energy
    total = energy.total
    return float(((total - np.minimum.accumulate(total, axis=1)).max(axis=1) / energy.kinetic.max(axis=1)).max())


def thrown(model: sarrus.Model) -> tuple[np.ndarray, np.ndarray]:
    q, v = sarrus.random_state(model, 0, batch=16)
    v[:, -4:] = np.random.default_rng(1).uniform(-40.0, 40.0, (16, 4))
    return (q, v) if not model.n_rows else sarrus.project(model, q, v)[:2]


@pytest.mark.parametrize("root", ["free", "planar"])
@pytest.mark.parametrize("geared", ["", "rows", "embedded"])
def test_limbs_that_whirl_gain_no_energy(root, geared):
    """With products of velocities at the beginning of steps, they gain 3 to 13 % in this time."""
    model = whirling(root, bool(geared))
    q, v = thrown(model)
    for gravity, most in ((model.gravity, 3e-3), (np.zeros(3), 1.5e-3)):
        falling, errors = model.with_gravity(gravity), []
        for dt in (1e-3, 5e-4):
            stepped = sarrus.embed(falling) if geared == "embedded" else falling
            found = sarrus.Simulation(stepped, dt, record=("status",)).run(q, v, duration=0.1)
            assert not found.status.any()
            errors.append(growth(found, dt))
        assert errors[0] < most
        # What else acts is left out of velocities midway: with gravity, what is left is small, but of first order.
        assert errors[1] < (0.6 if gravity.any() else 0.3) * errors[0]


def test_limbs_that_strike_the_ground_while_they_whirl_gain_hardly_any_energy():
    """Little more than in flight. With the velocity products of the motion before an impact for the whole step, it was
    0.26 % at 1 ms.
    """
    model = whirling("free", geared=False, height=0.0, hands=True).with_gravity(np.zeros(3))
    rng, errors = np.random.default_rng(0), []
    q, _ = sarrus.random_state(model, rng, batch=128)
    q = sarrus.put_down(model, q, height=0.02)
    down = np.array([rotate_by_quaternion(conjugate(x), np.array([0.0, 0.0, -2.0])) for x in q[:, 3:7]])
    _, turning = (rng.normal(size=(128, 3)) for _ in range(2))
    v = np.concatenate([down, turning, rng.uniform(-40.0, 40.0, (128, 4))], axis=1)
    for dt in (1e-3, 5e-4):
        found = sarrus.Simulation(model, dt, record=("status",)).run(q, v, duration=0.2)
        assert not found.status.any()
        errors.append(growth(found, dt))
    assert errors[0] < 1.2e-3
    assert errors[1] < 0.5 * errors[0]


@pytest.mark.parametrize("geared", ["", "rows", "embedded"])
def test_velocity_products_can_be_exchanged(geared):
    model = whirling("free", bool(geared))
    model = sarrus.embed(model) if geared == "embedded" else model
    (q, v), rng = thrown(whirling("free", bool(geared))), np.random.default_rng(2)
    tau, rest = rng.normal(size=model.nv), np.zeros(model.nv)
    for k in range(4):
        at, some, others = (mechanism(model, q[k], x, tau) for x in (v[k], rng.normal(size=model.nv), v[k + 4]))
        found = free_motion(at, rest, 1e-3, midway=some).with_products_of(others)
        wanted = free_motion(at, rest, 1e-3, midway=others)
        for name in ("qdd", "forces", "least_forces", "turning", "load"):
            np.testing.assert_allclose(getattr(found, name), getattr(wanted, name), rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize(
    "make", [lambda: whirling("free", geared=False), lambda: sarrus.zoo.cycle(6), sarrus.zoo.geared_quadruped]
)
def test_what_rests_has_no_velocities_in_the_middle_of_a_step(make):
    """Whatever its motors, its weight and the ground do: a robot that stands does so as if there were no middle."""
    model = make()
    q, _ = sarrus.random_state(model, 0)
    rest = np.zeros(model.nv)
    for stepped in (model, sarrus.embed(model)) if model.n_rows else (model,):
        np.testing.assert_array_equal(velocity_midway(stepped, q, rest, 1e-3, rest), rest)


def egg() -> sarrus.Model:
    builder = sarrus.ModelBuilder("egg")
    radii = np.array([0.02, 0.03, 0.05])
    inertia = 0.2 * 0.1 * (np.sum(radii**2) * np.eye(3) - np.diag(radii**2))
    builder.add_body("egg", joint="free", mass=0.1, inertia=inertia)
    builder.add_geometry("egg", Ellipsoid(radii), name="shell", friction=0.5)
    return builder.build().with_ground(friction=0.5)


def test_eggs_that_spin_on_the_ground_gain_energy_of_the_order_of_a_step_alone():
    """Their paths bend into the ground by up to 0.4 mm in a step: at 100 rad/s, they turn by 6 degrees. (When all of
    that was undone by velocities, they gained 0.5 % at 1 ms.)
    """
    model, rng = egg(), np.random.default_rng(0)
    q, _ = sarrus.random_state(model, rng, 64)
    q[:, 2] = 0.06
    v = np.concatenate([rng.normal(size=(64, 3)), rng.uniform(-100.0, 100.0, (64, 3))], axis=1)
    gained = []
    for dt in (1e-3, 5e-4, 2.5e-4):
        found = sarrus.Simulation(model, dt, record=("status",)).run(q, v, duration=0.5)
        assert not found.status.any()
        gained.append(growth(found, dt))
    assert gained[0] < 2e-3
    assert gained[1] < 0.6 * gained[0]
    assert gained[2] < 0.6 * gained[1]


def test_what_is_buried_is_raised_and_not_thrown():
    """A box that is 2 mm deep, without gravity: the ground gives it no velocity but a gentle one."""
    builder = sarrus.ModelBuilder("box")
    builder.add_body("box", joint="free", mass=1.0, inertia=0.01 * np.eye(3))
    builder.add_geometry("box", Box((0.2, 0.3, 0.1)), name="shape")
    model = builder.build().with_gravity(np.zeros(3)).with_ground()
    start = np.array([0.0, 0.0, 0.05 - 2e-3, 0.0, 0.0, 0.0, 1.0])
    found = sarrus.Simulation(model, 1e-3).run(start, duration=0.05)
    assert not found.status.any()
    assert np.abs(found.v).max() < 2.1e-3
    assert found.q[10, 2] - 0.05 > -1e-4  # 0.5 mm in a step, and then a fifth of what is left
    assert found.q[-1, 2] - 0.05 > -1e-5
