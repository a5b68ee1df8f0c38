"""What can be played: trajectories, their files, arrays; what cannot is said in words."""

from __future__ import annotations

import numpy as np
import pytest

import sarrus
from sarrus.errors import StateError
from sarrus.viewer.recording import recording_of

MODEL = sarrus.zoo.chain_welded_tip(2)
TIME = np.array([0.0, 0.1, 0.3])
Q, FORCES = np.arange(6.0).reshape(3, 2), np.arange(18.0).reshape(3, 6)


def trajectory(model: sarrus.Model = MODEL) -> sarrus.Trajectory:
    return sarrus.Trajectory(model, TIME, Q, np.zeros((3, 2)), forces=FORCES)


def test_a_trajectory():
    recording = recording_of(MODEL, trajectory())
    assert recording.q.shape == (1, 3, 2)
    assert recording.forces is not None
    np.testing.assert_array_equal(recording.forces[0], FORCES)
    assert recording.duration == pytest.approx(0.3)
    assert [recording.step_at(t) for t in (-1.0, 0.0, 0.05, 0.1, 0.25, 0.3, 9.0)] == [0, 0, 0, 1, 1, 2, 2]


def test_a_file(tmp_path):
    trajectory().save(tmp_path / "run.npz")
    recording = recording_of(MODEL, tmp_path / "run.npz")
    np.testing.assert_array_equal(recording.q[0], Q)
    assert recording.note == ""


def test_a_file_of_another_model_with_the_same_coordinates_is_played_with_a_note(tmp_path):
    trajectory().save(tmp_path / "run.npz")
    recording = recording_of(sarrus.zoo.chain(2), str(tmp_path / "run.npz"))
    np.testing.assert_array_equal(recording.q[0], Q)
    assert recording.forces is None  # that model has no constraints
    assert "recorded with" in recording.note


def test_arrays_saved_by_anybody(tmp_path):
    np.savez(tmp_path / "run.npz", time=TIME, q=Q)
    assert recording_of(MODEL, tmp_path / "run.npz").q.shape == (1, 3, 2)
    assert recording_of(MODEL, {"time": TIME, "q": Q}).q.shape == (1, 3, 2)
    assert recording_of(MODEL, Q).time.shape == (3,)
    assert recording_of(MODEL, np.stack([Q, Q])).q.shape == (2, 3, 2)


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        ({"q": np.zeros((3, 5))}, r"q has shape \(3, 5\)"),
        ({"time": TIME}, "it has no q"),
        ({"time": TIME[::-1], "q": Q}, "do not decrease"),
        ({"time": TIME[:2], "q": Q}, "time must be 3 numbers"),
        ("gone.npz", "gone.npz"),
        ("gone.csv", "ends with"),
    ],
)
def test_what_cannot_be_played_is_said(bad, words):
    with pytest.raises(StateError, match=words):
        recording_of(MODEL, bad)


def test_a_file_that_is_no_archive(tmp_path):
    (tmp_path / "run.npz").write_text("no")
    with pytest.raises(StateError, match=r"not an \.npz file"):
        recording_of(MODEL, tmp_path / "run.npz")
