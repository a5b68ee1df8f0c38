"""One mechanism under attack: every method that takes it, on states of every class, against the oracle.

The text of a method is asked, too, and must say what its kernel says. Where they differ in the status, and the kernel
itself changes its mind when the last digits of the state do, neither is wrong: a status is a comparison of a residual
with a tolerance, text and kernel round differently, and a method on its own has states, near its own singularities,
whose residual is as large as its tolerance. One who is told there loses nothing, and one who is not has a right answer:
that is asked for, and if the text is ok and wrong, it is a difference. How often this happens has a column of its own.
It must stay rare: a tolerance that rounding often reaches is measured against too little.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Collection, Iterator
from typing import Any

import numpy as np

import sarrus
from benchmarks.adversary.mechanisms import Mechanism, generator, make
from benchmarks.adversary.oracle import EPS
from benchmarks.adversary.states import CLASSES
from benchmarks.adversary.tally import COUNTS, Unit
from benchmarks.adversary.verdict import Answer, Case, Outcome, case_of, judge, relative_error
from sarrus.errors import SarrusError, UnsupportedError
from sarrus.model.constraints import LoopClosure
from sarrus.model.model import Model
from sarrus.planning.embedding_choices import embedding_choices

SOFT = ("pv_soft", "ltl_soft")  # they solve another problem
STIFF = ("lcaba", "constrained_aba")
CHOSEN = ("plan", "all embedded")  # what these are depends on the model
STOPPED = int(getattr(getattr(sarrus, "Status", None), "MAX_ITERATIONS", 3))  # status: max_iterations
EASY = 1e8  # condition up to which a feasible state is one that a method should do
LAST, DRAWS = 4 * EPS, 64  # the last digits of a state, and how often they are drawn
SAME = 1e-8  # text and kernel, relative: penalties of 1e6 cost lcaba that many digits


def methods() -> dict[str, tuple[str, dict[str, Any]]]:
    """(algorithm, options) by name; with and without the robust fallback, and with a penalty that is too stiff."""
    found: dict[str, tuple[str, dict[str, Any]]] = {}
    for name, entry in sarrus.methods().items():
        if name in SOFT or name == "hybrid":
            continue
        found[name] = name, {}
        if "fallback" in entry.options:
            found[f"{name} alone"] = name, {"fallback": None}
        if name in STIFF:
            found[f"{name} stiff"] = name, {"mu": 1e13}
    return found | {label: (label, {}) for label in CHOSEN}


def chosen_for(model: Model, label: str) -> tuple[str, dict[str, Any]] | None:
    """What the plan takes for a model; or hybrid with all embedded that can be, and whether or not it pays."""
    if label == "plan":
        found = sarrus.plan(model, cache=False)
        return found.algorithm, found.options
    possible = embedding_choices(model).possible
    return ("hybrid", {"clusters": possible[1].clusters}) if len(possible) > 1 else None


def cases_of(mechanism: Mechanism, per_class: int, classes: Collection[str] = tuple(CLASSES)) -> dict[str, Case]:
    """States of every class with the oracle's answers."""
    cases = {}
    for kind in classes:
        rng = generator(mechanism.family, mechanism.seed, kind)
        q, v, tau = (np.ascontiguousarray(x) for x in CLASSES[kind](mechanism.model, per_class, rng))
        if len(q):
            cases[kind] = case_of(mechanism.model, q, v, tau)
    return cases


def attack(
    family: str, seed: int, per_class: int, texts: int = 2,
    only: Collection[str] | None = None, classes: Collection[str] = tuple(CLASSES),
) -> list[Unit]:  # fmt: skip
    """Units of one mechanism, one per method (of `only` these)."""
    try:
        mechanism = make(family, seed)
    except SarrusError as error:
        return [Unit(family, seed, "embed", refused=_words(error))]
    except Exception as error:  # what is raised here is a finding
        return [Unit(family, seed, "embed", raised=_words(error))]
    if mechanism is None:
        return [Unit(family, seed, "none", refused="there is no such mechanism here")]
    wanted = {n: m for n, m in methods().items() if only is None or n in only}
    if seed % 5 != 4:
        wanted = {n: m for n, m in wanted.items() if not n.endswith(" stiff")}
    cases = cases_of(mechanism, per_class, classes) if wanted else {}
    units = [unit for name in wanted for unit in _trial(mechanism, name, *wanted[name], cases, texts)]
    for unit in units:
        unit.per_class = per_class
    return units


