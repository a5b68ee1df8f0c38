"""Controls: on arrays, on symbols, compiled into the step. The same forces everywhere, and MuJoCo's motion."""

from __future__ import annotations

from dataclasses import replace

import casadi as ca
import numpy as np
import pytest

import sarrus
from sarrus.errors import StateError, UnsupportedError
from tests.importers.shared_robots import shared_file

EXPLICIT = "semi_implicit_euler"
LINK = {"mass": 1.0, "com": (0.2, 0.0, 0.0), "inertia": 0.02 * np.eye(3)}


def arm(*, force_range=None, effort_limit=np.inf) -> sarrus.Model:
    """Two joints: a motor on the first, a servo on the second, a motor on the difference of both."""
    b = sarrus.ModelBuilder("arm")
    b.add_body("a", joint="revolute", axis=(0, 1, 0), effort_limit=effort_limit, **LINK)
    b.add_body("b", "a", joint="revolute", axis=(0, 1, 0), position=(0.4, 0, 0), **LINK)
    b.add_actuator("motor", "a_joint", gear=5.0, control_range=(-1, 1))
    b.add_actuator("servo", "b_joint", gear=2.0, gain=40.0, bias=(0, -40.0, -1.0), force_range=force_range)
    b.add_actuator("both", {"a_joint": 1.0, "b_joint": -1.0})
    return b.build()


def by_hand(q, v, u):
    q, v, u = (np.moveaxis(np.asarray(x, float), -1, 0) for x in (q, v, u))
    motor = 5.0 * np.clip(u[0], -1, 1)
    servo = 2.0 * np.clip(40.0 * (u[1] - 2.0 * q[1]) - 2.0 * v[1], -3.0, 3.0)
    return np.stack([motor + u[2], servo - u[2]], axis=-1)


STATES = [np.random.default_rng(k).normal(size=(50, n)) for k, n in enumerate((2, 2, 3))]


class TestForces:
    model = arm(force_range=(-3, 3))

    def test_of_one_state_and_of_a_batch(self):
        expected = by_hand(*STATES)
        np.testing.assert_allclose(sarrus.actuator_forces(self.model, *STATES), expected, rtol=1e-13)
        q, v, u = (x[7] for x in STATES)
        np.testing.assert_allclose(sarrus.actuator_forces(self.model, q, v, u), expected[7], rtol=1e-13)
        held = sarrus.actuator_forces(self.model, q, v, STATES[2])
        np.testing.assert_allclose(held, by_hand(np.tile(q, (50, 1)), np.tile(v, (50, 1)), STATES[2]), rtol=1e-13)

    def test_of_symbols(self):
        u = ca.SX.sym("u", 3)
        q, v = STATES[0][3], STATES[1][3]
        f = ca.Function("f", [u], [sarrus.actuator_forces(self.model, q, v, u)])
        np.testing.assert_allclose(np.array(f(STATES[2][3])).ravel(), by_hand(q, v, STATES[2][3]), rtol=1e-13)
        with pytest.raises(StateError, match="controls: expected 3 elements"):
            sarrus.actuator_forces(self.model, q, v, ca.SX.sym("u", 2))

    def test_mistakes_are_named(self):
        with pytest.raises(UnsupportedError, match=r"'chain.*' has no actuators.*add_actuator"):
            sarrus.actuator_forces(sarrus.zoo.chain(2), np.zeros(2), np.zeros(2), np.zeros(1))
        with pytest.raises(StateError, match="controls"):
            sarrus.actuator_forces(self.model, np.zeros(2), np.zeros(2), np.zeros(2))
        with pytest.raises(StateError, match="batches of different sizes: q has 2, controls has 3"):
            sarrus.actuator_forces(self.model, np.zeros((2, 2)), np.zeros(2), np.zeros((3, 3)))


