"""`sarrus.diagnose`: closure, rank, what is redundant, what contradicts, what is left free."""

from __future__ import annotations

import json

import casadi as ca
import numpy as np
import pytest

import sarrus
from sarrus import zoo
from sarrus.errors import StateError, UnsupportedError
from sarrus.model.state import random_state
from tests.importers.shared_robots import shared_file


@pytest.mark.parametrize(
    ("make", "rows", "rank", "mobility"),
    [
        (zoo.four_bar, 5, 2, 1),
        (zoo.slider_crank, 5, 2, 1),
        (zoo.five_bar, 5, 2, 2),
        (zoo.sarrus_linkage, 5, 4, 1),
        (zoo.bennett, 5, 2, 1),
        (zoo.delta, 18, 18, 3),
        (zoo.stewart, 18, 18, 6),
    ],
)
def test_zoo(make, rows, rank, mobility):
    found = sarrus.diagnose(make())
    assert (found.rows, found.rank, found.mobility) == (rows, rank, mobility)
    assert found.ok
    assert not found.is_singular
    assert not found.projected
    assert sum(found.redundant.values()) == rows - rank
    assert found.gap > 1e8 or rows == rank
    assert f"rank {rank}" in str(found)


def test_redundant_rows_are_the_last_declared():
    model = zoo.chain(5).with_constraints(sarrus.contact("tip", 3), sarrus.contact("tip", 3, name="again"))
    found = sarrus.diagnose(model, random_state(model, rng=0)[0])
    assert found.redundant == {"again": 3}
    assert found.groups == (("contact_tip", "again"),)
    assert [c.rank for c in found.constraints] == [3, 3]
    assert "together" in str(found)


def test_rank_does_not_depend_on_units():
    K = np.eye(6)[:2]
    model = zoo.chain(6).with_constraints(
        sarrus.link_rows("tip", K * np.array([[1e-4], [1e4]])), sarrus.link_rows("link_2", K)
    )
    assert sarrus.diagnose(model, random_state(model, rng=0)[0]).rank == 4


def test_singular_configuration():
    found = sarrus.diagnose(zoo.flat_four_bar())
    assert (found.rank, found.generic_rank) == (1, 2)
    assert found.is_singular
    assert "singular configuration" in str(found)


def test_open_loops_are_closed_first():
    model = zoo.four_bar()
    q = np.array([0.3, -0.2, 0.1])
    found = sarrus.diagnose(model, q)
    assert found.projected
    assert found.assembled
    assert found.error > 0.01
    assert np.abs(sarrus.closure(model, found.q).position).max() < 1e-10
    assert "found by projection" in str(found)


def test_half_a_turn_is_not_closed():
    model = zoo.chain(1).with_constraints(sarrus.weld("link_0", "world"))
    found = sarrus.diagnose(model, np.array([np.pi]))
    assert found.error == pytest.approx(np.pi)
    assert found.assembled
    assert abs(found.q[0]) < 1e-9 or abs(found.q[0] - 2.0 * np.pi) < 1e-9


@pytest.mark.parametrize("joint", ["revolute", "cylindrical", "planar", "helical", "prismatic"])
def test_opposite_axes_are_not_aligned(joint):
    """A body that turns about y, joined to the world by a joint about z: half a turn does not close it."""
    builder = sarrus.ModelBuilder("flap")
    builder.add_body("flap", joint="revolute", axis=(0, 1, 0), mass=1.0, inertia=np.eye(3))
    model = builder.build().with_constraints(sarrus.loop("world", "flap", joint, axis=(0, 0, 1)))
    turned = np.array([np.pi])
    assert np.abs(sarrus.closure(model, turned).position).max() == pytest.approx(np.pi)
    found = sarrus.diagnose(model, turned)
    assert found.error == pytest.approx(np.pi)
    assert found.assembled
    assert abs(np.sin(found.q[0])) < 1e-9
    assert np.cos(found.q[0]) > 0.0


@pytest.mark.parametrize("joint", ["revolute", "cylindrical", "planar", "helical", "prismatic", "weld"])
def test_the_jacobian_is_the_derivative_of_the_error_where_it_is_closed(joint):
    loop = sarrus.loop("world", "body_1", joint, axis=(0.6, 0.0, 0.8), pitch=0.1 if joint == "helical" else 0.0)
    model = zoo.random_tree(3, 2, joints=["free", "spherical"]).with_constraints(loop)
    q = sarrus.diagnose(model, random_state(model, 0)[0]).q
    J = sarrus.closure(model, q).jacobian
    steps = 1e-6 * np.eye(model.nv)
    there, back = (
        np.stack([sarrus.closure(model, sarrus.integrate(model, q, sign * step)).position for step in steps], axis=1)
        for sign in (1.0, -1.0)
    )
    np.testing.assert_allclose((there - back) / 2e-6, J, atol=1e-8)


