"""Whether answers are right. Double precision decides most states; the others are decided in extended precision, with
a tolerance that follows from problems whose data were changed by rounding, and from the condition of the equations.
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

import numpy as np

from benchmarks.adversary import oracle
from benchmarks.adversary.equations import Equations, equations
from benchmarks.adversary.oracle import EPS, MET, NOT_MET, Solution
from sarrus.model.constraints import LoopClosure
from sarrus.model.model import Model

Array = np.ndarray
TOLERANCE = 1e-6  # of accelerations, relative to the largest, free ones included; of rows and of momentum
ROUNDING = 1e-14  # relative size of perturbations: a few tens of units in the last place
SAFETY = 10.0  # an algorithm may be so much worse than what its data determine
DRAWS = 4
VAGUE = 1e-3  # where perturbations move accelerations by more, only rows and momentum are looked at
CHUNK = 100


class Outcome(IntEnum):
    """Of one state by one method."""

    RIGHT = 0
    TOLD = 1  # the status says that something is not as it should be
    NAN = 2  # numbers that are not finite, with status ok
    WRONG = 3  # status ok, and it is not


class Answer(NamedTuple):
    """What a method gave."""

    qdd: Array  # (B, n)
    forces: Array | None  # (B, m); None where some rows' are not given, or in axes that no page names
    ok: Array  # (B,)
    finite: Array  # (B,)


class Case(NamedTuple):
    """States of one mechanism with what the oracle says of them; reused for every method."""

    model: Model
    q: Array
    v: Array
    tau: Array
    e: Equations
    truth: Solution

    def only(self, which: Array) -> Case:
        e, truth = (type(x)(*(y[which] for y in x)) for x in (self.e, self.truth))
        return Case(self.model, self.q[which], self.v[which], self.tau[which], e, truth)


def case_of(model: Model, q: Array, v: Array, tau: Array, seen_from_a: bool = False) -> Case:
    with np.errstate(all="ignore"):
        e = equations(model, q, v, seen_from_a)
    return Case(model, q, v, tau, e, oracle.solve(e, tau))


def judge(case: Case, answer: Answer) -> Array:
    """(B,) outcomes."""
    finite = answer.finite
    out = np.where(answer.ok, np.where(finite, Outcome.WRONG, Outcome.NAN), Outcome.TOLD)
    answerable = np.isfinite(case.v).all(axis=1) & np.isfinite(case.tau).all(axis=1)
    open_ones = np.flatnonzero(answer.ok & finite & answerable)
    deaf = np.flatnonzero(answer.ok & finite & ~answerable)
    if len(deaf):  # a velocity that does not matter, of a slide, say, may be anything
        out[deaf[_does_not_matter(case, _part(answer, deaf), deaf)]] = Outcome.RIGHT
    ways = (
        (False, True) if any(isinstance(c, LoopClosure) for c in case.model.spanning.active_constraints) else (False,)
    )
    for seen_from_a in ways:
        for at in range(0, len(open_ones), CHUNK * 20):
            few = open_ones[at : at + CHUNK * 20]
            here = (
                case.only(few)
                if not seen_from_a
                else case_of(case.model, case.q[few], case.v[few], case.tau[few], True)
            )
            good = _right(here, _part(answer, few), seen_from_a)
            out[few[good]] = Outcome.RIGHT
        open_ones = open_ones[out[open_ones] != Outcome.RIGHT]
    return out


def _part(answer: Answer, which: Array) -> Answer:
    forces = None if answer.forces is None else answer.forces[which]
    return Answer(answer.qdd[which], forces, answer.ok[which], answer.finite[which])


def _does_not_matter(case: Case, answer: Answer, which: Array) -> Array:
    """Whether the answer is right whatever stands where the numbers are not finite."""
    good = np.ones(len(which), bool)
    for number in (0.0, 1.0, -3.0):
        v, tau = (np.where(np.isfinite(x), x, number)[which] for x in (case.v, case.tau))
        good &= _right(case_of(case.model, case.q[which], v, tau), answer, False)
    return good


def _right(case: Case, answer: Answer, seen_from_a: bool) -> Array:
    """Which of these states, all ok and finite, are right."""
    e, truth = case.e, case.truth
    error = relative_error(answer.qdd, truth.qdd, truth.free)
    balance = _balance(e, answer, case.tau, truth.force)
    good = truth.decidable & truth.feasible & (error <= TOLERANCE) & (balance <= TOLERANCE)
    sure = truth.decidable & (np.maximum(truth.condition, truth.kkt) * EPS * 100 < TOLERANCE)
    doubtful = np.flatnonzero(~good & ~sure)
    for at in range(0, len(doubtful), CHUNK):
        few = doubtful[at : at + CHUNK]
        good[few] = _right_extended(case.only(few), _part(answer, few), seen_from_a)
    return good


def _right_extended(case: Case, answer: Answer, seen_from_a: bool) -> Array:
    wide = np.longdouble
    q, v, tau = (x.astype(wide) for x in (case.q, case.v, case.tau))
    ranks = case.truth.rank
    with np.errstate(all="ignore"):
        e = equations(case.model, q, v, seen_from_a)
        qdd, free = oracle.solve_extended(e, tau, ranks)
        off = oracle.relative_residual(e, qdd, free)
        error = relative_error(answer.qdd, qdd, free)
        moved = np.zeros(len(q))
        rng = np.random.default_rng(0)
        for _ in range(DRAWS):
            other, tau2 = _perturbed(case, rng, seen_from_a)
            moved = np.fmax(moved, relative_error(oracle.solve_extended(other, tau2, ranks)[0], qdd, free))
        tolerance = np.maximum(TOLERANCE, SAFETY * np.maximum(moved, EPS * case.truth.kkt))
        wide_answer = answer._replace(qdd=answer.qdd.astype(wide))
        met = oracle.relative_residual(e, wide_answer.qdd, free) <= TOLERANCE
        forces = np.zeros_like(e.k) if answer.forces is None else answer.forces.astype(wide)
        balanced = _balance(e, wide_answer, tau, forces) <= TOLERANCE
        vague = ~_clear(case.truth, off) | (tolerance > VAGUE)
        balance = _balance(e, wide_answer, tau, case.truth.force.astype(wide)) <= tolerance
        near = (off <= NOT_MET) & (error <= tolerance) & balance
        return near | (vague & met & balanced)


def _clear(truth: Solution, off: Array) -> Array:
    return truth.clear & ((off < MET) | (off > NOT_MET))


def _perturbed(case: Case, rng: np.random.Generator, seen_from_a: bool) -> tuple[Equations, Array]:
    """The same problem but for rounding of its data: state, inertia, rows."""

    def near(x: Array, size: Array) -> Array:
        return x.astype(np.longdouble) + ROUNDING * size * rng.uniform(-1.0, 1.0, x.shape)

    q = near(case.q, np.maximum(1.0, np.abs(case.q)))
    e = equations(case.model, q, near(case.v, np.abs(case.v)), seen_from_a)
    diagonal = np.sqrt(np.einsum("bii->bi", e.M))
    M = near(e.M, diagonal[:, :, None] * diagonal[:, None])
    return e._replace(
        M=(M + np.swapaxes(M, 1, 2)) / 2,
        c=near(e.c, e.c_size),
        J=near(e.J, e.J_size[:, :, None]),
        k=near(e.k, e.k_size),
    ), near(case.tau, np.abs(case.tau))


def relative_error(got: Array, expected: Array, free: Array) -> Array:
    """(B,): the largest difference relative to the largest acceleration, that of the free motion included."""
    with np.errstate(all="ignore"):
        return (np.abs(got - expected).max(axis=1) / oracle.size_of(expected, free)).astype(float)


def _balance(e: Equations, answer: Answer, tau: Array, allowed: Array) -> Array:
    if answer.forces is None:
        return np.zeros(len(tau))
    return oracle.momentum_residual(e, answer.qdd, answer.forces, tau, allowed)
