"""What joints do of themselves: damping, springs, dry friction, limits."""

from __future__ import annotations

import numpy as np
import pytest

import sarrus
from sarrus.errors import StateError, UnsupportedError
from sarrus.simulation.joint_forces import JointForces, joint_force_parameters, joint_forces
from tests.simulation.mechanisms_in_motion import with_joints


def wheel(**joint: float) -> sarrus.Model:
    """A wheel of inertia 0.5 about an upright axis: gravity does nothing to it."""
    b = sarrus.ModelBuilder("wheel")
    b.add_body(
        "rim", "world", joint="revolute", axis=(0, 0, 1), mass=1.0, com=(0, 0, 0), inertia=0.5 * np.eye(3), **joint
    )
    return b.build()


@pytest.mark.parametrize(
    "given",
    [*({name: "no"} for name in ("damping", "stiffness", "friction", "limits", "effort", "gravity_compensation")),
     {"limits": 0}, {"limit_time": 0.0}, {"limit_time": "1"}, {"friction_speed": np.nan}, {"friction_speed": True}],
)  # fmt: skip
def test_what_cannot_be_meant_is_refused_and_named(given):
    with pytest.raises(StateError, match=f"{next(iter(given))} is"):
        JointForces(**given)


@pytest.mark.parametrize("given", ["no", None, 5, {}])
def test_a_simulation_takes_all_none_or_some_of_them(given):
    with pytest.raises(StateError, match=r"joint_forces is .*Valid: True, False, sarrus.JointForces"):
        sarrus.Simulation(wheel(), joint_forces=given)


def test_damping_slows_down_exponentially():
    found = sarrus.simulate(wheel(damping=0.25), [0.0], [2.0], duration=2.0, integrator="rk4")
    np.testing.assert_allclose(found.v[:, 0], 2.0 * np.exp(-0.5 * found.time), rtol=1e-9)


def test_a_spring_swings_about_its_rest():
    model = wheel(stiffness=8.0, rest=0.5)
    found = sarrus.simulate(model, [0.7], duration=3.0, integrator="rk4")
    np.testing.assert_allclose(found.q[:, 0], 0.5 + 0.2 * np.cos(4.0 * found.time), atol=1e-9)
    assert found.drift.energy < 1e-9


def test_a_spring_in_a_ball_joint_turns_back():
    b = sarrus.ModelBuilder("ball")
    b.add_body("a", "world", joint="spherical", mass=1.0, com=(0, 0, 0), inertia=0.5 * np.eye(3), stiffness=8.0)
    half = 0.3
    found = sarrus.simulate(b.build(), [np.sin(half / 2), 0, 0, np.cos(half / 2)], duration=1.0, integrator="rk4")
    angle = 2.0 * np.arctan2(found.q[:, 0], found.q[:, 3])
    np.testing.assert_allclose(angle, half * np.cos(4.0 * found.time), atol=1e-8)


class TestDryFriction:
    def test_it_stops_a_wheel_in_the_time_that_coulomb_says(self):
        found = sarrus.simulate(wheel(friction=0.25), [0.0], [1.0], duration=3.0)
        np.testing.assert_allclose(found.v[1000, 0], 0.5, atol=1e-3)
        np.testing.assert_allclose(found.v[-1], 0.0, atol=1e-6)
        assert found.v.min() > -1e-9

    def test_it_holds_against_less_and_yields_to_more(self):
        model = wheel(friction=0.25)
        held = sarrus.simulate(model, tau=[0.2], duration=1.0)
        assert np.abs(held.v).max() < 2e-3
        gone = sarrus.simulate(model, tau=[0.5], duration=1.0)
        np.testing.assert_allclose(gone.v[-1], 0.5, atol=5e-3)

    def test_it_does_not_chatter_however_large(self):
        found = sarrus.simulate(wheel(friction=1e4), [0.0], [1.0], duration=0.1)
        assert (np.diff(np.sign(found.v[:, 0])) == 0).all()
        np.testing.assert_allclose(found.v[-1], 0.0, atol=1e-6)


