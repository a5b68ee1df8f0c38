"""Going on from a state, and joining what was recorded: numbers of contacts mean something for the same pairs only."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import sarrus
from sarrus import ContactOptions, Recorder, Simulation, Trajectory
from sarrus.errors import StateError
from sarrus.model.visuals import Box
from sarrus.simulation.step_call import StepResult

DT = 1e-3
HOME = np.array([0.0, 0.0, 0.1, 0.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.1, 0.0, 0.0, 0.0, 1.0])


def two_boxes() -> sarrus.Model:
    builder = sarrus.ModelBuilder("boxes")
    for k, name in enumerate("ab"):
        builder.add_body(name, joint="free", mass=1.0 + k, inertia=np.eye(3) / 150.0)
        builder.add_geometry(name, Box((0.2, 0.2, 0.2)), name=name)
    model = builder.build().with_ground()
    return replace(model, home=HOME)


MODEL = two_boxes()


def only(name: str, slots: int = 4) -> Simulation:
    """A simulation in which one of the boxes touches the ground, and the other falls."""
    return Simulation(MODEL, DT, contacts=ContactOptions(pairs=((name, "ground"),), slots=slots))


def later(trajectory: Trajectory, seconds: float) -> Trajectory:
    arrays = trajectory.arrays
    return Trajectory(MODEL, trajectory.time + seconds, settings=trajectory.settings, **arrays)


def stepped(simulation: Simulation) -> StepResult:
    return simulation.step(simulation.step(simulation.start()))


def test_the_contacts_of_a_step_are_those_of_the_trajectory():
    for simulation in (only("a"), only("b"), Simulation(MODEL, DT)):
        state, motion = stepped(simulation), simulation.run(steps=2)
        found, expected = simulation.contacts_of(state), motion.contacts
        assert found is not None
        assert expected is not None
        assert found.names == expected.names
        np.testing.assert_array_equal(found.forces, expected.forces[1])
        np.testing.assert_array_equal(found.numbers, expected.numbers[1])
    held = only("b").contacts_of(stepped(only("b")))
    assert held is not None
    assert {held.names[k] for k in held.numbers[held.touching]} == {("b", "ground")}
    assert held.normal_forces.sum() == pytest.approx(2.0 * 9.81, rel=1e-6)  # b's weight, not a's


def test_contacts_of_a_batch_and_of_what_touches_nothing():
    simulation = only("a")
    batch = simulation.contacts_of(simulation.step(simulation.start(np.tile(HOME, (3, 1)))))
    assert batch is not None
    assert batch.forces.shape == (3, 4, 3)
    free = Simulation(MODEL, DT, contacts=False)
    assert free.contacts_of(stepped(free)) is None
    with pytest.raises(StateError, match="expected what `step` returned, got State"):
        simulation.contacts_of(simulation.start())  # type: ignore[arg-type]
    with pytest.raises(StateError, match="only the first has 'a' on 'ground', only the second has 'b' on 'ground'"):
        only("b").contacts_of(stepped(only("a")))


@pytest.mark.parametrize("warm", [False, True], ids=["first step", "later step"])
@pytest.mark.parametrize(
    ("other", "words"),
    [
        (only("b"), "contacts of other pairs: only the first has 'a' on 'ground', only the second has 'b' on 'ground'"),
        (only("a", slots=3), "contacts in 4 slots, and here are 3"),
        (replace(only("a"), dt=0.5 * DT), "of steps of 0.001 s, and these are of 0.0005 s"),
    ],
)
def test_a_state_of_other_steps_is_refused(other, words, warm):
    """Silently it would go back in time, or begin with the impulses of another pair."""
    state = stepped(only("a"))
    if warm:
        stepped(other)  # which has a kernel at hand, and takes what fits it without looking twice
    with pytest.raises(StateError, match=words):
        other.step(state)
    with pytest.raises(StateError, match=words):
        other.linearize(state)
    again = other.step(other.start(state.q, state.v))  # which the message advises
    assert again.time == pytest.approx(other.dt)


def test_a_state_of_the_same_steps_is_taken():
    state, same = stepped(only("a")), only("a")
    np.testing.assert_array_equal(same.step(state).q, only("a").run(steps=3).q[-1])
    falls = Simulation(MODEL, DT, contacts=False)
    assert falls.step(state).time == pytest.approx(3 * DT)
    assert only("a").step(stepped(falls)).time == pytest.approx(3 * DT)
    with pytest.raises(StateError, match=r"alive of the state: expected shape \(2,\), got \(\)"):
        same.step(state._replace(q=np.tile(state.q, (2, 1)), v=np.tile(state.v, (2, 1))))


def test_trajectories_of_other_contacts_are_not_joined():
    """The forces on b would have been reported as those on a."""
    first = only("a").run(steps=5)
    for other, words in (
        (only("b"), "append: contacts of other pairs: only the first has 'a' on 'ground', only the second has 'b'"),
        (only("a", slots=3), "append: contacts in 4 slots, then in 3"),
    ):
        with pytest.raises(StateError, match=words):
            first.append(later(other.run(steps=5), 5 * DT))
    same = first.append(later(only("a").run(steps=5), 5 * DT))
    assert len(same) == 11
    assert same.contacts is not None
    assert same.contacts.names[0] == ("a", "ground")


def test_a_recording_goes_on_with_the_same_contacts_only(tmp_path):
    only("a").run(steps=5, save=tmp_path / "run")
    with pytest.raises(StateError, match="contacts of other pairs"):
        only("b").run(steps=10, save=tmp_path / "run", resume=True)
    assert len(only("a").run(steps=10, save=tmp_path / "run", resume=True)) == 11


def test_a_recorder_keeps_the_names_of_contacts(tmp_path):
    motion = only("b").run(steps=5)
    with Recorder(tmp_path / "run", MODEL) as recorder:
        recorder.extend(motion)
        with pytest.raises(StateError, match="contacts of other pairs"):
            recorder.extend(later(only("a").run(steps=5), 6 * DT))
    loaded = Trajectory.load(tmp_path / "run", MODEL)
    assert loaded.contacts is not None
    assert motion.contacts is not None
    assert loaded.contacts.names == motion.contacts.names
