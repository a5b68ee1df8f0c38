"""Streaming trajectories to disk: memory bounded, nothing lost."""

from __future__ import annotations

import numpy as np
import pytest

import sarrus
from sarrus import zoo
from sarrus.errors import StateError
from sarrus.simulation.recording import Recorder, load_recording
from tests.simulation.test_trajectory import same, swinging

MODEL = zoo.four_bar()


@pytest.mark.parametrize("batch", [None, 3])
def test_states_one_by_one(tmp_path, batch):
    x = swinging(50, batch)
    with Recorder(tmp_path / "run", MODEL, megabytes=0.002) as recorder:
        for k in range(50):
            recorder.record(x.time[k], x.q[..., k, :], x.v[..., k, :], status=x.status[..., k])
    assert len(list((tmp_path / "run").glob("part_*.npz"))) > 1
    loaded = sarrus.Trajectory.load(tmp_path / "run", MODEL)
    assert np.array_equal(loaded.q, x.q)
    assert np.array_equal(loaded.status, x.status)
    assert np.array_equal(loaded.time, x.time)


@pytest.mark.parametrize("batch", [None, 2])
def test_every_kth_of_trajectories(tmp_path, batch):
    """Where stretches are cut does not matter."""
    x = swinging(100, batch)
    with Recorder(tmp_path / "run", MODEL, every=7) as recorder:
        for a, b in ((0, 13), (13, 14), (14, 60), (60, 100)):
            recorder.extend(x[a:b])
        loaded = recorder.load()
    assert np.array_equal(loaded.q, x[::7].q)
    assert np.array_equal(loaded.forces, x[::7].forces)
    assert loaded.settings["record_every"] == 7
    thinned = load_recording(tmp_path / "run", MODEL, every=3)
    assert np.array_equal(thinned.time, x.time[::21])


def test_memory_is_bounded(tmp_path):
    """A state has 3 + 3 numbers of 8 bytes: a part of 4800 bytes has a hundred."""
    with Recorder(tmp_path / "run", MODEL, megabytes=0.0048) as recorder:
        for k in range(1000):
            recorder.record(0.1 * k, np.zeros(3), np.zeros(3))
            assert recorder._stored < 4800
    assert len(list((tmp_path / "run").glob("part_*.npz"))) == 10


def test_what_is_recorded_may_change_afterwards(tmp_path):
    q = np.zeros(3)
    with Recorder(tmp_path / "run", MODEL) as recorder:
        for k in range(3):
            q[:] = k
            recorder.record(0.1 * k, q, q)
    np.testing.assert_array_equal(load_recording(tmp_path / "run", MODEL).q[:, 0], [0.0, 1.0, 2.0])


def test_interrupted_and_resumed(tmp_path):
    x = swinging(40)

    def interrupted():
        with Recorder(tmp_path / "run", MODEL) as recorder:
            recorder.extend(x[:25])
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    again = Recorder.resume(tmp_path / "run", MODEL)
    assert again.final is not None
    assert again.final.time == x.time[24]
    assert np.array_equal(again.final.q, x.q[24])
    with again:
        again.extend(x[25:])
    assert same(load_recording(tmp_path / "run", MODEL), sarrus.Trajectory(MODEL, x.time, **x.arrays,
                settings=again.settings))  # fmt: skip


def test_resumed_by_the_state_it_ended_with(tmp_path):
    """A simulation that goes on begins with the last state: it is not recorded twice."""
    x = swinging(41)
    with Recorder(tmp_path / "run", MODEL, every=4) as recorder:
        recorder.extend(x[:12])
        recorder.extend(x[11:21])  # 0, 4, ..., 20
    with Recorder.resume(tmp_path / "run", MODEL) as again:
        again.extend(x[20:])
    loaded = load_recording(tmp_path / "run", MODEL)
    assert np.array_equal(loaded.time, x.time[::4])


def test_bad_input_in_words(tmp_path):
    recorder = Recorder(tmp_path / "run", MODEL)
    with pytest.raises(StateError, match="there is already a recording"):
        Recorder(tmp_path / "run", MODEL)
    with pytest.raises(StateError, match="no recording"):
        load_recording(tmp_path, MODEL)
    with pytest.raises(StateError, match="recorded with model 'four_bar'"):
        load_recording(tmp_path / "run", zoo.five_bar())
    with pytest.raises(StateError, match=r"not a field of a trajectory. Valid: q, v, tau"):
        recorder.record(0.0, np.zeros(3), np.zeros(3), colour=1.0)
    recorder.record(0.0, np.zeros(3), np.zeros(3))
    with pytest.raises(StateError, match="recorded q, v so far, now q, v, tau"):
        recorder.record(0.1, np.zeros(3), np.zeros(3), tau=np.zeros(3))
    with pytest.raises(StateError, match="every is 0"):
        Recorder(tmp_path / "other", MODEL, every=0)
    assert len(load_recording(tmp_path / "run", MODEL)) == 0
