"""`simulate`: energy, loops that stay closed, momentum, and what goes wrong in words."""

from __future__ import annotations

import numpy as np
import pytest

import sarrus
from sarrus.errors import StateError, UnknownNameError, UnsupportedError
from tests.simulation.mechanisms_in_motion import floating_four_bar, on_the_loop, sprung_sarrus_linkage

CONSERVATIVE = {
    "double_pendulum": lambda: sarrus.zoo.chain(2),
    "four_bar": sarrus.zoo.four_bar,
    "sarrus_linkage": sprung_sarrus_linkage,
    "bennett": sarrus.zoo.bennett,
    "floating_four_bar": floating_four_bar,
}


@pytest.mark.parametrize("name", CONSERVATIVE)
def test_energy_is_kept_and_loops_stay_closed(name):
    """10 s at 1 ms with rk4 and projection."""
    model = CONSERVATIVE[name]()
    q, v = on_the_loop(model, speed=3.0 if name == "double_pendulum" else 0.5)
    found = sarrus.simulate(model, q, v, duration=10.0, integrator="rk4", project_every=1)
    assert found.statuses == {"ok": 10_001}
    assert found.drift.energy <= 1e-6
    assert found.drift.closure <= 1e-9
    assert np.abs(found.v).max() > 0.1


def test_baumgarte_keeps_the_error_bounded():
    model = sarrus.zoo.four_bar()
    found = sarrus.simulate(model, duration=10.0, stabilization=0.02)
    alone = sarrus.simulate(model, duration=10.0, project_every=None)
    assert found.closure_error.max() < 1e-3
    assert alone.closure_error.max() > 100 * found.closure_error.max()
    half = len(found) // 2
    assert found.closure_error[half:].max() < 1.5 * found.closure_error[:half].max()


def test_what_floats_freely_keeps_its_momentum():
    model = floating_four_bar()
    q, v = on_the_loop(model)
    drift = sarrus.simulate(model, q, v, duration=10.0, integrator="rk4", project_every=1).drift
    assert drift.linear_momentum < 1e-8
    assert drift.angular_momentum < 1e-8


def test_loops_stay_closed_without_asking():
    found = sarrus.simulate(sarrus.zoo.four_bar(), duration=2.0)
    assert found.settings["project_every"] == 10
    assert found.closure_error.max() < 2e-5


def test_what_is_fast_is_projected_before_it_is_due():
    model = sarrus.zoo.four_bar()
    q, v = on_the_loop(model)
    found = sarrus.simulate(model, q, 10.0 * v / np.abs(v).max(), duration=0.2)
    assert found.closure_error.max() < 1e-4  # a step's worth; ten steps open it by millimetres
    step = sarrus.Simulation(model, 1e-3)
    state = step.start(q, 10.0 * v / np.abs(v).max())
    for _ in range(200):
        state = step.step(state)
    np.testing.assert_array_equal(state.q, found.q[-1])


def test_rows_are_the_states_and_the_dynamics_at_them():
    model = sarrus.zoo.four_bar()
    found = sarrus.simulate(model, duration=0.5, integrator="rk4", record_every=100)
    assert len(found) == 6
    np.testing.assert_allclose(found.time, [0, 0.1, 0.2, 0.3, 0.4, 0.5])
    for row in range(6):
        expected = sarrus.forward_dynamics(model, found.q[row], found.v[row], np.zeros(3))
        np.testing.assert_allclose(found.qdd[row], expected.qdd, rtol=1e-6, atol=1e-6)


def test_the_last_state_is_there_even_if_it_is_not_its_turn():
    found = sarrus.simulate(sarrus.zoo.chain(2), duration=0.25, record_every=100)
    np.testing.assert_allclose(found.time, [0, 0.1, 0.2, 0.25])
    everything = sarrus.simulate(sarrus.zoo.chain(2), duration=0.25)
    np.testing.assert_array_equal(found.q, everything.q[[0, 100, 200, 250]])


