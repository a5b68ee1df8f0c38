"""From independent coordinates to all and back: expand and reduce."""

from __future__ import annotations

import numpy as np
import pytest

import sarrus
from sarrus import zoo
from sarrus.errors import UnsupportedError
from tests.algorithms.embedded_cases import state_of
from tests.mechanisms import relative_error
from tests.oracles import loops

MECHANISMS = {
    "parallel belts": lambda: zoo.tree_of("parallel_belt", 1, 2),
    "differential": lambda: zoo.differential("rods"),
    "four-bars on a base": lambda: zoo.tree_of("four_bar", 1, 2),
    "five-bar": zoo.five_bar,
}


@pytest.mark.parametrize("name", MECHANISMS)
def test_there_and_back(name):
    model = MECHANISMS[name]()
    embedded = sarrus.embed(model)
    q, v, _ = state_of(model)
    y, yd = sarrus.reduce(embedded, q, v)
    assert yd.shape == (embedded.ny,)
    found = sarrus.expand(embedded, y, yd, near=q)
    assert found.status == 0.0
    assert relative_error(found.q, q, 1.0) < 1e-9
    assert relative_error(found.v, v, 1.0) < 1e-8
    again = sarrus.reduce(embedded, found.q, found.v)
    assert np.array_equal(again.y, y)  # what is independent does not move
    assert relative_error(again.yd, yd) < 1e-12


@pytest.mark.parametrize("name", MECHANISMS)
def test_from_far_away_it_ends_on_the_constraints(name):
    model = MECHANISMS[name]()
    embedded = sarrus.embed(model)
    y = sarrus.reduce(embedded, embedded.embedding.samples[0]).y + 0.1
    if len(y) > embedded.ny:  # a floating base
        y[3:7] = [0.0, 0.0, 0.0, 1.0]
    found = sarrus.expand(embedded, y)
    assert found.status == 0.0
    assert np.array_equal(sarrus.reduce(embedded, found.q).y, y)
    assert np.abs(loops.closure_error(model, found.q)[0]).max() < 1e-10


def test_batches_and_kernels():
    model = MECHANISMS["four-bars on a base"]()
    embedded = sarrus.embed(model)
    q, v, _ = (np.stack(x) for x in zip(*(state_of(model, seed) for seed in (1, 2, 3)), strict=True))
    y, yd = sarrus.reduce(embedded, q, v)
    assert relative_error(sarrus.compile(embedded, "reduce", inputs=("q", "v"))(q, v).yd, yd) < 1e-14
    kernel = sarrus.compile(embedded, "expand", inputs=("y", "yd", "near"))
    for found in (sarrus.expand(embedded, y, yd, near=q), kernel(y, yd, q)):
        assert not found.status.any()
        assert relative_error(found.q, q, 1.0) < 1e-9
        assert relative_error(found.v, v, 1.0) < 1e-8


def test_what_cannot_be_reached_is_a_status():
    """The piston is as long away as crank and rod together cannot reach."""
    embedded = sarrus.embed(zoo.slider_crank(), independent=["piston_joint"])
    found = sarrus.expand(embedded, np.array([1.0]))
    assert found.status > 0.0
    assert found.error > 0.1
    assert np.isfinite(found.q).all()


def test_part_of_a_quaternion_is_no_coordinate():
    """A ball joint with one independent velocity of three."""
    builder = sarrus.ModelBuilder("leash")
    inertial = {"mass": 1.0, "com": (0.1, 0.0, 0.0), "inertia": np.diag([0.01, 0.02, 0.03])}
    builder.add_body("ball", joint="spherical", **inertial)
    builder.add_frame("eye", "ball", position=(0.3, 0.0, 0.0))
    builder.add_frame("ring", "world", position=(0.3, 0.3, 0.1))
    builder.add_constraint(sarrus.distance("eye", "ring", float(np.hypot(0.3, 0.1))))
    embedded = sarrus.embed(builder.build())
    assert embedded.ny == 2
    q = embedded.embedding.samples[0]
    with pytest.raises(UnsupportedError, match="has 2 independent of 3 velocities: they have no coordinates"):
        sarrus.reduce(embedded, q)
    state = state_of(embedded.spanning)  # dynamics need velocities only
    expected = loops.solve(loops.kkt(embedded.spanning, state.q, state.v), state.tau)[0]
    assert relative_error(sarrus.ce_aba(embedded, *state).qdd, expected, 1.0) < 1e-8
