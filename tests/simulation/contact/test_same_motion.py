"""Whichever way a motion is asked for, or written down, it is the same: step, run, rollout, batches, files, float32."""

from __future__ import annotations

import numpy as np
import pytest

import sarrus
from sarrus.model.geometries import HeightField, Plane
from sarrus.model.visuals import Box, Sphere

DT, STEPS = 1e-3, 120


def robot(ground: bool = True) -> sarrus.Model:
    """A free trunk with two legs that have limits, and a ball that it may meet."""
    builder = sarrus.ModelBuilder("robot")
    builder.add_body("trunk", joint="free", mass=3.0, inertia=0.05 * np.eye(3))
    builder.add_geometry("trunk", Box((0.3, 0.2, 0.1)), name="trunk_shape", friction=0.6)
    for side, y in (("left", 0.1), ("right", -0.1)):
        builder.add_body(
            f"{side}_leg", parent="trunk", joint="revolute", axis=(0, 1, 0), position=(0, y, 0), mass=0.5,
            com=(0, 0, -0.1), inertia=2e-3 * np.eye(3), lower=-0.6, upper=0.4,
        )  # fmt: skip
        builder.add_geometry(f"{side}_leg", Sphere(0.03), name=f"{side}_foot", position=(0, 0, -0.2))
    builder.add_body("ball", joint="free", mass=0.4, inertia=1e-3 * np.eye(3))
    builder.add_geometry("ball", Sphere(0.08), name="ball_shape")
    if ground:
        builder.add_geometry("world", Plane(), name="ground", friction=0.8)
    return builder.build()


