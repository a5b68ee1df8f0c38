"""A drawing of a mechanism's graph and of its plan.

Bodies are circles under the world, joints are lines; a number says when a body is eliminated. Loop closures, distances
and couplings are curves between the bodies that they tie together; bodies that are embedded share a blob.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import replace

from sarrus.algorithms.embedded.hybrid import with_clusters
from sarrus.errors import UnsupportedError
from sarrus.model.bodies import WORLD
from sarrus.model.cluster_tree import cluster_tree_of
from sarrus.model.clusters import bodies_of
from sarrus.model.constraints import CenterOfMass, Constraint, Coupling, Distance, LinkConstraint, LoopClosure
from sarrus.model.embedding import Cluster
from sarrus.model.model import Model
from sarrus.planning.candidates import LOOPS
from sarrus.planning.explanation import AbstractPlan, in_words, summary_of
from sarrus.planning.orders import coupled_links, proposed_orders
from sarrus.planning.shapes import Circle, Drawing, Line, Point, Shape, Text

_X, _Y = 92.0, 66.0  # from one leaf to the next, and from a parent to its child
_MARGIN, _TOP, _LEGEND = 40.0, 88.0, 76.0
_RADIUS = 12.0
_ACROSS = 30.0  # below a body: where lines to its children part
_LONGEST = 12  # letters of a name, or of a part of it
_BLOB = 38.0  # wide
_BLOBS = ("#cfe8d5", "#d5e2f4", "#f4e6c8", "#ead7ee", "#d3ecec", "#f2d9d4")
_CUT, _ROD, _GEAR, _GROUND = "#c0392b", "#b9770e", "#7d3c98", "#5d6d7e"
_INK, _PALE = "#222", "#666"
_NAME, _SMALL, _TITLE = 10.0, 11.0, 16.0  # sizes of letters


def draw(model: Model, plan: AbstractPlan) -> Drawing:
    """The graph of a model as its plan sees it."""
    if plan.digest != model.digest:
        raise UnsupportedError(
            f"this plan was made for another model ({plan.model_name!r}), or for another version of it"
        )
    at, width, depth = _places(model)
    width = max(width, 700.0)
    bottom = _TOP + depth * _Y + 60.0
    shapes: list[Shape] = [
        Text((_MARGIN, 26.0), model.name, _TITLE, _INK, bold=True),
        *(Text((_MARGIN, 44.0 + 15.0 * k), words, _SMALL) for k, words in enumerate(_subtitles(model, plan))),
        Line((_MARGIN / 2, _TOP), (width - _MARGIN / 2, _TOP), _GROUND, 5.0),
        Text((width - 70.0, _TOP - 7.0), "the world", _NAME),
    ]
    shapes += _blobs(model, plan, at)
    shapes += _joints(model, at)
    shapes += _constraints(model, at)
    shapes += _bodies(model, _numbers(model, plan), at)
    shapes += _legend(model, plan, bottom)
    return Drawing(width, bottom + _LEGEND, tuple(shapes))


def _subtitles(model: Model, plan: AbstractPlan) -> list[str]:
    rows = f", {model.n_rows} constraint rows" if model.n_rows else ""
    method = plan.chosen.method
    return [
        f"{model.nb} bodies, {model.nv} velocities{rows}. Plan: {in_words(plan)}",
        f"{method}: {summary_of(method)}",
    ]


def _places(model: Model) -> tuple[dict[int, Point], float, int]:
    """Where bodies are drawn: leaves side by side, parents above the middle of their children."""
    children: dict[int, list[int]] = {WORLD: []} | {i: [] for i in range(model.nb)}
    for i, parent in enumerate(model.parents):
        children[parent].append(i)
    children = {i: _tied_together(model, mine) for i, mine in children.items()}
    x: dict[int, float] = {}
    level: dict[int, int] = {WORLD: 0}
    for i, parent in enumerate(model.parents):
        level[i] = level[parent] + 1
    next_leaf = 0.0
    for i in _depth_first(children):
        if children[i]:
            x[i] = sum(x[c] for c in children[i]) / len(children[i])
        else:
            x[i], next_leaf = next_leaf, next_leaf + 1.0
    at = {i: (_MARGIN + _RADIUS + x[i] * _X, _TOP + level[i] * _Y) for i in range(model.nb)}
    deepest = max(level.values(), default=0)
    floating = [i for i in children[WORLD] if not children[i] and len(_tied_to(model, i)) > 1]
    if floating and len(floating) < model.nb:  # what others hold is drawn below them
        deepest += 1
        for i in floating:
            others = [at[j][0] for j in _tied_to(model, i) if j not in floating] or [at[i][0]]
            at[i] = (sum(others) / len(others), _TOP + deepest * _Y + 10.0)
    return at, 2.0 * _MARGIN + max(next_leaf, 1.0) * _X, deepest


def _tied_to(model: Model, body: int) -> set[int]:
    """Bodies that loop closures, distances and couplings tie a free body to."""
    if model.bodies[body].joint.type.name != "free":
        return set()
    groups = [set(_ends(model, c)) for c in model.spanning.active_constraints if not isinstance(c, LinkConstraint)]
    return {i for group in groups if body in group for i in group} - {body, WORLD}


def _ends(model: Model, c: Constraint) -> list[int]:
    """The bodies that a constraint ties together, the world among them."""
    return list(dict.fromkeys([model.joint_index(j) for j in c.joints] or [model.frame(f).body for f in c.frames]))


def _tied_together(model: Model, siblings: list[int]) -> list[int]:
    """Siblings in order, but those that a constraint ties together side by side: a link and its rotor."""
    ties = [set(_ends(model, c)) for c in model.spanning.active_constraints if not isinstance(c, LinkConstraint)]
    order: list[int] = []
    for i in siblings:
        tied = [j for j in siblings if j != i and any(i in tie and j in tie for tie in ties)]
        order += [j for j in (i, *tied) if j not in order]
    return order


def _depth_first(children: dict[int, list[int]]) -> Iterable[int]:
    """Children before parents, without the world; branches one after the other."""
    waiting, order = list(children[WORLD]), []
    while waiting:
        i = waiting.pop()
        order.append(i)
        waiting += children[i]
    return reversed(order)


def _numbers(model: Model, plan: AbstractPlan) -> dict[int, int]:
    """By body, when it is eliminated, from 1 on; bodies of a cluster go together."""
    at_work = with_clusters(model, plan.clusters)
    tree, _, _ = coupled_links(at_work)
    order = plan.chosen.order
    if order is None and plan.chosen.method == LOOPS:
        order = next(iter(proposed_orders(at_work, search=False).values()))
    order = tuple(reversed(range(len(tree.nodes)))) if order is None else order
    rank = {node: k for k, node in enumerate(order, start=1)}
    if at_work.embedding is None:
        return rank
    return {body: rank[node] for body, node in cluster_tree_of(at_work).node_of.items() if body != WORLD}


def _embedded_clusters(model: Model, plan: AbstractPlan) -> tuple[Cluster, ...]:
    return plan.clusters or (() if model.embedding is None else model.embedding.clusters)


def _blobs(model: Model, plan: AbstractPlan, at: dict[int, Point]) -> list[Shape]:
    """Around bodies that move as one, along the joints and the constraints that tie them together."""
    shapes: list[Shape] = []
    declared = {c.name: c for c in model.constraints}
    for number, cluster in enumerate(_embedded_clusters(model, plan)):
        color = _BLOBS[number % len(_BLOBS)]
        tip = f"embedded: {', '.join(model.bodies[i].name for i in cluster.bodies)}"
        for i in cluster.bodies:
            inside = model.parents[i] in cluster.bodies
            ways = _down(at[model.parents[i]], at[i]) if inside else [(at[i], (at[i][0] + 0.1, at[i][1]))]
            shapes += [Line(a, b, color, _BLOB, round_ends=True, tip=tip) for a, b in ways]
        for name in cluster.constraints:
            inside = [at[i] for i in _ends(model, declared[name]) if i in cluster.bodies]
            pairs = itertools.pairwise(inside)
            shapes += [Line(a, b, color, _BLOB, through=_sag(a, b), round_ends=True, tip=tip) for a, b in pairs]
    return shapes


def _sag(a: Point, b: Point) -> Point:
    """Below the middle: where a curve from a to b heads for."""
    return (a[0] + b[0]) / 2, max(a[1], b[1]) + 18.0 + 0.10 * abs(a[0] - b[0])


def _down(parent: Point, child: Point) -> list[tuple[Point, Point]]:
    """From a parent to its child: down, across above the children, down, so that no line runs through a name."""
    if abs(parent[0] - child[0]) < 1.0:
        return [(parent, child)]
    across = parent[1] + _ACROSS
    corners = [parent, (parent[0], across), (child[0], across), child]
    return list(itertools.pairwise(corners))


def _joints(model: Model, at: dict[int, Point]) -> list[Shape]:
    shapes: list[Shape] = []
    for i, body in enumerate(model.bodies):
        above = (at[i][0], _TOP) if body.parent == WORLD else at[body.parent]
        free = body.joint.type.name == "free"
        if free and len(_tied_to(model, i)) > 1 and i not in model.parents:
            shapes.append(Text((at[i][0], at[i][1] + 26.0), "free", _NAME, _PALE, centred=True))
            continue
        tip = f"{body.joint.name}: {body.joint.type.name}"
        dashes = (2.0, 5.0) if free else ()
        shapes += [Line(a, b, "#444", 1.6, dashes, round_ends=not free, tip=tip) for a, b in _down(above, at[i])]
        if body.joint.type.nv > 1:
            beside = at[i][0] + 4.0, at[i][1] - 20.0
            shapes.append(Text(beside, body.joint.type.name, _NAME, _PALE, halo=True))
    return shapes


def _kind(c: Constraint) -> tuple[str, tuple[float, ...], str]:
    """Colour, dashes, and a word."""
    if isinstance(c, Coupling):
        return _GEAR, (1.5, 4.0), "coupling"
    if isinstance(c, Distance):
        return _ROD, (7.0, 3.0), "distance"
    if isinstance(c, LoopClosure):
        return _CUT, (6.0, 4.0), c.joint
    return _GROUND, (), type(c).__name__


def _constraints(model: Model, at: dict[int, Point]) -> list[Shape]:
    """Curves for what ties bodies together, ground for contacts."""
    shapes: list[Shape] = []
    grounded: dict[int, int] = {}
    for c in model.spanning.active_constraints:
        color, dashes, word = _kind(c)
        tip = f"{c.name}: {word}, {c.size} rows"
        if isinstance(c, CenterOfMass):
            continue
        bodies = _ends(model, c)
        if isinstance(c, LinkConstraint):
            for i in set(bodies_of(model, c)) - {WORLD}:
                grounded[i] = grounded.get(i, 0) + 1
                shapes += _ground(at[i], grounded[i], c.size, tip)
            continue
        ends = [at[i] if i != WORLD else (at[max(bodies)][0] + 24.0, _TOP) for i in bodies]
        pairs = itertools.pairwise(ends)
        shapes += [Line(*_below_names(a, b), color, 2.2, dashes, _sag(a, b), tip=tip) for a, b in pairs]
    return shapes


def _below_names(a: Point, b: Point) -> tuple[Point, Point]:
    """Ends of a curve between two bodies: at their bottom, below what is written beside them on the right.

    A curve comes to the lower one of two from the left as it likes.
    """

    def end(here: Point, there: Point) -> Point:
        free_side = here[1] > there[1] + 1.0 and there[0] <= here[0]
        return here if free_side or here[1] <= _TOP else (here[0], here[1] + _RADIUS)

    return end(a, b), end(b, a)


def _ground(at: Point, number: int, rows: int, tip: str) -> list[Shape]:
    x, y = at[0] - 14.0, at[1] + 15.0 + 9.0 * (number - 1)
    hatch = [Line((x + 4 * k, y + 6), (x + 4 * k + 4, y), _GROUND, 1.0) for k in range(7)]
    bar = Line((x, y), (x + 30, y), _GROUND, 2.5, tip=tip)
    return [bar, *hatch, Text((x + 33.0, y + 6.0), str(rows), _NAME, _GROUND)]


def _bodies(model: Model, numbers: dict[int, int], at: dict[int, Point]) -> list[Shape]:
    shapes: list[Shape] = []
    for i, body in enumerate(model.bodies):
        x, y = at[i]
        shapes.append(Circle((x, y), _RADIUS, _INK, 1.6, tip=body.name))
        shapes.append(Text((x, y + 3.5), str(numbers[i]), _NAME, bold=True, centred=True))
        lines = _on_lines(body.name)
        first = y - 4.0 - (11.0 if len(lines) > 2 and body.joint.type.nv == 1 else 0.0)  # curves leave below
        for k, words in enumerate(lines):
            shapes.append(Text((x + _RADIUS + 3.0, first + 11.0 * k), words, _NAME, halo=True))
    return shapes


def _on_lines(name: str) -> list[str]:
    """A name as it fits: whole, in two or three parts at marks, or with the middle of a part left out."""
    if len(name) <= _LONGEST:
        return [name]
    marks = [k for k, letter in enumerate(name) if letter in " _-./" and 0 < k < len(name) - 1]
    cut = min(marks, key=lambda k: abs(2 * k - len(name)), default=_LONGEST - 1) + 1
    parts = [name[:cut], name[cut:]]
    for k in (0, 1):
        inner = [x for x in marks if x + 1 != cut and (x < cut) == (k == 0)]
        if len(parts) == 2 and len(parts[k]) > _LONGEST and inner:
            first = (inner[-1] if k == 0 else inner[0] - cut) + 1
            parts[k : k + 1] = [parts[k][:first], parts[k][first:]]
    return [x if len(x) <= _LONGEST else f"{x[: _LONGEST // 2]}…{x[-_LONGEST // 2 + 1 :]}" for x in parts]


def _legend(model: Model, plan: AbstractPlan, top: float) -> list[Shape]:
    """What is in the drawing, in words; only what occurs."""
    constraints = model.spanning.active_constraints
    a, b = (0.0, 0.0), (32.0, 0.0)  # ends of a sample
    items: list[tuple[str, list[Shape]]] = []
    number = Text((16.0, 4.0), "1", _NAME, bold=True, centred=True)
    items.append(
        (
            "a body; its number says when it is eliminated, from 1 on",
            [Circle((16.0, 0.0), 9.0, _INK, 1.0), number],
        )
    )
    items.append(("a joint of the tree (dots: free)", [Line(a, b, "#444", 2.2)]))
    kinds = {
        LoopClosure: "a joint at which a loop is cut: constraint rows, if not embedded",
        Distance: "a rod: a distance",
        Coupling: "a gear or belt",
    }
    for kind, words in kinds.items():
        first = next((c for c in constraints if isinstance(c, kind)), None)
        if first is not None:
            color, dashes, _ = _kind(first)
            items.append((words, [Line(a, b, color, 2.2, dashes)]))
    if any(isinstance(c, LinkConstraint) for c in constraints):
        items.append(("held by the world, with so many rows", [Line(a, b, _GROUND, 3.0)]))
    if _embedded_clusters(model, plan):
        blob = Line((8.0, 0.0), (24.0, 0.0), _BLOBS[0], 16.0, round_ends=True)
        items.append(("embedded: these bodies are one node of the tree", [blob]))
    if any(isinstance(c, CenterOfMass) for c in constraints):
        items.append(("the centre of mass is constrained: rows on all bodies", []))
    shapes: list[Shape] = []
    for k, (words, sample) in enumerate(items):
        x, y = _MARGIN + 360.0 * (k % 2), top + 22.0 * (k // 2)
        shapes += [_moved(shape, x, y) for shape in [*sample, Text((42.0, 4.0), words, _SMALL)]]
    return shapes


def _moved(shape: Shape, x: float, y: float) -> Shape:
    points = {name: (p[0] + x, p[1] + y) for name in ("a", "b", "center", "at") if (p := getattr(shape, name, None))}
    return replace(shape, **points)
