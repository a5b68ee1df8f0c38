"""A drawing of a mechanism's graph and of its plan, as SVG: nothing but text is needed for it.

Bodies are circles under the world, joints are lines; a number says when a body is eliminated. Loop closures, distances
and couplings are curves between the bodies that they tie together; bodies that are embedded share a blob.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from html import escape

from sarrus.algorithms.embedded.hybrid import with_clusters
from sarrus.errors import UnsupportedError
from sarrus.model.bodies import WORLD
from sarrus.model.cluster_tree import cluster_tree_of
from sarrus.model.clusters import bodies_of
from sarrus.model.constraints import CenterOfMass, Constraint, Coupling, Distance, LinkConstraint, LoopClosure
from sarrus.model.embedding import Cluster
from sarrus.model.model import Model
from sarrus.planning.candidates import LOOPS
from sarrus.planning.explanation import AbstractPlan, in_words
from sarrus.planning.orders import coupled_links, proposed_orders

_X, _Y = 92.0, 66.0  # from one leaf to the next, and from a parent to its child
_MARGIN, _TOP, _LEGEND = 40.0, 74.0, 96.0
_RADIUS = 12.0
_LONGEST = 14  # letters of a name
_BLOBS = ("#cfe8d5", "#d5e2f4", "#f4e6c8", "#ead7ee", "#d3ecec", "#f2d9d4")
_CUT, _ROD, _GEAR, _GROUND = "#c0392b", "#b9770e", "#7d3c98", "#5d6d7e"
_STYLE = (
    "text{font-family:Helvetica,Arial,sans-serif;fill:#222}.name{font-size:10px}.number{font-size:10px;"
    "text-anchor:middle;font-weight:bold}.small{font-size:11px}.title{font-size:16px;font-weight:bold}"
)
Point = tuple[float, float]


def draw(model: Model, plan: AbstractPlan) -> str:
    """The graph of a model as its plan sees it: an SVG document."""
    if plan.digest != model.digest:
        raise UnsupportedError(f"this plan is for another model ({plan.model_name!r}), or for another version of it")
    at, width, depth = _places(model)
    width = max(width, 640.0)
    bottom = _TOP + depth * _Y + 60.0
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{bottom + _LEGEND:.0f}" '
        f'viewBox="0 0 {width:.0f} {bottom + _LEGEND:.0f}">',
        f"<style>{_STYLE}</style>",
        '<rect width="100%" height="100%" fill="white"/>',
        f'<text class="title" x="{_MARGIN}" y="26">{escape(model.name)}</text>',
        f'<text class="small" x="{_MARGIN}" y="44">{escape(_subtitle(model, plan))}</text>',
        f'<line x1="{_MARGIN / 2}" x2="{width - _MARGIN / 2}" y1="{_TOP}" y2="{_TOP}" stroke="{_GROUND}" '
        f'stroke-width="5"/><text class="name" x="{width - 70}" y="{_TOP - 7}">the world</text>',
    ]
    parts += _blobs(model, plan, at)
    parts += _joints(model, at)
    parts += _constraints(model, plan, at)
    parts += _bodies(model, _numbers(model, plan), at)
    parts += _legend(model, plan, bottom)
    return "\n".join([*parts, "</svg>"]) + "\n"


def _subtitle(model: Model, plan: AbstractPlan) -> str:
    rows = f", {model.n_rows} constraint rows" if model.n_rows else ""
    return f"{model.nb} bodies, {model.nv} velocities{rows}. Plan: {in_words(plan)}"


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


def _blobs(model: Model, plan: AbstractPlan, at: dict[int, Point]) -> list[str]:
    """Around bodies that move as one, along the joints and the constraints that tie them together."""
    parts = []
    declared = {c.name: c for c in model.constraints}
    for number, cluster in enumerate(_embedded_clusters(model, plan)):
        color = _BLOBS[number % len(_BLOBS)]
        names = ", ".join(model.bodies[i].name for i in cluster.bodies)
        parts.append(f'<g stroke="{color}" fill="none" stroke-width="38" stroke-linecap="round">')
        parts.append(f"<title>embedded: {escape(names)}</title>")
        for i in cluster.bodies:
            inside = model.parents[i] in cluster.bodies
            parts.append(_line(at[i], at[model.parents[i]] if inside else (at[i][0] + 0.1, at[i][1])))
        for name in cluster.constraints:
            inside = [i for i in _ends(model, declared[name]) if i in cluster.bodies]
            parts += [f'<path d="{path}"/>' for path in _curves([at[i] for i in inside])]
        parts.append("</g>")
    return parts


def _curves(ends: list[Point]) -> list[str]:
    """From one point to the next, sagging."""
    paths = []
    for a, b in itertools.pairwise(ends):
        sag = max(a[1], b[1]) + 18.0 + 0.10 * abs(a[0] - b[0])
        paths.append(f"M {a[0]:.1f} {a[1]:.1f} Q {(a[0] + b[0]) / 2:.1f} {sag:.1f} {b[0]:.1f} {b[1]:.1f}")
    return paths


def _line(a: Point, b: Point, more: str = "") -> str:
    return f'<line x1="{a[0]:.1f}" y1="{a[1]:.1f}" x2="{b[0]:.1f}" y2="{b[1]:.1f}" {more}/>'


def _joints(model: Model, at: dict[int, Point]) -> list[str]:
    parts = []
    for i, body in enumerate(model.bodies):
        above = (at[i][0], _TOP) if body.parent == WORLD else at[body.parent]
        tip = f"<title>{escape(body.joint.name)}: {body.joint.type.name}</title>"
        free = body.joint.type.name == "free"
        if free and len(_tied_to(model, i)) > 1 and i not in model.parents:
            parts.append(f'<text class="name" x="{at[i][0] + 16:.1f}" y="{at[i][1] + 14:.1f}">free</text>')
            continue
        dash = 'stroke-dasharray="2 5"' if free else ""
        parts.append(f'<g stroke="#444" stroke-width="1.6" {dash}>{tip}{_line(at[i], above)}</g>')
        if body.joint.type.nv > 1:
            x, y = (at[i][0] + above[0]) / 2, (at[i][1] + above[1]) / 2
            parts.append(f'<text class="name" x="{x + 4:.1f}" y="{y:.1f}" fill="#666">{body.joint.type.name}</text>')
    return parts


def _kind(c: Constraint) -> tuple[str, str, str]:
    """Colour, dashes, and a word."""
    if isinstance(c, Coupling):
        return _GEAR, "1.5 4", "coupling"
    if isinstance(c, Distance):
        return _ROD, "7 3", "distance"
    if isinstance(c, LoopClosure):
        return _CUT, "6 4", c.joint
    return _GROUND, "", type(c).__name__


def _constraints(model: Model, plan: AbstractPlan, at: dict[int, Point]) -> list[str]:
    """Curves for what ties bodies together, ground for contacts."""
    parts, grounded = [], dict[int, int]()
    for c in model.spanning.active_constraints:
        color, dashes, word = _kind(c)
        tip = f"<title>{escape(c.name)}: {word}, {c.size} rows</title>"
        if isinstance(c, CenterOfMass):
            continue
        bodies = _ends(model, c)
        if isinstance(c, LinkConstraint):
            for i in set(bodies_of(model, c)) - {WORLD}:
                grounded[i] = grounded.get(i, 0) + 1
                parts.append(f"<g>{tip}{_ground(at[i], grounded[i], c.size)}</g>")
            continue
        ends = [at[i] if i != WORLD else (at[max(bodies)][0] + 24.0, _TOP) for i in bodies]
        for path in _curves(ends):
            dash = f'stroke-dasharray="{dashes}"'
            parts.append(f'<path d="{path}" fill="none" stroke="{color}" stroke-width="2.2" {dash}>{tip}</path>')
    return parts


def _ground(at: Point, number: int, rows: int) -> str:
    x, y = at[0] - 14.0, at[1] + 15.0 + 9.0 * (number - 1)
    hatch = "".join(_line((x + 4 * k, y + 6), (x + 4 * k + 4, y), f'stroke="{_GROUND}"') for k in range(7))
    bar = _line((x, y), (x + 30, y), f'stroke="{_GROUND}" stroke-width="2.5"')
    return f'{bar}{hatch}<text class="name" x="{x + 33}" y="{y + 6}" fill="{_GROUND}">{rows}</text>'


def _bodies(model: Model, numbers: dict[int, int], at: dict[int, Point]) -> list[str]:
    parts = []
    for i, body in enumerate(model.bodies):
        x, y = at[i]
        half = _LONGEST // 2
        name = body.name if len(body.name) <= _LONGEST else f"{body.name[: half - 1]}…{body.name[-half:]}"
        parts.append(
            f'<g><title>{escape(body.name)}</title><circle cx="{x:.1f}" cy="{y:.1f}" r="{_RADIUS}" fill="white" '
            f'stroke="#222" stroke-width="1.6"/><text class="number" x="{x:.1f}" y="{y + 3.5:.1f}">{numbers[i]}</text>'
            f'<text class="name" x="{x + _RADIUS + 2:.1f}" y="{y - 7:.1f}">{escape(name)}</text></g>'
        )
    return parts


def _legend(model: Model, plan: AbstractPlan, y: float) -> list[str]:
    """What is in the drawing, in words; only what occurs."""
    line = (
        '<line x1="{x}" x2="{end}" y1="{y}" y2="{y}" stroke="{color}" stroke-width="2.2" stroke-dasharray="{dashes}"/>'
    )
    items = ['<text class="small" x="{text}" y="{base}">a body; its number: when it is eliminated</text>'
             '<circle cx="{middle}" cy="{y}" r="9" fill="white" stroke="#222"/>'
             '<text class="number" x="{middle}" y="{base}">1</text>']  # fmt: skip
    items.append(line.replace("{color}", "#444").replace("{dashes}", "")
                 + '<text class="small" x="{text}" y="{base}">a joint of the tree (dots: free)</text>')  # fmt: skip
    constraints = model.spanning.active_constraints
    kinds = {
        LoopClosure: "a joint that closes a loop: it is cut", Distance: "a rod: a distance", Coupling: "a gear or belt",
    }  # fmt: skip
    for kind, words in kinds.items():
        first = next((c for c in constraints if isinstance(c, kind)), None)
        if first is not None:
            color, dashes, _ = _kind(first)
            items.append(line.replace("{color}", color).replace("{dashes}", dashes)
                         + f'<text class="small" x="{{text}}" y="{{base}}">{words}</text>')  # fmt: skip
    if any(isinstance(c, LinkConstraint) for c in constraints):
        items.append(f'<line x1="{{x}}" x2="{{end}}" y1="{{y}}" y2="{{y}}" stroke="{_GROUND}" stroke-width="3"/>'
                     '<text class="small" x="{text}" y="{base}">held by the world: so many rows</text>')  # fmt: skip
    if _embedded_clusters(model, plan):
        items.append('<rect x="{x}" y="{above}" width="32" height="16" rx="8" fill="#cfe8d5"/>'
                     '<text class="small" x="{text}" y="{base}">embedded: these bodies move as one</text>')  # fmt: skip
    if any(isinstance(c, CenterOfMass) for c in constraints):
        items.append(
            '<text class="small" x="{text}" y="{base}">the centre of mass is constrained: rows on all bodies</text>'
        )
    parts = []
    for k, item in enumerate(items):
        x, level = _MARGIN + 300.0 * (k % 2), y + 22.0 * (k // 2)
        parts.append(item.format(x=x, end=x + 32, middle=x + 16, text=x + 42, y=level, base=level + 4, above=level - 8))
    return parts
