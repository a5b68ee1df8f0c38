"""Joint-space and recursive methods for loops: prox_ltl, prox_bbo, bbo, and the Delassus matrix of loops."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import sarrus
from sarrus import zoo
from sarrus.mechanics.solvers.loop_delassus import rows_at_rest
from sarrus.mechanics.solvers.loop_jacobian import loop_jacobian
from sarrus.mechanics.solvers.loop_roots import early_roots, loop_roots
from sarrus.model.bodies import WORLD, Placement
from sarrus.model.constraints import CLOSURES, Coupling, Distance, LoopClosure, contact, link_rows
from sarrus.model.state import random_state
from sarrus.model.tree import tree_of
from sarrus.status import Status
from tests.oracles.loops import assembled, kkt, solve

METHODS = ("prox_ltl", "prox_bbo", "bbo")
PROXIMAL = ("prox_ltl", "prox_bbo")


def relative(found: np.ndarray, expected: np.ndarray) -> float:
    return float(np.abs(found - expected).max() / (1.0 + np.abs(expected).max()))


def inputs(model, rng):
    return rng.normal(size=model.nv) * 5.0, rng.normal(size=(model.nb, 6))


def check(model, q, v, methods=METHODS, tolerance: float = 1e-8, rank: int | None = None) -> None:
    """Accelerations and J^T forces of all methods against the dense oracle."""
    tau, external_forces = inputs(model, np.random.default_rng(9))
    problem = kkt(model, q, v, None, external_forces)
    if rank is not None:
        assert np.linalg.matrix_rank(problem.J, tol=1e-8) == rank
    qdd, generalized = solve(problem, tau)
    for method in methods:
        r = sarrus.forward_dynamics(model, q, v, tau, method=method, external_forces=external_forces)
        assert r.status == 0.0, (method, r.status, r.iterations, np.abs(r.residual).max())
        assert relative(r.qdd, qdd) < tolerance, method
        applied = problem.M @ r.qdd + problem.c - tau
        assert relative(applied, generalized) < 10 * tolerance, method


@pytest.fixture(scope="module")
def two_arms():
    """A floating base, one arm of six joints on it, another on a link that hangs from it."""
    return zoo.stem(2, 1, length=6)


# --- accelerations ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("joint", CLOSURES)
def test_every_closure_between_links(two_arms, joint):
    """At arbitrary states: the loop is open, and rows of coinciding points see the base turn."""
    pitch = 0.1 if joint == "helical" else 0.0
    model = two_arms.with_constraints(LoopClosure("loop", "tip_0", "tip_1", joint, pitch=pitch, stabilization=0.2))
    q, v = random_state(model, rng=3)
    # Of an open screw the angle depends on the direction that it is measured from, which the oracle takes differently.
    check(model, *(assembled(model, q, v) if joint == "helical" else (q, v)))


@pytest.mark.parametrize("frames", [("tip_0", "world"), ("world", "tip_1")])
@pytest.mark.parametrize("joint", ["weld", "revolute", "prismatic"])
def test_closures_with_the_world(two_arms, joint, frames):
    model = two_arms.with_constraints(LoopClosure("loop", frames[0], frames[1], joint))
    check(model, *random_state(model, rng=4))


def test_closures_contacts_couplings_and_distances_together(two_arms):
    model = two_arms.with_constraints(
        LoopClosure("hands", "tip_0", "tip_1", "weld"),  # rooted at the base
        contact("branch_0_2", 3),
        LoopClosure(
            "nested", "branch_1_0", "tip_1", "connect"
        ),  # rooted in a branch: one frame is the other's ancestor
        Coupling("gear", (("branch_1_4_joint", 1.0), ("branch_0_3_joint", -2.0))),
        Coupling("belt", (("branch_1_1_joint", 1.0),), driver="branch_1_3_joint", polynomial=(0.1, 0.5, 0.3)),
        Distance("rope", "branch_0_4", "branch_1_0", 0.4, stabilization=0.1),
        link_rows("base", np.random.default_rng(1).normal(size=(1, 6))),
    )
    check(model, *random_state(model, rng=5))


def random_closed(rng):
    """A random tree with closures whose rows are independent, and a state."""
    while True:
        model = zoo.random_tree(rng, 9, chain_bias=0.6)
        names = [str(x) for x in rng.choice(model.body_names, size=5, replace=False)]
        kinds = [str(x) for x in rng.choice([x for x in CLOSURES if x != "helical"], size=2, replace=False)]
        closures = [LoopClosure(f"loop_{k}", names[2 * k], names[2 * k + 1], kind) for k, kind in enumerate(kinds)]
        model = model.with_constraints(*closures, contact(names[4], 3))
        q, v = random_state(model, rng=rng)
        J, _ = loop_jacobian(*rows_at_rest(model, q, "test"))
        if np.linalg.cond(J) < 1e3:
            return model, q, v


@pytest.mark.parametrize("seed", range(4))
def test_random_trees_with_closures(seed):
    model, q, v = random_closed(np.random.default_rng(seed))
    check(model, q, v, PROXIMAL)


@pytest.mark.parametrize(
    ("make", "rank"),
    [
        (zoo.four_bar, 2),
        (zoo.sarrus_linkage, 4),
        (zoo.bennett, 2),
        (zoo.flat_four_bar, 1),
        (lambda: zoo.chain_of_loops(2), None),
        (lambda: zoo.star_pairs(2), None),
    ],
)
def test_redundant_rows(make, rank):
    """On the manifold redundant rows are consistent; off it (open loops) they may not be."""
    model = make()
    v = np.zeros(model.nv)  # where branches cross, rows of a moving mechanism contradict each other
    if make is not zoo.flat_four_bar:
        v = np.random.default_rng(2).normal(size=model.nv)
    q, v = assembled(model, sarrus.neutral(model), v)
    check(model, q, v, PROXIMAL, tolerance=1e-7, rank=rank)


def test_bbo_leaves_out_rows_of_a_planar_loop_that_nothing_moves():
    model = zoo.four_bar("connect")
    q, v = assembled(model, sarrus.neutral(model), np.ones(model.nv))
    check(model, q, v, ("bbo",))


def test_conflicting_rows_are_told_and_finite():
    model = zoo.chain(3).with_constraints(
        contact("tip", 3, k=(1.0, 0.0, 0.0), name="a"), contact("tip", 3, k=(-1.0, 0.0, 0.0), name="b")
    )
    q, v = random_state(model, rng=0)
    for method in METHODS:
        r = sarrus.forward_dynamics(model, q, v, np.ones(3), method=method)
        assert r.status != 0.0
        assert all(np.isfinite(x).all() for x in r)


@pytest.mark.parametrize("method", ["constrained_aba", "lcaba", "prox_pv", "prox_ltl", "prox_bbo"])
@pytest.mark.parametrize(("dtype", "powers"), [(float, (300, 500, 860, 960)), (np.float32, (32, 60, 90))])
def test_the_size_of_forces_decides_nothing(method, dtype, powers):
    """Without gravity and at rest everything is proportional to torques, by powers of two to the last digit.

    Nine rows hold a foot of six freedoms; then one point of it is asked to move away from the others, too.
    """
    model = zoo.chain(6, floating=True).with_gravity((0.0, 0.0, 0.0))
    tip = model.frame("tip")
    corners = [replace(tip, name=f"corner_{k}", placement=Placement(np.eye(3), x)) for k, x in enumerate(np.eye(3))]
    model = replace(model, frames=(*model.frames, *corners))
    model = model.with_constraints(*(contact(f.name, 3, k="input") for f in corners))
    q, v = random_state(model, rng=4)
    tau = np.random.default_rng(5).normal(size=model.nv)
    kernel = sarrus.compile(model, method, inputs=("q", "v", "tau", "k"), dtype=dtype)
    for k in (np.zeros(9), np.eye(9)[0]):
        usual = kernel(q, 0.0 * v, 2.0**20 * tau, 2.0**20 * k)
        if dtype is float:
            assert usual.status == (Status.INFEASIBLE if k.any() else Status.OK)
        for power in powers:
            huge = kernel(q, 0.0 * v, 2.0**power * tau, 2.0**power * k)
            assert (huge.status, huge.iterations) == (usual.status, usual.iterations), power
            np.testing.assert_array_equal(huge.qdd * dtype(2.0 ** (20 - power)), usual.qdd)


def test_no_constraints_is_aba():
    model = zoo.tree(5, floating=True)
    q, v = random_state(model, rng=0)
    tau = np.ones(model.nv)
    for method in METHODS:
        r = sarrus.forward_dynamics(model, q, v, tau, method=method)
        assert relative(r.qdd, sarrus.aba(model, q, v, tau)) < 1e-12
        assert r.forces.shape == (0,)


# --- iterations ------------------------------------------------------------------------------------------------------


def test_both_proximal_methods_make_the_same_iterates():
    """The dual proximal point method is one sequence, however the equations are solved."""
    model = zoo.stem(2, 1, length=4).with_constraints(
        LoopClosure("loop", "tip_0", "tip_1", "weld"), contact("branch_0_1", 6), contact("tip_1", 3)
    )
    q, v = random_state(model, rng=1)
    tau = np.ones(model.nv)
    for count in (1, 2, 4):
        a, b = (
            sarrus.forward_dynamics(model, q, v, tau, method=m, mu=3.0, max_iterations=count, tolerance=0.0)
            for m in PROXIMAL
        )
        assert a.iterations == b.iterations == count
        for field in ("qdd", "forces", "residual"):
            assert relative(getattr(a, field), getattr(b, field)) < 1e-9, field


@pytest.mark.parametrize("method", PROXIMAL)
def test_warm_start(method):
    model = zoo.chain_of_loops(2)
    q, v = assembled(model, sarrus.neutral(model), np.ones(model.nv))
    tau = np.ones(model.nv)
    cold = sarrus.forward_dynamics(model, q, v, tau, method=method)
    warm = sarrus.forward_dynamics(model, q, v, tau, method=method, forces0=cold.forces)
    assert warm.iterations <= cold.iterations
    assert relative(warm.forces, cold.forces) < 1e-7
    one = sarrus.forward_dynamics(model, q, v, tau, method=method, forces0=cold.forces, max_iterations=1)
    assert relative(one.qdd, cold.qdd) < 1e-8


@pytest.mark.parametrize("method", METHODS)
def test_batches_equal_single_states(method):
    model = zoo.star_pairs(1).with_constraints(contact("hub", 3))
    q, v = random_state(model, rng=0, batch=3)
    tau = np.random.default_rng(0).normal(size=(3, model.nv))
    together = sarrus.forward_dynamics(model, q, v, tau, method=method)
    for k in range(3):
        alone = sarrus.forward_dynamics(model, q[k], v[k], tau[k], method=method)
        assert relative(together.qdd[k], alone.qdd) < 1e-9
        assert relative(together.forces[k], alone.forces) < 1e-7


# --- where rows end --------------------------------------------------------------------------------------------------


def rows_of(model):
    return rows_at_rest(model, random_state(model, rng=0)[0], "test")[1]


def test_roots(two_arms):
    def root(*constraints):
        model = two_arms.with_constraints(*constraints)
        return [model.bodies[i].name if i >= 0 else "world" for i in loop_roots(tree_of(model), rows_of(model))]

    assert root(LoopClosure("a", "tip_0", "tip_1", "weld")) == ["base"]
    assert root(LoopClosure("a", "branch_0_4", "branch_0_1", "weld")) == ["branch_0_1"]
    assert root(LoopClosure("a", "tip_0", "world", "weld"), contact("tip_1", 3)) == ["world", "world"]
    assert root(Coupling("a", (("branch_0_4_joint", 1.0), ("branch_0_2_joint", 1.0)))) == ["branch_0_1"]
    assert root(Coupling("a", (("branch_1_0_joint", 1.0), ("branch_0_5_joint", 1.0)))) == ["base"]
    four_bar = zoo.four_bar()
    assert loop_roots(tree_of(four_bar), rows_of(four_bar)) == [WORLD]  # its two trees meet in the world only


def test_rows_against_the_world_end_where_joints_can_absorb_them(two_arms):
    model = two_arms.with_constraints(contact("tip_0", 6), contact("tip_1", 3))
    roots = early_roots(tree_of(model), rows_of(model))
    assert [model.bodies[i].name for i in roots] == ["base", "branch_1_2"]
    for added in ([contact("branch_1_1", 6)], [contact("tip_0", 6, name="a"), contact("tip_0", 6, name="b")]):
        assert {WORLD} == set(early_roots(tree_of(two_arms), rows_of(two_arms.with_constraints(*added))))


# --- the Delassus matrix ---------------------------------------------------------------------------------------------


def test_delassus_of_loops(two_arms):
    model = two_arms.with_constraints(
        LoopClosure("hands", "tip_0", "tip_1", "weld"),
        LoopClosure("hinge", "branch_0_3", "branch_1_1", "revolute", axis=(1.0, 2.0, 2.0)),
        contact("tip_1", 6),
        Coupling("gear", (("branch_1_4_joint", 1.0), ("branch_0_3_joint", -2.0))),
        Distance("rope", "tip_1", "branch_0_2", 0.4),
    )
    q, _ = random_state(model, rng=7)
    at, rows = rows_at_rest(model, q, "test")
    J, _ = loop_jacobian(at, rows)
    expected = kkt(model, q, np.zeros(model.nv)).J
    for r in rows:  # rows may differ by a rotation: what they span does not
        assert relative(J[r.span].T @ J[r.span], expected[r.span].T @ expected[r.span]) < 1e-10
    A = J @ np.linalg.solve(sarrus.crba(model, q), J.T)
    for method in ("ltl_osim", "pv_osim"):
        assert relative(sarrus.delassus(model, q, method), A) < 1e-11


# --- operation counts ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [lambda n: zoo.cycle(4 * n), zoo.chain_of_loops])
def test_linear_cost(make):
    counts = [sarrus.op_count(make(n), "prox_bbo", mu=1e6, max_iterations=1).total for n in (3, 6)]
    assert np.log(counts[1] / counts[0]) / np.log(2.0) < 1.1


def test_iterations_cost_only_what_they_reach():
    """With rows against the world alone, iterations of prox_ltl are solves; those of prox_bbo stay within the trunk."""
    model = zoo.stem(3, 1, constrained=True)
    for method in PROXIMAL:
        one, three = (sarrus.op_count(model, method, mu=1e6, max_iterations=n).total for n in (1, 3))
        assert three - one < 0.35 * one
