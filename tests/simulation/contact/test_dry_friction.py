"""Dry friction of joints in a step on the ground."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import sarrus
from sarrus.model.bodies import Placement
from sarrus.model.geometries import Geometry, Plane
from sarrus.model.visuals import Sphere


def slider(friction: float) -> sarrus.Model:
    """A mass on a horizontal rail, high above a ground that it can touch in principle."""
    builder = sarrus.ModelBuilder("slider")
    builder.add_body("mass", joint="prismatic", axis=(1, 0, 0), position=(0, 0, 5), mass=2.0, friction=friction)
    builder.add_geometry("mass", Sphere(0.1), name="ball")
    builder.add_geometry("world", Plane(), name="ground")
    return builder.build()


def test_a_push_below_the_friction_moves_nothing_but_by_creeping():
    found = sarrus.Simulation(slider(3.0), 1e-3).run([0.0], tau=[2.9], duration=1.0)
    assert np.abs(found.v).max() <= 1e-3
    assert np.abs(found.v[100:]).max() < 1e-12  # for a moment
    assert found.settings["method"] == "contact"


def test_it_sticks_up_to_its_size_to_a_millionth_and_does_not_creep():
    exact = sarrus.ContactOptions(exact_friction=True)
    held = sarrus.Simulation(slider(3.0), 1e-3, contacts=exact).run([0.0], tau=[3.0 * (1.0 - 1e-6)], duration=1.0)
    assert np.abs(held.v).max() < 1e-9
    assert np.abs(held.q[-1] - held.q[10]).max() < 1e-15  # an impulse that does not change leaves no speed at all
    slips = sarrus.Simulation(slider(3.0), 1e-3, contacts=exact).run([0.0], tau=[3.0 * (1.0 + 1e-6)], duration=1.0)
    np.testing.assert_allclose(slips.v[-1], 3e-6 / 2.0, rtol=1e-2)


def test_a_push_above_it_accelerates_by_what_is_left():
    found = sarrus.Simulation(slider(3.0), 1e-3).run([0.0], tau=[4.0], duration=1.0)
    np.testing.assert_allclose(found.v[-1], (4.0 - 3.0) / 2.0 * 1.0, atol=5e-3)


@pytest.mark.parametrize("dt", [1e-4, 1e-3, 1e-2])
def test_what_slides_stops_where_it_should_and_stays(dt):
    found = sarrus.Simulation(slider(3.0), dt).run([0.0], [1.5], duration=2.0)
    stop = 1.5**2 / (2.0 * 3.0 / 2.0)
    assert found.q[-1, 0] == pytest.approx(stop, abs=2.0 * dt)
    assert np.abs(found.v[-10:]).max() < 1e-6
    assert (np.diff(np.abs(found.v[:, 0])) < 1e-9).all()  # never faster: friction only takes


def test_it_is_the_same_where_velocities_are_embedded():
    """A four-bar whose joints rub, high above the ground: its loop as rows, and embedded."""
    model = sarrus.zoo.four_bar()
    joints = [replace(body.joint, friction=np.full(body.joint.type.nv, 0.05)) for body in model.bodies]
    bodies = tuple(replace(body, joint=joint) for body, joint in zip(model.bodies, joints, strict=True))
    ball = Geometry("ball", 0, Placement.identity(), Sphere(0.01))
    ground = Geometry("ground", -1, Placement(np.eye(3), np.array([0.0, 0.0, -50.0])), Plane())
    rows = replace(model, bodies=bodies, geometries=(ball, ground))
    q, _ = sarrus.random_state(rows, 0)
    exact = sarrus.ContactOptions(exact_friction=True)
    a = sarrus.Simulation(rows, 1e-3, contacts=exact).run(q, duration=0.3)
    b = sarrus.Simulation(sarrus.embed(rows), 1e-3, contacts=exact).run(q, duration=0.3)
    np.testing.assert_allclose(a.q, b.q, atol=1e-3)
    assert np.ptp(a.q, axis=0).max() > 0.05


def rubbing_chain(count: int, friction: float, height: float = 50.0) -> sarrus.Model:
    """A chain that hangs from a free body whose joints rub, so high that it touches nothing."""
    builder = sarrus.ModelBuilder("rubbing", gravity=(0.0, 0.0, -9.81))
    parent = "world"
    for k in range(count):
        inertia = np.diag([0.01, 0.012, 0.008])
        axis = [(0, 1, 0), (1, 0, 0), (0, 0, 1)][k % 3]
        position = (0, 0, height) if k == 0 else (0.2, 0.05, -0.1)
        builder.add_body(
            f"link{k}", parent=parent, joint="revolute", axis=axis, position=position, mass=1.0 + 0.3 * k,
            com=(0.1, 0.02, 0.03), inertia=inertia, friction=friction / (1.0 + k), armature=0.01,
        )  # fmt: skip
        parent = f"link{k}"
    builder.add_geometry(parent, Sphere(0.02), name="ball")
    builder.add_geometry("world", Plane(), name="ground")
    return builder.build()


def reference_step(model: sarrus.Model, bounds: np.ndarray, q: np.ndarray, v: np.ndarray, dt: float):
    """Moreau's step with bounded impulses of joints, by projected Gauss-Seidel until nothing changes."""
    inverse = np.linalg.inv(sarrus.crba(model, q))
    bias, weight = (sarrus.rnea(model, q, x, np.zeros(model.nv)) for x in (v, np.zeros(model.nv)))
    midway = v - 0.5 * dt * inverse @ (bias - weight)
    free = v - dt * inverse @ sarrus.rnea(model, q, midway, np.zeros(model.nv))
    x = np.zeros(model.nv)
    for _ in range(20_000):
        before = x.copy()
        for k in range(model.nv):
            x[k] = np.clip(x[k] - (free + inverse @ x)[k] / inverse[k, k], -bounds[k], bounds[k])
        if np.abs(x - before).max() < 1e-15:
            break
    return q + dt * (free + inverse @ x), free + inverse @ x


