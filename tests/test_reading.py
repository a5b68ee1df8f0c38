"""How much one must open to follow an algorithm to the bottom: files whose code runs in one call of its text.

Spatial algebra and the registry are aside. What is remembered per model is remembered before: it does not depend on the
state. `python -m tests.test_reading` prints the files.
"""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import numpy as np
import pytest

import sarrus
from sarrus.model.state import random_state
from sarrus.registry.table import find

SOURCE = Path(sarrus.__file__).parent
ASIDE = ("spatial", "registry", "errors.py", "status.py", "once.py")
LIMITS = {"aba": 5, "pv": 8, "ce_aba": 10, "lcaba": 12}
LONGEST = {"file": 150, "function": 60}


def robot(method: str) -> sarrus.Model:
    """A small one that needs everything that the method has."""
    if method == "ce_aba":
        return sarrus.embed(sarrus.zoo.geared_quadruped())
    if method == "lcaba":
        return sarrus.zoo.four_bar()
    tree = sarrus.zoo.tree(6, floating=True)
    return tree if method == "aba" else tree.with_constraints(sarrus.contact(tree.body_names[-1], 3))


def files_opened(method: str) -> list[str]:
    model = robot(method)
    q, v = random_state(model, 0)
    tau, text, found = np.ones(model.nv), find(method).text, set()
    text(model, q, v, tau)  # what is remembered per model

    def note(frame, event, argument):
        if event == "call":
            found.add(frame.f_code.co_filename)

    sys.setprofile(note)
    try:
        text(model, q, v, tau)
    finally:
        sys.setprofile(None)
    ours = (Path(name).relative_to(SOURCE) for name in found if name.startswith(str(SOURCE)))
    return sorted(str(path) for path in ours if path.parts[0] not in ASIDE)


@pytest.mark.parametrize("method", LIMITS)
def test_few_files_are_opened(method: str) -> None:
    assert len(files_opened(method)) <= LIMITS[method], files_opened(method)


@pytest.mark.parametrize("path", sorted((SOURCE / "algorithms").rglob("*.py")), ids=lambda path: path.name)
def test_algorithms_are_short(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= LONGEST["file"]
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef):
            body = node.body[1:] if ast.get_docstring(node) else node.body  # what it does, not what it says
            lines = body[-1].end_lineno - body[0].lineno + 1 if body else 0
            assert lines <= LONGEST["function"], f"{node.name} has {lines} lines"


if __name__ == "__main__":
    for name in LIMITS:
        print(name, len(files_opened(name)), *files_opened(name), sep="\n  ")
