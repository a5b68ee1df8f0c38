"""Batches over time in native code: the bits of single steps, and one state's misfortune is its own."""

from __future__ import annotations

import numpy as np
import pytest

import sarrus
from sarrus.errors import StateError
from tests.simulation.mechanisms_in_motion import floating_four_bar, on_the_loop

STEPS = 12


@pytest.fixture(scope="module")
def batch():
    model = sarrus.zoo.four_bar()
    rng = np.random.default_rng(0)
    q, v = (np.tile(x, (9, 1)) for x in on_the_loop(model))
    return model, q, v, rng.normal(size=(9, STEPS, 3))


@pytest.mark.parametrize("project_every", [None, 1, 5])
def test_same_bits_as_stepping_from_python(batch, project_every):
    """A Python controller steps with the kernel, one call after the other; a rollout does not return to Python."""
    model, q, v, tau = batch
    rolled = sarrus.rollout(
        model, q, v, tau, project_every=project_every, record=("q", "v", "tau", "qdd", "forces", "iterations", "status")
    )
    for k in (0, 5):
        stepped = sarrus.simulate(
            model, q[k], v[k], lambda t, q, v, k=k: tau[k, min(round(t / 1e-3), STEPS - 1)], duration=STEPS * 1e-3,
            project_every=project_every,
        )  # fmt: skip
        for name in rolled.arrays:
            np.testing.assert_array_equal(rolled.arrays[name][k], stepped.arrays[name], err_msg=name)


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 8, 9])
@pytest.mark.parametrize("threads", [1, 2])
def test_same_bits_in_every_batch_size_and_number_of_threads(batch, size, threads):
    model, q, v, tau = batch
    whole = sarrus.rollout(model, q, v, tau, project_every=3)
    part = sarrus.rollout(model, q[-size:], v[-size:], tau[-size:], project_every=3, threads=threads)
    np.testing.assert_array_equal(part.q, whole.q[-size:])
    np.testing.assert_array_equal(part.v, whole.v[-size:])


def test_forces_may_be_shared_or_held(batch):
    model, q, v, tau = batch
    shared = sarrus.rollout(model, q, v, tau[0])
    np.testing.assert_array_equal(shared.q, sarrus.rollout(model, q, v, np.tile(tau[0], (9, 1, 1))).q)
    held = sarrus.rollout(model, q, v, tau[:, :1], steps=STEPS)
    np.testing.assert_array_equal(held.q, sarrus.rollout(model, q, v, np.repeat(tau[:, :1], STEPS, axis=1)).q)
    constant = sarrus.rollout(model, q, v, tau[0, 0], steps=STEPS)
    np.testing.assert_array_equal(constant.q[0], held.q[0])


def test_one_state_that_diverges_disturbs_no_other(batch):
    model, q, v, tau = batch
    bad = tau.copy()
    bad[4, 3:] = 1e300
    good, mixed = (sarrus.rollout(model, q, v, x, record=("qdd", "forces", "status")) for x in (tau, bad))
    others = [k for k in range(9) if k != 4]
    for name in good.arrays:
        np.testing.assert_array_equal(mixed.arrays[name][others], good.arrays[name][others], err_msg=name)
        assert np.isfinite(mixed.arrays[name]).all()
    np.testing.assert_array_equal(mixed.q[4, :4], good.q[4, :4])
    np.testing.assert_array_equal(mixed.q[4, 4:], np.tile(mixed.q[4, 3], (STEPS - 3, 1)))
    words = mixed.settings["status_words"]
    assert [words[int(x)].split(":")[0] for x in mixed.status[4]] == ["ok"] * 3 + ["diverged"] * (STEPS - 2)
    assert set(mixed.status[others].ravel()) == {0.0}


def test_a_status_between_two_recorded_rows_is_not_lost(batch):
    model, q, v, tau = batch
    few = {"options": {"max_iterations": 1, "tolerance": 1e-14}, "record": ("status",)}
    every = sarrus.rollout(model, q, v, tau, **few)
    some = sarrus.rollout(model, q, v, tau, record_every=4, **few)
    for row in range(1, 3):
        np.testing.assert_array_equal(some.status[:, row], every.status[:, 4 * row - 3 : 4 * row + 1].max(axis=1))


def test_rotations_and_a_floating_base():
    """A floating base falls as it should: its centre of mass on a parabola."""
    model = floating_four_bar().with_gravity([0.0, 0.0, -9.81])
    q, v = on_the_loop(model)
    found = sarrus.rollout(model, q, v, steps=500, integrator="rk4")
    t = found.time[:, None]
    mass = float(model.mass)
    start = found.momentum.linear[0] / mass
    expected = found.center_of_mass[0] + start * t + 0.5 * t * t * np.array([0.0, 0.0, -9.81])
    np.testing.assert_allclose(found.center_of_mass, expected, atol=1e-10)
    np.testing.assert_allclose(np.linalg.norm(found.q[:, 3:7], axis=-1), 1.0, atol=1e-14)


def test_an_empty_batch_and_no_steps():
    model = sarrus.zoo.chain(2)
    assert sarrus.rollout(model, np.zeros((0, 2)), steps=3).q.shape == (0, 4, 2)
    assert sarrus.rollout(model, np.zeros((3, 2)), steps=0).q.shape == (3, 1, 2)


def test_how_long_must_be_said():
    with pytest.raises(StateError, match="give `steps`"):
        sarrus.rollout(sarrus.zoo.chain(2), np.zeros((3, 2)))
