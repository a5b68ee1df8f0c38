"""docs/notation.md has every letter that the algorithms use, once."""

from __future__ import annotations

import ast
import re
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "sarrus"
TEXTS = [*sorted((SOURCE / "algorithms").rglob("*.py")), SOURCE / "mechanics" / "mechanism.py"]
GREEK = {"alpha", "beta", "lam", "mu", "tau", "Gamma", "Lambda", "Omega", "Sigma"}
DERIVATIVES = {"qdd", "yd", "ydd", "vJ", "cJ"}


def rows() -> list[list[str]]:
    page = (ROOT / "docs" / "notation.md").read_text()
    symbols = page.split("## Symbols")[1].split("\n## ")[0]
    lines = [line for line in symbols.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def identifiers() -> list[str]:
    return [name for row in rows() for part in re.findall(r"`([^`]+)`", row[1]) for name in part.split()]


def is_mathematical(name: str) -> bool:
    """A letter, up to three that begin with a capital, a Greek one or a derivative; any of these with a suffix."""
    stem = re.split(r"[_0-9]", name)[0]
    return bool(re.fullmatch(r"[A-Z][A-Za-z]{0,2}|[a-z]", stem)) or stem in GREEK | DERIVATIVES


def assigned(path: Path) -> set[str]:
    """Names of locals, arguments and fields."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, ast.arg):
            names.add(node.arg)
    return names


def test_no_identifier_appears_twice() -> None:
    assert [name for name, count in Counter(identifiers()).items() if count > 1] == []


def test_every_row_is_complete() -> None:
    assert all(len(row) == 5 and row[0] and row[1] for row in rows())
    assert all(set(row[4].split()) <= set("ABCDEF") for row in rows())


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.stem)
def test_every_letter_is_in_the_table(path: Path) -> None:
    known = set(identifiers())
    used = {name for name in assigned(path) if is_mathematical(name)}
    assert sorted(name for name in used if not {name, re.split(r"[_0-9]", name)[0]} & known) == []


def test_every_identifier_is_used() -> None:
    """By the package, as a word."""
    text = "".join(path.read_text() for path in SOURCE.rglob("*.py"))
    assert [name for name in identifiers() if not re.search(rf"\b{re.escape(name)}\b", text)] == []
