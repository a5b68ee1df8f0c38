"""The adversary's oracle: against the dense oracle of the tests, against Pinocchio, exact fractions, and by hand."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import sarrus
from benchmarks.adversary import extended, oracle
from benchmarks.adversary.equations import Equations, equations
from benchmarks.adversary.verdict import Answer, Outcome, case_of, judge
from sarrus.model.builder import ModelBuilder
from sarrus.model.constraints import CLOSURES
from sarrus.model.state import random_state
from tests.algorithms.test_loop_dynamics import FULL_RANK, REDUNDANT, mechanism
from tests.mechanisms import GEOMETRIES, MOVING_KINDS, relative_error
from tests.mechanisms import mechanism as tree_of_kinds
from tests.oracles import loops
from tests.oracles.dense import oracle_of_model

WIDE = np.longdouble


def with_k(J: np.ndarray, k: np.ndarray) -> np.ndarray:
    """What rows say, whatever basis they are in."""
    rows = np.column_stack([J, k])
    return rows.T @ rows


@pytest.mark.parametrize("geometry", GEOMETRIES)
def test_mass_and_bias_of_every_joint_are_those_of_the_dense_oracle(geometry):
    n = len(MOVING_KINDS)
    model = tree_of_kinds(3, list(MOVING_KINDS), geometries=[geometry] * n, armature=[True] * n).model
    q, v = random_state(model, 0, 3)
    e, dense = equations(model, q, v), oracle_of_model(model)
    for x in range(3):
        assert relative_error(e.M[x], dense.mass_matrix(q[x])) < 1e-14
        assert relative_error(e.c[x], dense.bias(q[x], v[x])) < 1e-14


@pytest.mark.parametrize("name", [*FULL_RANK, *REDUNDANT])
def test_rows_and_solutions_are_those_of_the_dense_oracle(name):
    model, (q, v, tau) = mechanism(name)
    problem = loops.kkt(model, q, v)
    e = equations(model, q[None], v[None])
    assert relative_error(with_k(e.J[0], e.k[0]), with_k(problem.J, problem.k)) < 1e-12
    truth = oracle.solve(e, tau[None])
    if truth.feasible[0]:
        assert relative_error(truth.qdd[0], loops.solve(problem, tau)[0], 1.0) < 1e-9
    assert truth.clear[0]
    assert truth.rank[0] == np.linalg.matrix_rank(problem.J, 1e-9)


@pytest.mark.parametrize("joint", [*CLOSURES])
def test_rows_are_second_derivatives_of_their_errors(joint):
    """Along a motion with the accelerations of a solution the errors grow with the cube of time only."""
    model, (q, v, tau) = mechanism(f"full rank: {joint}")
    truth = oracle.solve(equations(model, q[None], v[None]), tau[None])
    a, errors = truth.qdd[0], []
    assert model.constraints[0].stabilization  # so that v and the errors matter little: they are zero
    for t in (1e-2, 2e-2):
        at = sarrus.integrate(model, q, t * v + 0.5 * t * t * a)
        errors.append(np.abs(equations(model, at[None], v[None]).error).max())
    assert errors[1] / errors[0] > 6.0
    assert errors[0] < 1e-2


def test_extended_precision_agrees_and_is_finer():
    model, (q, v, tau) = mechanism("several")
    double = oracle.solve(equations(model, q[None], v[None]), tau[None])
    e = equations(model, q[None].astype(WIDE), v[None].astype(WIDE))
    wide, _ = oracle.solve_extended(e, tau[None].astype(WIDE), double.rank)
    assert wide.dtype == WIDE
    assert relative_error(double.qdd, wide) < 1e-11
    if np.finfo(WIDE).eps < 1e-18:  # where the processor has more than double
        assert np.abs(oracle.relative_residual(e, wide, wide)).max() < 1e-17


def test_linear_algebra_in_extended_precision_is_numpys():
    rng = np.random.default_rng(0)
    A = rng.normal(size=(5, 7, 4))
    Y = np.concatenate([A @ rng.normal(size=(4, 6)), rng.normal(size=(5, 0, 6))], axis=1)  # (5, 7, 6) of rank 4
    b = rng.normal(size=(5, 7))
    x = extended.minimum_norm(Y, b, np.full(5, 4))
    expected = np.stack([np.linalg.lstsq(y, c, rcond=1e-10)[0] for y, c in zip(Y, b, strict=True)])
    assert relative_error(x, expected) < 1e-12
    M = A.transpose(0, 2, 1) @ A
    L = extended.cholesky(M)
    assert relative_error(L, np.linalg.cholesky(M)) < 1e-12
    X = rng.normal(size=(5, 4, 2))
    assert relative_error(extended.backward(L, extended.forward(L, X)), np.linalg.solve(M, X)) < 1e-10


def problem(M, J, k) -> Equations:
    """One state with these numbers and nothing known of how they came about."""
    M, J, k = (np.array(x, dtype=float)[None] for x in (M, J, k))
    n, m = M.shape[1], J.shape[1]
    return Equations(M, np.zeros((1, n)), J, k, np.zeros((1, m)), np.zeros((1, n)), np.ones((1, m)), np.abs(k))


def test_a_tiny_case_in_exact_fractions():
    """Masses 1, 2, 3 in a row, the first two tied twice over, forces 1, 0, 5: by hand, in fractions."""
    e = problem(np.diag([1.0, 2.0, 3.0]), [[1.0, -1.0, 0.0], [-3.0, 3.0, 0.0]], [1.0, -3.0])
    truth = oracle.solve(e, np.array([[1.0, 0.0, 5.0]]))
    # a1 - a2 = 1 and 1 a1 + 2 a2 = 1 (the tie does no work on their sum): a1 = 1, a2 = 0.
    exact = [Fraction(1), Fraction(0), Fraction(5, 3)]
    assert truth.qdd[0] == pytest.approx([float(x) for x in exact], abs=1e-15)
    assert truth.rank[0] == 1
    assert truth.clear[0]
    assert truth.feasible[0]
    wide, _ = oracle.solve_extended(
        Equations(*(x.astype(WIDE) for x in e)), np.array([[1.0, 0.0, 5.0]], WIDE), truth.rank
    )
    assert np.abs(wide[0] - np.array([x.numerator / WIDE(x.denominator) for x in exact])).max() < 1e-15


def test_rows_in_conflict_are_seen():
    truth = oracle.solve(problem(np.eye(2), [[1.0, 0.0], [1.0, 0.0]], [0.0, 1.0]), np.zeros((1, 2)))
    assert truth.decidable[0]
    assert not truth.feasible[0]
    assert truth.qdd[0] == pytest.approx([0.5, 0.0])


@pytest.mark.parametrize(("tiny", "clear"), [(1e-17, True), (1e-11, False), (1e-4, True)])
def test_ranks_between_rounding_and_clear_are_not_decided(tiny, clear):
    e = problem(np.eye(3), [[1.0, 0.0, 0.0], [1.0, tiny, 0.0]], [0.0, 0.0])
    assert oracle.solve(e, np.ones((1, 3))).clear[0] == clear


def test_the_condition_tells_of_near_singular_rows():
    condition = [
        oracle.solve(problem(np.eye(3), [[1.0, 0.0, 0.0], [1.0, x, 0.0]], [0.0, 0.0]), np.ones((1, 3))).condition[0]
        for x in (1.0, 1e-3, 1e-6)
    ]
    assert condition[0] < 1e2
    assert 1e2 < condition[1] < 1e7
    assert 1e5 < condition[2] < 1e13


def arm() -> sarrus.Model:
    builder = ModelBuilder("arm")
    for k, parent in enumerate(("world", "b0", "b1", "b2")):
        builder.add_body(
            f"b{k}", parent, axis=np.eye(3)[k % 3], position=(0.0, 0.0, -0.3), mass=1.0, com=(0, 0.02, -0.15),
            inertia=0.01 * np.eye(3),
        )  # fmt: skip
    return builder.add_frame("tip", "b3", position=(0, 0, -0.3)).build().with_constraints(sarrus.contact("tip", 3))


def judged(model, q, v, tau, change=0.0, status=0.0):
    result = sarrus.forward_dynamics(model, q, v, tau, method="ltl")
    answer = Answer(
        result.qdd + change, result.forces, np.full(len(q), status) == 0.0, np.isfinite(result.qdd + change).all(axis=1)
    )
    return judge(case_of(model, q, v, tau), answer)


def test_verdicts():
    """Right answers are right, wrong ones wrong, and what is told is told."""
    model = arm()
    q, v = random_state(model, 0, 5)
    tau = np.ones_like(v)
    assert (judged(model, q, v, tau) == Outcome.RIGHT).all()
    assert (judged(model, q, v, tau, change=1e-2) == Outcome.WRONG).all()
    assert (judged(model, q, v, tau, change=np.nan) == Outcome.NAN).all()
    assert (judged(model, q, v, tau, change=1e-2, status=1.0) == Outcome.TOLD).all()


def test_forces_that_do_not_balance_are_wrong():
    model = arm()
    q, v = random_state(model, 0, 3)
    result = sarrus.forward_dynamics(model, q, v, v, method="ltl")
    answer = Answer(result.qdd, result.forces + 1.0, np.ones(3, bool), np.ones(3, bool))
    assert (judge(case_of(model, q, v, v), answer) == Outcome.WRONG).all()


def test_numbers_that_do_not_matter_may_be_anything():
    """The velocity of a slide has no part in its acceleration; a torque has."""
    model = ModelBuilder("slide").add_body("b", joint="prismatic", mass=1.0).build()
    case = case_of(model, np.zeros((2, 1)), np.array([[np.nan], [0.0]]), np.array([[0.0], [np.inf]]))
    answer = Answer(np.full((2, 1), -9.81), None, np.ones(2, bool), np.ones(2, bool))
    assert judge(case, answer).tolist() == [Outcome.RIGHT, Outcome.WRONG]


def test_what_overflows_in_double_is_decided_in_extended_precision():
    """At 1e160 the squares of velocities are no doubles: ok is wrong whatever the numbers; at 1e100 they are."""
    model = arm().without_constraints()
    q, v = random_state(model, 0, 4)
    for size, expected in ((1e160, Outcome.WRONG), (1e100, Outcome.RIGHT)):
        case = case_of(model, q, size * v, np.zeros_like(v))
        with np.errstate(all="ignore"):
            qdd = np.nan_to_num(sarrus.aba(model, q, size * v, np.zeros_like(v)), posinf=0.0, neginf=0.0)
        assert (judge(case, Answer(qdd, None, np.ones(4, bool), np.ones(4, bool))) == expected).all()


@pytest.mark.parametrize("seed", range(3))
def test_the_truth_is_pinocchios(seed):
    pin = pytest.importorskip("pinocchio")
    model = pin.buildSampleModelHumanoidRandom()
    ours = sarrus.from_pinocchio(model)
    rng = np.random.default_rng(seed)
    q, v = random_state(ours, rng)
    data = model.createData()
    e = equations(ours, q[None], v[None])
    M = pin.crba(model, data, q)
    M = np.triu(M) + np.triu(M, 1).T
    assert relative_error(e.M[0], M) < 1e-12
    assert relative_error(e.c[0], pin.nonLinearEffects(model, data, q, v)) < 1e-12