def states(count: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    q = np.tile([0.0, 0.0, 0.25, 0.0, 0.0, 0.0, 1.0, 0.1, -0.2, 0.05, 0.0, 0.45, 0.0, 0.0, 0.0, 1.0], (count, 1))
    q[:, 9:11] += 0.02 * rng.normal(size=(count, 2))
    return q, 0.5 * rng.normal(size=(count, 14))


@pytest.fixture(scope="module")
def simulation() -> sarrus.Simulation:
    return sarrus.Simulation(robot(), DT)


def test_steps_are_those_of_run_to_the_last_bit(simulation):
    q, v = states(1)
    whole, again = simulation.run(q[0], v[0], steps=STEPS), simulation.rollout(q[0], v[0], steps=STEPS)
    state = simulation.start(q[0], v[0])
    for k in range(STEPS):
        assert np.array_equal(state.q, whole.q[k])
        assert np.array_equal(state.v, whole.v[k])
        state = simulation.step(state)
    assert np.array_equal(whole.q, again.q)
    assert whole.contacts.touching.any()


def test_a_batch_is_its_robots_to_the_last_bit(simulation):
    q, v = states(5)
    together = simulation.run(q, v, steps=STEPS)
    for k in range(5):
        alone = simulation.run(q[k], v[k], steps=STEPS)
        assert np.array_equal(alone.q, together.q[k])
        assert np.array_equal(alone.contacts.forces, together.contacts.forces[k])


@pytest.mark.parametrize("ending", ["npz", "parquet"])
def test_contacts_come_back_from_files(simulation, tmp_path, ending):
    if ending == "parquet":
        pytest.importorskip("pyarrow")
    q, v = states(3)
    path = tmp_path / f"contacts.{ending}"
    found = simulation.run(q, v, steps=STEPS, save=path)
    back = sarrus.Trajectory.load(path, simulation.model)
    for name in ("numbers", "gaps", "points", "normals", "forces"):
        assert np.array_equal(getattr(back.contacts, name), getattr(found.contacts, name)), name
    assert back.contacts.names == found.contacts.names


def test_a_recording_that_is_resumed_is_the_whole(simulation, tmp_path):
    q, v = states(1)
    whole = simulation.run(q[0], v[0], steps=STEPS)
    simulation.run(q[0], v[0], steps=STEPS // 2, save=tmp_path / "recording")
    resumed = simulation.run(q[0], v[0], steps=STEPS, save=tmp_path / "recording", resume=True)
    assert len(resumed) == len(whole)
    np.testing.assert_allclose(resumed.q, whole.q, atol=1e-5)
    np.testing.assert_allclose(resumed.contacts.total_force[: STEPS // 2], whole.contacts.total_force[: STEPS // 2])


def test_float32_moves_alike():
    q, v = states(4)
    found = [sarrus.Simulation(robot(), DT, dtype=kind).run(q, v, steps=STEPS) for kind in ("float64", "float32")]
    assert np.isfinite(found[1].q).all()
    assert (found[1].status == 0).mean() > 0.99
    np.testing.assert_allclose(found[1].q, found[0].q, atol=5e-3)


def test_without_contacts_it_falls_through():
    q, v = states(1)
    found = sarrus.Simulation(robot(), DT, contacts=False).run(q[0], v[0], steps=600)
    assert found.q[-1, 2] < -0.5
    assert found.contacts is None


def test_a_model_that_nothing_can_touch_is_simulated_all_the_same():
    builder = sarrus.ModelBuilder("alone")
    builder.add_body("body", joint="free", mass=1.0, inertia=0.01 * np.eye(3))
    builder.add_geometry("body", Sphere(0.1))
    found = sarrus.Simulation(builder.build(), DT).run(steps=100)
    assert found.contacts is None
    assert found.v[-1, 2] == pytest.approx(-9.81 * 0.1)


@pytest.mark.parametrize("kind", ["planes", "stairs", "height field"])
def test_grounds_of_every_kind_carry_a_ball(kind):
    """Two planes at different heights, steps made of boxes, a flat height field."""
    radius, builder = 0.1, sarrus.ModelBuilder("grounds")
    builder.add_body("ball", joint="free", mass=2.0, inertia=8e-3 * np.eye(3))
    builder.add_geometry("ball", Sphere(radius), name="shape")
    starts, heights = np.array([[0.0, 0.0], [0.6, 0.1]]), np.array([0.0, 0.0])
    if kind == "planes":
        builder.add_geometry("world", Plane(), name="low", position=(0, 0, -0.2))
        builder.add_geometry("world", Plane(), name="high")
    elif kind == "stairs":
        for k in range(3):
            builder.add_geometry(
                "world", Box((0.5, 1.0, 0.2)), name=f"stair_{k}", position=(0.6 * k, 0, 0.15 * k - 0.1)
            )
        heights = np.array([0.0, 0.15])
    else:
        builder.add_geometry("world", HeightField(np.zeros((5, 5)), (1.0, 1.0)), name="field")
    q = np.zeros((2, 7))
    q[:, :2], q[:, 2], q[:, 6] = starts, heights + radius + 0.05, 1.0
    found = sarrus.Simulation(builder.build(), DT).run(q, duration=0.6)
    np.testing.assert_allclose(found.q[:, -1, 2], heights + radius, atol=1e-5)
    np.testing.assert_allclose(found.contacts.total_force[:, -1, 2], 2.0 * 9.81, rtol=1e-3)
    assert not found.status.any()


def test_a_planar_robot_lands():
    builder = sarrus.ModelBuilder("planar", gravity=(0.0, -9.81, 0.0))
    builder.add_body("disc", joint="planar", mass=1.0, inertia=0.005 * np.eye(3))
    builder.add_geometry("disc", Sphere(0.1), name="shape", friction=0.5)
    up = np.array([[1.0, 0, 0], [0, 0, 1.0], [0, -1.0, 0]])  # its z is the world's y
    builder.add_geometry("world", Plane(), name="ground", rotation=up, friction=0.5)
    found = sarrus.Simulation(builder.build(), DT).run([0.0, 0.3, 0.0], [1.0, 0.0, 0.0], duration=1.0)
    assert found.q[-1, 1] == pytest.approx(0.1, abs=1e-5)
    assert found.q[:, 1].min() > 0.1 - 1e-4
    # A disc of inertia m r^2 / 2 ends up rolling at two thirds of its speed.
    assert np.diff(found.q[-2:, 0])[0] / DT == pytest.approx(2.0 / 3.0, rel=5e-3)


def test_an_external_force_lifts_what_it_can_carry():
    builder = sarrus.ModelBuilder("lifted")
    builder.add_body("body", joint="free", mass=1.0, inertia=0.01 * np.eye(3))
    builder.add_geometry("body", Box((0.2, 0.2, 0.1)), name="shape")
    builder.add_geometry("world", Plane(), name="ground")
    simulation, q = sarrus.Simulation(builder.build(), DT), np.array([0, 0, 0.05, 0, 0, 0, 1.0])
    for force, expected in ((5.0, 0.0), (12.0, (12.0 - 9.81) * 0.2)):
        found = simulation.run(q, external_forces=[[0, 0, force, 0, 0, 0]], duration=0.2)
        assert found.v[-1, 2] == pytest.approx(expected, abs=1e-5)
        assert found.contacts.total_force[-2, 2] == pytest.approx(max(9.81 - force, 0.0), abs=1e-3)
