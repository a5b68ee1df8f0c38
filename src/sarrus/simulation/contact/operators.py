"""Which operator a robot's contact problems are solved with in a step, and why: a matrix, or sweeps over the tree."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from sarrus.mechanics.contact.operator_choice import Shape, cheaper_operator, work_of
from sarrus.model.bodies import WORLD
from sarrus.model.cluster_tree import cluster_tree_of
from sarrus.model.model import Model
from sarrus.model.tree import tree_of
from sarrus.simulation.contact.limits import limits_of
from sarrus.simulation.contact.settings import ContactSettings

DENSE, SWEEPS = "dense", "sweeps"


class Decision(NamedTuple):
    """An operator, and why that."""

    operator: str
    why: str


def operator_of(
    model: Model,
    settings: ContactSettings,
    touching: Sequence[Collection[int] | None],
    limits: Sequence[Collection[int]],
) -> Decision:
    """That of a problem.

    touching  per contact: bodies that it may be on; None: it may be between bodies
    limits    per limit: velocities (of all joints) that it may be on
    """
    if settings.softness is not None:
        return Decision(DENSE, "contacts give way")
    if model.active_constraints:
        return Decision(DENSE, "loops or gears are not embedded")
    if any(bodies is None for bodies in touching):
        return Decision(DENSE, "bodies may touch each other")
    shape = _shape(model, [bodies or () for bodies in touching], limits)
    dense, sweeps = (work_of(shape, operator).whole for operator in (DENSE, SWEEPS))
    why = f"about {sweeps:,.0f} operations a step by sweeps, {dense:,.0f} with a matrix"
    return Decision(settings.operator or cheaper_operator(shape), why)


def operator_notes(model: Model, settings: ContactSettings) -> list[str]:
    """A line on each kind of problem that the steps of a model have."""
    contacts, found = settings.contacts, list[str]()
    usual = [(contacts.pair_of(number).a.node,) for number in contacts.usual]
    held = [(limits_of(model)[k].v,) for k in settings.usual_limits] if settings.limits else []
    decision = operator_of(model, settings, usual, held)
    if usual:
        found.append(f"contacts where it stands ({len(usual)}) by {_words(decision)}")
    is_one_body = all(parent == WORLD for parent in model.parents)
    if contacts.count > len(contacts.usual) or not is_one_body:
        bodies = {pair.a.node for pair in contacts.pairs}
        any_of_them = bodies if all(pair.b.node == WORLD for pair in contacts.pairs) else None
        limited = settings.limited if settings.limits else ()
        slots = min(settings.limit_slots, 2 * len(limited))
        decision = operator_of(model, settings, [any_of_them] * contacts.slots, [limited] * slots)
        found.append(f"all contacts (at most {contacts.slots} at a time) by {_words(decision)}")
    return found


def _words(decision: Decision) -> str:
    name = "sweeps over the tree" if decision.operator == SWEEPS else "a matrix"
    return f"{name}: {decision.why}"


def _shape(model: Model, touching: Sequence[Collection[int]], limits: Sequence[Collection[int]]) -> Shape:
    """In nodes and velocities of the tree that is computed with: of clusters, where some are embedded."""
    body_of = {k: i for i, span in enumerate(model.layout.v) for k in range(model.nv)[span]}
    if model.embedding is None:
        return Shape(tree_of(model), touching, limits)
    tree = cluster_tree_of(model)
    spans = [[tree.nodes[tree.node_of[body_of[k]]].v for k in row] for row in limits]
    independent = [{k for span in row for k in range(span.start, span.stop)} for row in spans]
    return Shape(tree, [{tree.node_of[b] for b in bodies} for bodies in touching], independent)
