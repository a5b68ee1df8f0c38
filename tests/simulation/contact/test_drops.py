"""Drops that once went wrong, of robots that are thrown at random (`benchmarks/random_drops.py`)."""

from __future__ import annotations

import pytest

from benchmarks.drop_scenes import scene
from benchmarks.random_drops import DEEP, batch_record


def test_a_problem_that_newtons_method_does_not_solve_leads_nowhere_else():
    """A foot comes down flat beside three other limbs, and Newton's method gives up. Contacts were then chosen where
    its bad solution would have led: with others than those that touch, the robot was thrown 4.3 mm into the ground.
    """
    thrown = scene("talos")
    if thrown is None:
        pytest.skip("no ../shared/robots/talos")
    found = batch_record(thrown, 6, 500, 0.33, drop=193)
    assert found["penetration"][0] < 0.1 * DEEP
    assert found["energy_growth"][0] < 1e-6
    assert found["states"].keys() == {"0"}


@pytest.mark.parametrize(("name", "batch", "drop"), [("anymal_c", 1, 101), ("shadow_hand", 1, 265), ("g1", 2, 156)])
def test_what_whirls_on_the_ground_gains_no_energy(name, batch, drop):
    """Limbs, and an egg at 137 rad/s, whose paths bend into the ground. When penetrations were undone by velocities,
    and all of a bend as well, these gained 0.56, 0.34 and 0.1 % of all energy that was turned over.
    """
    thrown = scene(name)
    if thrown is None:
        pytest.skip(f"no ../shared/robots/{name}")
    found = batch_record(thrown, batch, 500, 0.6, drop=drop)
    assert found["energy_growth"][0] < 1e-5
    assert found["penetration"][0] < 0.5 * DEEP
    assert found["states"].keys() == {"0"}
