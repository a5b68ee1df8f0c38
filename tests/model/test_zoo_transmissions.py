"""Gears, belts, differentials and rods: mobility as designed, dynamics as the dense oracle has them."""

from __future__ import annotations

import numpy as np
import pytest

import sarrus
from sarrus import zoo
from sarrus.errors import ModelError, UnknownNameError
from sarrus.zoo.blocks import SUB_MECHANISMS, Mount, Parts, add_link_and_rotor, add_parallel_belt
from tests.mechanisms import relative_error
from tests.oracles import loops

# name: model, bodies, nv, rows, rank
MECHANISMS = {
    "link_and_rotor": (zoo.link_and_rotor, 2, 2, 1, 1),
    "link_and_rotor, unbalanced": (lambda: zoo.link_and_rotor(9.0, symmetric=False), 2, 2, 1, 1),
    "parallel_belt": (zoo.parallel_belt, 4, 4, 2, 2),
    "four_bar": (lambda: zoo.tree_of("four_bar", floating=False), 3, 3, 3, 2),
    "four_bar, hinge": (lambda: zoo.tree_of("four_bar", floating=False, joint="revolute"), 3, 3, 5, 2),
    "differential": (zoo.differential, 4, 4, 2, 2),
    "differential, rods": (lambda: zoo.differential("rods", symmetric=False), 6, 6, 4, 4),
    "connecting_rod": (zoo.connecting_rod, 3, 4, 3, 3),
    "connecting_rod, massless": (lambda: zoo.connecting_rod("massless"), 2, 2, 1, 1),
    "transmission": (lambda: zoo.transmission(4), 5, 5, 1, 1),
    "tree of link_and_rotor": (lambda: zoo.tree_of("link_and_rotor", 2, 3), 13, 18, 6, 6),
    "tree of parallel_belt": (lambda: zoo.tree_of("parallel_belt", 2, 2), 17, 22, 8, 8),
    "tree of four_bar": (lambda: zoo.tree_of("four_bar", 2, 2), 13, 18, 12, 8),
    "tree of differential": (lambda: zoo.tree_of("differential", 2, 1, kind="rods"), 13, 18, 8, 8),
    "tree of connecting_rod": (lambda: zoo.tree_of("connecting_rod", 1, 2), 7, 14, 6, 6),
    "tree of transmission": (lambda: zoo.tree_of("transmission", 1, 2, transmission_depth=2), 7, 12, 2, 2),
    "parallel_chains": (lambda: zoo.parallel_chains(4, 3), 8, 8, 1, 1),
    "parallel_chains, rod": (lambda: zoo.parallel_chains(4, 3, "connecting_rod"), 9, 9, 3, 2),
    "geared_quadruped": (zoo.geared_quadruped, 25, 30, 12, 12),
    "geared_quadruped, standing": (lambda: zoo.geared_quadruped(contacts=True), 25, 30, 24, 24),
    "humanoid_leg": (zoo.humanoid_leg, 10, 10, 5, 5),
    "humanoid_leg, floating": (lambda: zoo.humanoid_leg(floating=True), 11, 16, 5, 5),
}


@pytest.mark.parametrize("name", MECHANISMS)
def test_closed_where_they_start_with_the_right_mobility(name):
    make, bodies, nv, rows, rank = MECHANISMS[name]
    model = make()
    found = sarrus.diagnose(model)
    assert (model.nb, found.nv, found.rows, found.rank) == (bodies, nv, rows, rank)
    assert found.error < 1e-12
    assert np.abs(sarrus.closure(model, sarrus.neutral(model)).position).max() < 1e-12
    assert not found.is_singular


@pytest.mark.parametrize("name", MECHANISMS)
def test_dynamics(name):
    """At an assembled state away from where they start."""
    model = MECHANISMS[name][0]()
    rng = np.random.default_rng(1)
    start = sarrus.integrate(model, sarrus.diagnose(model).q, 0.3 * rng.normal(size=model.nv))
    q, v = loops.assembled(model, start, rng.normal(size=model.nv))
    tau = rng.normal(size=model.nv)
    expected = loops.solve(loops.kkt(model, q, v), tau)[0]
    for method in ("lcaba", "prox_ltl"):
        qdd = sarrus.forward_dynamics(model, q, v, tau, method=method).qdd
        assert relative_error(qdd, expected) < 1e-8, method


@pytest.mark.parametrize("name", SUB_MECHANISMS)
def test_no_two_parts_are_alike(name):
    """Equal numbers would cancel, and operation counts would say less than they should."""
    model = zoo.tree_of(name, 2, 2)
    masses = [float(body.inertia.mass) for body in model.bodies]
    assert len(set(masses)) == len(masses)
    assert [b.inertia.mass for b in zoo.tree_of(name, seed=1).bodies] != [
        b.inertia.mass for b in zoo.tree_of(name).bodies
    ]


def test_rotors_are_symmetric_or_not():
    for symmetric in (True, False):
        rotor = zoo.link_and_rotor(symmetric=symmetric).bodies[1].inertia
        assert bool(np.abs(rotor.h).max() < 1e-15) is symmetric


def test_gears_turn_as_they_say():
    leg = zoo.humanoid_leg()
    q = leg.home
    assert q is not None
    at = {name: q[leg.layout.q[i].start] for i, name in enumerate(leg.joint_names)}
    assert at["knee_rotor_joint"] == pytest.approx(12.0 * at["knee_joint"])
    assert at["ankle_rotor_joint"] == pytest.approx(12.0 * (at["knee_joint"] + at["ankle_joint"]))
    assert at["knee_joint"] != 0.0


def test_blocks_are_appended_to_any_body():
    """A gripper's jaw on a link of one's own."""
    builder = sarrus.ModelBuilder("arm").add_body("arm", mass=1.0, com=(0.0, 0.0, -0.1), inertia=0.01 * np.eye(3))
    parts = Parts(3)
    tip = add_parallel_belt(builder, Mount("arm", np.array([0.0, 0.0, -0.2])), "wrist", parts)
    add_link_and_rotor(builder, tip, "jaw", parts, ratio=30.0)
    model = builder.build()
    assert (model.nb, model.n_rows, sarrus.diagnose(model).mobility) == (7, 3, 4)
    assert model.bodies[model.body_index("jaw_link")].parent == model.body_index("wrist_link_2")


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: zoo.tree_of("worm_gear"), "Valid: .*parallel_belt"),
        (lambda: zoo.tree_of("four_bar", 0), "at least 1"),
        (lambda: zoo.transmission(0), "at least 1"),
        (lambda: zoo.differential("bevel"), "Valid: .*rods"),
        (lambda: zoo.connecting_rod("rope"), "Valid: .*massless"),
        (lambda: zoo.parallel_chains(3, 4), "beyond"),
        (lambda: zoo.parallel_chains(3, 3, "rope"), "Valid: .*transmission"),
    ],
)
def test_bad_arguments_in_words(make, words):
    with pytest.raises((ModelError, UnknownNameError), match=words):
        make()
