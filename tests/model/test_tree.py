"""The computational frames: cheap, accurate, and invisible from outside."""

from __future__ import annotations

import numpy as np
import pytest

import sarrus
from sarrus.model.cluster_tree import cluster_tree_of
from sarrus.model.tree import tree_of
from sarrus.spatial.rotations import rotation_about
from tests.mechanisms import GEOMETRIES, MOVING_KINDS, Mechanism, inertia_arguments, mechanism, relative_error
from tests.oracles.dense import plane_axes

SINGLE = ("revolute", "continuous", "prismatic", "helical", "cylindrical")


@pytest.mark.parametrize("kind", MOVING_KINDS)
@pytest.mark.parametrize("geometry", GEOMETRIES)
def test_nodes_are_where_the_bodies_are(kind, geometry):
    """Node frame times the body's frame in it is the body's pose, at any q."""
    case = mechanism(3, ["revolute", kind, kind], geometries=[geometry] * 3)
    model, q = case.model, case.state().q
    R, p = [], []
    for node in tree_of(model).nodes:
        X = node.joint.kinematics(node.fixed, node.offset, q[node.q]).X
        R.append(X.R if node.parent < 0 else R[node.parent] @ X.R)
        p.append(X.p if node.parent < 0 else p[node.parent] + R[node.parent] @ X.p)
    for k, jet in enumerate(case.oracle.motion(q)):
        body = tree_of(model).nodes[k].body
        assert relative_error(R[k] @ body.R, jet.value[:3, :3]) < 1e-13
        assert relative_error(p[k] + R[k] @ body.p, jet.value[:3, 3], 1.0) < 1e-13


@pytest.mark.parametrize("geometry", GEOMETRIES)
@pytest.mark.parametrize("kind", SINGLE)
def test_single_axes_are_columns_of_the_identity(kind, geometry):
    case = mechanism(1, [kind] * 2, geometries=[geometry] * 2)
    for node in tree_of(case.model).nodes:
        S = node.joint.kinematics(node.fixed, node.offset, case.state().q[node.q]).S
        assert set(np.flatnonzero(S.any(axis=1))) <= {2, 5}


def test_aligned_robots_turn_by_permutations():
    """Where all axes are along coordinates, no rotation of a frame costs a multiplication."""
    case = mechanism(2, ["revolute"] * 6, geometries=["aligned"] * 6)
    for node in tree_of(case.model).nodes:
        assert np.isin(node.fixed.R, (-1.0, 0.0, 1.0)).all()


@pytest.mark.parametrize("seed", range(4))
def test_the_last_bits_of_rotations_do_not_decide_what_dynamics_cost(seed):
    """Libraries differ in these bits: what is equal but for them is made equal."""

    def turned(noise: int) -> sarrus.Model:
        rng = np.random.default_rng(seed)
        builder = sarrus.ModelBuilder("turned")
        for k, (angle, axis) in enumerate(((np.pi / 4, 0), (np.pi / 3, 1), (np.pi / 4, 2), (np.pi / 6, 0))):
            R = rotation_about(np.eye(3)[axis], angle)
            bits = np.spacing(R) * rng.integers(-noise, noise + 1, size=(3, 3))
            parent, solid = f"link_{k - 1}" if k else "world", inertia_arguments(np.random.default_rng(k), "solid")
            place = {"joint": "spherical", "rotation": R + bits, "position": (0.1, 0.2, 0.3)}
            builder.add_body(f"link_{k}", parent, **place, **solid)
        return builder.build()

    assert sarrus.op_count(turned(2), "aba").total == sarrus.op_count(turned(0), "aba").total


@pytest.mark.parametrize("tilt", [1e-2, 1e-5, 1e-8, 1e-12])
@pytest.mark.parametrize("kind", ["revolute", "helical", "cylindrical"])
def test_an_almost_parallel_axis_does_not_move_frames_far_away(kind, tilt):
    """The axis meets a coordinate axis of its parent at 1 / tilt metres: sparse, and useless."""
    rng = np.random.default_rng(0)
    at = np.array([0.1, 0.2, 0.3])
    bodies = (
        {"name": "base", "parent": "world", "joint": "free", **inertia_arguments(rng, "solid")},
        {"name": "arm", "parent": "base", "joint": kind, "axis": (0.1 * tilt, 0.2 * tilt, 1.0), "position": at,
         **inertia_arguments(rng, "solid")},
        {"name": "hand", "parent": "arm", "axis": (1, 0, 0), "position": at, **inertia_arguments(rng, "solid")},
    )  # fmt: skip
    case = Mechanism(bodies)
    s, oracle = case.state(), case.oracle
    assert np.abs(tree_of(case.model).nodes[1].body.p).max() < 10.0
    assert relative_error(sarrus.crba(case.model, s.q), oracle.mass_matrix(s.q)) < 1e-13
    assert relative_error(sarrus.aba(case.model, s.q, s.v, s.tau), oracle.forward_dynamics(s.q, s.v, s.tau)) < 1e-11


@pytest.mark.parametrize(
    "axis", [(1, 0, 0), (0, -1, 0), (0, 0, -1), (0, 0.6, 0.8), (0.6, 0, -0.8), (0.6, 0.8, 0), (1, 2, 3)]
)
def test_the_directions_of_a_planar_joint(axis):
    """q = (x, y, angle): which x and y belong to a normal is part of the meaning of q."""
    model = sarrus.ModelBuilder().add_body("plate", joint="planar", axis=axis, mass=1.0, inertia=np.eye(3)).build()
    normal = np.array(axis) / np.linalg.norm(axis)
    x, y = plane_axes(normal)
    assert relative_error(sarrus.forward_kinematics(model, [0.3, 0.7, 0.0]).position[0], 0.3 * x + 0.7 * y) < 1e-14
    assert relative_error(np.cross(x, y), normal) < 1e-15
    assert (
        relative_error(sarrus.forward_kinematics(model, [0.0, 0.0, 0.5], [0.0, 0.0, 1.0]).velocity[0, 3:], normal)
        < 1e-14
    )


def test_parents_and_children():
    tree = tree_of(mechanism(0, ["revolute"] * 4, parents=[-1, 0, 0, -1]).model)
    assert tree.parents == (-1, 0, 0, -1)
    assert tree.children[0] == (1, 2)


def test_paths_and_supports():
    tree = tree_of(mechanism(0, ["revolute"] * 6, parents=[-1, 0, 1, 0, -1, 4]).model)
    assert tree.paths[2] == (2, 1, 0)
    assert tree.paths[-1] == ()
    assert tree.support([2, 3]) == {0, 1, 2, 3}
    assert tree.support([]) == set()


@pytest.mark.parametrize(
    ("nodes", "ancestor"), [([2, 3], 0), ([2, 1], 1), ([2], 2), ([2, 5], -1), ([2, -1], -1), ([1, 2, 3], 0)]
)
def test_the_nearest_common_ancestor(nodes, ancestor):
    tree = tree_of(mechanism(0, ["revolute"] * 6, parents=[-1, 0, 1, 0, -1, 4]).model)
    assert tree.common_ancestor(nodes) == ancestor


def test_a_tree_of_clusters_answers_the_same():
    model = sarrus.embed(sarrus.zoo.tree_of("link_and_rotor", 1, 2, floating=True))
    clusters = cluster_tree_of(model)
    assert clusters.parents == (-1, 0, 1)
    assert clusters.paths[2] == (2, 1, 0)
    assert clusters.children[1] == (2,)
    assert clusters.nv == model.ny