@pytest.mark.parametrize("size", [0.5, 3.0, 12.0, 60.0])
def test_a_chain_of_joints_that_rub_moves_as_by_projected_gauss_seidel(size):
    """Joints slip, stick, and slip again; where all are stuck it hangs still in the air."""
    dt, model = 2e-3, rubbing_chain(4, size)
    options = sarrus.ContactOptions(tolerance=1e-10, exact_friction=True)
    v = np.array([1.0, -2.0, 1.5, 0.5])
    found = sarrus.Simulation(model, dt, contacts=options, record=("status", "iterations")).run(
        np.zeros(4), v, steps=120
    )
    assert not np.any(found.status)
    bounds = dt * np.array([size / (1.0 + k) for k in range(4)])
    q, v = np.zeros(4), v
    for k in range(120):
        q, v = reference_step(model, bounds, q, v, dt)
        np.testing.assert_allclose(found.v[k + 1], v, atol=1e-7)
    np.testing.assert_allclose(found.q[-1], q, atol=1e-8)
    if size == 60.0:
        assert np.abs(found.v[-1]).max() < 1e-9


@pytest.mark.parametrize("size", [0.5, 12.0, 60.0])
def test_a_step_late_is_nearly_exact_and_the_more_so_the_shorter_steps_are(size):
    """By default joints begin and cease to slip one step late."""
    model, v, away = rubbing_chain(4, size), np.array([3.0, -1.0, 2.0, 4.0]), []
    for dt in (5e-4, 1.25e-4):
        ends = []
        for exact in (False, True):
            options = sarrus.ContactOptions(tolerance=1e-10, exact_friction=exact)
            ends.append(sarrus.Simulation(model, dt, contacts=options).run(np.zeros(4), v, duration=0.4))
        away.append(np.abs(ends[0].q[-1] - ends[1].q[-1]).max())
        assert not np.any(ends[0].status)
        if size == 60.0:
            assert np.abs(ends[0].v[-1]).max() < 1e-12  # stuck, and no creeping
    assert 1e-12 < away[1] < 0.3 * away[0] < 1e-3


def test_a_batch_moves_as_its_states_do():
    model = rubbing_chain(4, 3.0)
    rng = np.random.default_rng(0)
    q, v = rng.normal(size=(11, 4)), rng.normal(size=(11, 4))
    simulation = sarrus.Simulation(model, 1e-3)
    together = simulation.run(q, v, steps=60)
    for k in (0, 4, 10):
        alone = simulation.run(q[k], v[k], steps=60)
        np.testing.assert_array_equal(together.q[k], alone.q)
        np.testing.assert_array_equal(together.v[k], alone.v)