def test_no_time_at_all_gives_the_initial_state():
    found = sarrus.simulate(sarrus.zoo.chain(2), [0.1, 0.2], duration=0.0)
    np.testing.assert_array_equal(found.q, [[0.1, 0.2]])


def test_a_batch_is_simulated_as_each_of_its_states():
    model = sarrus.zoo.four_bar()
    states = [on_the_loop(model, seed) for seed in range(3)]
    q, v = (np.stack(x) for x in zip(*states, strict=True))
    together = sarrus.simulate(model, q, v, duration=0.1)
    for k in range(3):
        alone = sarrus.simulate(model, q[k], v[k], duration=0.1)
        np.testing.assert_array_equal(together.q[k], alone.q)
        np.testing.assert_array_equal(together.forces[k], alone.forces)


def test_progress_is_told():
    told = []
    sarrus.simulate(sarrus.zoo.chain(2), duration=1.0, progress=lambda done, steps: told.append((done, steps)))
    assert told[-1] == (1000, 1000)
    assert [x for x, _ in told] == sorted(x for x, _ in told)


@pytest.mark.parametrize("controller", [None, lambda t, q, v: -v])
def test_ctrl_c_keeps_what_was_computed(controller):
    def interrupt(done, steps):
        if done >= 1000:
            raise KeyboardInterrupt

    found = sarrus.simulate(
        sarrus.zoo.chain(2), controller=controller, duration=100.0, record_every=7, progress=interrupt
    )
    assert found.settings["interrupted"]
    done = found.settings["steps"]
    assert 1000 <= done < 100_000
    assert len(found) == -(-done // 7)
    whole = sarrus.simulate(sarrus.zoo.chain(2), controller=controller, duration=1.0, record_every=7)
    np.testing.assert_array_equal(found.q[:100], whole.q[:100])


class TestBadInput:
    model = sarrus.zoo.four_bar()

    def test_an_open_loop_is_named(self):
        with pytest.raises(StateError, match=r"'coupler_rocker' is off by .*sarrus\.project.*sarrus\.assemble"):
            sarrus.simulate(self.model, [0.3, 0.0, 0.0])

    def test_a_velocity_that_opens_a_loop_is_named(self):
        with pytest.raises(StateError, match="initial velocity is not on the constraints: 'coupler_rocker'"):
            sarrus.simulate(self.model, v0=[1.0, 0.0, 0.0])

    def test_the_state_of_a_batch_is_named(self):
        q = np.zeros((3, 3))
        q[1, 0] = 0.2
        with pytest.raises(StateError, match="state 1 of the batch"):
            sarrus.simulate(self.model, q)

    def test_unknown_names(self):
        with pytest.raises(UnknownNameError, match=r"integrator 'rk5'.*Did you mean 'rk4'"):
            sarrus.simulate(self.model, integrator="rk5")
        with pytest.raises(UnknownNameError, match=r"method of forward dynamics 'lcabba'.*lcaba"):
            sarrus.simulate(self.model, method="lcabba")
        with pytest.raises(UnknownNameError, match="recorded array 'qd'"):
            sarrus.simulate(self.model, record=("qd",))
        with pytest.raises(UnknownNameError, match="option of lcaba: 'tolerence'"):
            sarrus.simulate(self.model, options={"tolerence": 1.0})

    def test_a_method_for_trees(self):
        with pytest.raises(UnsupportedError, match="aba supports no constraints"):
            sarrus.simulate(self.model, method="aba")

    @pytest.mark.parametrize(
        ("arguments", "words"),
        [
            ({"dt": 0.0}, "dt is 0.0"),
            ({"dt": float("nan")}, "dt is nan"),
            ({"duration": -1.0}, "duration is -1.0"),
            ({"record_every": 0}, "record_every is 0"),
            ({"project_every": 0}, "project_every is 0"),
            ({"project_every": "often"}, "project_every is 'often'"),
            ({"accuracy": 0.0}, "accuracy is 0.0"),
            ({"q0": [0.0, 0.0]}, "q: expected shape"),
            ({"q0": [np.nan, 0.0, 0.0]}, "must be finite"),
            ({"tau": np.zeros(4)}, "tau: expected shape"),
            ({"tau": np.zeros((3, 3))}, "tau: expected shape"),
            ({"tau": [np.inf, 0.0, 0.0]}, "must be finite"),
            ({"q0": np.zeros((2, 3)), "v0": np.zeros((3, 3))}, "batches of different sizes"),
        ],
    )
    def test_numbers(self, arguments, words):
        with pytest.raises(StateError, match=words):
            sarrus.simulate(self.model, **arguments)

    def test_stabilization(self):
        with pytest.raises(StateError, match=r"stabilization is -1\.0"):
            sarrus.simulate(self.model, stabilization=-1.0)

    def test_a_step_that_explodes_has_a_status(self):
        found = sarrus.simulate(
            sarrus.zoo.chain(2), [0.5, 0.5], duration=2.0, controller=sarrus.pd(-1e6, -1e4, np.zeros(2))
        )
        (word,) = [word for word in found.statuses if word != "ok"]
        assert word.startswith("diverged")
        assert all(np.isfinite(x).all() for x in found.arrays.values())


class TestStreaming:
    """To a directory, stretch by stretch; the bits are those of a simulation in memory."""

    model = sarrus.zoo.four_bar()

    @pytest.fixture
    def short_stretches(self, monkeypatch):
        monkeypatch.setattr("sarrus.simulation.time_loop._SEGMENT_BYTES", 20_000.0)

    @pytest.mark.parametrize("integrator", ["semi_implicit_euler", "adaptive"])
    @pytest.mark.parametrize("every", [1, 7])
    def test_same_as_in_memory(self, tmp_path, short_stretches, integrator, every):
        how = {"duration": 0.4, "integrator": integrator, "record_every": every, "project_every": 10}
        memory = sarrus.simulate(self.model, **how)
        disk = sarrus.simulate(self.model, save=tmp_path / "run", **how)
        np.testing.assert_array_equal(disk.time, memory.time)
        for name in memory.arrays:
            np.testing.assert_allclose(disk.arrays[name], memory.arrays[name], rtol=0, atol=1e-9, err_msg=name)
        assert not disk.settings["interrupted"]

    def test_a_controller_in_python(self, tmp_path, short_stretches):
        how = {"duration": 0.3, "controller": lambda t, q, v: -0.1 * v * np.cos(t)}
        memory, disk = sarrus.simulate(self.model, **how), sarrus.simulate(self.model, save=tmp_path / "run", **how)
        np.testing.assert_array_equal(disk.q, memory.q)

    def test_it_goes_on_after_an_interruption(self, tmp_path, short_stretches):
        def interrupt(done, steps):
            if done >= 150:
                raise KeyboardInterrupt

        how = {"duration": 0.4, "record_every": 3, "save": tmp_path / "run"}
        first = sarrus.simulate(self.model, progress=interrupt, **how)
        assert first.settings["interrupted"]
        assert 0.1 < first.time[-1] < 0.4
        second = sarrus.simulate(self.model, resume=True, **how)
        memory = sarrus.simulate(self.model, duration=0.4, record_every=3)
        np.testing.assert_allclose(second.time, memory.time)
        np.testing.assert_allclose(second.q, memory.q, atol=1e-8)
        again = sarrus.simulate(self.model, resume=True, **how)
        np.testing.assert_array_equal(again.q, second.q)

    def test_a_file(self, tmp_path):
        found = sarrus.simulate(self.model, duration=0.1, save=tmp_path / "run.npz")
        kept = sarrus.Trajectory.load(tmp_path / "run.npz", found.model)
        np.testing.assert_array_equal(kept.q, found.q)
        with pytest.raises(StateError, match="resume continues a recording"):
            sarrus.simulate(self.model, duration=0.1, save=tmp_path / "run.npz", resume=True)