def _words(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"[:200]


def _trial(
    mechanism: Mechanism, label: str, method: str, options: dict[str, Any], cases: dict[str, Case], texts: int
) -> Iterator[Unit]:
    unit, start = Unit(mechanism.family, mechanism.seed, label), time.perf_counter()
    model = mechanism.model
    if not takes(model, method):
        return
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if label in CHOSEN:
                choice = chosen_for(model, label)
                if choice is None:
                    return
                method, options = choice
            kernel = sarrus.compile(model, method, cache=False, **options)
    except UnsupportedError:
        return
    except Exception as error:  # what is raised here is a finding
        unit.raised = _words(error)
        yield unit
        return
    for kind, case in cases.items():
        result = kernel(case.q, case.v, case.tau, threads=1)
        outcomes, answer, status = outcomes_of(case, method, result)
        counts = unit.counts[kind] = dict.fromkeys(COUNTS, 0)
        easy = case.truth.decidable & case.truth.feasible & (np.maximum(case.truth.condition, case.truth.kkt) < EASY)
        told = outcomes == Outcome.TOLD
        counts |= {"tried": len(outcomes), "right": int(np.sum(outcomes == Outcome.RIGHT)), "told": int(told.sum())}
        counts |= {"needless": int(np.sum(told & easy)), "stopped": int(np.sum(status == STOPPED))}
        counts |= {"nan": int(np.sum(outcomes == Outcome.NAN)), "wrong": int(np.sum(outcomes == Outcome.WRONG))}
        unit.counts[kind] = counts
        for outcome in (Outcome.NAN, Outcome.WRONG):
            for index in np.flatnonzero(outcomes == outcome)[:2]:
                _accuse(unit, kind, int(index), outcome.name)
        for index in range(min(texts, len(outcomes))):
            with sarrus.interpreted():
                text = text_of(case, index, method, options, unit)
            same = None if text is None else text_agrees(case, index, method, text, answer)
            if same is not None:
                counts["texts"] += 1
                if not same and hangs_on_rounding(kernel, case, index, method, text):
                    counts["undecided"] += 1
                elif not same:
                    counts["differ"] += 1
                    _accuse(unit, kind, index, "DIFFER")
    unit.seconds = round(time.perf_counter() - start, 3)
    yield unit


def _accuse(unit: Unit, kind: str, index: int, outcome: str) -> None:
    first = not any(x["states"] == kind and x["outcome"] == outcome for x in unit.offenders)
    unit.offenders.append({"states": kind, "index": index, "outcome": outcome, "first": first})


def takes(model: Model, method: str) -> bool:
    """Whether it is a method for this kind of model at all."""
    rows, embedded = bool(model.active_constraints), model.embedding is not None
    if method == "aba":
        return not rows and not embedded
    if method == "ce_aba":
        return embedded and not rows
    return rows or embedded


def outcomes_of(case: Case, method: str, result: Any) -> tuple[np.ndarray, Answer, np.ndarray]:
    """Outcomes, the answer and its status, which for `aba` is whether numbers are finite."""
    qdd = np.asarray(result if method == "aba" else result.qdd)
    finite = np.isfinite(qdd).all(axis=-1)
    if method == "aba":
        status = np.where(finite, 0, 1)
        return judge(case, Answer(qdd, None, finite, finite)), Answer(qdd, None, finite, finite), status
    status = np.asarray(result.status)
    forces = None
    if method != "ce_aba":
        forces = np.asarray(result.forces)
        finite &= np.isfinite(forces).all(axis=-1)
    answer = Answer(qdd, forces if forces_are_known(case.model) else None, status == 0, finite)
    return judge(case, answer), answer, status


def forces_are_known(model: Model) -> bool:
    """Whether all rows' forces are given, in axes that a page names."""
    if model.embedding is not None:
        return False
    return all(
        c.joint in ("weld", "connect", "spherical") for c in model.active_constraints if isinstance(c, LoopClosure)
    )


def text_of(case: Case, index: int, method: str, options: dict[str, Any], unit: Unit) -> Any:
    """What the text, run as it stands, gives; None where the state is not to be asked."""
    state = (case.q[index], case.v[index], case.tau[index])
    if not all(np.isfinite(x).all() for x in state):
        return None
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return sarrus.forward_dynamics(case.model, *state, method=method, **options)
    except SarrusError:
        return None
    except Exception as error:  # what is raised here is a finding
        unit.raised = _words(error)
        return None


def text_agrees(case: Case, index: int, method: str, text: Any, answer: Answer) -> bool | None:
    """Whether the text gives what the kernel gave; None where the equations do not say what is right."""
    truth = case.truth
    vague = np.maximum(truth.condition[index], truth.kkt[index]) * EPS * 1e2
    if not truth.decidable[index] or not vague < 1e-6:
        return None
    ok = bool(np.asarray(text.status) == 0) if method != "aba" else bool(np.isfinite(text.qdd).all())
    if ok != bool(answer.ok[index]):
        return False
    if not ok:
        return None
    one = slice(index, index + 1)
    off = relative_error(answer.qdd[one], np.asarray(text.qdd, float)[None], truth.free[one])[0]
    return bool(off <= max(SAME, vague))


def hangs_on_rounding(kernel: Callable[..., Any], case: Case, index: int, method: str, text: Any) -> bool:
    """Whether the last digits of the state decide on the kernel's status, and the text, if it is ok, is right."""
    if method == "aba":
        return False
    alone = case.only(np.array([index]))
    outcome = outcomes_of(alone, method, type(text)(*(np.asarray(x)[None] for x in text)))[0][0]
    if outcome not in (Outcome.RIGHT, Outcome.TOLD):
        return False
    rng = np.random.default_rng(0)
    near = [np.repeat(x, DRAWS, axis=0) for x in (alone.q, alone.v, alone.tau)]
    ok = np.asarray(kernel(*(x * (1 + LAST * rng.uniform(-1, 1, x.shape)) for x in near), threads=1).status) == 0
    return bool(ok.any() and not ok.all())