def test_the_centre_of_mass_is_a_constraint_like_others():
    model = zoo.tree(7, floating=True).with_constraints(sarrus.center_of_mass_constraint("yz", at=[0.1, 0.7]))
    found = sarrus.diagnose(model, sarrus.neutral(model))
    assert found.assembled
    assert found.projected
    assert found.rank == 2
    assert found.constraints[0].between == "all bodies"
    np.testing.assert_allclose(sarrus.center_of_mass(model, found.q).position[1:], [0.1, 0.7], atol=1e-9)


def test_impossible_loops_are_said_to_be():
    model = zoo.chain(2).with_constraints(sarrus.distance("tip", "world", 5.0))
    found = sarrus.diagnose(model)
    assert not found.ok
    assert not found.assembled
    assert "none near by" in str(found)


def test_conflicts_are_named():
    model = zoo.chain(4).with_constraints(
        sarrus.contact("link_1", 3),
        sarrus.contact("tip", 3, k=(1.0, 0.0, 0.0)),
        sarrus.contact("tip", 3, name="other"),
        sarrus.contact("link_0", 3),
    )
    found = sarrus.diagnose(model, random_state(model, rng=0)[0])
    assert set(found.in_conflict) >= {"contact_tip", "other"}
    assert not found.ok
    assert "conflict" in str(found)


def test_moving_loops_do_not_contradict_themselves():
    """Redundant rows agree at the level of accelerations, too."""
    model = zoo.sarrus_linkage()
    q = sarrus.neutral(model)
    free = np.linalg.svd(sarrus.closure(model, q).jacobian)[2][4:]
    assert sarrus.diagnose(model, q, 2.0 * free[0]).ok


def test_suggested_mu_is_scaled_with_the_mechanism():
    """Two digits per iteration: mu times the smallest eigenvalue is 100."""
    model = zoo.stewart()
    q = sarrus.neutral(model)
    J = sarrus.closure(model, q).jacobian
    smallest = np.linalg.eigvalsh(J @ np.linalg.solve(sarrus.crba(model, q), J.T))[0]
    assert sarrus.diagnose(model, q).suggested_mu == pytest.approx(100.0 / smallest)


def test_no_constraints():
    found = sarrus.diagnose(zoo.chain(3))
    assert (found.rows, found.rank, found.mobility) == (0, 0, 3)
    assert "no constraints" in str(found)


def test_as_dict_is_json():
    for model in (zoo.sarrus_linkage(), zoo.stewart()):
        text = json.dumps(sarrus.diagnose(model).as_dict(), allow_nan=False)
        assert json.loads(text)["rank"] in (4, 18)


def test_bad_input_in_words():
    with pytest.raises(StateError, match="one configuration"):
        sarrus.diagnose(zoo.four_bar(), np.zeros((2, 3)))
    with pytest.raises(StateError, match="expected shape"):
        sarrus.diagnose(zoo.four_bar(), np.zeros(2))
    builder = sarrus.ModelBuilder()
    builder.add_body("a", mass=ca.SX.sym("m"), inertia=np.eye(3))
    with pytest.raises(UnsupportedError, match="symbols"):
        sarrus.diagnose(builder.build())


def test_cassie():
    found = sarrus.diagnose(sarrus.load(shared_file("cassie/cassie.xml")))
    assert (found.rows, found.rank) == (12, 10)
    assert found.error < 1e-12
    rods = [c.between for c in found.constraints if c.redundant]
    assert rods == ["left-plantar-rod - left-foot", "right-plantar-rod - right-foot"]
    assert "plantar-rod" in str(found)


def test_digit():
    found = sarrus.diagnose(sarrus.load(shared_file("digit/digit-v3.xml")))
    assert (found.rows, found.rank) == (18, 18)
    assert found.error < 1e-12


@pytest.mark.parametrize(
    "file",
    [
        "planar_linkages/four_bar.urdf",
        "planar_linkages/planar_leg_linkage.urdf",
        "mini_cheetah/mini_cheetah.urdf",
        "talos/talos.xml",
    ],
)
def test_files_that_are_closed_where_they_start(file):
    model = sarrus.load(shared_file(file))
    q = sarrus.neutral(model) if model.home is None else model.home
    assert np.abs(sarrus.closure(model, q).position).max() < 1e-12


@pytest.mark.parametrize("robot", ["5bar_linkage_iso3d", "5bar_linkage_iso6d", "talos_like"])
def test_parallel_robots_can_be_assembled(robot):
    folder = shared_file(f"parallel_robots/{robot}")
    found = sarrus.diagnose(sarrus.load_urdf(folder / "robot.urdf", extended=folder / "robot.yaml"))
    assert found.assembled
    assert found.rank == found.rows
