"""Files, modules and pages that the documents and docstrings name exist."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
FILES = [
    path.relative_to(ROOT).as_posix()
    for room in ("src", "tests", "benchmarks", "examples")
    for path in sorted((ROOT / room).rglob("*.py"))
]
TEXTS = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "src").rglob("*.md")),
    *(ROOT / name for name in FILES if not name.startswith("tests/")),
]
PATTERNS = {"examples/verb_robot.py"}  # how files are called, not one of them


def test_every_file_that_is_named_exists() -> None:
    lost = []
    for path in TEXTS:
        named = set(re.findall(r"`([\w./]+\.py)`", path.read_text())) - PATTERNS
        lost += [(path.name, n) for n in sorted(named) if not any(f"/{file}".endswith(f"/{n}") for file in FILES)]
    assert lost == []


def test_every_module_that_is_to_be_run_exists() -> None:
    known = {file.removesuffix(".py").removesuffix("/__main__").replace("/", ".") for file in FILES}
    lost = []
    for path in TEXTS:
        named = set(re.findall(r"python -m ((?:benchmarks|examples|tests)\.[\w.]*\w)", path.read_text()))
        lost += [(path.name, n) for n in sorted(named - known)]
    assert lost == []


def test_every_page_is_in_the_menu_and_every_entry_a_page() -> None:
    listed = re.findall(r": ([\w/]+\.md)", (ROOT / "mkdocs.yml").read_text())
    assert sorted(listed) == sorted(p.relative_to(ROOT / "docs").as_posix() for p in (ROOT / "docs").rglob("*.md"))
