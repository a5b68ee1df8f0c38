"""`plan`: how to compute a model's forward dynamics, by exact count.

Candidates are what to embed, times methods for the rest, times elimination orders. Tracing one takes a second, so:

- what to embed goes by kinds of clusters (`embedding_choices.py`);
- methods that factor the mass matrix are not tried where that alone costs half as much again as the best;
- methods that cost half as much again as the best, where nothing is embedded, are not tried on clusters;
- on clusters the method alone is counted first, and the pass for the forces of what is embedded only if that is
  already less than the best;
- where all that can be embedded pays by far, nothing less than almost all is tried, and the other way round;
- orders are proposed by a structural estimate (`orders.py`), and only where lcaba is near the best.

Each candidate runs on a few states on the constraints: they tell the iterations to expect and how many states need the
fallback, and what disagrees with the robust methods is ruled out.
"""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import numpy as np

from sarrus.algorithms.embedded.hybrid import with_clusters
from sarrus.codegen.tape.tape import Tape
from sarrus.codegen.tape.trace import trace
from sarrus.errors import SarrusError, UnsupportedError
from sarrus.model.constraints import LoopClosure
from sarrus.model.model import Model
from sarrus.planning.candidate import Candidate
from sarrus.planning.candidates import (
    joint_space_bound,
    needs_full_rank,
    possible_methods,
    robust_behind,
    structural_method,
)
from sarrus.planning.cost import Cost, cost_of, nanoseconds
from sarrus.planning.embedding_choices import NOTHING, Choice, embedding_choices
from sarrus.planning.kept_plans import keep, kept_plan
from sarrus.planning.orders import DEFAULT, proposed_orders
from sarrus.planning.plan import Plan
from sarrus.planning.recut_savings import recut_notes
from sarrus.planning.samples import Samples, evaluate, expected_largest, rank, sample_states
from sarrus.registry.table import find
from sarrus.spatial.arrays import Array
from sarrus.status import Status

LANES = 8  # states that a batch computes together, at most: all wait for the slowest
_FAR = 1.5  # times the best: a method so much worse is not tried on clusters
_CLEARLY = 1.2  # times: embedding all against embedding nothing
_NEAR = 1.3  # times the best: orders may make up for that
_DISAGREES = 1e-6  # relative, of accelerations
_ORDERS = 5  # at most so many are counted
_BEHIND_CLUSTERS = "prox_ltl"
_NO_RECUTS = "no other joint to cut a loop at, and no other floating base, would save anything worth mentioning"
_RECUTS = "loops may cost less if they are cut at other joints: `plan(model, recuts=True)`, `sarrus plan --recuts`"


def plan(model: Model, batch: bool = True, *, cache: bool = True, recuts: bool = False) -> Plan:
    """How to compute this model's forward dynamics best: what to embed, which method to use, in which order.

    batch   whether to plan for batches of states, in which all lanes wait for the slowest, or for single states
    cache   whether to use a plan from disk, and keep this one there
    recuts  whether `notes` should say what opening loops at other joints would save (`sarrus.recut`); this takes longer

    It takes seconds, but only once: plans are kept on disk, by content. From then on `forward_dynamics(model, ...)`,
    `compile(model)` and `simulate(model, ...)` follow it unless you name a method. `plan.explain()` gives the reasons.

    returns  a `Plan`
    errors   `UnsupportedError`: a model with symbols

    >>> sarrus.plan(sarrus.zoo.chain(3)).candidates[0].method
    'aba'
    """
    if not isinstance(model, Model):
        raise UnsupportedError(f"plan: the first argument must be a sarrus.Model, got {type(model).__name__}")
    if not model.is_numeric:
        raise UnsupportedError(
            f"plan: model {model.name!r} contains symbols, and which method is best depends on their values. Name "
            "a method"
        )
    found = kept_plan(model, batch) if cache else None
    if found is None:
        from sarrus.codegen.runtime.compile import without_collection  # a plan that is on disk needs no native code

        start = time.perf_counter()
        with without_collection():
            made = _Search(model, batch).run()
        found = Plan(**{**vars(made), "seconds": time.perf_counter() - start})
        keep(model, found, on_disk=cache)
    if recuts:
        notes = (*(x for x in found.notes if x != _RECUTS), *(recut_notes(model) or (_NO_RECUTS,)))
        found = Plan(**{**vars(found), "notes": notes})
    return found


