"""Bodies that fly by themselves keep their momentum and energy, however they spin and wherever their origin is."""

from __future__ import annotations

import numpy as np
import pytest

import sarrus
from sarrus.model.visuals import Box, Cylinder
from sarrus.simulation.contact.flight import about_com
from sarrus.spatial.rotations import rotation_from_quaternion
from tests.simulation.contact.test_energy import growth

DT = 1e-3
NEEDLE, BRICK = (0.01, 0.01, 0.8), (0.1, 0.2, 0.3)


def brick(size, com=(0.0, 0.0, 0.0), joint="free", gravity=9.81) -> sarrus.Model:
    """A box whose origin is not in its middle."""
    builder, s = sarrus.ModelBuilder("brick"), np.array(size)
    inertia = np.diag(np.sum(s**2) - s**2) / 12.0
    axis = (0.0, 1.0, 0.0) if joint == "planar" else None
    builder.add_body("brick", joint=joint, axis=axis, mass=1.0, com=com, inertia=inertia)
    builder.add_geometry("brick", Box(size), name="shape", position=com, friction=0.5)
    return builder.build().with_gravity(np.array([0.0, 0.0, -gravity])).with_ground(friction=0.5)


def momenta(motion: sarrus.Trajectory) -> np.ndarray:
    """(T, 6) linear momentum, and angular momentum about the centre of mass, in the world."""
    inertia = motion.model.bodies[0].inertia
    w = motion.v[:, 3:]
    v = motion.v[:, :3] + np.cross(w, inertia.h)
    turns = [rotation_from_quaternion(q[3:]) for q in motion.q]
    parts = [[R @ x, R @ about_com(inertia) @ y] for R, x, y in zip(turns, v, w, strict=True)]
    return np.array(parts).reshape(-1, 6)


@pytest.mark.parametrize("com", [(0.0, 0.0, 0.0), (0.1, 0.0, 0.05)], ids=["middle", "aside"])
@pytest.mark.parametrize("size", [NEEDLE, BRICK], ids=["needle", "brick"])
@pytest.mark.parametrize("w", [(0.0, 5.0, 300.0), (5.0, 50.0, 3.0), (0.0, 5.0, 1000.0), (20.0, 20.0, 20.0)], ids=str)
def test_in_flight_energy_and_momentum_stay(com, size, w):
    """With velocities predicted for the middle of a step, the needle at 300 rad/s gained 50 %, and at 1000 it broke; a
    centre of mass aside had ten times its momentum after ten steps.
    """
    model = brick(size, com, gravity=0.0)
    v = np.array([1.0, 2.0, 3.0, *w])
    v[:3] -= np.cross(w, com)
    motion = sarrus.Simulation(model, DT).run([0.0, 0.0, 20.0, 0.0, 0.0, 0.0, 1.0], v, steps=1000)
    assert motion.statuses == {"ok": 1001}
    kinetic = motion.energy.kinetic
    np.testing.assert_allclose(kinetic, kinetic[0], rtol=1e-9)
    found = momenta(motion)
    np.testing.assert_allclose(found[:, :3], np.tile([1.0, 2.0, 3.0], (1001, 1)), atol=1e-9)
    np.testing.assert_allclose(found, np.tile(found[0], (1001, 1)), atol=1e-9)


def test_what_spins_about_one_axis_turns_by_as_much_as_it_does():
    motion = sarrus.Simulation(brick(BRICK, (0.1, 0.0, 0.05), gravity=0.0), DT).run(
        [0.0, 0.0, 20.0, 0.0, 0.0, 0.0, 1.0], [0.0, -30.0, 0.0, 0.0, 0.0, 300.0], steps=100
    )
    half = 0.5 * 300.0 * 0.1
    np.testing.assert_allclose(motion.q[-1, 3:], [0.0, 0.0, np.sin(half), np.cos(half)], atol=1e-10)


