"""The picture of the rooms shows the imports that there are."""

from __future__ import annotations

import re
from pathlib import Path

from tests.draw_rooms import PICTURE, drawn, layers, reached, reduced, rooms_and_imports

AGAIN = "the picture is out of date: python -m tests.draw_rooms draws it again"


def shown(picture: str) -> dict[str, set[str]]:
    found = re.findall(r'data-room="(\S+)" data-imports="([^"]*)"', picture)
    return {room: set(imports.split()) for room, imports in found}


def arrows(picture: str) -> set[tuple[str, str]]:
    return set(re.findall(r'data-from="(\S+)" data-to="(\S+)"', picture))


def test_the_picture_is_up_to_date() -> None:
    graph = rooms_and_imports()
    assert shown(PICTURE.read_text()) == graph, AGAIN
    assert arrows(PICTURE.read_text()) == {(a, b) for a, found in reduced(graph).items() for b in found}, AGAIN


def test_what_is_left_out_follows_from_what_is_drawn() -> None:
    graph = rooms_and_imports()
    assert all(reached(reduced(graph), room) == reached(graph, room) for room in graph)


def test_every_room_stands_above_what_it_imports() -> None:
    graph = rooms_and_imports()
    level = layers(graph)
    assert all(level[a] > level[b] for a, found in graph.items() for b in found)


def test_a_new_import_shows() -> None:
    graph = rooms_and_imports()
    before, after = drawn(graph), drawn({**graph, "importers": graph["importers"] | {"registry"}})
    assert arrows(after) - arrows(before) == {("importers", "registry")}
    assert arrows(before) - arrows(after) == {("importers", "model")}
    assert shown(after) != shown(before)


def test_contributing_lists_every_room_below_what_it_imports() -> None:
    page = (Path(__file__).parents[1] / "CONTRIBUTING.md").read_text().split("## Rooms")[1].split("\n## ")[0]
    rows = [
        re.findall(r"`(\w+)(?:\.py|/)`", line.split("|")[1]) for line in page.splitlines() if line.startswith("| `")
    ]
    place = {room: number for number, row in enumerate(rows) for room in row}
    graph = {room: found for room, found in rooms_and_imports().items() if room != "__init__"}
    assert set(place) == {room.split(".")[0] for room in graph}
    imports = {(a.split(".")[0], b.split(".")[0]) for a, found in graph.items() for b in found}
    assert [(a, b) for a, b in sorted(imports) if a != b and place[a] <= place[b]] == []