def with_friction(model: sarrus.Model, size: float, names: str = "") -> sarrus.Model:
    """Joints of one velocity whose names begin so rub."""
    bodies = [
        replace(body, joint=replace(body.joint, friction=np.full(body.joint.type.nv, size)))
        if body.joint.type.nv == 1 and body.joint.name.startswith(names)
        else body
        for body in model.bodies
    ]
    return replace(model, bodies=tuple(bodies))


@pytest.mark.parametrize("embedded", [False, True])
def test_a_limp_robot_with_gears_stands_on_its_friction(embedded):
    """Motors do nothing: friction alone bears it, with the ground, and what bears it is its weight."""
    robot = with_friction(sarrus.zoo.geared_quadruped(), 30.0).with_ground(friction=0.8)
    robot = sarrus.embed(robot) if embedded else robot.spanning
    q = sarrus.put_down(robot, robot.home)
    found = sarrus.Simulation(robot, 1e-3).run(q, duration=0.2)
    assert not np.any(found.status)
    np.testing.assert_allclose(found.contacts.total_force[-1], [0.0, 0.0, 9.81 * robot.mass], atol=1e-2)
    assert np.abs(found.v[-1]).max() < 1e-5
    limp = sarrus.Simulation(robot, 1e-3, joint_forces=sarrus.JointForces(friction=False)).run(q, duration=0.2)
    assert np.abs(limp.v[-1]).max() > 0.1


def test_a_tendon_rubs_along_its_length_and_nowhere_else():
    """Two sliders and a tendon over their difference: against its friction the one is carried along by the other."""
    body = "<body pos='0 {} 5'><joint name='j{}' type='slide' axis='1 0 0'/><geom size='.1' mass='1'/></body>"
    text = f"""<mujoco><option gravity='0 0 0'/><worldbody><geom type='plane' size='1 1 1'/>{body.format(0, 1)}
      {body.format(3, 2)}</worldbody><tendon><fixed name='t' frictionloss='2'><joint joint='j1' coef='1'/>
      <joint joint='j2' coef='-1'/></fixed></tendon></mujoco>"""
    simulation = sarrus.Simulation(sarrus.load(text), 1e-3)
    together = simulation.run([0.0, 0.0], tau=[3.0, 0.0], duration=1.0)  # the tendon needs 1.5 N
    np.testing.assert_allclose(together.v[-1], [1.5, 1.5], rtol=1e-5)
    apart = simulation.run([0.0, 0.0], tau=[5.0, 0.0], duration=1.0)
    np.testing.assert_allclose(apart.v[-1], [3.0, 2.0], rtol=1e-5)
    assert not np.any(apart.status)


def test_friction_and_a_limit_of_one_joint():
    """Both push on the same velocity: it comes to rest at the limit, and stays."""
    builder = sarrus.ModelBuilder("stop")
    builder.add_body(
        "mass", joint="prismatic", axis=(1, 0, 0), position=(0, 0, 5), mass=2.0, friction=3.0, lower=-1.0, upper=0.1
    )
    builder.add_geometry("mass", Sphere(0.1), name="ball")
    builder.add_geometry("world", Plane(), name="ground")
    found = sarrus.Simulation(builder.build(), 1e-3).run([0.0], [1.0], tau=[4.0], duration=0.5)
    assert not np.any(found.status)
    assert found.q.max() < 0.1 + 6e-4
    np.testing.assert_allclose(found.q[-1], 0.1, atol=6e-4)
    assert np.abs(found.v[-1]).max() < 1e-6


def test_in_single_precision_it_sticks_and_slips_too():
    single = sarrus.Simulation(slider(3.0), 1e-3, dtype="float32")
    assert np.abs(single.run([0.0], tau=[2.9], duration=0.5).v).max() < 1e-3
    found = single.run([0.0], [1.5], duration=2.0)
    assert found.q[-1, 0] == pytest.approx(0.75, abs=2e-3)
    assert np.abs(found.v[-1]).max() < 1e-3