def test_a_planar_body_flies_straight():
    model = brick(BRICK, (0.1, 0.0, 0.05), "planar", gravity=0.0)
    v = [0.4, -0.3, 200.0]
    motion = sarrus.Simulation(model, DT).run([30.0, 30.0, 0.5], v, steps=500)
    assert motion.statuses == {"ok": 501}
    np.testing.assert_allclose(motion.energy.kinetic, motion.energy.kinetic[0], rtol=1e-9)


@pytest.mark.parametrize("com", [(0.1, 0.0, 0.05), (-0.3, 0.2, 0.1)], ids=str)
def test_where_the_origin_is_does_not_matter(com):
    """The same brick falls, strikes, slides and tips in the same way."""
    rng, ends = np.random.default_rng(0), []
    turn = rng.normal(size=4)
    turn /= np.linalg.norm(turn)
    w, straight = np.array([3.0, -8.0, 5.0]), np.array([1.0, 0.5, 0.0])
    for c in (np.zeros(3), np.array(com)):
        R = rotation_from_quaternion(turn)
        q = np.concatenate([np.array([0.0, 0.0, 0.3]) - R @ c, turn])
        motion = sarrus.Simulation(brick(BRICK, c), DT).run(
            q, np.concatenate([straight - np.cross(w, c), w]), steps=300
        )
        assert motion.statuses == {"ok": 301}
        assert motion.contacts is not None
        assert motion.contacts.touching.any()
        ends.append(np.stack([x[:3] + rotation_from_quaternion(x[3:]) @ c for x in motion.q]))
    np.testing.assert_allclose(ends[1], ends[0], atol=1e-6)


def test_pencils_that_are_dropped_do_not_take_off():
    """They roll up to hundreds of radians per second about their thin axis; of 30, 14 gained more than 5 %."""
    builder = sarrus.ModelBuilder("pencil")
    builder.add_body("pencil", joint="free", mass=0.1, inertia=0.1 * np.diag([0.0533, 0.0533, 1.25e-5]))
    builder.add_geometry("pencil", Cylinder(0.005, 0.8), name="shape", friction=0.8)
    model, rng = builder.build().with_ground(friction=0.8), np.random.default_rng(0)
    q, _ = sarrus.random_state(model, rng, 64)
    q[:, :3] = [0.0, 0.0, 0.6]
    w = rng.normal(size=(64, 3))
    v = np.concatenate([np.zeros((64, 3)), 15.0 * w / np.linalg.norm(w, axis=1, keepdims=True)], axis=1)
    for dt in (2e-3, 1e-3):
        motion = sarrus.Simulation(model, dt, record=("status",)).run(q, v, duration=1.0)
        assert motion.status is not None
        assert not motion.status.any()
        assert growth(motion, dt) < (5e-3 if dt > 1e-3 else 2e-3)


@pytest.mark.parametrize(("joint", "armature"), [("free", [0.5, 0.5, 0.5, 0.1, 0.1, 0.1]), ("planar", [0.5, 0.5, 0.1])])
def test_what_has_armature_moves_as_without_a_ground(joint, armature):
    """It does not fly as its own inertia does: it turned as if it had no armature, at steps of any length."""
    builder = sarrus.ModelBuilder("thing", gravity=(0.0, 0.0, 0.0))
    builder.add_body("thing", joint=joint, mass=1.0, inertia=np.diag([0.02, 0.03, 0.04]), armature=armature)
    builder.add_geometry("thing", Box(BRICK), name="shape")
    model = builder.build().with_ground(height=-100.0)
    start = sarrus.neutral(model), np.array([1.0, 0.5, 0.2, 2.0, 3.0, -1.0])[:: 1 if joint == "free" else 2]
    expected = sarrus.Simulation(model, DT, integrator="rk4", contacts=False).run(*start, duration=0.2).v[-1]
    errors = [
        np.abs(sarrus.Simulation(model, dt).run(*start, duration=0.2).v[-1] - expected).max() for dt in (DT, DT / 2)
    ]
    assert errors[0] < 2e-3
    assert errors[1] < 0.6 * errors[0]
