"""The pages about other libraries: their code runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PAGES = Path(__file__).parents[2] / "docs" / "hooks"
NEEDED = {"jax": "jax", "gym": "gymnasium", "torch": "torch", "casadi": "casadi", "ray": "ray"}


@pytest.mark.parametrize("path", sorted(PAGES.glob("*.md")), ids=lambda path: path.stem)
def test_the_code_of_a_page_runs(path: Path, tmp_path, monkeypatch):
    for library in re.findall(r"^import (\w+)", path.read_text(), re.MULTILINE):
        pytest.importorskip(library)
    pytest.importorskip(NEEDED[path.stem])
    monkeypatch.chdir(tmp_path)
    code = re.findall(r"```python\n(.*?)```", path.read_text(), re.DOTALL)
    assert code
    exec(compile("\n".join(code), str(path), "exec"), {"__name__": "page"})
