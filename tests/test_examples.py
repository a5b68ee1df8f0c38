"""Every example runs, and says something; each is short enough to read in one go."""

from __future__ import annotations

import ast
import importlib
import sys
from pathlib import Path

import pytest

import sarrus
from tests.importers.shared_robots import ROBOTS

EXAMPLES = sorted(p for p in (Path(__file__).parents[1] / "examples").glob("*_*.py") if not p.name.startswith("_"))


@pytest.fixture(autouse=True)
def _as_users_run_them():
    with sarrus.interpreted(False):
        yield


@pytest.fixture(autouse=True)
def small(monkeypatch, tmp_path):
    monkeypatch.setenv("SARRUS_EXAMPLE_ROLLOUTS", "500")
    monkeypatch.setenv("SARRUS_EXAMPLE_OUTPUT", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setenv("SARRUS_CASSIE", str(ROBOTS / "cassie/scene.xml"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_runs(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    importlib.import_module(f"examples.{path.stem}").main()
    assert len(capsys.readouterr().out.splitlines()) >= 4


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_says_what_you_learn_on_one_page(path: Path) -> None:
    text = path.read_text()
    assert "What you learn" in (ast.get_docstring(ast.parse(text)) or "")
    assert len(text.splitlines()) <= 110


def test_the_readme_says_how_many_there_are() -> None:
    assert len(EXAMPLES) == 23
    assert "**Twenty-three [examples]" in (Path(__file__).parents[1] / "README.md").read_text()


@pytest.mark.parametrize("name", ["unfold_sarrus_linkage", "steer_five_bar"])
def test_an_example_says_what_to_install(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "casadi", None)
    monkeypatch.delitem(sys.modules, f"examples.{name}", raising=False)
    with pytest.raises(SystemExit, match="pip install casadi"):
        importlib.import_module(f"examples.{name}")
