"""Every Delassus algorithm against J M^-1 J^T of the dense oracle, to a relative 1e-9; operation counts; errors."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sarrus
from sarrus import zoo
from sarrus.algorithms.delassus.pv_osim_fast import pv_osim_fast
from sarrus.calls.delassus import (
    default_delassus_method,
    delassus,
    delassus_cholesky,
    delassus_methods,
    operational_space_inertia,
)
from sarrus.errors import StateError, UnknownNameError, UnsupportedError
from sarrus.model.constraints import LinkRows, LoopClosure, contact, link_rows
from sarrus.model.model import Model
from sarrus.model.state import random_state
from tests.mechanisms import MOVING_KINDS, Mechanism, mechanism, mechanisms

METHODS = ("efpa", "kjr", "ltl_osim", "pv_osim", "pv_osimr")
TOLERANCE = 1e-9


def constrained(case: Mechanism, rng: np.random.Generator, count: int) -> Model:
    """The case with random constraints on its frames: points, welds and arbitrary rows, several on some links."""
    model = case.model
    frames = [
        name for name in (*model.body_names, *(f"{b}_tool" for b in model.body_names)) if name in model.frame_names
    ]
    added = []
    for k in range(count):
        frame = str(rng.choice(frames))
        kind = rng.integers(3)
        added.append(
            link_rows(frame, rng.normal(size=(rng.integers(1, 7), 6)), name=f"c{k}")
            if kind == 0
            else contact(frame, 3 * int(kind), name=f"c{k}")
        )
    return model.with_constraints(*added)


def expected(case: Mechanism, model: Model, q: np.ndarray) -> np.ndarray:
    blocks = []
    for c in model.active_constraints:
        J = case.oracle.frame_jacobian(*case.frame_on_link(c.frame), q)
        blocks.append(c.K @ J if isinstance(c, LinkRows) else J[: c.size])
    J = np.concatenate(blocks)
    return J @ np.linalg.solve(case.oracle.mass_matrix(q), J.T)


def check(case: Mechanism, seed: int, count: int = 3) -> None:
    model = constrained(case, np.random.default_rng(seed), count)
    q = case.state().q
    Lambda_inv = expected(case, model, q)
    # M^-1 loses as many digits as M has in its condition number, in the oracle as in the library.
    M = case.oracle.mass_matrix(q)
    allowed = max(TOLERANCE, 1e-14 * np.linalg.cond(M))
    # A joint may happen not to move the rows at all; then compare with what rows of length one can see of M^-1.
    scale = max(np.abs(Lambda_inv).max(), 1e-6 * np.abs(np.linalg.inv(M)).max())
    for method in METHODS:
        found = delassus(model, q, method)
        assert np.abs(found - Lambda_inv).max() <= allowed * scale, method
        assert np.array_equal(found, found.T), method


def test_the_registry_has_these_methods():
    assert delassus_methods() == METHODS


@given(mechanisms(max_bodies=6, special=False), st.integers(0, 1000), st.integers(1, 5))
@settings(max_examples=40)
def test_random_mechanisms(case, seed, count):
    if case.model.nv:
        check(case, seed, count)


@pytest.mark.parametrize("kind", MOVING_KINDS)
def test_every_joint_type_as_root_in_the_middle_and_as_leaf(kind):
    kinds = [kind, "revolute", kind, "prismatic", kind]
    check(mechanism(3, kinds, parents=[-1, 0, 1, 2, 1]), seed=1, count=5)
    check(mechanism(4, kinds, parents=[-1, 0, 1, 2, 1], armature=[True] * 5), seed=2, count=5)


@pytest.mark.parametrize("root", ["free", "revolute"])
def test_long_branching_robots_with_several_roots(root):
    rng = np.random.default_rng(8)
    kinds = [root, *rng.choice(["revolute", "universal", "spherical", "prismatic"], 19)]
    parents = [-1, *(int(rng.integers(max(0, i - 3), i)) for i in range(1, 20))]
    parents[10] = -1
    for seed in range(3):
        check(mechanism(seed, kinds, parents), seed, count=7)


MECHANISMS = {
    "chain with a welded tip": zoo.chain_welded_tip(9),
    "chain with every third link welded": zoo.chain_every_kth_welded(3),
    "chain with every link welded": zoo.chain_all_welded(5),
    "ladder": zoo.ladder(2, constrained=True),
    "stem": zoo.stem(4, 2, length=3, constrained=True),
    "four points on one link": zoo.chain(8).with_constraints(
        *(
            link_rows("tip", np.hstack([np.eye(3), np.cross(np.eye(3), p)]), name=f"p{k}")
            for k, p in enumerate(np.eye(4, 3))
        )
    ),
    "two single rows that meet": zoo.tree(7).with_constraints(
        *(link_rows(f"link_{i}", [[1.0, 2.0, 3.0, 0.0, 0.0, 1.0]]) for i in (3, 4, 6))
    ),
}


@pytest.mark.parametrize("model", MECHANISMS.values(), ids=MECHANISMS.keys())
def test_mechanisms_of_the_zoo_in_batches(model):
    """All methods, singles and batches, against crba and frame_jacobian (which have tests of their own)."""
    q, _ = random_state(model, rng=0, batch=5)
    for method in METHODS:
        batch = delassus(model, q, method)
        assert batch.shape == (5, model.n_rows, model.n_rows)
        for k in (0, 4):
            J = [sarrus.frame_jacobian(model, q[k], c.frame) for c in model.active_constraints]
            J = np.concatenate(
                [
                    c.K @ x if isinstance(c, LinkRows) else x[: c.size]
                    for c, x in zip(model.active_constraints, J, strict=True)
                ]
            )
            dense = J @ np.linalg.solve(sarrus.crba(model, q[k]), J.T)
            assert np.abs(batch[k] - dense).max() <= TOLERANCE * np.abs(dense).max(), method
            assert np.abs(batch[k] - delassus(model, q[k], method)).max() <= 1e-12 * np.abs(dense).max(), method


def test_no_constraints_give_an_empty_matrix():
    model = zoo.chain(3)
    for method in METHODS:
        assert delassus(model, np.zeros(3), method).shape == (0, 0)
        assert delassus(model, np.zeros((4, 3)), method).shape == (4, 0, 0)


def test_the_order_of_declaration_is_the_order_of_the_rows():
    tree = zoo.tree(7, floating=True)
    a, b = contact("link_3", 3), contact("link_6", 6)
    q, _ = random_state(tree, rng=2)
    order = [*range(3, 9), *range(3)]
    for method in METHODS:
        one = delassus(tree.with_constraints(b, a), q, method)
        other = delassus(tree.with_constraints(a, b), q, method)
        np.testing.assert_allclose(one, other[np.ix_(order, order)], rtol=1e-12, atol=1e-12 * np.abs(one).max())


def test_casadi_inputs_give_casadi_expressions():
    ca = pytest.importorskip("casadi")
    model = zoo.chain_welded_tip(6)
    q, _ = random_state(model, rng=3)
    symbol = ca.SX.sym("q", model.nq)
    found = ca.Function("f", [symbol], [delassus(model, symbol, damping=0.5)])(q)
    np.testing.assert_allclose(np.asarray(found), delassus(model, q) + 0.5 * np.eye(6), rtol=1e-9, atol=1e-9)


# --- damped, factored, inverted --------------------------------------------------------------------------------------


def test_damping_cholesky_and_inverse():
    model = zoo.stem(2, 2, constrained=True)
    q, _ = random_state(model, rng=1, batch=3)
    A = delassus(model, q)
    np.testing.assert_allclose(delassus(model, q, damping=0.1), A + 0.1 * np.eye(24))
    L = delassus_cholesky(model, q)
    np.testing.assert_allclose(L @ np.swapaxes(L, 1, 2), A, rtol=1e-10, atol=1e-10 * np.abs(A).max())
    assert np.array_equal(L, np.tril(L))
    np.testing.assert_allclose(L[1], delassus_cholesky(model, q[1]), rtol=1e-9, atol=1e-9)
    Lambda = operational_space_inertia(model, q, damping=0.01)
    np.testing.assert_allclose(Lambda @ (A + 0.01 * np.eye(24)), np.broadcast_to(np.eye(24), A.shape), atol=1e-8)
    assert np.array_equal(Lambda, np.swapaxes(Lambda, 1, 2)) or np.allclose(
        Lambda, np.swapaxes(Lambda, 1, 2), rtol=1e-12
    )


def test_redundant_rows_are_named_unless_damped():
    model = zoo.chain(8).with_constraints(contact("tip", 6, name="first"), contact("tip", 3, name="again"))
    q, _ = random_state(model, rng=1, batch=2)
    for call in (delassus_cholesky, operational_space_inertia):
        with pytest.raises(UnsupportedError, match=r"row 0 of constraint 'again' depends.*damping"):
            call(model, q[0])
        with pytest.raises(UnsupportedError, match=r"in 2 of 2 states"):
            call(model, q)
        assert np.isfinite(call(model, q, damping=1e-3)).all()


def test_errors_in_words():
    model = zoo.chain_welded_tip(6)
    with pytest.raises(UnknownNameError, match=r"pv_osim.*Valid: efpa, kjr, ltl_osim, pv_osim, pv_osimr"):
        delassus(model, np.zeros(6), method="pv_osin")
    with pytest.raises(StateError, match=r"damping"):
        delassus(model, np.zeros(6), damping=-1.0)
    loop = zoo.chain(3).with_constraints(LoopClosure("loop", "tip", "world", "weld"))
    for method in METHODS:
        if sarrus.Feature.LOOPS in sarrus.catalog()[method].supports:
            continue
        with pytest.raises(UnsupportedError, match=r"loop"):
            delassus(loop, np.zeros(3), method)


LOOPS = {
    "ring": lambda: zoo.cycle(8),
    "loop and contact": lambda: zoo.star_pairs(2).with_constraints(contact("hub", 3)),
    "centre of mass": lambda: zoo.tree(9, floating=True).with_constraints(sarrus.center_of_mass_constraint("xy")),
}


@pytest.mark.parametrize("name", LOOPS)
def test_by_default_it_takes_whatever_the_model_declares(name):
    model = LOOPS[name]()
    q = sarrus.neutral(model)
    J, M = sarrus.closure(model, q).jacobian, sarrus.crba(model, q)
    expected = J @ np.linalg.solve(M, J.T)
    np.testing.assert_allclose(delassus(model, q), expected, atol=1e-9 * np.abs(expected).max())
    assert np.isfinite(operational_space_inertia(model, q, damping=1e-3)).all()


def test_by_default_it_takes_the_method_with_the_fewest_operations():
    for model in (zoo.chain_welded_tip(6), zoo.stem(2, 2, length=4, constrained=True), zoo.cycle(9)):
        counts = {}
        for method in METHODS:
            try:
                counts[method] = sarrus.op_count(model, method).total
            except UnsupportedError:
                continue
        chosen = default_delassus_method(model)
        assert counts[chosen] == min(counts.values()), counts


def test_dependent_rows_of_loops_are_named():
    model = zoo.cycle(8).with_constraints(sarrus.connect("ring_a", "ring_b", name="again"))
    with pytest.raises(UnsupportedError, match=r"row 0 of constraint 'again' depends"):
        delassus_cholesky(model, sarrus.neutral(model))


# --- the operator ----------------------------------------------------------------------------------------------------


def test_the_operator_applies_and_solves():
    K = np.random.default_rng(6).normal(size=(3, 6))
    two_roots = zoo.random_tree(5, 12, joints=["revolute", "universal"], chain_bias=0.8)
    cases = [
        zoo.stem(3, 2, constrained=True),
        zoo.tree(15, floating=True).with_constraints(
            link_rows("link_7", K), link_rows("link_14", K[::-1]), link_rows("link_13", K[:1])
        ),
        two_roots.with_constraints(contact("body_11", 3)),
        zoo.chain_welded_tip(9),
    ]
    for model in cases:
        q, _ = random_state(model, rng=4, batch=3)
        rhs = np.random.default_rng(5).normal(size=(3, model.n_rows))
        A = delassus(model, q)
        found = pv_osim_fast(model, q, rhs)
        np.testing.assert_allclose(
            found.applied, np.einsum("bij,bj->bi", A, rhs), rtol=1e-9, atol=1e-9 * np.abs(A).max()
        )
        solution = np.linalg.solve(A, rhs[..., None])[..., 0]
        scale = np.linalg.cond(A).max() * 1e-14
        assert np.abs(found.solved - solution).max() <= max(TOLERANCE, scale) * np.abs(solution).max()
        assert not found.status.any()
        single = pv_osim_fast(model, q[1], rhs[1])
        np.testing.assert_allclose(single.solved, found.solved[1], rtol=1e-8, atol=1e-10 * np.abs(solution).max())


def test_the_operator_reports_a_singular_state():
    """A link's own joint does not move its origin: too few joints before the floating base do. L_b is singular, the
    Delassus matrix is not; this is the limitation that the paper names."""
    model = zoo.tree(15, floating=True).with_constraints(contact("link_7", 3), contact("link_14", 3))
    q, _ = random_state(model, rng=4, batch=3)
    found = pv_osim_fast(model, q, np.ones(6))
    assert np.linalg.cond(delassus(model, q)).max() < 1e3
    assert np.isfinite(found.solved).all()
    assert (found.status == sarrus.Status.NOT_DETERMINED).all()


def test_the_operator_names_what_it_cannot_eliminate():
    near = zoo.chain(8, floating=True).with_constraints(
        contact("tip", 3, name="far"), contact("link_1", 6, name="near")
    )
    with pytest.raises(UnsupportedError, match=r"more rows than joint motions between root 'base'.*'near'"):
        pv_osim_fast(near, sarrus.neutral(near), np.zeros(9))
    twice = zoo.chain(20, floating=True).with_constraints(contact("tip", 6, name="a"), contact("tip", 3, name="b"))
    with pytest.raises(UnsupportedError, match=r"9 rows meet at link 'link_19'.*'a', 'b'"):
        pv_osim_fast(twice, sarrus.neutral(twice), np.zeros(9))


# --- operation counts ------------------------------------------------------------------------------------------------


def count(model: Model, method: str) -> int:
    return sarrus.op_count(model, method).total


def test_orderings_of_operation_counts():
    for model in (zoo.chain_welded_tip(12), zoo.stem(3, 2, constrained=True), zoo.ladder(2, constrained=True)):
        assert count(model, "pv_osim") < count(model, "efpa") < count(model, "kjr"), model.name
    one_end_effector = zoo.chain_welded_tip(12)
    assert count(one_end_effector, "pv_osimr") == count(one_end_effector, "pv_osim")
    one_branch = zoo.stem(10, 1, constrained=True)  # a chain with both ends welded
    assert count(one_branch, "pv_osimr") == count(one_branch, "pv_osim")
    long_stem = zoo.stem(20, 3, length=3, constrained=True)
    assert count(long_stem, "pv_osimr") < 0.8 * count(long_stem, "pv_osim")
    long_chain = zoo.chain_welded_tip(30)
    assert count(long_chain, "ltl_osim") > count(long_chain, "efpa") > count(long_chain, "pv_osim")


def test_exponents_on_the_chain_with_every_kth_link_welded():
    def slope(method: str, small: int, large: int) -> float:
        ratio = count(zoo.chain_every_kth_welded(large), method) / count(zoo.chain_every_kth_welded(small), method)
        return float(np.log(ratio) / np.log(large / small))

    # No multiples of 3: the chain's axes are x, y, z in turn, and with them all welded links would have the same axis.
    assert 1.8 < slope("pv_osimr", 7, 10) <= 2.3  # 2.1 from k = 8 to 16: see benchmarks/osim_counts.py
    assert 2.5 < slope("efpa", 5, 7) < 3.2
    assert 3.0 < slope("pv_osim", 5, 7) < 4.2


def test_the_zoo_has_the_papers_mechanisms():
    ladder = zoo.ladder(4)
    assert ladder.nv == 6 + 4 * 7 + 3 * 3
    assert not ladder.constraints
    assert zoo.ladder(4, constrained=True).n_rows == 24
    stem = zoo.stem(5, 2)
    assert stem.nb == 5 + 4 * 7
    assert [name for name in stem.frame_names if name.startswith("tip_")] == ["tip_0", "tip_1", "tip_2", "tip_3"]
    assert zoo.stem(5, 2, constrained=True).n_rows == 24
    assert zoo.chain_every_kth_welded(4).n_rows == 24
    assert [c.frame for c in zoo.chain_every_kth_welded(3).constraints] == ["link_2", "link_5", "link_8"]
    assert zoo.chain_all_welded(4).n_rows == 24
