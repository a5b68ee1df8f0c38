"""The rooms: what each may import, that every file of `algorithms/` is one algorithm, and short enough to read."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import sarrus
from sarrus.registry.table import FAMILIES

SOURCE = Path(__file__).parents[1] / "src" / "sarrus"
BASE = {"errors", "status", "once"}
ROOMS: dict[str, set[str]] = {  # room or top-level file: what it may import, beside itself and BASE
    "errors": set(),
    "status": set(),
    "once": set(),
    "spatial": set(),
    "model": {"spatial"},
    "zoo": {"spatial", "model"},
    "importers": {"spatial", "model"},
    "exporters": {"spatial", "model"},
    "control": {"spatial"},
    "registry": {"model"},
    "mechanics.bodies": {"spatial", "model"},
    "mechanics.body_regressors": {"spatial", "model", "mechanics.bodies"},
    "mechanics.constraints": {"spatial", "model", "mechanics.bodies"},
    "mechanics.clusters": {"spatial", "model", "mechanics.bodies", "mechanics.constraints"},
    "mechanics.mechanism": {"spatial", "model", "mechanics.bodies", "mechanics.constraints", "mechanics.clusters"},
    "mechanics.derivatives": {
        "spatial",
        "model",
        "mechanics.bodies",
        "mechanics.constraints",
        "mechanics.clusters",
        "mechanics.mechanism",
    },
    "mechanics.solvers": {"spatial", "model", "registry", "mechanics"},
    "mechanics.contact": {"spatial", "model", "mechanics"},
    "algorithms.tree": {"spatial", "model", "registry", "mechanics"},
    "algorithms.position": {"spatial", "model", "registry", "mechanics", "algorithms.tree"},
    "algorithms.delassus": {"spatial", "model", "registry", "mechanics", "algorithms.tree"},
    "algorithms.constrained": {"spatial", "model", "registry", "mechanics", "algorithms.tree"},
    "algorithms.embedded": {"spatial", "model", "registry", "mechanics", "algorithms.tree", "algorithms.position"},
    "algorithms.derivatives": {
        "spatial",
        "model",
        "registry",
        "mechanics",
        "algorithms.tree",
        "algorithms.constrained",
        "algorithms.embedded",
    },
    "codegen.tape": {"spatial", "model", "registry"},  # codegen knows no algorithm
    "codegen.passes": {"codegen.tape"},
    "codegen.x86": {"codegen.tape", "codegen.passes"},
    "codegen.emit": {"codegen.tape", "codegen.passes", "codegen.x86"},
    "codegen.runtime": {"spatial", "model", "registry", "codegen"},
    "planning": {"spatial", "model", "registry", "mechanics", "algorithms", "codegen"},
    "calls": {"spatial", "model", "registry", "mechanics", "algorithms", "codegen", "planning"},
    "simulation": {"spatial", "model", "registry", "mechanics", "algorithms", "codegen", "calls", "planning"},
    "identification": {"spatial", "model", "registry", "mechanics", "algorithms", "codegen", "calls", "simulation"},
    "diagnosis": {"spatial", "model", "registry", "mechanics", "algorithms", "codegen", "calls", "simulation"},
}
ADAPTERS = {"hooks", "viewer", "cli", "__init__"}  # may use everything below them
MODULES = sorted(SOURCE.rglob("*.py"))


def room_of(name: str) -> str:
    """Of a module, by its name below the package: the longest room that it lies in."""
    parts = name.split(".")
    for size in (2, 1):
        if (room := ".".join(parts[:size])) in ROOMS:
            return room
    return parts[0]


def module_name(path: Path) -> str:
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return ".".join(parts if len(parts) == 1 or parts[-1] != "__init__" else parts[:-1])


def imported_rooms(path: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative imports hide the room"
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return {room_of(name.removeprefix("sarrus.")) for name in names if name.startswith("sarrus.")}


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_a_room_imports_only_what_it_may(path: Path) -> None:
    room = room_of(module_name(path))
    found = imported_rooms(path) - {room}
    if room in ADAPTERS or room in ("mechanics", "algorithms", "codegen"):  # or the empty __init__ of a house of rooms
        assert room == "__init__" or not found & {"hooks": {"viewer", "cli"}, "viewer": {"cli", "hooks"}}.get(
            room, set()
        )
        return
    allowed = ROOMS[room] | BASE
    assert not {r for r in found if r not in allowed and r.split(".")[0] not in allowed}


@pytest.mark.parametrize("path", sorted((SOURCE / "algorithms").rglob("*.py")), ids=lambda path: path.name)
def test_an_algorithm_can_be_read_in_one_go(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= 150


ALGORITHMS = [path for path in sorted((SOURCE / "algorithms").rglob("*.py")) if path.name != "__init__.py"]


@pytest.mark.parametrize("path", ALGORITHMS, ids=lambda path: path.stem)
def test_a_file_enters_the_function_of_its_name_and_no_other(path: Path) -> None:
    entered = [
        node.name
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef) and "algorithm(" in "".join(map(ast.unparse, node.decorator_list))
    ]
    assert entered == [path.stem]
    found = sarrus.catalog()[path.stem]
    assert found.text.__module__ == f"sarrus.algorithms.{path.parent.name}.{path.stem}"
    assert found is getattr(sarrus, path.stem)


def test_the_catalog_has_these_files_and_nothing_else() -> None:
    families = [path.parent.name for path in ALGORITHMS]
    assert set(families) == set(FAMILIES)
    inside = sorted(ALGORITHMS, key=lambda path: (FAMILIES.index(path.parent.name), path.stem))
    assert [path.stem for path in inside] == list(sarrus.catalog())


@pytest.mark.parametrize("path", sorted((SOURCE / "registry").glob("*.py")), ids=lambda path: path.name)
def test_the_registry_reaches_for_nothing_above_it(path: Path) -> None:
    """Not by name either: those above come to it (`algorithms/__init__.py`, `calls/call.py`)."""
    text = path.read_text()
    assert "import_module" not in text
    assert "__import__" not in text


def test_every_room_is_known() -> None:
    known = {room.split(".")[0] for room in ROOMS} | ADAPTERS
    assert {path.stem for path in SOURCE.iterdir() if path.name not in ("__pycache__", "py.typed")} <= known


@pytest.mark.parametrize("room", sorted({r.split(".")[0] for r in ROOMS} | ADAPTERS - {"__init__"}))
def test_every_room_says_what_belongs_there(room: str) -> None:
    if (SOURCE / room).is_dir():
        readme = SOURCE / room / "README.md"
        assert readme.is_file()
        assert len(readme.read_text().splitlines()) <= 40
