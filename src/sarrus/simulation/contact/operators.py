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


class Tied(NamedTuple):
    """Velocities of joints that a row is on; or of which it may be on one, that of a limit in a slot."""

    velocities: Sequence[int]
    only_one: bool = False


def operator_of(
    model: Model,
    settings: ContactSettings,
    touching: Sequence[Collection[int] | None],
    joints: Sequence[Tied],
    joint_space: bool = False,
) -> Decision:
    """That of a problem.

    touching     per contact: bodies that it may be on; None: it may be between bodies
    joints       rows on joints: limits, dry friction
    joint_space  whether the matrix would be that of joints, because many of them have rows
    """
    if settings.softness is not None:
        return Decision(DENSE, "contacts give way")
    if model.active_constraints:
        return Decision(DENSE, "loops or gears are not embedded")
    if any(bodies is None for bodies in touching):
        return Decision(DENSE, "bodies may touch each other")
    shape = _shape(model, [bodies or () for bodies in touching], joints)
    if shape is None:
        return Decision(DENSE, "friction of tendons ties joints to each other")
    shape = shape._replace(joint_space=joint_space)
    dense, sweeps = (work_of(shape, operator).whole for operator in (DENSE, SWEEPS))
    why = f"about {sweeps:,.0f} operations a step by sweeps, {dense:,.0f} with a matrix"
    return Decision(settings.operator or cheaper_operator(shape), why)


def operator_notes(model: Model, settings: ContactSettings) -> list[str]:
    """A line on each kind of problem that the steps of a model have."""
    contacts, found = settings.contacts, list[str]()
    usual = [(contacts.pair_of(number).a.node,) for number in contacts.usual]
    tendons = [Tied([k for k, _ in rub.moves]) for rub in settings.rubs if not rub.is_joint]
    held = [Tied(limits_of(model)[k].velocities) for k in settings.usual_limits] if settings.limits else []
    decision = operator_of(model, settings, usual, [*tendons, *held])
    if usual:
        found.append(f"contacts where it stands ({len(usual)}) by {_words(decision)}")
    is_one_body = all(parent == WORLD for parent in model.parents)
    if contacts.count > len(contacts.usual) or not is_one_body:
        bodies = {pair.a.node for pair in contacts.pairs}
        any_of_them = bodies if all(pair.b.node == WORLD for pair in contacts.pairs) else None
        limited = settings.limited if settings.limits else ()
        slots = min(settings.limit_slots, 2 * len(limited))
        rows = [Tied([k for k, _ in rub.moves]) for rub in settings.rubs] + [Tied(limited, only_one=True)] * slots
        in_slots = [any_of_them] * contacts.slots
        decision = operator_of(model, settings, in_slots, rows, joint_space=bool(settings.rubs))
        found.append(f"all contacts (at most {contacts.slots} at a time) by {_words(decision)}")
    return found


def _words(decision: Decision) -> str:
    name = "sweeps over the tree" if decision.operator == SWEEPS else "a matrix"
    return f"{name}: {decision.why}"


def _shape(model: Model, touching: Sequence[Collection[int]], joints: Sequence[Tied]) -> Shape | None:
    """In nodes and velocities of the tree that is computed with: of clusters, where some are embedded. None: a row ties
    nodes to each other.
    """
    clusters = None if model.embedding is None else cluster_tree_of(model)
    tree = tree_of(model) if clusters is None else clusters
    node_of = {i: i for i in range(model.nb)} if clusters is None else clusters.node_of
    own = {k: node_of[i] for i, span in enumerate(model.layout.v) for k in range(model.nv)[span]}
    rows = []
    for row in joints:
        nodes = {own[k] for k in row.velocities}
        if len(nodes) > 1 and not row.only_one:
            return None
        spans = [tree.nodes[i].v for i in nodes]
        mine = {k for span in spans for k in range(span.start, span.stop)}
        rows.append(set(row.velocities) if clusters is None else mine)
    return Shape(tree, [{node_of[b] for b in bodies} for bodies in touching], rows)