class TestLimits:
    def test_a_joint_comes_back(self):
        found = sarrus.simulate(wheel(lower=-0.1, upper=0.1), [0.0], [1.0], duration=1.0)
        assert set(found.statuses) == {"ok"}
        assert 0.1 < found.q.max() < 0.11
        assert found.v[-1] <= 0.0

    def test_it_rests_on_a_limit(self):
        found = sarrus.simulate(wheel(lower=-0.1, upper=0.1), tau=[1.0], duration=1.0)
        assert 0.1 < found.q[-1, 0] < 0.101
        np.testing.assert_allclose(found.v[-1], 0.0, atol=1e-6)

    def test_a_limit_never_pulls(self):
        model = wheel(lower=-0.1, upper=0.1)
        numbers = joint_force_parameters(model, JointForces(), 1e-3)
        for q, v, sign in (
            (0.11, 0.0, -1),
            (0.11, 1.0, -1),
            (0.11, -50.0, 0),
            (-0.11, 0.0, 1),
            (-0.11, 50.0, 0),
            (0.0, 9.0, 0),
        ):
            assert np.sign(joint_forces(model, numbers, np.array([q]), np.array([v]))) == sign

    def test_a_joint_far_outside_is_not_shot_through_its_range(self):
        found = sarrus.simulate(wheel(upper=-2.0, lower=-9.0), [0.0], duration=1.0)
        assert -5.01 < found.v.min() < -4.0
        assert found.q[found.time > 0.5].max() < -1.95  # back within half a second
        assert found.q[-1, 0] < -1.999

    def test_a_chain_against_all_its_limits_is_stable(self):
        model = with_joints(sarrus.zoo.chain(6), lower=-0.05, upper=0.05)
        found = sarrus.simulate(model, v0=np.full(6, 3.0), duration=1.0)
        assert set(found.statuses) == {"ok"}
        assert np.abs(found.q).max() < 0.3

    def test_they_can_be_left_out(self):
        model = wheel(lower=-0.1, upper=0.1)
        found = sarrus.simulate(model, [0.0], [1.0], duration=1.0, joint_forces=JointForces(limits=False))
        np.testing.assert_allclose(found.q[-1], 1.0, atol=1e-9)

    def test_their_stiffness_can_be_chosen(self):
        depths = [
            sarrus.simulate(
                wheel(upper=0.1, lower=-9.0), [0.0], [1.0], duration=0.3, joint_forces=JointForces(limit_time=T)
            ).q.max() - 0.1
            for T in (0.005, 0.05)
        ]  # fmt: skip
        assert 8.0 < depths[1] / depths[0] < 20.0


def test_none_of_them():
    model = wheel(damping=1.0, stiffness=5.0, friction=0.1, lower=-0.1, upper=0.1)
    found = sarrus.simulate(model, [0.0], [1.0], duration=1.0, joint_forces=False)
    np.testing.assert_allclose(found.q[-1], 1.0, atol=1e-12)


def test_a_spring_on_a_free_joint_is_refused():
    b = sarrus.ModelBuilder("buoy")
    b.add_body("a", "world", joint="free", mass=1.0, com=(0, 0, 0), inertia=np.eye(3), stiffness=np.ones(6))
    with pytest.raises(UnsupportedError, match="a spring on a free joint"):
        sarrus.simulate(b.build())


def test_a_planar_joint_on_its_spring_keeps_its_energy_however_often_it_turns():
    """The energy was that of a longer stretch: of the arc along which a constant velocity leads to rest."""
    builder = sarrus.ModelBuilder("disc", gravity=(0.0, 0.0, 0.0))
    builder.add_body("disc", joint="planar", mass=1.0, inertia=0.1 * np.eye(3), stiffness=[20.0, 20.0, 3.0])
    model = builder.build()
    motion = sarrus.simulate(model, sarrus.neutral(model), [0.5, 0.3, 50.0], duration=1.0, dt=1e-3, integrator="rk4")
    assert motion.q[:, 2].max() > 2.0 * np.pi
    np.testing.assert_allclose(motion.energy.total, motion.energy.total[0], rtol=1e-6)
