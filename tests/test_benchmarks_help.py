"""Scripts of `benchmarks/`: `--help` does no work, and an option that there is not is an error."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "benchmarks"
WITHOUT = {"api_page.py"}  # takes no options and has no parser yet
SCRIPTS = sorted(
    str(path.relative_to(FOLDER))
    for path in FOLDER.rglob("*.py")
    if '__name__ == "__main__"' in path.read_text() and path.name not in WITHOUT
)


def ended(monkeypatch, script: str, option: str) -> object:
    """The exit code of a script that is started with this option; files cannot be written meanwhile."""

    def refused(path: Path, *_: object, **__: object) -> None:
        raise AssertionError(f"{script} {option} writes {path}")

    monkeypatch.setattr(sys, "argv", [script, option])
    monkeypatch.setattr(Path, "write_text", refused)
    try:
        runpy.run_path(str(FOLDER / script), run_name="__main__")
    except SystemExit as left:
        return left.code
    except ImportError as missing:
        if (missing.name or "").partition(".")[0] in ("sarrus", "benchmarks", "examples", "tests"):
            raise
        pytest.skip(f"needs {missing.name}")
    raise AssertionError(f"{script} {option} does its work")


@pytest.mark.parametrize("script", SCRIPTS)
def test_help_does_no_work(monkeypatch, capsys, script):
    assert ended(monkeypatch, script, "--help") == 0
    said = capsys.readouterr().out
    assert said.startswith("usage: ")
    assert "--help" in said


@pytest.mark.parametrize("script", SCRIPTS)
def test_an_unknown_option_is_an_error(monkeypatch, capsys, script):
    assert ended(monkeypatch, script, "--no-such-option") == 2
    assert ": error: " in capsys.readouterr().err