def structural_plan(model: Model, batch: bool = True) -> Plan:
    """The plan that needs no search."""
    method = structural_method(model)
    why = "by structure, without counting: robust, and never far from the best"
    candidate = Candidate(method, fallback=None)
    return Plan(model.name, model.digest, batch, (candidate,), why=why, searched=False, rows=model.n_rows)


class _Counted(NamedTuple):
    candidate: Candidate
    choice: Choice


class _Search:
    def __init__(self, model: Model, batch: bool) -> None:
        self.model, self.batch = model, batch
        self.counted: list[_Counted] = []
        self.ruled_out: list[Candidate] = []
        self.reference: Array | None = None  # accelerations that a robust method finds
        self.bounds: dict[tuple[str, ...], float] = {}  # by what is embedded: the least that methods cost there
        self.bounds_of_bbo: dict[tuple[str, ...], float] = {}
        self.inputs = ("q", "v", "tau", "k") if model.n_input_rows else ("q", "v", "tau")

    def run(self) -> Plan:
        choices = embedding_choices(self.model)
        self.samples: Samples = sample_states(self.model, choices.configurations)
        self.rank = max((rank(J) for J in self.samples.jacobians), default=0)
        for names, why in choices.ruled_out:
            self.ruled_out.append(Candidate("", names, ruled_out=why))
        methods = possible_methods(self.model)
        for method in methods:
            self._count(NOTHING, method)
        self._try_orders(NOTHING)
        self.near = {x.candidate.method for x in self.counted if x.candidate.weighted <= _FAR * self.best}
        self.far = {x.candidate.method for x in self.counted} - self.near
        plain, whole = self.best, choices.possible[1:2]
        for choice in whole:
            self._count_all(choice)
        of_all = min((x for names, x in self.bounds.items() if whole and names == whole[0].names), default=plain)
        for choice in choices.possible[2:]:
            almost_all = 2 * len(choice.clusters) >= len(whole[0].clusters)
            if almost_all and of_all > _CLEARLY * plain:
                self._rule_out(choice, "embedding all costs far more than embedding nothing")
            elif not almost_all and _CLEARLY * of_all < plain:
                self._rule_out(choice, "embedding all costs far less than embedding nothing")
            else:
                self._count_all(choice)
        return self._plan()

    def _count_all(self, choice: Choice) -> None:
        """All methods for what is left when this is embedded, and orders."""
        possible = possible_methods(with_clusters(self.model, choice.clusters))
        for method in sorted(possible, key=lambda method: method != "bbo"):
            if method in self.far:
                why = f"costs more than {_FAR:g} times the best where nothing is embedded"
                self.ruled_out.append(Candidate(method, choice.names, ruled_out=why))
            else:
                self._count(choice, method)
        self._try_orders(choice)

    def _rule_out(self, choice: Choice, why: str) -> None:
        self.ruled_out.append(Candidate("", choice.names, ruled_out=why))

    @property
    def best(self) -> float:
        return min((x.candidate.weighted for x in self.counted), default=np.inf)

    def _count(
        self, choice: Choice, method: str, order_name: str = DEFAULT, order: tuple[int, ...] | None = None
    ) -> None:
        """Trace a candidate, run it on the samples, and enter it where it belongs."""
        fallback = _BEHIND_CLUSTERS if choice.names else robust_behind(method)
        candidate = Candidate(method, choice.names, order_name, order, fallback)
        candidate = _with(candidate, ruled_out=self._too_few_rows_are_independent(choice, method))
        bound = joint_space_bound(with_clusters(self.model, choice.clusters), method)
        if not candidate.ruled_out and bound > _FAR * self.best:  # on long chains even tracing it takes a minute
            candidate = _with(
                candidate, ruled_out=f"factoring the mass matrix alone takes some {bound:,.0f} operations"
            )
        if not candidate.ruled_out and choice.names:
            candidate = self._ruled_out_by_bounds(choice, candidate)
        if candidate.ruled_out:
            self.ruled_out.append(candidate)
            return
        try:
            tape = self._trace(self.model, "hybrid" if choice.names else method, self._options(choice, candidate))
        except SarrusError as error:
            self.ruled_out.append(_with(candidate, ruled_out=str(error)))
            return
        candidate = self._measured(candidate, tape)
        if candidate.ruled_out:
            self.ruled_out.append(candidate)
        else:
            self.counted.append(_Counted(candidate, choice))

    def _options(self, choice: Choice, candidate: Candidate) -> dict[str, Any]:
        """Without a fallback: what only some states need is not counted, and takes time to trace."""
        options: dict[str, Any] = {} if candidate.order is None else {"order": candidate.order}
        if choice.names:
            return options | {"clusters": choice.clusters, "solver": candidate.method, "fallback": None}
        return options | ({"fallback": None} if candidate.fallback is not None else {})

    def _trace(self, model: Model, method: str, options: dict[str, Any]) -> Tape:
        inputs = tuple(name for name in self.inputs if name in find(method).input_names)
        return trace(model, method, inputs=inputs, **options)

    def _too_few_rows_are_independent(self, choice: Choice, method: str) -> str:
        """Why a full-rank method is no choice for the rows that are left; "" if it is one."""
        if not needs_full_rank(method):
            return ""
        left = [i for c, span in _spans(self.model) if c.name not in choice.names for i in range(span.start, span.stop)]
        mine = [i for c, span in _spans(self.model) if c.name in choice.names for i in range(span.start, span.stop)]
        found = 0
        for J in self.samples.jacobians:
            J = J[-self.model.n_rows :] if self.model.embedding is not None else J
            found = max(found, rank(J[mine + left]) - rank(J[mine]))
        if found < len(left):
            return (
                f"only {found} of {len(left)} rows are independent: {method} needs full rank, and its forces would not "
                f"be those of the robust methods"
            )
        return ""

    def _ruled_out_by_bounds(self, choice: Choice, candidate: Candidate) -> Candidate:
        """By the method alone, on the clusters, without the forces of what is embedded: a lower bound."""
        if candidate.method == "prox_bbo" and self.bounds_of_bbo.get(choice.names, 0.0) >= self.best:
            return _with(candidate, ruled_out="bbo, which is the same without iterations, costs more than the best")
        at_work = with_clusters(self.model, choice.clusters)
        options: dict[str, Any] = {} if candidate.order is None else {"order": candidate.order}
        if "fallback" in find(candidate.method).options:
            options["fallback"] = None
        try:
            tape = self._trace(at_work, candidate.method, options)
        except SarrusError as error:
            return _with(candidate, ruled_out=str(error))
        bound = cost_of(tape, 1.0)
        self.bounds[choice.names] = min(bound.weighted, self.bounds.get(choice.names, np.inf))
        if candidate.method == "bbo":
            self.bounds_of_bbo[choice.names] = bound.weighted
        if bound.weighted < self.best:
            return candidate
        why = "more than the best, even without the forces of what is embedded"
        return _with(candidate, operations=bound.operations, ruled_out=why)

    def _measured(self, candidate: Candidate, tape: Tape) -> Candidate:
        """With its cost; ruled out where it is wrong on the samples."""
        found = evaluate(tape, self.samples.arrays)
        qdd = found[tape.outputs[0].name]
        status = found.get("status", np.zeros(len(qdd)))
        good, iterations = status == Status.OK, found.get("iterations", np.zeros(len(qdd)))
        if self.reference is None:
            self.reference = np.where(good[:, None], qdd, np.nan)
        both = good & np.isfinite(self.reference).all(axis=1)
        scale = 1.0 + np.abs(self.reference[both]).max(initial=0.0, axis=1)
        off = float((np.abs(qdd - self.reference)[both].max(initial=0.0, axis=1) / scale).max(initial=0.0))
        if off > _DISAGREES:
            return _with(candidate, ruled_out=f"accelerations are off by {off:.0e} on the states that were tried")
        expected = expected_largest(iterations, LANES if self.batch else 1)
        cost = cost_of(tape, expected)
        share = float(np.mean(~good)) if candidate.fallback is not None and len(good) else 0.0
        behind = self._fallback_cost(candidate.fallback, share)
        operations, weighted = cost.operations + behind.operations, cost.weighted + behind.weighted
        return _with(
            candidate, operations=operations, weighted=weighted, nanoseconds=nanoseconds(tape, weighted),
            iterations=expected, fallback_share=share,
        )  # fmt: skip

    def _fallback_cost(self, fallback: str | None, share: float) -> Cost:
        """What the robust method adds: in a batch, wherever one of the lanes needs it."""
        robust = [x.candidate for x in self.counted if x.candidate.fallback is None]
        robust = [x for x in robust if x.method == fallback] or robust
        if share == 0.0 or not robust:
            return Cost(0.0, 0.0)
        often = 1.0 - (1.0 - share) ** LANES if self.batch else share
        dearest = max(robust, key=lambda x: x.weighted)
        return Cost(often * dearest.operations, often * dearest.weighted)

    def _try_orders(self, choice: Choice) -> None:
        """Other elimination orders, where lcaba is near the best."""
        mine = [x.candidate for x in self.counted if x.choice is choice and x.candidate.method == "lcaba"]
        if not mine or mine[0].weighted > _NEAR * self.best:
            return
        orders = proposed_orders(with_clusters(self.model, choice.clusters))
        for name, order in list(orders.items())[1 : 1 + _ORDERS]:
            self._count(choice, "lcaba", name, order)

    def _plan(self) -> Plan:
        counted = sorted(self.counted, key=lambda x: (x.candidate.weighted, x.candidate.fallback is not None))
        if not counted:  # nothing could be traced: what the structure says, with the reasons
            fallen = structural_plan(self.model, self.batch)
            return Plan(**{**vars(fallen), "candidates": (*fallen.candidates, *self.ruled_out)})
        best = counted[0]
        candidates = (*(x.candidate for x in counted), *self.ruled_out)
        return Plan(
            self.model.name, self.model.digest, self.batch, candidates, best.choice.clusters, self._why(counted),
            rows=self.model.n_rows, rank=self.rank, notes=self._notes(),
        )  # fmt: skip

    def _why(self, counted: list[_Counted]) -> str:
        best = counted[0].candidate
        if len(counted) == 1:
            return "the only method that takes this model as it is"
        second = counted[1].candidate
        less = round(100.0 * (1.0 - best.weighted / second.weighted))
        apart = f"{less} % below the next" if less else "about as much as the next"
        return f"the least cost of {len(counted)} candidates that were counted, {apart} ({second.name})"

    def _notes(self) -> tuple[str, ...]:
        notes = []
        if not self.samples.closed:
            notes.append("no configuration was found that closes all loops: iterations are those of open ones")
        if any(isinstance(c, LoopClosure) for c in self.model.active_constraints):
            notes.append(_RECUTS)
        return tuple(notes)


def _with(candidate: Candidate, **changed: Any) -> Candidate:
    return Candidate(**{**vars(candidate), **changed})


def _spans(model: Model) -> list[tuple[Any, slice]]:
    return list(zip(model.active_constraints, model.row_spans, strict=True))