class TestInTime:
    def test_arrays_functions_and_casadi_policies_agree(self):
        model = arm(force_range=(-3, 3))
        q, v, t = ca.SX.sym("q", 2), ca.SX.sym("v", 2), ca.SX.sym("t")
        policy = sarrus.controller(ca.Function("u", [q, v, t], [ca.vertcat(ca.sin(3 * t), 0.2, 0.1 * t)]))
        at = np.arange(301) * 1e-3
        array = np.stack([np.sin(3 * at), np.full(301, 0.2), 0.1 * at], axis=1)
        given, asked, compiled = (
            sarrus.simulate(model, duration=0.3, controls=x)
            for x in (array, lambda t, q, v: [np.sin(3 * t), 0.2, 0.1 * t], policy)
        )
        np.testing.assert_allclose(asked.q, given.q, atol=1e-12)
        np.testing.assert_allclose(compiled.q, given.q, atol=1e-10)
        np.testing.assert_allclose(given.tau[:-1], by_hand(given.q[:-1], given.v[:-1], array[:300]), atol=1e-12)

    def test_controls_are_joint_forces_at_every_step(self):
        """A rollout under controls is one under the torques that they make."""
        model = arm()
        u = np.random.default_rng(1).normal(size=(3, 40, 3))
        found = sarrus.rollout(model, np.zeros((3, 2)), controls=u, record=("tau",), integrator=EXPLICIT)
        assert found.q.shape == (3, 41, 2)
        again = sarrus.rollout(model, np.zeros((3, 2)), tau=found.tau[:, :-1], integrator=EXPLICIT)
        np.testing.assert_allclose(again.q, found.q, atol=1e-12)

    def test_controls_add_to_tau_and_controllers(self):
        model, tau = arm(), np.array([0.3, -0.2])
        u = np.array([0.5, 0.1, -0.3])
        pd = sarrus.pd(20.0, 1.0, [0.1, 0.2])
        found = sarrus.simulate(model, duration=0.05, controls=u, tau=tau, controller=pd, integrator=EXPLICIT)
        expected = sarrus.actuator_forces(model, found.q, found.v, u) + tau
        expected += 20.0 * ([0.1, 0.2] - found.q) - found.v
        np.testing.assert_allclose(found.tau, expected, atol=1e-11)
        functions = {"controls": lambda t, q, v: u, "controller": lambda t, q, v: tau}
        both = sarrus.simulate(model, duration=0.05, integrator=EXPLICIT, **functions)
        np.testing.assert_allclose(both.tau, sarrus.actuator_forces(model, both.q, both.v, u) + tau, atol=1e-11)

    def test_without_controls_actuators_do_nothing(self):
        assert not sarrus.simulate(arm(), duration=0.01).tau.any()

    def test_effort_limits_cut_what_the_motors_of_a_joint_do_together(self):
        found = sarrus.simulate(arm(effort_limit=4.0), duration=0.01, controls=[1.0, 0.0, 1.0])
        np.testing.assert_array_equal(found.tau[:, 0], 4.0)

    def test_two_robots_with_other_actuators_have_other_kernels(self):
        """Actuators are no part of the model's digest, but they are part of the step's key."""
        model = arm()
        weaker = replace(model, actuators=(replace(model.actuators[0], gear=1.0), *model.actuators[1:]))
        for robot, expected in ((model, 5.0), (weaker, 1.0)):
            assert sarrus.simulate(robot, duration=0.001, controls=[1.0, 0.0, 0.0]).tau[0, 0] == expected

    def test_stiff_servos_are_implicit_where_nothing_cuts_them(self):
        b = sarrus.ModelBuilder("stiff")
        b.add_body("a", joint="revolute", axis=(0, 1, 0), **LINK)
        b.add_actuator("servo", "a_joint", gear=10.0, gain=1e4, bias=(0.0, -1e4, -100.0))
        arguments = {"duration": 0.5, "dt": 1e-2, "controls": [3.0]}
        assert "diverged" in str(sarrus.simulate(b.build(), integrator=EXPLICIT, **arguments).statuses)
        found = sarrus.simulate(b.build(), **arguments)
        assert found.settings["integrator"] == "implicit"  # on its own
        np.testing.assert_allclose(found.q[-1], [0.3], atol=1e-3)
        np.testing.assert_allclose(found.v[-1], [0.0], atol=1e-3)

    @pytest.mark.parametrize(("integrator", "tolerance"), [("rk4", 1e-6), ("adaptive", 1e-9)])
    def test_other_integrators(self, integrator, tolerance):
        model = arm()
        u = np.random.default_rng(2).normal(size=(20, 3))
        rough = sarrus.simulate(model, duration=0.02, controls=u, integrator=integrator, accuracy=1e-9)
        fine = sarrus.simulate(model, duration=0.02, dt=1e-4, controls=np.repeat(u, 10, axis=0), integrator="rk4")
        np.testing.assert_allclose(rough.q[-1], fine.q[-1], atol=tolerance)

    def test_mistakes_are_named(self):
        model = arm()
        with pytest.raises(UnsupportedError, match="has no actuators"):
            sarrus.simulate(sarrus.zoo.chain(2), controls=np.zeros(2))
        with pytest.raises(StateError, match=r"controls: expected shape \(3,\)"):
            sarrus.simulate(model, controls=np.zeros(2))
        with pytest.raises(UnsupportedError, match="controls is PD, which computes joint forces"):
            sarrus.simulate(model, controls=sarrus.pd(1.0, 1.0, np.zeros(2)))
        with pytest.raises(UnsupportedError, match=r"adaptive.*tau or controls, not a Python function"):
            sarrus.simulate(model, controls=lambda t, q, v: np.zeros(3), integrator="adaptive")
        with pytest.raises(StateError, match=r"function that gives controls returned shape \(2,\).*expected \(3,\)"):
            sarrus.simulate(model, controls=lambda t, q, v: np.zeros(2))
        f = ca.Function("f", [ca.SX.sym("q", 2), ca.SX.sym("v", 2)], [ca.SX.zeros(2)])
        with pytest.raises(StateError, match=r"controls \(3\)"):
            sarrus.simulate(model, controls=sarrus.controller(f))
        with pytest.raises(UnsupportedError, match=r"Valid: None, an array, .*sarrus\.controller"):
            sarrus.simulate(model, controls=f)


