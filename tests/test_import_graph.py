"""The import graph of the package has no cycle; imports inside functions and those for types only count too."""

from __future__ import annotations

import ast
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src"
MODULES = {
    ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__"): path
    for path in SOURCE.rglob("*.py")
}


def imports(name: str) -> set[str]:
    """Modules of the package that a module imports, anywhere in its text."""
    asked: set[str] = set()
    for node in ast.walk(ast.parse(MODULES[name].read_text())):
        if isinstance(node, ast.Import):
            asked |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            # `from package import name`: of the package, and of the module of that name if there is one
            asked |= {str(node.module), *(f"{node.module}.{alias.name}" for alias in node.names)}
    return asked & set(MODULES) - {name}


def cycles(graph: dict[str, set[str]]) -> list[set[str]]:
    """Sets of modules that can reach each other (strongly connected components of more than one module)."""
    reached: dict[str, set[str]] = {}
    for start in graph:
        seen, todo = set[str](), [start]
        while todo:
            new = graph[todo.pop()] - seen
            seen |= new
            todo += new
        reached[start] = seen
    found = []
    for name in graph:
        knot = {other for other in reached[name] if name in reached[other]}
        if knot and knot not in found:
            found.append(knot)
    return found


def test_modules_import_each_other_in_no_circle() -> None:
    found = cycles({name: imports(name) for name in MODULES})
    assert [sorted(knot) for knot in found] == []


def test_a_circle_is_found() -> None:
    graph = {"a": {"b"}, "b": {"c"}, "c": {"b", "d"}, "d": set()}
    assert cycles(graph) == [{"b", "c"}]
