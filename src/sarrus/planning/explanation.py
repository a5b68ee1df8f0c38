"""A plan in words."""

from __future__ import annotations

from typing import Protocol

from sarrus.model.embedding import Cluster
from sarrus.planning.candidate import Candidate
from sarrus.registry.table import find

_MOST_NAMES = 4
_MOST_LINES = 24
_WORDS_FOR_EMBEDDING = (
    "  What is embedded is solved within clusters of bodies, which move as one node of the tree; other loops, gears",
    "  and contacts are rows: equations that the method solves together with the motion.",
)


class AbstractPlan(Protocol):
    """What can be explained and drawn: a `Plan`."""

    @property
    def model_name(self) -> str: ...
    @property
    def digest(self) -> str: ...
    @property
    def batch(self) -> bool: ...
    @property
    def candidates(self) -> tuple[Candidate, ...]: ...
    @property
    def chosen(self) -> Candidate: ...
    @property
    def clusters(self) -> tuple[Cluster, ...]: ...
    @property
    def why(self) -> str: ...
    @property
    def searched(self) -> bool: ...
    @property
    def rows(self) -> int: ...
    @property
    def rank(self) -> int: ...
    @property
    def notes(self) -> tuple[str, ...]: ...
    @property
    def seconds(self) -> float: ...


def explain(plan: AbstractPlan) -> str:
    """Candidates with their costs, what was chosen and why, what was ruled out and why."""
    chosen = plan.chosen
    lines = [f"{plan.model_name}: {in_words(plan)}", f"  {chosen.method}: {summary_of(chosen.method)}"]
    lines.append(f"  why: {plan.why}")
    if plan.rows:
        redundant = plan.rows - plan.rank
        rows = f"  rows: {plan.rows}"
        if plan.searched:
            rows += f", {redundant} of them redundant" if redundant else ", independent of each other"
        lines.append(rows)
    if chosen.fallback is not None:
        share = f"{100.0 * chosen.fallback_share:.0f} % of the states that were tried"
        lines.append(f"  behind it: {chosen.fallback}, for states at which it fails ({share})")
    if plan.searched:
        lines += [
            "",
            "  candidates                                       operations  iterations   about ns a state    cost",
        ]
        lines += [_row(x, chosen) for x in plan.candidates if not x.ruled_out]
    lines += _ruled_out(plan)
    lines += [f"  note: {note}" for note in plan.notes]
    if plan.searched:
        purpose = "batches of states" if plan.batch else "single states"
        lines += [
            "",
            f"  For {purpose}; planned in {plan.seconds:.1f} s. Operations are exact, with iterations and fallbacks as",
            "  measured on a few states. Cost, which decides, is operations weighted by the time that each kind takes,",
            "  relative to what was chosen; times are estimates from it.",
            *_WORDS_FOR_EMBEDDING * bool(everything_embedded(plan)),
        ]
    return "\n".join(lines)


def _ruled_out(plan: AbstractPlan) -> list[str]:
    """By what they embed, and why; those with the same reason together."""
    most = everything_embedded(plan)
    groups: dict[str, dict[str, list[str]]] = {}
    for x in (x for x in plan.candidates if x.ruled_out):
        mine = groups.setdefault(f"embedding {_embedding(x.embedded, most) or 'nothing'}", {})
        methods = mine.setdefault(x.ruled_out, [])
        label = f"{_label(x)} {x.operations:,.0f} operations" if x.operations else _label(x)
        if label and label not in methods:
            methods.append(label)
    lines = []
    for embedding, reasons in groups.items():
        lines.append(f"    {embedding}:")
        for why, methods in reasons.items():
            lines.append(f"      {', '.join(methods)}: {why}" if methods else f"      {why}")
    if len(lines) > _MOST_LINES:
        lines = [*lines[:_MOST_LINES], f"    and {len(lines) - _MOST_LINES} lines more: `plan.candidates` has them all"]
    return ["", "  ruled out", *lines] if lines else []


def in_words(plan: AbstractPlan) -> str:
    """What was chosen."""
    chosen = plan.chosen
    if not plan.searched:
        return f"{chosen.method}, not planned yet (`sarrus.plan(model)` does)"
    words = chosen.method
    if chosen.embedded:
        words += f" on a tree of clusters; embedded: {_embedding(chosen.embedded, everything_embedded(plan))}"
    if chosen.order is not None:
        words += f"; links eliminated by {chosen.order_name}"
    return words


def summary_of(method: str) -> str:
    """What a method does, in the words of its own text."""
    return find(method).summary


def everything_embedded(plan: AbstractPlan) -> tuple[str, ...]:
    """The most that a candidate embeds."""
    return max((x.embedded for x in plan.candidates), key=len, default=())


def _embedding(names: tuple[str, ...], most: tuple[str, ...]) -> str:
    """Names of constraints, or of those that are missing, whichever are fewer."""
    missing = tuple(name for name in most if name not in names)
    if len(names) > _MOST_NAMES and not missing:
        return f"all {len(names)} gears and loops that can be embedded"
    if len(missing) < len(names) and missing and len(names) > _MOST_NAMES:
        return f"all but {_names(missing)}"
    return _names(names)


def _names(names: tuple[str, ...]) -> str:
    shown = ", ".join(names[:_MOST_NAMES])
    return shown if len(names) <= _MOST_NAMES else f"{shown} and {len(names) - _MOST_NAMES} more"


def _label(x: Candidate) -> str:
    return f"{x.method} ({x.order_name})" if x.order is not None else x.method


def _row(x: Candidate, chosen: Candidate) -> str:
    mark = "*" if x is chosen else " "
    iterations = f"{x.iterations:.1f}" if x.iterations else ""
    ratio = x.weighted / chosen.weighted if chosen.weighted else 1.0
    return f"  {mark} {x.name:<46} {x.operations:>11,.0f} {iterations:>11} {x.nanoseconds:>18,.0f} {ratio:>7.2f}"
