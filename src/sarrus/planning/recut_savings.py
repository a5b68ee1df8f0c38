"""What opening loops at other joints, or another floating base, would save: counted, and said.

It is done only by `sarrus.recut`: it changes the user's coordinates.
"""

from __future__ import annotations

import contextlib

from sarrus.codegen.tape.trace import trace
from sarrus.errors import SarrusError
from sarrus.model.bodies import WORLD
from sarrus.model.constraints import LoopClosure, of_type
from sarrus.model.model import Model
from sarrus.planning.candidates import needs_full_rank, possible_methods
from sarrus.planning.cost import cost_of
from sarrus.planning.recut import recut

_WORTH_SAYING = 0.02
_ITERATIONS = 2.0  # of methods that iterate, here and there


def recut_notes(model: Model) -> tuple[str, ...]:
    """Per loop closure, the joint at which its loop had better be cut; a better floating base. In words; rows only."""
    before = _rows_cost(model)
    notes = []
    for closure in of_type(model.active_constraints, LoopClosure):
        best = (before, "")
        for joint in _on_loop(model, closure):
            try:
                best = min(best, (_rows_cost(recut(model, {closure.name: joint}).model), joint))
            except SarrusError:  # it cannot be cut there
                continue
        if best[0] < (1.0 - _WORTH_SAYING) * before:
            saved = 100.0 * (1.0 - best[0] / before)
            notes.append(
                f"without embedding, cutting {best[1]!r} instead of {closure.name!r} would save {saved:.0f} %: "
                f"`sarrus.recut(model, {{{closure.name!r}: {best[1]!r}}})`, which changes the coordinates"
            )
    cost, base = _best_base(model, before)
    if base is not None and cost < (1.0 - _WORTH_SAYING) * before:
        saved = 100.0 * (1.0 - cost / before)
        notes.append(
            f"without embedding, {base!r} as the floating base would save {saved:.0f} %: "
            f"`sarrus.recut(model, base={base!r})`, which changes the coordinates"
        )
    return tuple(notes)


def _best_base(model: Model, before: float) -> tuple[float, str | None]:
    """The body that is best moved by the free joint, by steps from a base to its neighbours, as long as that pays."""
    roots = [i for i, parent in enumerate(model.parents) if parent == WORLD]
    if len(roots) != 1 or model.bodies[roots[0]].joint.type.name != "free":
        return before, None
    best, base, tried = before, model.body_names[roots[0]], {model.body_names[roots[0]]}
    while True:
        here = model.body_index(base)
        beside = {model.parents[here], *(i for i, parent in enumerate(model.parents) if parent == here)} - {WORLD}
        found = (best, base)
        for name in [model.body_names[i] for i in sorted(beside)]:
            if name not in tried and model.parents.count(model.body_index(name)):  # a leaf as root is a longer tree
                tried.add(name)
                with contextlib.suppress(SarrusError):  # a joint that cannot be reversed
                    found = min(found, (_rows_cost(recut(model, base=name).model), name))
        if found[1] == base:
            return best, base
        best, base = found


def _rows_cost(model: Model) -> float:
    """The least of the methods for rows."""
    costs = []
    for method in possible_methods(model):
        options = {"fallback": None} if needs_full_rank(method) else {}
        costs.append(cost_of(trace(model, method, **options), _ITERATIONS).weighted)
    return min(costs)


def _on_loop(model: Model, closure: LoopClosure) -> list[str]:
    """Joints on the loop that a closure closes."""
    paths = []
    for name in closure.frames:
        path, body = list[int](), model.frame(name).body
        while body != WORLD:
            path.append(body)
            body = model.parents[body]
        paths.append(path)
    return [model.bodies[i].joint.name for i in sorted(set(paths[0]) ^ set(paths[1]))]
