"""The tutorial as notebooks, one per chapter: each runs on its own, in a real kernel."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from docs_site.notebooks import chapters

ROOT = Path(__file__).parents[1]


@pytest.mark.skipif(any(find_spec(x) is None for x in ("nbclient", "ipykernel")), reason="needs Jupyter's packages")
def test_every_chapter_of_the_tutorial_runs_as_a_notebook(tmp_path):
    given = os.environ | {"PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"}
    command = [sys.executable, "-m", "docs_site.notebooks", "--out", str(tmp_path)]
    done = subprocess.run(command, env=given, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-3000:]
    files = sorted(tmp_path.glob("*.ipynb"))
    assert [file.stem for file in files][3:5] == ["04_simulate_on_the_ground", "05_control"]
    for file, cells in zip(files, chapters().values(), strict=True):
        code = [cell for cell in json.loads(file.read_text())["cells"] if cell["cell_type"] == "code"]
        assert ["".join(cell["source"]) for cell in code] == [text for kind, text in cells if kind == "code"]
        assert all(cell["execution_count"] for cell in code)
    control = json.loads(files[4].read_text())["cells"]
    assert any("['ok']" in "".join(x.get("text", "")) for cell in control for x in cell.get("outputs", ()))
