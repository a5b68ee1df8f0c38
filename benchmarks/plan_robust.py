"""Plans against a named robust method on the adversary's mechanisms and states: the same statuses and accelerations?

    python -m benchmarks.plan_robust [SEEDS [FIRST]]

Every family of the adversary but the robots, SEEDS mechanisms of each (default 1), from seed FIRST on (default 0), 20
states of every class. A state on
which both are ok must have the same accelerations to 1e-8, relative to the largest, or as well as its data determine
them: the condition of the equations times rounding, of free accelerations where these are larger (what a mechanism that
is held does at 1e40 rad/s is what rounding leaves of 1e80 rad/s^2).

Robust methods judge alike, so a plan's status is that of prox_ltl. Where it is not (a state that prox_ltl solves badly,
with equations whose condition is 1e18, say), it is compared with that of the primal method, too, and the adversary's
oracle says whether what is ok is right. A status is a comparison, so some states are on its edge: there the robust
method, or the plan, says something else of the same state with other last digits.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterable

import numpy as np

import sarrus
from benchmarks.adversary.mechanisms import FAMILIES, make
from benchmarks.adversary.oracle import EPS, size_of
from benchmarks.adversary.trial import DRAWS, LAST, cases_of, outcomes_of
from benchmarks.adversary.verdict import Case, Outcome, relative_error
from benchmarks.command_line import parser_of
from sarrus.errors import SarrusError
from sarrus.planning.candidates import structural_method

ROBUST, SAME, STATES = "prox_ltl", 1e-8, 20
LEFT_OUT = ("robots", "tree", "embedded")


def compared(family: str, seed: int) -> Counter[str]:
    """Of one mechanism: how many states came out how."""
    found: Counter[str] = Counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mechanism = make(family, seed)
        if mechanism is None or not mechanism.model.active_constraints or mechanism.model.embedding is not None:
            return found
        model = mechanism.model
        plan = sarrus.plan(model, cache=False)
        chosen = sarrus.compile(model, plan.algorithm, cache=False, **plan.options)
        robust = sarrus.compile(model, ROBUST, cache=False)
        primal = sarrus.compile(model, structural_method(model), cache=False)
    for kind, case in cases_of(mechanism, STATES).items():
        results = [kernel(case.q, case.v, case.tau, threads=1) for kernel in (chosen, robust)]
        (mine, _, status), (_, _, expected) = (outcomes_of(case, ROBUST, result) for result in results)
        both = (status == 0) & (expected == 0)
        error = relative_error(results[0].qdd, results[1].qdd, results[1].qdd)
        with np.errstate(all="ignore"):
            cancels = np.fmax(size_of(case.truth.free, case.truth.free) / size_of(results[1].qdd, results[1].qdd), 1.0)
        vague = np.fmax(case.truth.condition, case.truth.kkt) * cancels * EPS * 1e2
        same = both & (error <= np.fmax(SAME, vague))  # of a state that overflows the oracle says nothing
        found["states"] += len(status)
        found["same status"] += int(np.sum(status == expected))
        found["both ok"] += int(both.sum())
        found["same accelerations"] += int(same.sum())
        found["only the plan is ok"] += int(np.sum((status == 0) & (expected != 0)))
        found["only the robust one is ok"] += int(np.sum((status != 0) & (expected == 0)))
        differ = np.flatnonzero(status != expected)
        others = np.asarray(primal(case.q[differ], case.v[differ], case.tau[differ]).status) if len(differ) else differ
        unlike = status[differ] != others
        found["another status, the primal robust method's"] += int(np.sum(~unlike))
        edge = [on_the_edge(case, k, (chosen, robust)) for k in differ[unlike]]
        found["a status of neither, on the edge of one"] += sum(edge)
        found["a status that no robust method has"] += int(np.sum(unlike)) - sum(edge)
        found["plan wrong"] += int(np.sum((mine == Outcome.WRONG) | (mine == Outcome.NAN)))
        for k in np.flatnonzero((mine == Outcome.WRONG) | (mine == Outcome.NAN))[:2]:
            print(f"  {family} {seed} {kind} {k}: {plan.chosen.name}: {Outcome(mine[k]).name} with ok", flush=True)
        for k in np.flatnonzero(both & ~same)[:2]:
            print(f"  {family} {seed} {kind} {k}: {plan.chosen.name}: {error[k]:.1e}, vague {vague[k]:.1e}", flush=True)
        for k, other in zip(differ, others, strict=True):
            others_say = f"{ROBUST} {expected[k]}, {structural_method(model)} {other}"
            words = f"{plan.chosen.name}: status {status[k]} ({Outcome(mine[k]).name}), {others_say}"
            print(f"  {family} {seed} {kind} {k}: {words}", flush=True)
    return found


def on_the_edge(case: Case, k: int, kernels: Iterable[sarrus.Kernel]) -> bool:
    """Whether the last digits of a state decide on the status that one of the kernels gives it."""
    rng = np.random.default_rng(0)
    near = [np.repeat(x[k : k + 1], DRAWS, axis=0) for x in (case.q, case.v, case.tau)]
    near = [x * (1.0 + LAST * rng.uniform(-1.0, 1.0, x.shape)) for x in near]
    return any(len(set(np.asarray(kernel(*near, threads=1).status))) > 1 for kernel in kernels)


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("seeds", nargs="?", type=int, default=1, help="how many mechanisms of each family (1)")
    parser.add_argument("first", nargs="?", type=int, default=0, help="the first seed (0)")
    given = parser.parse_args()
    total: Counter[str] = Counter()
    for family in (f for f in FAMILIES if f not in LEFT_OUT):
        for seed in range(given.first, given.first + given.seeds):
            try:
                total.update(compared(family, seed))
            except SarrusError as error:
                print(f"  {family} {seed}: {error}", flush=True)
    for name, count in total.items():
        print(f"{name:<44} {count:,}")


if __name__ == "__main__":
    main()
