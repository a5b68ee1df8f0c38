"""Which candidates get a slot."""

from __future__ import annotations

import numpy as np
import pytest

import sarrus
from sarrus.mechanics.contact.contact_set import Candidate
from sarrus.model.visuals import Box
from sarrus.simulation.contact.every_contact import shares_of_bodies
from sarrus.simulation.contact.slots import by_importance, nearest


def chosen(gaps, reach, slots):
    numbers, count, left_out = nearest(list(gaps), reach, slots)
    return [int(n) for n in numbers[: int(count)]], left_out


def test_all_within_reach_where_there_are_slots_enough():
    assert chosen([0.3, -0.1, 0.05, 0.2, 0.0], 0.1, 4) == ([1, 2, 4], 0.0)
    assert chosen([0.3, 0.3], 0.1, 2) == ([], 0.0)


def test_the_nearest_where_there_are_not():
    assert chosen([0.03, -0.1, 0.05, 0.02, 0.0], 0.1, 3) == ([1, 3, 4], 2.0)


def test_the_first_of_those_that_are_equally_near():
    assert chosen([0.0] * 6, 0.1, 4) == ([0, 1, 2, 3], 2.0)
    assert chosen([0.01, 0.0, 0.01, 0.01, -0.2], 0.1, 3) == ([0, 1, 4], 2.0)


@pytest.mark.parametrize("seed", range(20))
def test_random_ones(seed):
    rng = np.random.default_rng(seed)
    gaps = rng.choice([rng.normal(scale=0.1), 0.02, -0.01, 0.3], size=30) + rng.normal(scale=0.05, size=30)
    got, left_out = chosen(gaps, 0.05, 8)
    within = np.flatnonzero(gaps < 0.05)
    assert len(got) == min(8, len(within))
    assert left_out == max(0, len(within) - 8)
    nearest_ones = sorted(within, key=lambda k: gaps[k])[:8]
    # The bisection ends at a thousandth of the range: what is nearer than that by chance may change places.
    assert max(gaps[got], default=0.0) <= max(gaps[nearest_ones], default=0.0) + 1e-3


def test_what_no_other_point_of_its_body_can_replace_comes_first():
    """A foot comes down fast with nine points in a row; a ball of another body rests, and is not nearer than any."""
    up = np.array([0.0, 0.0, 1.0])
    foot = [Candidate(k, 1, -1, np.array([0.01 * k, 0.0, 0.0]), up, -1e-3, 1.0) for k in range(9)]
    ball = Candidate(9, 2, -1, np.array([1.0, 0.0, 0.0]), up, 0.0, 1.0)
    ahead = [-2e-3 + 1e-7 * (k - 4) ** 2 for k in range(9)] + [-1e-5]
    compete = by_importance([*foot, ball], ahead, 8e-3, 4)
    assert 9 not in chosen(ahead, 8e-3, 4)[0]
    got, left_out = chosen(compete, 8e-3, 4)
    assert {0, 8, 9} <= set(got)  # the ends of the row, and the ball
    assert left_out == 6
    assert by_importance([ball], [0.5], 8e-3, 4) == [0.5]


def test_what_is_out_of_reach_is_not_brought_nearer():
    up = np.array([0.0, 0.0, 1.0])
    found = [Candidate(k, k, -1, np.zeros(3), up, 0.1, 1.0) for k in range(6)]
    assert by_importance(found, [0.1] * 6, 8e-3, 4) == [0.1] * 6


def test_shares_are_of_the_largest_push_on_the_same_body():
    """Who bears little of what others bear, too, can do without a slot; who bears a body alone cannot."""
    up = np.array([0.0, 0.0, 1.0])
    found = [Candidate(k, body, -1, np.zeros(3), up, 0.0, 1.0) for k, body in enumerate((1, 1, 1, 2, 3))]
    assert shares_of_bodies(found, [4.0, 1.0, 0.0, 1e-9, 0.0]) == pytest.approx([1.0, 0.25, 0.0, 1.0, 0.0])
    assert shares_of_bodies(found, [0.0] * 5) == [0.0] * 5


def boxes(count: int) -> sarrus.Model:
    builder = sarrus.ModelBuilder("boxes")
    for k in range(count):
        builder.add_body(f"box_{k}", joint="free", mass=1.0, inertia=0.01 * np.eye(3))
        builder.add_geometry(f"box_{k}", Box((0.1, 0.1, 0.1)), name=f"shape_{k}")
    return builder.build().with_ground()


@pytest.mark.parametrize(("count", "asked", "is_told"), [(3, None, False), (10, None, True), (10, 44, False)])
def test_what_may_touch_in_more_places_than_there_are_slots_is_told(count, asked, is_told):
    """Ten boxes that lie on the ground have forty corners there; by default, steps have 24 slots at most."""
    notes = sarrus.Simulation(boxes(count), contacts=sarrus.ContactOptions(slots=asked)).notes
    assert any("44 places may touch at once" in note and "slots=44" in note for note in notes) == is_told


def test_feet_with_more_corners_than_usual_have_a_slot_each():
    builder = sarrus.ModelBuilder("table").add_body("table", joint="free", mass=5.0, inertia=0.3 * np.eye(3))
    for k in range(5):
        x, y = 0.4 * np.cos(0.4 * np.pi * k), 0.4 * np.sin(0.4 * np.pi * k)
        builder.add_geometry("table", Box((0.1, 0.1, 0.04)), name=f"foot_{k}", position=(x, y, -0.2))
    model = builder.build().with_ground()
    simulation = sarrus.Simulation(model, 1e-3)
    motion = simulation.run(sarrus.put_down(model, sarrus.neutral(model)), duration=0.3)
    assert simulation._contact is not None
    assert simulation._contact.contacts.slots == 20
    assert motion.statuses == {"ok": 301}
    assert np.abs(motion.v[-1]).max() < 1e-6