TWO_LINKS = """
<mujoco><option timestep="0.001" integrator="Euler"><flag contact="disable" eulerdamp="disable"/></option><worldbody>
  <body><joint name="x" axis="0 1 0" damping="0.3"/><inertial pos="0.2 0 0" mass="1" diaginertia="0.02 0.02 0.02"/>
    <body pos="0.4 0 0"><joint name="y" axis="0 1 0" actuatorfrcrange="-6 6"/>
      <inertial pos="0.2 0 0" mass="1" diaginertia="0.02 0.02 0.02"/></body></body>
</worldbody><tendon><fixed name="t"><joint joint="x" coef="1"/><joint joint="y" coef="-1"/></fixed></tendon>
<actuator><motor joint="x" gear="5" ctrlrange="-1 1"/><position joint="y" kp="40" kv="2" forcerange="-8 8"/>
  <velocity tendon="t" kv="0.5"/></actuator></mujoco>"""


def test_motion_is_mujocos():
    """The same controls give the same 0.3 s as MuJoCo's explicit Euler."""
    mujoco = pytest.importorskip("mujoco", exc_type=ImportError)
    peer = mujoco.MjModel.from_xml_string(TWO_LINKS)
    data = mujoco.MjData(peer)
    u = np.random.default_rng(0).normal(size=(300, 3))
    for row in u:
        data.ctrl[:] = row
        mujoco.mj_step(peer, data)
    found = sarrus.rollout(sarrus.from_mujoco(peer), np.zeros(2), controls=u, dt=1e-3)
    np.testing.assert_allclose(found.q[-1], data.qpos, atol=1e-11)
    np.testing.assert_allclose(found.v[-1], data.qvel, atol=1e-10)


def test_cassie_follows_its_controls():
    """A batch of Cassies with loops: gears and control ranges of the file, in native code."""
    model = sarrus.load(shared_file("cassie/cassie.xml"))
    q = sarrus.project(model, model.home).q
    u = 20.0 * np.random.default_rng(0).normal(size=(2, 5, model.nu))
    found = sarrus.rollout(model, np.tile(q, (2, 1)), controls=u, dt=5e-4, record=("tau", "status"))
    expected = sarrus.actuator_forces(model, found.q[:, :-1].reshape(10, -1), found.v[:, :-1].reshape(10, -1),
                                      u.reshape(10, -1))  # fmt: skip
    np.testing.assert_allclose(found.tau[:, :-1].reshape(10, -1), expected, atol=1e-10)
    assert np.abs(found.tau).max() == 16 * 12.2


def test_forces_are_those_of_mujoco():
    """`qfrc_actuator`: motors, servos, dampers, fixed tendons, ranges of controls, forces and joints, both ways."""
    mujoco = pytest.importorskip("mujoco")
    text = """<mujoco><worldbody><body name="a"><joint name="a" axis="0 1 0" actuatorfrcrange="-1 2"/>
      <geom size="0.1" pos="0.2 0 0" mass="1"/><body name="b" pos="0.4 0 0"><joint name="b" type="slide" axis="1 0 0"
      actuatorfrcrange="-0.5 3"/><geom size="0.1" mass="1"/><body name="c"><joint name="c" axis="0 0 1"/>
      <geom size="0.1" mass="1"/></body></body></body></worldbody>
      <tendon><fixed name="t"><joint joint="a" coef="1"/><joint joint="b" coef="-2"/></fixed></tendon><actuator>
      <motor name="m" joint="a" gear="3" ctrlrange="-1 1" ctrllimited="true"/>
      <position name="p" joint="b" kp="20" kv="1" forcerange="-2 1" forcelimited="true"/>
      <velocity name="v" tendon="t" kv="2"/><damper name="d" joint="c" kv="3" ctrlrange="0 1"/>
      <general name="g" joint="c" gaintype="affine" gainprm="1 2 3" biastype="affine" biasprm="0.1 0.2 0.3"/>
      </actuator></mujoco>"""
    mj = mujoco.MjModel.from_xml_string(text)
    model, data, rng = sarrus.from_mujoco(mj), mujoco.MjData(mj), np.random.default_rng(0)
    assert not model.lost_physics
    for _ in range(200):
        data.qpos, data.qvel, data.ctrl = rng.normal(size=3), rng.normal(size=3), 2.0 * rng.normal(size=5)
        mujoco.mj_forward(mj, data)
        got = sarrus.actuator_forces(model, data.qpos, data.qvel, data.ctrl)
        np.testing.assert_allclose(got, data.qfrc_actuator, rtol=1e-12, atol=1e-12)
