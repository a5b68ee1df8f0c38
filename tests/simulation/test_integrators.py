"""Integrators on the manifold: orders of convergence, stability, adaptive steps."""

from __future__ import annotations

import numpy as np
import pytest

import sarrus
from sarrus.model.state import moved
from sarrus.simulation.manifold import difference_to, joints_of, tangent_acceleration, tangent_rate, velocity_of_rate
from tests.simulation.mechanisms_in_motion import on_the_loop, with_joints

# Every joint type in two small trees.
TREES = {
    "rotations": ["free", "spherical", "planar", "universal"],
    "others": ["revolute", "prismatic", "helical", "cylindrical", "translation"],
}


def tree(name: str) -> sarrus.Model:
    return sarrus.zoo.random_tree(5, 4, joints=TREES[name])


@pytest.mark.parametrize(
    ("name", "integrator", "order", "steps"),
    [("rotations", "semi_implicit_euler", 1, 200), ("rotations", "rk4", 4, 20), ("others", "rk4", 4, 20)],
)
def test_orders_of_convergence(name, integrator, order, steps):
    model = tree(name)
    q, v = sarrus.random_state(model, 1)
    duration = 0.2

    def end(n: int, with_integrator: str = integrator) -> sarrus.Trajectory:
        return sarrus.simulate(
            model, q, v, duration=duration, dt=duration / n, integrator=with_integrator, record=("status",)
        )

    exact = end(4 * steps if order == 4 else 80, "rk4")

    def error(n: int) -> float:
        found = end(n)
        apart = sarrus.difference(model, exact.q[-1], found.q[-1])
        return float(np.abs(np.concatenate([apart, exact.v[-1] - found.v[-1]])).max())

    measured = np.log2(error(steps // 2) / error(steps))
    assert measured == pytest.approx(order, abs=0.35)


class TestTangents:
    """Of one state, against finite differences of `sarrus.integrate`."""

    model = sarrus.zoo.random_tree(2, 6, joints=["free", "spherical", "planar", "revolute"])
    rng = np.random.default_rng(0)

    def test_the_rate_of_a_tangent_gives_the_velocity_back(self):
        u, v = 0.05 * self.rng.normal(size=(2, self.model.nv))
        w = tangent_rate(self.model, u, v)
        np.testing.assert_allclose(velocity_of_rate(self.model, u, w), v, atol=1e-8)

    def test_the_rate_is_the_derivative(self):
        q, _ = sarrus.random_state(self.model, 0)
        u, v = 0.05 * self.rng.normal(size=(2, self.model.nv))
        h = 1e-5
        w = tangent_rate(self.model, u, v)
        ends = [moved(self.model, q, u + s * h * w) for s in (1.0, -1.0)]
        here = moved(self.model, q, u)
        ahead, back = (sarrus.difference(self.model, here, x) for x in ends)
        np.testing.assert_allclose((ahead - back) / (2 * h), v, atol=1e-9)

    def test_the_acceleration_is_the_derivative_of_the_rate(self):
        u, v, a = 0.05 * self.rng.normal(size=(3, self.model.nv))
        h = 1e-4
        w = tangent_rate(self.model, u, v)
        ahead, back = (tangent_rate(self.model, u + s * w, v + s * a) for s in (h, -h))
        found = tangent_acceleration(self.model, u, w, v, a)
        np.testing.assert_allclose(found, (ahead - back) / (2 * h), atol=1e-8)

    def test_the_way_to_a_target(self):
        q, _ = sarrus.random_state(self.model, 0)
        other, _ = sarrus.random_state(self.model, 1)
        expected = sarrus.difference(self.model, q, other)
        for joint, at, of_v in joints_of(self.model):
            found = difference_to(joint.type, q[at], other[at])
            if joint.type.name in ("revolute", "spherical"):
                np.testing.assert_allclose(found, expected[of_v], atol=1e-12)
            np.testing.assert_allclose(difference_to(joint.type, q[at], q[at]), 0.0, atol=1e-15)


class TestImplicit:
    def test_stiff_damping_and_springs_do_not_explode(self):
        stiff = with_joints(sarrus.zoo.chain(2), damping=1e3, stiffness=1e6)
        explicit = sarrus.simulate(stiff, [0.3, 0.2], duration=0.1, dt=1e-2, integrator="semi_implicit_euler")
        implicit = sarrus.simulate(stiff, [0.3, 0.2], duration=0.1, dt=1e-2)  # on its own, because it is stiff
        assert implicit.settings["integrator"] == "implicit"
        assert any(word.startswith("diverged") for word in explicit.statuses)
        assert implicit.statuses == {"ok": 11}
        assert np.abs(implicit.q[-1]).max() < 0.05

    def test_it_is_the_implicit_step(self):
        """M (v' - v) / dt = f - D v' - K (q + dt v'), with everything else at the old state."""
        model = with_joints(sarrus.zoo.chain(3), damping=2.0, stiffness=40.0)
        dt, (q, v) = 1e-2, sarrus.random_state(model, 3)
        found = sarrus.simulate(model, q, v, duration=dt, dt=dt, integrator="implicit")
        M, c = sarrus.crba(model, q), sarrus.bias_forces(model, q, v)
        D, K = 2.0 * np.eye(3), 40.0 * np.eye(3)
        after = np.linalg.solve(M + dt * D + dt**2 * K, M @ v - dt * (c + K @ q))
        np.testing.assert_allclose(found.v[-1], after, rtol=1e-10)
        np.testing.assert_allclose(found.q[-1], q + dt * after, rtol=1e-10)

    def test_pd_gains_are_implicit_too(self):
        model, target = sarrus.zoo.chain(2), np.array([0.4, -0.3])
        stiff = sarrus.pd(1e6, 1e4, target)
        explicit = sarrus.simulate(model, controller=stiff, duration=0.1, integrator="semi_implicit_euler")
        assert any(word.startswith("diverged") for word in explicit.statuses)
        implicit = sarrus.simulate(model, controller=stiff, duration=0.1)
        np.testing.assert_allclose(implicit.q[-1], target, atol=1e-4)


class TestAdaptive:
    def test_tighter_is_more_accurate_and_takes_more_steps(self):
        model = sarrus.zoo.chain(2)
        q, v = np.array([1.0, -0.5]), np.array([0.0, 2.0])
        exact = sarrus.simulate(model, q, v, duration=1.0, dt=1e-4, integrator="rk4", record_every=10_000)
        errors, steps = [], []
        for accuracy in (1e-4, 1e-7, 1e-10):
            found = sarrus.simulate(
                model, q, v, duration=1.0, dt=0.5, integrator="adaptive", accuracy=accuracy, record=("status",)
            )
            assert set(found.statuses) == {"ok"}
            errors.append(np.abs(found.q[-1] - exact.q[-1]).max())
            steps.append(found.settings["accepted"])
        assert errors[0] > errors[1] > errors[2]
        assert errors[2] < 1e-8
        assert steps[0] < steps[1] < steps[2]

    def test_loops_and_batches_each_with_its_own_steps(self):
        model = sarrus.zoo.four_bar()
        slow, fast = (on_the_loop(model, speed=s) for s in (0.1, 20.0))
        q, v = (np.stack(x) for x in zip(slow, fast, strict=True))
        found = sarrus.simulate(model, q, v, duration=0.5, dt=0.1, integrator="adaptive", project_every=1)
        assert found.settings["accepted"][0] < found.settings["accepted"][1]
        assert found.drift.energy.max() < 1e-4
        assert found.closure_error.max() < 1e-9
        alone = sarrus.simulate(model, *fast, duration=0.5, dt=0.1, integrator="adaptive", project_every=1)
        np.testing.assert_array_equal(found.q[1], alone.q)
        expected = sarrus.forward_dynamics(model, found.q[1, 3], found.v[1, 3], np.zeros(3))
        np.testing.assert_allclose(found.qdd[1, 3], expected.qdd, rtol=1e-6)

    def test_a_tolerance_that_cannot_be_met_is_said(self):
        found = sarrus.simulate(
            sarrus.zoo.chain(2), [1.0, 0.0], duration=0.1, dt=0.05, integrator="adaptive", accuracy=1e-40
        )
        assert any(word.startswith("step too small") for word in found.statuses)
        assert np.isfinite(found.q).all()

    def test_forces_that_change_are_met_at_their_times(self):
        model = sarrus.zoo.chain(2)
        tau = np.random.default_rng(0).normal(size=(10, 2))
        found = sarrus.simulate(
            model, [0.1, 0.2], duration=0.1, dt=0.01, tau=tau, integrator="adaptive", accuracy=1e-11, record_every=5
        )
        fine = sarrus.simulate(
            model, [0.1, 0.2], duration=0.1, dt=1e-4, tau=np.repeat(tau, 100, axis=0), integrator="rk4"
        )
        np.testing.assert_allclose(found.q, fine.q[::500], atol=1e-10)
        np.testing.assert_allclose(found.tau[:2], tau[::5])

    def test_a_python_controller_is_refused(self):
        with pytest.raises(sarrus.errors.UnsupportedError, match="compiled controllers"):
            sarrus.simulate(sarrus.zoo.chain(2), controller=lambda t, q, v: -v, integrator="adaptive")
