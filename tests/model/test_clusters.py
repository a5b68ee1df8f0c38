"""Clusters from the loop graph: nested and parallel loops, single output bodies, what has a place in a node."""

from __future__ import annotations

import numpy as np
import pytest

import sarrus
from sarrus import zoo
from sarrus.errors import UnsupportedError
from sarrus.model.bodies import WORLD
from sarrus.model.cluster_tree import cluster_tree_of, unseen_rotors
from sarrus.model.clusters import find_clusters
from sarrus.model.model import Model


def graph(parents: dict[int, int], chords: list[tuple[int, int]]) -> Model:
    """Bodies "1", "2", ... (0: the world) and a ball joint per chord: for clusters the numbers do not matter."""
    builder = sarrus.ModelBuilder("graph")
    for body, parent in parents.items():
        builder.add_body(
            str(body), str(parent) if parent else "world", mass=1.0, inertia=np.eye(3), position=(0.1, 0.0, 0.2)
        )
    for a, b in chords:
        builder.add_constraint(sarrus.connect(str(a), str(b) if b else "world", name=f"{a}-{b}"))
    return builder.build()


def clusters(model: Model) -> dict[tuple[str, ...], str]:
    """Bodies of every cluster by name, and the output body they hang on."""
    names = (*model.body_names, "world")
    return {tuple(names[b] for b in c.bodies): names[c.output] for c in find_clusters(model, model.constraints)}


FIG_4 = graph(
    {1: 0, 2: 1, 3: 1, 4: 1, 5: 1, 6: 2, 7: 3, 8: 1, 9: 6, 10: 7, 11: 8, 12: 9, 13: 10, 14: 11, 15: 12, 16: 12, 17: 14},
    [(2, 3), (6, 7), (4, 5), (4, 8), (15, 16), (14, 17)],
)


def test_nested_and_parallel_loops_share_a_cluster():
    """As in Fig. 4 of the embedding paper: 2-3 is nested in 6-7; body 4 is in two loops; 15 and 16 are base bodies."""
    assert clusters(FIG_4) == {
        ("2", "3", "6", "7"): "1", ("4", "5", "8"): "1", ("15", "16"): "12", ("17",): "14",
    }  # fmt: skip


def test_a_loop_along_one_branch_leaves_its_upper_end_outside():
    """The upper end carries the loop, and is its output body."""
    assert clusters(graph({1: 0, 2: 1, 3: 2, 4: 3}, [(1, 4)])) == {("2", "3", "4"): "1"}


def test_loops_that_meet_only_at_their_output_body_stay_apart():
    model = graph({1: 0, 2: 1, 3: 1, 4: 1, 5: 1}, [(2, 3), (4, 5)])
    assert clusters(model) == {("2", "3"): "1", ("4", "5"): "1"}


def test_a_loop_over_a_loop_takes_all_between():
    model = graph({1: 0, 2: 1, 3: 2, 4: 2, 5: 3, 6: 1}, [(3, 4), (5, 6)])
    assert clusters(model) == {("2", "3", "4", "5", "6"): "1"}


def test_loops_against_the_world():
    model = graph({1: 0, 2: 1, 3: 2, 4: 0}, [(3, 0)])
    assert clusters(model) == {("1", "2", "3"): "world"}


def test_a_cluster_grows_until_it_hangs_on_one_body():
    """Joints 3 and 5 are coupled across two branches: what they hang on meets at 1."""
    model = graph({1: 0, 2: 1, 3: 2, 4: 1, 5: 4, 6: 5}, [])
    model = model.with_constraints(sarrus.coupling({"3_joint": 1.0, "5_joint": -2.0}, name="gear"))
    assert clusters(model) == {("2", "3", "4", "5"): "1"}


def test_growing_merges_clusters_in_the_way():
    model = graph({1: 0, 2: 1, 3: 2, 4: 1, 5: 4, 6: 4}, [(5, 6)])
    model = model.with_constraints(sarrus.coupling({"3_joint": 1.0, "5_joint": -2.0}, name="gear"))
    assert clusters(model) == {("2", "3", "4", "5", "6"): "1"}


def test_coupled_joints_at_one_body_are_the_whole_cluster():
    model = graph({1: 0, 2: 1, 3: 1, 4: 2}, [])
    model = model.with_constraints(sarrus.coupling({"2_joint": 1.0, "3_joint": -6.0}))
    assert clusters(model) == {("2", "3"): "1"}


def test_a_coupling_along_a_chain():
    """Joint 2 and joint 4 of a chain: 3 is carried along, 1 is the output body."""
    model = graph({1: 0, 2: 1, 3: 2, 4: 3}, [])
    model = model.with_constraints(sarrus.coupling({"2_joint": 1.0}, driver="4_joint", polynomial=(0.0, 2.0, 0.3)))
    assert clusters(model) == {("2", "3", "4"): "1"}


@pytest.mark.parametrize("constraint", [sarrus.contact("3", 3), sarrus.center_of_mass_constraint("z")])
def test_what_makes_no_loop_makes_no_cluster(constraint):
    with pytest.raises(UnsupportedError, match=r"makes no cluster.*Valid: loop closures, distances, couplings"):
        find_clusters(FIG_4, [constraint])


# --- the tree ------------------------------------------------------------------------------------------


def test_only_bodies_that_others_see_have_a_place():
    """Of a link and its rotor that is the link; of two chains tied by a rod, those that carry further links."""
    tree = cluster_tree_of(sarrus.embed(zoo.tree_of("link_and_rotor", 1, 2)))
    assert [node.name for node in tree.nodes] == ["base", "b0_0_link+b0_0_rotor", "b0_1_link+b0_1_rotor"]
    assert [len(node.ports) for node in tree.nodes] == [1, 1, 1]
    assert tree.parents == (WORLD, 0, 1)
    assert (tree.nv, tree.children[0]) == (8, (1,))
    model = sarrus.embed(zoo.parallel_chains(4, 2, "connecting_rod"))
    node = cluster_tree_of(model).nodes[0]
    assert [model.bodies[b].name for b in node.ports] == ["link_1_2", "link_2_2"]
    assert node.size == 12
    assert [n.at for n in cluster_tree_of(model).nodes] == [0, 0, 0, 1, 0]


def test_constraints_that_are_left_make_bodies_seen():
    model = zoo.tree_of("four_bar", 1, 1)
    plain = sarrus.embed(model)
    touching = plain.with_constraints(sarrus.contact("b0_0_rod"))
    assert [len(cluster_tree_of(m).nodes[1].ports) for m in (plain, touching)] == [1, 1]
    assert touching.bodies[cluster_tree_of(touching).nodes[1].ports[0]].name == "b0_0_rod"
    held = plain.with_constraints(sarrus.center_of_mass_constraint("z"))
    assert len(cluster_tree_of(held).nodes[1].ports) == 3


def test_rotors_that_only_spin():
    """A round rotor that nothing sees; not one off balance, nor one that something touches or hangs on."""
    round_ = sarrus.embed(zoo.tree_of("link_and_rotor", 1, 1))
    assert [round_.bodies[i].name for i in unseen_rotors(round_)] == ["b0_0_rotor"]
    assert not unseen_rotors(sarrus.embed(zoo.tree_of("link_and_rotor", 1, 1, symmetric=False)))
    assert not unseen_rotors(round_.with_constraints(sarrus.contact("b0_0_rotor")))
    assert not unseen_rotors(round_.with_constraints(sarrus.center_of_mass_constraint("z")))
