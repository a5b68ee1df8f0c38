"""The rooms: each imports only rooms before it. And algorithms stay short enough to read."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "sarrus"
ROOMS = ("spatial", "model", "importers", "algorithms", "codegen", "planning", "simulation", "viewer", "cli")
MODULES = [path for path in sorted(SOURCE.rglob("*.py")) if path.parent != SOURCE]


def imported_rooms(path: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative imports hide the room"
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return {name.split(".")[1] for name in names if name.startswith("sarrus.")}


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_a_room_imports_only_earlier_rooms(path: Path) -> None:
    room = path.relative_to(SOURCE).parts[0]
    earlier = set(ROOMS[: ROOMS.index(room) + 1]) | {"errors", "status"}
    if room in ("viewer", "cli"):  # adapters may use what is public
        earlier |= {"eager", "diagnosis", "__version__"}
    assert imported_rooms(path) <= earlier


@pytest.mark.parametrize("path", sorted((SOURCE / "algorithms").glob("*.py")), ids=lambda path: path.name)
def test_an_algorithm_can_be_read_in_one_go(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= 150


def test_every_room_is_known() -> None:
    rooms = {path.name for path in SOURCE.iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert rooms <= set(ROOMS)


@pytest.mark.parametrize("room", [r for r in ROOMS if (SOURCE / r).is_dir()])
def test_every_room_says_what_belongs_there(room: str) -> None:
    readme = SOURCE / room / "README.md"
    assert readme.is_file()
    assert len(readme.read_text().splitlines()) <= 40
