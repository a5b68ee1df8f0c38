"""Draw who imports whom, room by room: `python -m tests.draw_rooms` writes docs/rooms.svg from the imports found.

Rooms stand in layers, each above all that it imports. An arrow that follows from others is left out; all that a room
imports is in its tooltip. Long arrows bend around boxes: they pass each layer at a place of their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

from tests.test_layers import MODULES, imported_rooms, module_name, room_of

PICTURE = Path(__file__).parents[1] / "docs" / "rooms.svg"
HOUSES = ("mechanics", "algorithms", "codegen")  # rooms of rooms, whose own __init__ is next to empty
COLOURS = {"mechanics": "#dcebf7", "algorithms": "#fbe6cd", "codegen": "#e0f0dc"}
OTHER = "#f1f1f1"
WIDTH, HEIGHT, GAP, PASSAGE, STEP = 150, 34, 22, 26, 74  # of a box, between boxes, of a passing arrow, between layers
TURNS = 24  # of ordering the layers

Graph = dict[str, set[str]]


def rooms_and_imports() -> Graph:
    """Every room, and those that it imports."""
    graph: Graph = {}
    for path in MODULES:
        room = room_of(module_name(path))
        graph.setdefault(room, set()).update(imported_rooms(path) - {room})
    return {room: found - set(HOUSES) for room, found in sorted(graph.items()) if room not in HOUSES}


def reached(graph: Graph, start: str) -> set[str]:
    seen, todo = set[str](), [start]
    while todo:
        new = graph[todo.pop()] - seen
        seen |= new
        todo += new
    return seen


def reduced(graph: Graph) -> Graph:
    """Without what follows: a imports c where a imports b and b leads to c."""
    return {a: {c for c in found if not any(c in reached(graph, b) for b in found - {c})} for a, found in graph.items()}


def layers(graph: Graph) -> dict[str, int]:
    """0: imports nothing; else one more than the highest that it imports."""
    level: dict[str, int] = {}

    def of(room: str) -> int:
        if room not in level:
            level[room] = 1 + max((of(other) for other in sorted(graph[room])), default=-1)
        return level[room]

    for room in graph:
        of(room)
    return level


def with_passages(graph: Graph, level: dict[str, int]) -> tuple[list[list[str]], list[list[str]]]:
    """What stands in each layer, with the passages of long arrows, and every arrow as the places on its way."""
    places: list[list[str]] = [[] for _ in range(max(level.values()) + 1)]
    for room, height in level.items():
        places[height].append(room)
    arrows = []
    for a in graph:
        for b in sorted(graph[a]):
            between = [f"{a}>{b}@{height}" for height in range(level[a] - 1, level[b], -1)]
            for place, height in zip(between, range(level[a] - 1, level[b], -1), strict=True):
                places[height].append(place)
            arrows.append([a, *between, b])
    return places, arrows


def ordered(places: list[list[str]], arrows: list[list[str]]) -> dict[str, float]:
    """x of every place: each layer sorted, again and again, by where its neighbours are."""
    near: dict[str, list[str]] = {place: [] for layer in places for place in layer}
    for arrow in arrows:
        for a, b in pairwise(arrow):
            near[a].append(b)
            near[b].append(a)
    x = {place: float(i) for layer in places for i, place in enumerate(layer)}
    for turn in range(TURNS):
        for layer in places if turn % 2 else reversed(places):
            wanted = {place: sum(x[other] for other in near[place]) / max(len(near[place]), 1) for place in layer}
            layer.sort(key=lambda place: (wanted[place], place))
            x.update(_spread(layer, wanted))
    return x


def _spread(layer: list[str], wanted: dict[str, float]) -> dict[str, float]:
    """As near as possible to where each wants to be, in this order, without overlap."""
    at, right = {}, float("-inf")
    for place in layer:
        half = _width(place) / 2
        at[place] = max(wanted[place], right + half)
        right = at[place] + half
    shift = sum(wanted[place] - at[place] for place in layer) / max(len(layer), 1)
    return {place: x + shift for place, x in at.items()}


def _width(place: str) -> float:
    return PASSAGE if "@" in place else WIDTH + GAP


def drawn(graph: Graph) -> str:
    """The picture."""
    level = layers(graph)
    places, arrows = with_passages(reduced(graph), level)
    x = ordered(places, arrows)
    left = min(x[room] for room in graph) - WIDTH / 2 - GAP
    left = min(left, *(value - PASSAGE for value in x.values()))
    width = max(*(x[room] + WIDTH / 2 + GAP for room in graph), *(value + PASSAGE for value in x.values())) - left
    top = len(places) - 1
    height_of = {place: GAP + (top - h) * STEP for h, layer in enumerate(places) for place in layer}
    tall = (top + 1) * STEP
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {tall}"',
        ' font-family="sans-serif" font-size="13">',
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" orient="auto">'
        '<path d="M0 0 8 4 0 8z" fill="#555"/></marker></defs>',
        f'<rect width="{width:.0f}" height="{tall}" fill="white"/>',
    ]
    for arrow in arrows:
        points = [(x[place] - left, height_of[place]) for place in arrow]
        name = f'data-from="{arrow[0]}" data-to="{arrow[-1]}"'
        out.append(f'<path {name} d="{_curve(points)}" fill="none" stroke="#555" marker-end="url(#tip)"/>')
    for room in sorted(graph):
        colour = COLOURS.get(room.split(".")[0], OTHER)
        corner = f'x="{x[room] - left - WIDTH / 2:.0f}" y="{height_of[room]}"'
        middle = f'x="{x[room] - left:.0f}" y="{height_of[room] + HEIGHT / 2 + 5:.0f}"'
        imports = " ".join(sorted(graph[room]))
        out += [
            f'<g data-room="{room}" data-imports="{imports}">',
            f"<title>{_name(room)} imports: {imports or 'nothing'}</title>",
            f'<rect {corner} width="{WIDTH}" height="{HEIGHT}" rx="5" fill="{colour}" stroke="#888"/>',
            f'<text {middle} text-anchor="middle">{_name(room)}</text></g>',
        ]
    return "\n".join([*out, "</svg>"]) + "\n"


def _name(room: str) -> str:
    return "sarrus" if room == "__init__" else room.replace(".", "/")


def _curve(points: Sequence[tuple[float, float]]) -> str:
    """From the foot of the first box through the passages to the head of the last."""
    (x, y), *others = points
    y += HEIGHT
    path = f"M{x:.0f} {y:.0f}"
    for i, (to_x, to_y) in enumerate(others):
        bend = (to_y - y) / 2
        path += f" C{x:.0f} {y + bend:.0f} {to_x:.0f} {to_y - bend:.0f} {to_x:.0f} {to_y:.0f}"
        x, y = to_x, to_y
        if i < len(others) - 1:
            y += HEIGHT
            path += f" V{y:.0f}"
    return path


if __name__ == "__main__":
    PICTURE.write_text(drawn(rooms_and_imports()))
